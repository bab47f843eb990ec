// Which pages go back to the system: those that a file backs, and no others.
#include "delegate_native/base/file_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "delegate_native/graph/constant.h"

namespace quadra {
namespace {

constexpr size_t kPages = 600;  // more than are asked about at once

size_t Page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

class Mapping {
 public:
  // Of a file of ones; without a file: anonymous, with ones written into it.
  explicit Mapping(bool of_file) : bytes_(kPages * Page()) {
    int file = -1;
    if (of_file) {
      std::string path = testing::TempDir() + "pages_XXXXXX";
      file = mkstemp(path.data());
      unlink(path.c_str());
      const std::vector<uint8_t> ones(bytes_, 1);
      EXPECT_EQ(write(file, ones.data(), bytes_), static_cast<ssize_t>(bytes_));
    }
    void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | (of_file ? 0 : MAP_ANONYMOUS), file, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    data_ = static_cast<uint8_t*>(mapped);
    if (of_file) close(file);
    for (size_t i = 0; i < bytes_ && !of_file; ++i) data_[i] = 1;
  }
  ~Mapping() { munmap(data_, bytes_); }

  uint8_t* data() { return data_; }
  size_t bytes() const { return bytes_; }
  uint8_t& page(size_t number) { return data_[number * Page()]; }

  // Reads all; true: there were ones only, but at the written place.
  bool IsWhole(size_t written = SIZE_MAX) const {
    for (size_t i = 0; i < bytes_; ++i) {
      if (data_[i] != (i == written ? 7 : 1)) return false;
    }
    return true;
  }

  // Pages that this process has in memory.
  size_t Resident() const {
    size_t count = 0;
    FILE* table = fopen("/proc/self/pagemap", "rb");
    EXPECT_NE(table, nullptr);
    fseek(table, static_cast<long>(reinterpret_cast<uintptr_t>(data_) / Page() * 8), SEEK_SET);
    for (size_t i = 0; i < kPages; ++i) {
      uint64_t entry = 0;
      EXPECT_EQ(fread(&entry, sizeof(entry), 1, table), 1u);
      count += entry >> 63;
    }
    fclose(table);
    return count;
  }

 private:
  uint8_t* data_;
  size_t bytes_;
};

TEST(FilePages, OfAFileGoAndComeAgain) {
  Mapping file(true);
  ASSERT_TRUE(file.IsWhole());
  EXPECT_EQ(file.Resident(), kPages);
  GiveFilePagesBack(file.data(), file.bytes());
  EXPECT_EQ(file.Resident(), 0u);
  EXPECT_TRUE(file.IsWhole());
}

TEST(FilePages, OfTheHeapStay) {
  Mapping heap(false);
  GiveFilePagesBack(heap.data(), heap.bytes());
  EXPECT_EQ(heap.Resident(), kPages);
  EXPECT_TRUE(heap.IsWhole());
}

TEST(FilePages, ThatWereWrittenToStay) {
  Mapping file(true);
  ASSERT_TRUE(file.IsWhole());
  for (size_t written : {size_t{0}, size_t{300}, kPages - 1}) {
    file.page(written) = 7;
    // As one who has decrypted in place would have it.
    ASSERT_EQ(mprotect(file.data(), file.bytes(), PROT_READ), 0);
    GiveFilePagesBack(file.data(), file.bytes());
    EXPECT_EQ(file.Resident(), 1u);
    EXPECT_TRUE(file.IsWhole(written * Page()));
    ASSERT_EQ(mprotect(file.data(), file.bytes(), PROT_READ | PROT_WRITE), 0);
    file.page(written) = 1;
    ASSERT_TRUE(file.IsWhole());
    madvise(file.data(), file.bytes(), MADV_DONTNEED);  // the file's again
  }
}

TEST(FilePages, AtTheEndsStayWhereTheyHaveOtherBytes) {
  Mapping file(true);
  ASSERT_TRUE(file.IsWhole());
  GiveFilePagesBack(file.data() + 1, file.bytes() - 2);
  // The system may let go of more of a file at once, where it has mapped a huge page.
  EXPECT_GE(file.Resident(), 1u);
  EXPECT_LE(file.Resident(), 2u);
  ASSERT_TRUE(file.IsWhole());
  GiveFilePagesBack(file.data(), 5 * Page());  // few
  EXPECT_EQ(file.Resident(), kPages);
}

TEST(FilePages, OfAConstantGoOnceAllOfItWasRead) {
  Mapping file(true);
  const size_t floats = file.bytes() / sizeof(float);
  const Constant plain(file.data(), Element::kFloat32, false, floats);
  const Constant ints(file.data(), Element::kInt32, false, floats);
  const Constant packed(file.data(), Element::kInt8, 4, {{1.0f}, {0}}, file.bytes() * 2);
  ContentHash first, second;
  plain.AddTo(&first);
  EXPECT_EQ(file.Resident(), 0u);
  plain.AddTo(&second);
  EXPECT_EQ(first.hex(), second.hex());
  EXPECT_EQ(plain.floats()->size(), floats);
  EXPECT_EQ(file.Resident(), 0u);
  EXPECT_EQ(ints.ints().back(), 0x01010101);
  EXPECT_EQ(file.Resident(), 0u);
  EXPECT_EQ(packed.SignedWords(1, file.bytes() / 4 - 1).back(), 0x01010101);
  EXPECT_EQ(file.Resident(), 0u);
}

}  // namespace
}  // namespace quadra
