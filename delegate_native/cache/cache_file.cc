#include "delegate_native/cache/cache_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/cache/whole_file.h"

namespace quadra {
namespace {

constexpr uint32_t kFormat = 4;
constexpr uint64_t kMostKey = uint64_t{1} << 20, kMostWeights = uint64_t{1} << 20;
constexpr uint64_t kMostPart = (uint64_t{1} << 31) - 1;  // what FlatBuffers can address

struct PartHash {
  uint64_t low = 0, high = 0;

  static PartHash Of(const void* data, size_t size) {
    ContentHash hash;
    hash.Add(data, size);
    return {hash.low(), hash.high()};
  }
  bool operator==(const PartHash& o) const { return low == o.low && high == o.high; }
};

uint64_t Aligned(uint64_t at) {
  return (at + PlanBytes::kAlignment - 1) / PlanBytes::kAlignment * PlanBytes::kAlignment;
}

struct Header {
  char magic[8] = {'Q', 'U', 'A', 'D', 'R', 'A', 'P', '\n'};
  uint32_t format = kFormat;
  uint32_t byte_order = 0x01020304;
  uint32_t pointer_bytes = sizeof(void*);
  uint32_t key_bytes = 0;
  uint64_t weights_bytes = 0, plan_bytes = 0, binaries_bytes = 0;
  PartHash key, weights, plan, binaries;
  PartHash own;  // of what is before it

