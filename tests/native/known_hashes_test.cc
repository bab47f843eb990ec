#include "delegate_native/base/known_hashes.h"

#include <gtest/gtest.h>

#include <vector>

namespace quadra {
namespace {

KnownHash HashOf(uint64_t inode, uint64_t offset, int64_t changed_ns = 1) {
  KnownHash hash;
  hash.part.file.inode = inode;
  hash.part.file.changed_ns = changed_ns;
  hash.part.offset = offset;
  hash.part.size = 1 << 16;
  hash.low = offset;
  return hash;
}

// The records of a test's own files.
std::vector<KnownHash> Of(uint64_t inode) {
  std::vector<KnownHash> found;
  for (const KnownHash& one : KnownHashes::OfProcess()->all()) {
    if (one.part.file.inode == inode) found.push_back(one);
  }
  return found;
}

TEST(KnownHashes, KeepsOneOfEachPart) {
  KnownHashes* const all = KnownHashes::OfProcess();
  const int64_t before = all->additions();
  for (int turn = 0; turn < 2; ++turn) {
    for (uint64_t part = 0; part < 5; ++part) all->Add(HashOf(1001, part));
  }
  EXPECT_EQ(all->additions(), before + 5);
  EXPECT_EQ(Of(1001).size(), 5u);
  KnownHash other = HashOf(1001, 3);
  other.low = 77;
  all->Add(other);
  EXPECT_EQ(all->additions(), before + 6);
  ASSERT_EQ(Of(1001).size(), 5u);
  EXPECT_EQ(Of(1001)[3].low, 77u);
  EXPECT_TRUE(all->Has(other.part));
  EXPECT_FALSE(all->Has(HashOf(1001, 9).part));
  EXPECT_FALSE(all->Has(HashOf(1002, 3).part));
}

TEST(KnownHashes, ForgetsWhatAFileWas) {
  KnownHashes* const all = KnownHashes::OfProcess();
  for (uint64_t part = 0; part < 3; ++part) all->Add(HashOf(1003, part, 10));
  all->Add(HashOf(1004, 0, 10));
  all->Add(HashOf(1003, 1, 20));
  ASSERT_EQ(Of(1003).size(), 1u);
  EXPECT_EQ(Of(1003)[0].part.file.changed_ns, 20);
  EXPECT_FALSE(all->Has(HashOf(1003, 1, 10).part));
  all->Add(HashOf(1003, 2, 10));  // somebody saw it before
  EXPECT_EQ(Of(1003).size(), 1u);
  EXPECT_EQ(Of(1004).size(), 1u);
  EXPECT_TRUE(all->Has(HashOf(1004, 0, 10).part));
}

TEST(KnownHashes, LetsTheOldestGoFirst) {
  KnownHashes* const all = KnownHashes::OfProcess();
  constexpr uint64_t kMany = KnownHashes::kMost + 100;
  for (uint64_t part = 0; part < kMany; ++part) all->Add(HashOf(1005, part));
  const std::vector<KnownHash> kept = Of(1005);
  ASSERT_GE(kept.size(), KnownHashes::kMost / 2);
  ASSERT_LE(all->all().size(), KnownHashes::kMost);
  const uint64_t first = kMany - kept.size();
  for (uint64_t part = 0; part < kMany; ++part) {
    ASSERT_EQ(all->Has(HashOf(1005, part).part), part >= first) << part;
    if (part >= first) ASSERT_EQ(kept[part - first].part.offset, part);
  }
}

// Twice as many as are kept: of one file of many parts, as a model's constants, and of many files,
// as a cache's weights.
TEST(KnownHashes, LooksAtFewForEach) {
  KnownHashes* const all = KnownHashes::OfProcess();
  constexpr uint64_t kMany = 2 * KnownHashes::kMost;
  for (const bool is_one_file : {true, false}) {
    const int64_t before = all->looks();
    for (uint64_t i = 0; i < kMany; ++i) {
      all->Add(is_one_file ? HashOf(1006, i << 16) : HashOf(10000 + i, 0));
    }
    EXPECT_LT(all->looks() - before, static_cast<int64_t>(100 * kMany)) << is_one_file;
  }
}

}  // namespace
}  // namespace quadra
