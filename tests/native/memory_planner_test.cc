// The planner never lets two living tensors overlap, whatever their lifetimes.
#include "delegate_native/plan/memory_planner.h"

#include <gtest/gtest.h>

#include <random>

namespace quadra {
namespace {

bool Meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

std::vector<Lifetime> RandomLifetimes(std::mt19937* random) {
  std::vector<Lifetime> lifetimes((*random)() % 60);
  const int steps = 1 + static_cast<int>((*random)() % 40);
  for (Lifetime& l : lifetimes) {
    l.bytes = 1 + static_cast<int64_t>((*random)() % 5000);
    l.first = static_cast<int>((*random)() % static_cast<unsigned>(steps));
    l.last = l.first + static_cast<int>((*random)() % 6);
  }
  return lifetimes;
}

TEST(PlaceBySize, NeverOverlapsWhatLivesTogether) {
  std::mt19937 random(1);
  double bytes = 0, bounds = 0;
  for (int round = 0; round < 500; ++round) {
    const std::vector<Lifetime> lifetimes = RandomLifetimes(&random);
    const int64_t alignment = int64_t{1} << (random() % 8);
    const MemoryLayout layout = PlaceBySize(lifetimes, alignment);
    ASSERT_EQ(layout.offsets.size(), lifetimes.size());
    for (size_t i = 0; i < lifetimes.size(); ++i) {
      ASSERT_GE(layout.offsets[i], 0);
      ASSERT_EQ(layout.offsets[i] % alignment, 0);
      ASSERT_LE(layout.offsets[i] + lifetimes[i].bytes, layout.bytes);
      for (size_t j = 0; j < i; ++j) {
        if (!Meet(lifetimes[i], lifetimes[j])) continue;
        ASSERT_TRUE(layout.offsets[i] + lifetimes[i].bytes <= layout.offsets[j] ||
                    layout.offsets[j] + lifetimes[j].bytes <= layout.offsets[i])
            << i << " and " << j << " of round " << round;
      }
    }
    ASSERT_GE(layout.bytes, layout.lower_bound);
    bytes += static_cast<double>(layout.bytes);
    bounds += static_cast<double>(layout.lower_bound);
  }
  EXPECT_LT(bytes, 1.15 * bounds) << "usually close to the lower bound";
}

TEST(PlaceBySize, AChainNeedsTheLargestPair) {
  const std::vector<Lifetime> chain = {{100, 0, 1}, {300, 1, 2}, {200, 2, 3}, {300, 3, 4}};
  const MemoryLayout layout = PlaceBySize(chain, 1);
  EXPECT_EQ(layout.lower_bound, 500);
  EXPECT_EQ(layout.bytes, 500);
}

TEST(PlaceBySize, NothingNeedsNothing) {
  const MemoryLayout layout = PlaceBySize({}, 64);
  EXPECT_EQ(layout.bytes, 0);
  EXPECT_EQ(layout.lower_bound, 0);
}

TEST(ShareEqualObjects, SharesOnlyEqualShapesThatDoNotMeet) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const std::vector<Lifetime> lifetimes = RandomLifetimes(&random);
    std::vector<int64_t> shapes;
    for (size_t i = 0; i < lifetimes.size(); ++i) shapes.push_back(random() % 3);
    const std::vector<int> objects = ShareEqualObjects(lifetimes, shapes);
    ASSERT_EQ(objects.size(), lifetimes.size());
    for (size_t i = 0; i < objects.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (objects[i] != objects[j]) continue;
        ASSERT_EQ(shapes[i], shapes[j]);
        ASSERT_FALSE(Meet(lifetimes[i], lifetimes[j]));
      }
    }
  }
}

TEST(ShareEqualObjects, AChainOfEqualsNeedsTwo) {
  const std::vector<Lifetime> chain = {{1, 0, 1}, {1, 1, 2}, {1, 2, 3}, {1, 3, 4}};
  EXPECT_EQ(ShareEqualObjects(chain, {7, 7, 7, 7}), (std::vector<int>{0, 1, 0, 1}));
}

TEST(ShareObjects, SmallTensorsUseTheBuffersOfLargeOnes) {
  const std::vector<Lifetime> chain = {{1, 0, 1}, {9, 1, 2}, {5, 2, 3}, {3, 3, 4}};
  EXPECT_EQ(ShareObjects(chain), (std::vector<int>{1, 0, 1, 0}));
}

TEST(ShareObjects, NoTwoOfABufferMeet) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const std::vector<Lifetime> lifetimes = RandomLifetimes(&random);
    const std::vector<int> objects = ShareObjects(lifetimes);
    ASSERT_EQ(objects.size(), lifetimes.size());
    for (size_t i = 0; i < objects.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        ASSERT_TRUE(objects[i] != objects[j] || !Meet(lifetimes[i], lifetimes[j]));
      }
    }
  }
}

}  // namespace
}  // namespace quadra