  PartHash Own() const { return PartHash::Of(this, offsetof(Header, own)); }
  uint64_t key_end() const { return sizeof(Header) + key_bytes; }
  uint64_t weights_at() const { return Aligned(key_end()); }
  uint64_t weights_end() const { return weights_at() + weights_bytes; }
  uint64_t plan_at() const { return Aligned(weights_end()); }
  uint64_t plan_end() const { return plan_at() + plan_bytes; }
  uint64_t binaries_at() const { return Aligned(plan_end()); }
  uint64_t end() const { return binaries_at() + binaries_bytes; }
};
static_assert(sizeof(Header) == 128, "written as it lies in memory");

Status CheckHeader(const Header& header, uint64_t file_bytes) {
  const Header ours;
  if (memcmp(header.magic, ours.magic, sizeof(ours.magic)) != 0) {
    return Unsupported("it is not a plan's file");
  }
  if (header.format != ours.format || header.byte_order != ours.byte_order ||
      header.pointer_bytes != ours.pointer_bytes) {
    return Unsupported("it was written in another format, or for another processor");
  }
  if (!(header.Own() == header.own)) return Unsupported("its header is damaged");
  if (header.key_bytes > kMostKey || header.weights_bytes > kMostWeights ||
      header.plan_bytes > kMostPart || header.binaries_bytes > kMostPart ||
      header.end() != file_bytes) {
    return Unsupported("it has %llu bytes, not what its header says",
                       static_cast<unsigned long long>(file_bytes));
  }
  return Status();
}

struct Content {
  const std::string& key;
  Part weights, plan, binaries;
};

bool Write(const File& file, const void* what) {
  const Content& content = *static_cast<const Content*>(what);
  const Part weights = content.weights, plan = content.plan, binaries = content.binaries;
  Header header;
  header.key_bytes = static_cast<uint32_t>(content.key.size());
  header.weights_bytes = weights.size;
  header.plan_bytes = plan.size;
  header.binaries_bytes = binaries.size;
  header.key = PartHash::Of(content.key.data(), content.key.size());
  header.weights = PartHash::Of(weights.data, weights.size);
  header.plan = PartHash::Of(plan.data, plan.size);
  header.binaries = PartHash::Of(binaries.data, binaries.size);
  header.own = header.Own();
  const char zeros[PlanBytes::kAlignment] = {};
  return file.Write(&header, sizeof(header)) &&
         file.Write(content.key.data(), content.key.size()) &&
         file.Write(zeros, static_cast<size_t>(header.weights_at() - header.key_end())) &&
         file.Write(weights.data, weights.size) &&
         file.Write(zeros, static_cast<size_t>(header.plan_at() - header.weights_end())) &&
         file.Write(plan.data, plan.size) &&
         file.Write(zeros, static_cast<size_t>(header.binaries_at() - header.plan_end())) &&
         file.Write(binaries.data, binaries.size);
}

// All of a file, of which the header fits `bytes`.
Status CheckHashes(const uint8_t* bytes, const Header& header, const std::string& key) {
  const auto is_whole = [&](uint64_t begin, uint64_t size, const PartHash& hash) {
    return PartHash::Of(bytes + begin, static_cast<size_t>(size)) == hash;
  };
  const auto is_empty = [&](uint64_t begin, uint64_t end) {
    return std::all_of(bytes + begin, bytes + end, [](uint8_t byte) { return byte == 0; });
  };
  if (!is_whole(sizeof(Header), header.key_bytes, header.key) ||
      !is_empty(header.key_end(), header.weights_at())) {
    return Unsupported("its key is damaged");
  }
  if (key.size() != header.key_bytes ||
      memcmp(bytes + sizeof(Header), key.data(), key.size()) != 0) {
    return Unsupported("it is for another model, device, driver or library");
  }
  if (!is_whole(header.weights_at(), header.weights_bytes, header.weights) ||
      !is_empty(header.weights_end(), header.plan_at())) {
    return Unsupported("its list of weights is damaged");
  }
  if (!is_whole(header.plan_at(), header.plan_bytes, header.plan) ||
      !is_empty(header.plan_end(), header.binaries_at())) {
    return Unsupported("its plan is damaged");
  }
  if (!is_whole(header.binaries_at(), header.binaries_bytes, header.binaries)) {
    return Unsupported("its binaries are damaged");
  }
  return Status();
}

// Those of a file whose hashes fit; null: they overlap, or do not fit a plan.
const WeightsAt* ListOf(const uint8_t* file, const Header& header, size_t* count) {
  const auto* list = reinterpret_cast<const WeightsAt*>(file + header.weights_at());
  *count = static_cast<size_t>(header.weights_bytes) / sizeof(WeightsAt);
  uint64_t rest = 0, end = 0;
  for (const WeightsAt* at = list; at != list + *count; ++at) {
    // Where it begins decides how the plan is aligned.
    if (at->offset < end || at->size == 0 || at->size > kMostPart || at->offset > kMostPart ||
        at->offset % PlanBytes::kAlignment != 0) {
      return nullptr;
    }
    rest += at->offset - end;
    end = at->offset + at->size;
  }
  const bool fits = rest <= header.plan_bytes && end + (header.plan_bytes - rest) <= kMostPart &&
                    header.weights_bytes % sizeof(WeightsAt) == 0;
  return fits ? list : nullptr;
}

// The plan with its weights, from pages that a device can use where they are.
Status Join(const std::string& path, const uint8_t* file, const Header& header, PlanBytes* plan,
            Part* binaries) {
  size_t count;
  const WeightsAt* const list = ListOf(file, header, &count);
  if (!list) return Unsupported("its list of weights is damaged");
  uint64_t size = header.plan_bytes;
  for (size_t i = 0; i < count; ++i) size += list[i].size;
  // In front, so that weights begin with a page, as they did when the plan was made.
  const auto page = uint64_t{PageBytes()};
  const uint64_t before = (page - list[0].offset % page) % page;
  const uint64_t binaries_at = Aligned(before + size);
  const auto all = static_cast<size_t>(binaries_at + header.binaries_bytes);
  void* const mapped = mmap(nullptr, all, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return Failed("map it");
  PlanBytes::Pages pages(static_cast<uint8_t*>(mapped), {all});
  const uint8_t* from = file + header.plan_at();
  uint8_t* to = pages.get() + before;
  uint64_t done = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto between = static_cast<size_t>(list[i].offset - done);
    memcpy(to + done, from, between);
    from += between;
    const Status status = ReadWeights(PathOfWeights(path, list[i]), list[i], to + list[i].offset);
    if (!status.ok()) return Unsupported("a file of its weights: %s", status.message().c_str());
    done = list[i].offset + list[i].size;
  }
  memcpy(to + done, from, static_cast<size_t>(size - done));
  if (header.binaries_bytes > 0) {
    memcpy(pages.get() + binaries_at, file + header.binaries_at(),
           static_cast<size_t>(header.binaries_bytes));
  }
  *binaries = {pages.get() + binaries_at, static_cast<size_t>(header.binaries_bytes)};
  *plan = PlanBytes(std::move(pages), static_cast<size_t>(before), static_cast<size_t>(size));
  return Status();
}

Status ReadParts(const std::string& path, const std::string& key, const File& file, size_t size,
                 PlanBytes* plan, Part* binaries) {
  // All of it will be read, in order: better one read and no faults.
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.get(), 0);
  if (mapped == MAP_FAILED) return Failed("map it");
  PlanBytes::Pages pages(static_cast<uint8_t*>(mapped), {size});
  Header header;
  memcpy(&header, mapped, sizeof(header));
  QUADRA_RETURN_IF_ERROR(CheckHeader(header, size));
  QUADRA_RETURN_IF_ERROR(CheckHashes(pages.get(), header, key));
  if (header.weights_bytes > 0) return Join(path, pages.get(), header, plan, binaries);
  *binaries = {pages.get() + header.binaries_at(), static_cast<size_t>(header.binaries_bytes)};
  *plan = PlanBytes(std::move(pages), static_cast<size_t>(header.plan_at()),
                    static_cast<size_t>(header.plan_bytes));
  return Status();
}

// The rest of a plan, without its weights.
std::vector<uint8_t> RestOf(Part plan, const std::vector<WeightsAt>& weights) {
  std::vector<uint8_t> rest;
  const uint8_t* from = plan.data;
  for (const WeightsAt& at : weights) {
    rest.insert(rest.end(), from, plan.data + at.offset);
    from = plan.data + at.offset + at.size;
  }
  rest.insert(rest.end(), from, plan.data + plan.size);
  return rest;
}

}  // namespace

