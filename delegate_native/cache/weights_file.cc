#include "delegate_native/cache/weights_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/cache/whole_file.h"
#include "delegate_native/plan/plan_bytes.h"

namespace quadra {

const char kWeights[] = ".weights";

namespace {

bool Has(const uint8_t* bytes, const WeightsAt& weights) {
  ContentHash hash;
  hash.Add(bytes, static_cast<size_t>(weights.size));
  return hash.low() == weights.low && hash.high() == weights.high;
}

bool IsKept(const std::string& path, const WeightsAt& weights) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  size_t size;
  if (!File::Check(file, &size).ok() || size != weights.size || size == 0) return false;
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return false;
  const bool is = Has(static_cast<const uint8_t*>(mapped), weights);
  munmap(mapped, size);
  if (is) futimens(file.get(), nullptr);  // no Prune takes it for one that nobody wants any more
  return is;
}

struct Content {
  const uint8_t* data;
  size_t size;
};

}  // namespace

std::string PathOfWeights(const std::string& plan_path, const WeightsAt& weights) {
  return plan_path.substr(0, plan_path.rfind('_') + 1) +
         Format("%016llx%016llx", static_cast<unsigned long long>(weights.high),
                static_cast<unsigned long long>(weights.low)) +
         kWeights;
}

Status ReadWeights(const std::string& path, const WeightsAt& weights, uint8_t* to) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  size_t size;
  QUADRA_RETURN_IF_ERROR(File::Check(file, &size));
  if (size != weights.size) return Unsupported("it is damaged");
  const auto page = PageBytes();
  // The rest of the last page is the plan's.
  const size_t whole = reinterpret_cast<uintptr_t>(to) % page == 0 ? size / page * page : 0;
  if (whole > 0 && mmap(to, whole, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, file.get(),
                        0) == MAP_FAILED) {
    return Failed("map it");
  }
  if (!file.Read(to + whole, size - whole, whole)) return Failed("read it");
  return Has(to, weights) ? Status() : Unsupported("it is damaged");
}

Status WriteWeights(const std::string& path, const WeightsAt& weights, const uint8_t* content) {
  if (IsKept(path, weights)) return Status();
  const Content all = {content, static_cast<size_t>(weights.size)};
  return WriteWhole(
      path,
      [](const File& file, const void* what) {
        const auto& from = *static_cast<const Content*>(what);
        return file.Write(from.data, from.size);
      },
      &all);
}

}  // namespace quadra
