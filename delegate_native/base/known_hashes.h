// Hashes of large parts of files that this process, or one before it, has read: weights of models,
// and of the cache. Whoever finds a file as it was need not read it.
#ifndef QUADRA_BASE_KNOWN_HASHES_H_
#define QUADRA_BASE_KNOWN_HASHES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/base/lean/mutex.h"
#include "delegate_native/base/mapped_files.h"

namespace quadra {

// Written into the cache as it lies in memory.
struct KnownHash {
  FilePart part;
  uint64_t sample = 0;  // the hash of a few of its bytes
  uint64_t low = 0, high = 0;

  // A second look, which costs a page: not every file system keeps times.
  static uint64_t SampleOf(const void* data, size_t size);
};
static_assert(sizeof(KnownHash) == 80, "written as it lies in memory");

// One for all threads of the process.
class KnownHashes {
 public:
  static constexpr size_t kMost = 4096;
  static constexpr size_t kLeastBytes = 1 << 16;  // of a part that is worth it

  static KnownHashes* OfProcess();
  KnownHashes(const KnownHashes&) = delete;
  KnownHashes& operator=(const KnownHashes&) = delete;

  // `data`: where the part is mapped.
  bool Find(const FilePart& part, const void* data, uint64_t* low, uint64_t* high);
  bool Has(const FilePart& part);
  void Add(const KnownHash& hash);
  std::vector<KnownHash> all();
  // Grows with each that was not known.
  int64_t additions();

  // How many bytes of weights were read for their hashes.
  void Count(size_t bytes);
  int64_t hashed_bytes();

  // How many records were looked at to find others.
  int64_t looks();

 private:
  KnownHashes() = default;
  template <typename IsIt>
  uint16_t* SlotOf(const uint64_t* words, size_t count, IsIt is_it);
  uint16_t* SlotOf(const FilePart& part);
  uint16_t* SlotOf(const FileIdentity& file);
  void PutIntoIndex(size_t at);
  void MakeIndex();

  Mutex mutex_;
  std::vector<KnownHash> all_;  // the oldest first; those of one file are of one age
  // The index, by open addressing: each record by its part, and one of each file by the file. Its
  // place in `all_`, from 1 on; 0: nothing.
  uint16_t slots_[4 * kMost] = {};
  int64_t additions_ = 0, hashed_bytes_ = 0, looks_ = 0;
};

// The hashes of a model's large constants, which lie as they are as long as this lives. Each is
// read once at most: signatures share them, and each backend asks.
class ConstantHashes {
 public:
  // Adds the constant's numbers, or a large one's own hash.
  void Add(const void* data, size_t bytes, ContentHash* hash);

 private:
  struct Known {
    const void* data;
    size_t bytes;
    uint64_t low, high;
  };

  Known HashOf(const void* data, size_t bytes);

  MappedFiles files_;
  std::vector<Known> known_;
};

}  // namespace quadra

#endif  // QUADRA_BASE_KNOWN_HASHES_H_