Status ReadCacheFile(const std::string& path, const std::string& key, CheckParts check,
                     PlanBytes* plan, Part* binaries) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  size_t size;
  QUADRA_RETURN_IF_ERROR(File::Check(file, &size));
  if (size < sizeof(Header)) return Unsupported("it is not a plan's file");
  PlanBytes found;
  QUADRA_RETURN_IF_ERROR(ReadParts(path, key, file, size, &found, binaries));
  QUADRA_RETURN_IF_ERROR(check({found.data(), found.size()}, *binaries));
  futimens(file.get(), nullptr);  // used just now: the last to be removed
  *plan = std::move(found);
  return Status();
}

Status WriteCacheFile(const std::string& path, const std::string& key, Part plan,
                      const std::vector<WeightsAt>& weights, Part binaries) {
  const Part list = {reinterpret_cast<const uint8_t*>(weights.data()),
                     weights.size() * sizeof(WeightsAt)};
  if (key.size() > kMostKey || list.size > kMostWeights || plan.size > kMostPart ||
      binaries.size > kMostPart) {
    return Unsupported("it is too large");
  }
  std::vector<uint8_t> rest;
  if (!weights.empty()) {
    rest = RestOf(plan, weights);
    plan = {rest.data(), rest.size()};
  }
  const Content content = {key, list, plan, binaries};
  QUADRA_RETURN_IF_ERROR(WriteWhole(path, Write, &content));
  // Without this a crash of the machine could undo the rename.
  const File folder(open(path.substr(0, path.rfind('/')).c_str(), O_RDONLY | O_CLOEXEC));
  if (folder.get() >= 0) fsync(folder.get());
  return Status();
}

std::vector<WeightsAt> WeightsOfCacheFile(const std::string& path) {
  std::vector<WeightsAt> weights;
  const File file(path, O_RDONLY | O_NONBLOCK);
  size_t size;
  Header header;
  if (!File::Check(file, &size).ok() || size < sizeof(header) ||
      !file.Read(&header, sizeof(header), 0) || !CheckHeader(header, size).ok()) {
    return weights;
  }
  weights.resize(static_cast<size_t>(header.weights_bytes) / sizeof(WeightsAt));
  const size_t bytes = weights.size() * sizeof(WeightsAt);
  if (!file.Read(weights.data(), bytes, static_cast<size_t>(header.weights_at())) ||
      !(PartHash::Of(weights.data(), bytes) == header.weights)) {
    weights.clear();
  }
  return weights;
}

}  // namespace quadra
