// Which pages go back to the system: those that a file backs, and no others.
#include "delegate_native/base/file_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "delegate_native/base/mapped_files.h"
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
  const Scales scales = {std::make_shared<const Constant>(std::vector<float>{1.0f}), nullptr};
  const Constant packed(file.data(), Element::kInt8, 4, scales, file.bytes() * 2);
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

TEST(FilePages, AreThoseOfTheFileUntilTheyAreWrittenTo) {
  Mapping file(true), heap(false);
  EXPECT_TRUE(AreFilePages(file.data(), file.bytes()));
  ASSERT_TRUE(file.IsWhole());
  EXPECT_TRUE(AreFilePages(file.data(), file.bytes()));
  file.page(kPages - 1) = 7;
  EXPECT_FALSE(AreFilePages(file.data(), file.bytes()));
  EXPECT_FALSE(AreFilePages(file.data() + file.bytes() - 1, 1));
  EXPECT_TRUE(AreFilePages(file.data(), file.bytes() - Page()));
  EXPECT_FALSE(AreFilePages(heap.data(), 1));
}

// A file of some pages, and a mapping of all but the first.
class NamedFile {
 public:
  explicit NamedFile(int protection) : path_(testing::TempDir() + "named_XXXXXX") {
    file_ = mkstemp(path_.data());
    const std::vector<uint8_t> ones(4 * Page(), 1);
    EXPECT_EQ(write(file_, ones.data(), ones.size()), static_cast<ssize_t>(ones.size()));
    void* mapped =
        mmap(nullptr, bytes(), protection, MAP_PRIVATE, file_, static_cast<off_t>(Page()));
    EXPECT_NE(mapped, MAP_FAILED);
    data_ = static_cast<uint8_t*>(mapped);
  }
  ~NamedFile() {
    munmap(data_, bytes());
    close(file_);
    unlink(path_.c_str());
  }

  uint8_t* data() { return data_; }
  static size_t bytes() { return 3 * Page(); }
  const std::string& path() const { return path_; }
  bool IsFound(FilePart* part) const {
    MappedFiles files;
    return files.Find(data_ + 5, bytes() - 10, part);
  }
  bool IsFound() const {
    FilePart part;
    return IsFound(&part);
  }

 private:
  std::string path_;
  int file_;
  uint8_t* data_;
};

void Settle() { usleep(2100000); }

TEST(MappedFiles, HaveTheirPlaceInTheFile) {
  NamedFile file(PROT_READ);
  EXPECT_FALSE(file.IsFound());  // it may be changed within the same tick
  Settle();
  FilePart part, later;
  ASSERT_TRUE(file.IsFound(&part));
  EXPECT_EQ(part.offset, Page() + 5);
  EXPECT_EQ(part.size, file.bytes() - 10);
  EXPECT_EQ(part.file.size, 4 * Page());
  ASSERT_TRUE(file.IsFound(&later));
  EXPECT_TRUE(part == later);
  const int again = open(file.path().c_str(), O_WRONLY);
  const uint8_t same = 1;
  ASSERT_EQ(pwrite(again, &same, 1, 0), 1);
  close(again);
  EXPECT_FALSE(file.IsFound());
  Settle();
  ASSERT_TRUE(file.IsFound(&later));
  EXPECT_FALSE(part == later);
}

TEST(MappedFiles, AreNoneWhereTheProcessMayHaveOtherBytes) {
  NamedFile writable(PROT_READ | PROT_WRITE), written(PROT_READ | PROT_WRITE), gone(PROT_READ),
      replaced(PROT_READ), shorter(PROT_READ);
  const std::vector<uint8_t> heap(1 << 16);
  written.data()[Page()] = 7;
  ASSERT_EQ(mprotect(written.data(), written.bytes(), PROT_READ), 0);
  ASSERT_EQ(unlink(gone.path().c_str()), 0);
  ASSERT_EQ(unlink(replaced.path().c_str()), 0);
  close(open(replaced.path().c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(truncate(shorter.path().c_str(), static_cast<off_t>(2 * Page())), 0);
  Settle();
  EXPECT_FALSE(writable.IsFound());
  ASSERT_EQ(mprotect(writable.data(), writable.bytes(), PROT_READ), 0);
  EXPECT_TRUE(writable.IsFound());
  for (const NamedFile* file : {&written, &gone, &replaced, &shorter}) {
    EXPECT_FALSE(file->IsFound());
  }
  MappedFiles files;
  FilePart part;
  EXPECT_FALSE(files.Find(heap.data(), heap.size(), &part));
}

}  // namespace
}  // namespace quadra
