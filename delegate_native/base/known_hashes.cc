#include "delegate_native/base/known_hashes.h"

#include <algorithm>
#include <iterator>

#include "delegate_native/base/file_pages.h"
#include "delegate_native/base/hash.h"

namespace quadra {

uint64_t KnownHash::SampleOf(const void* data, size_t size) {
  constexpr size_t kMost = 256;
  ContentHash hash;
  hash.Add(static_cast<const char*>(data) + size / 2, std::min(kMost, size - size / 2));
  GiveFilePagesBack(data, size);  // a page that is read maps others beside it
  return hash.low();
}

// It stays when the process ends: a thread may be writing a file then.
KnownHashes* KnownHashes::OfProcess() {
  static KnownHashes* const all = new KnownHashes;
  return all;
}

bool KnownHashes::Find(const FilePart& part, const void* data, uint64_t* low, uint64_t* high) {
  KnownHash found;
  {
    const MutexLock lock(&mutex_);
    const uint16_t at = *SlotOf(part);
    if (at == 0) return false;
    found = all_[at - 1u];
  }
  if (KnownHash::SampleOf(data, static_cast<size_t>(part.size)) != found.sample) return false;
  *low = found.low, *high = found.high;
  return true;
}

bool KnownHashes::Has(const FilePart& part) {
  const MutexLock lock(&mutex_);
  return *SlotOf(part) != 0;
}

// Where the one that is looked for is, or would be put.
template <typename IsIt>
uint16_t* KnownHashes::SlotOf(const uint64_t* words, size_t count, IsIt is_it) {
  constexpr size_t kSlots = sizeof(slots_) / sizeof(*slots_);
  static_assert(2 * kMost < kSlots, "some are always free");
  for (uint64_t at = Hash(words, count * sizeof(*words));; ++at) {
    uint16_t* const slot = &slots_[at % kSlots];
    if (*slot == 0) return slot;
    ++looks_;
    if (is_it(all_[*slot - 1u].part)) return slot;
  }
}

uint16_t* KnownHashes::SlotOf(const FilePart& part) {
  const uint64_t words[] = {part.file.device, part.file.inode, part.offset, part.size};
  return SlotOf(words, 4, [&](const FilePart& other) { return other == part; });
}

uint16_t* KnownHashes::SlotOf(const FileIdentity& file) {
  const uint64_t words[] = {file.device, file.inode};
  return SlotOf(words, 2, [&](const FilePart& other) { return other.file.IsOfSameFile(file); });
}

void KnownHashes::PutIntoIndex(size_t at) {
  const FilePart& part = all_[at].part;
  *SlotOf(part) = static_cast<uint16_t>(at + 1);
  uint16_t* const of_file = SlotOf(part.file);
  if (*of_file == 0) *of_file = static_cast<uint16_t>(at + 1);
}

void KnownHashes::MakeIndex() {
  std::fill(std::begin(slots_), std::end(slots_), uint16_t{0});
  for (size_t at = 0; at < all_.size(); ++at) PutIntoIndex(at);
}

void KnownHashes::Add(const KnownHash& hash) {
  const MutexLock lock(&mutex_);
  if (const uint16_t at = *SlotOf(hash.part)) {  // one part has one hash
    KnownHash& known = all_[at - 1u];
    const bool is_same =
        known.sample == hash.sample && known.low == hash.low && known.high == hash.high;
    known = hash;
    if (!is_same) ++additions_;
    return;
  }
  const FileIdentity& now = hash.part.file;
  if (const uint16_t at = *SlotOf(now)) {  // a file that was changed is what it was no more
    const int64_t known_ns = all_[at - 1u].part.file.changed_ns;
    if (known_ns > now.changed_ns) return;
    if (known_ns < now.changed_ns) {
      const auto is_gone = [&](const KnownHash& known) {
        return known.part.file.IsOfSameFile(now);
      };
      all_.erase(std::remove_if(all_.begin(), all_.end(), is_gone), all_.end());
      MakeIndex();
    }
  }
  if (all_.size() == kMost) {  // many go at once: the index is made anew
    all_.erase(all_.begin(), all_.begin() + kMost / 8);
    MakeIndex();
  }
  all_.push_back(hash);
  PutIntoIndex(all_.size() - 1);
  ++additions_;
}

std::vector<KnownHash> KnownHashes::all() {
  const MutexLock lock(&mutex_);
  return all_;
}

int64_t KnownHashes::additions() {
  const MutexLock lock(&mutex_);
  return additions_;
}

void KnownHashes::Count(size_t bytes) {
  const MutexLock lock(&mutex_);
  hashed_bytes_ += static_cast<int64_t>(bytes);
}

int64_t KnownHashes::hashed_bytes() {
  const MutexLock lock(&mutex_);
  return hashed_bytes_;
}

int64_t KnownHashes::looks() {
  const MutexLock lock(&mutex_);
  return looks_;
}

ConstantHashes::Known ConstantHashes::HashOf(const void* data, size_t bytes) {
  KnownHashes* const before = KnownHashes::OfProcess();
  Known known = {data, bytes, 0, 0};
  KnownHash hash;
  const bool is_of_file = bytes >= KnownHashes::kLeastBytes && files_.Find(data, bytes, &hash.part);
  if (is_of_file && before->Find(hash.part, data, &known.low, &known.high)) return known;
  ContentHash own;
  HashFilePages(data, bytes, &own);
  before->Count(bytes);
  known.low = hash.low = own.low(), known.high = hash.high = own.high();
  if (!is_of_file) return known;
  hash.sample = KnownHash::SampleOf(data, bytes);
  before->Add(hash);
  return known;
}

void ConstantHashes::Add(const void* data, size_t bytes, ContentHash* hash) {
  constexpr size_t kLarge = 1 << 12;
  if (bytes < kLarge) return hash->Add(data, bytes);
  auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& one) {
    return one.data == data && one.bytes == bytes;
  });
  if (known == known_.end()) known = known_.insert(known_.end(), HashOf(data, bytes));
  const uint64_t content[] = {known->low, known->high};
  hash->Add(content, sizeof(content));
}

}  // namespace quadra
