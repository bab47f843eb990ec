// The planner never lets two living tensors overlap, whatever their lifetimes.
#include "delegate_native/plan/memory_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  EXPECT_LT(bytes, 1.06 * bounds) << "usually close to the lower bound";
}

// The largest comes first to lie at the beginning, and what lives longer on top of it.
TEST(PlaceBySize, WhatEndsLastGoesFirstInTheNextTry) {
  const std::vector<Lifetime> lifetimes = {
      {400, 0, 0}, {300, 1, 2}, {200, 0, 1}, {250, 2, 3}, {350, 3, 3}};
  const MemoryLayout layout = PlaceBySize(lifetimes, 1);
  EXPECT_EQ(layout.lower_bound, 600);
  EXPECT_EQ(layout.bytes, 600);
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

TEST(ShareObjects, NeverSharesWhatLivesTogetherAndFitsAll) {
  std::mt19937 random(3);
  double bytes = 0, bounds = 0;
  for (int round = 0; round < 300; ++round) {
    const std::vector<Lifetime> lifetimes = RandomLifetimes(&random);
    const SharedObjects shared = ShareObjects(lifetimes);
    ASSERT_EQ(shared.objects.size(), lifetimes.size());
    std::vector<int64_t> largest(shared.bytes.size(), 0);
    for (size_t i = 0; i < lifetimes.size(); ++i) {
      int64_t& most = largest.at(static_cast<size_t>(shared.objects[i]));
      most = std::max(most, lifetimes[i].bytes);
      for (size_t j = 0; j < i; ++j) {
        if (shared.objects[i] != shared.objects[j]) continue;
        ASSERT_FALSE(Meet(lifetimes[i], lifetimes[j]));
      }
    }
    ASSERT_EQ(shared.bytes, largest);
    for (int64_t one : shared.bytes) bytes += static_cast<double>(one);
    bounds += static_cast<double>(PlaceBySize(lifetimes, 1).lower_bound);
  }
  EXPECT_LT(bytes, 1.5 * bounds);
}

TEST(ShareObjects, TakesTheSmallestThatIsFree) {
  const SharedObjects shared = ShareObjects({{300, 0, 1}, {200, 0, 1}, {100, 2, 3}, {250, 2, 3}});
  EXPECT_EQ(shared.objects, (std::vector<int>{0, 1, 1, 0}));
  EXPECT_EQ(shared.bytes, (std::vector<int64_t>{300, 200}));
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

}  // namespace
}  // namespace quadra
