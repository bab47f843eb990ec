#include "delegate_native/base/known_hashes.h"

#include <algorithm>

#include "delegate_native/base/file_pages.h"

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
    const auto one = std::find_if(all_.begin(), all_.end(),
                                  [&](const KnownHash& known) { return known.part == part; });
    if (one == all_.end()) return false;
    found = *one;
  }
  if (KnownHash::SampleOf(data, static_cast<size_t>(part.size)) != found.sample) return false;
  *low = found.low, *high = found.high;
  return true;
}

void KnownHashes::Add(const KnownHash& hash) {
  const MutexLock lock(&mutex_);
  bool is_known = false;
  // One part has one hash, and a file that was changed is what it was no more.
  const auto is_gone = [&](const KnownHash& known) {
    const bool is_same = known.part == hash.part && known.sample == hash.sample &&
                         known.low == hash.low && known.high == hash.high;
    is_known = is_known || is_same;
    const FileIdentity &file = known.part.file, &now = hash.part.file;
    return !is_same && (known.part == hash.part ||
                        (file.IsOfSameFile(now) && file.changed_ns < now.changed_ns));
  };
  all_.erase(std::remove_if(all_.begin(), all_.end(), is_gone), all_.end());
  if (is_known) return;
  if (all_.size() == kMost) all_.erase(all_.begin());
  all_.push_back(hash);
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
