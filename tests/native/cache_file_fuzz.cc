// libFuzzer's target: a file of the cache, from its header to the last index of its plan. `inv fuzz
// reader`.
//
// Half of the mutations are of one part, whose hashes are then made to fit, so that what is behind
// them is reached: FlatBuffers' verifier, and the checks of plan and binaries. What these let pass
// is walked through as backends walk through it, under the sanitizers. One file of weights lies
// beside it, which lists of weights may name.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/cache/cache_file.h"
#include "delegate_native/cache/weights_file.h"
#include "delegate_native/plan/check_plan.h"
#include "delegate_native/plan/plan_generated.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace quadra {
namespace {

// The header, as cache_file.h describes it.
struct Header {
  uint8_t fixed[20];  // magic, format, byte order, pointer size
  uint32_t key_bytes;
  uint64_t weights_bytes, plan_bytes, binaries_bytes;
  uint64_t hashes[8];
  uint64_t own[2];
};
static_assert(sizeof(Header) == 128, "cache_file.cc's");

using Bytes = std::vector<uint8_t>;

void Hash(const void* data, size_t size, uint64_t* to) {
  ContentHash hash;
  hash.Add(data, size);
  to[0] = hash.low();
  to[1] = hash.high();
}

void Align(Bytes* file) { file->resize((file->size() + 63) / 64 * 64); }

// The four parts of a file, or false where it has not got them.
bool Split(const uint8_t* data, size_t size, Header* header, Bytes parts[4]) {
  if (size < sizeof(*header)) return false;
  memcpy(header, data, sizeof(*header));
  const uint64_t sizes[] = {header->key_bytes, header->weights_bytes, header->plan_bytes,
                            header->binaries_bytes};
  size_t at = sizeof(*header);
  for (int i = 0; i < 4; ++i) {
    if (i > 0) at = (at + 63) / 64 * 64;
    if (at > size || sizes[i] > size - at) return false;
    parts[i].assign(data + at, data + at + sizes[i]);
    at += sizes[i];
  }
  return true;
}

Bytes Join(Header header, const Bytes parts[4]) {
  header.key_bytes = static_cast<uint32_t>(parts[0].size());
  header.weights_bytes = parts[1].size();
  header.plan_bytes = parts[2].size();
  header.binaries_bytes = parts[3].size();
  for (int i = 0; i < 4; ++i) Hash(parts[i].data(), parts[i].size(), &header.hashes[2 * i]);
  Hash(&header, offsetof(Header, own), header.own);
  Bytes file(sizeof(header));
  memcpy(file.data(), &header, sizeof(header));
  for (int i = 0; i < 4; ++i) {
    if (i > 0) Align(&file);
    file.insert(file.end(), parts[i].begin(), parts[i].end());
  }
  return file;
}

Status Check(Part plan, Part binaries) {
  const Status status = CheckPlan(plan.data, plan.size);
  return status.ok() ? CheckBinaries(binaries.data, binaries.size) : status;
}

void Require(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "a plan that was let pass: %s\n", what);
  abort();
}

// What a backend does with a plan without asking again.
void Walk(const fb::Plan& plan, const fb::Binaries& binaries) {
  static volatile uint8_t last_byte;
  const auto& buffers = *plan.buffers();
  const auto in_buffer = [&](int buffer, uint64_t offset, uint64_t bytes) {
    Require(buffer >= 0 && static_cast<uint32_t>(buffer) < buffers.size(),
            "a buffer that is not there");
    const fb::Buffer& held = *buffers[static_cast<uint32_t>(buffer)];
    if (held.kind() == fb::BufferKind_Image) return;
    Require(offset <= held.bytes() && bytes <= held.bytes() - offset,
            "bytes beyond a buffer's end");
  };
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    const fb::Buffer& image = *buffers[i];
    if (image.lies_in() == 0) continue;
    Require(image.kind() == fb::BufferKind_Image, "a buffer in a buffer");
    Require(static_cast<uint32_t>(image.lies_in()) <= i, "an image before what it lies in");
    Require(image.row_bytes() / 8 >= static_cast<uint32_t>(image.width()), "rows that overlap");
    in_buffer(image.lies_in() - 1, image.offset(),
              uint64_t{image.row_bytes()} * static_cast<uint64_t>(image.height()));
  }
  for (const fb::Buffer* buffer : buffers) {
    if (buffer->kind() != fb::BufferKind_Constant) continue;
    Require(buffer->data()->size() == buffer->bytes(), "a constant of another size");
    if (buffer->bytes() > 0) last_byte = *(buffer->data()->end() - 1);
  }
  for (const fb::Region* region : *plan.regions()) {
    in_buffer(region->buffer(), region->offset(), region->bytes());
  }
  for (const fb::Tensor* tensor : *plan.tensors()) {
    if (tensor->buffer() != -1) in_buffer(tensor->buffer(), tensor->offset(), tensor->bytes());
  }
  for (const fb::Dispatch* dispatch : *plan.dispatches()) {
    Require(static_cast<uint32_t>(dispatch->program()) < plan.programs()->size(),
            "a program that is not there");
    Require(dispatch->entry()->size() < plan.buffers()->size() + (1u << 30),
            "an entry without an end");
    for (const fb::Arg* arg : *dispatch->args()) {
      if (arg->kind() != fb::ArgKind_Buffer) continue;
      Require(static_cast<uint32_t>(arg->index()) < plan.regions()->size(),
              "a region that is not there");
    }
    for (uint32_t axis = 0; axis < 3; ++axis) {
      Require(dispatch->local()->Get(axis) > 0 &&
                  dispatch->global()->Get(axis) % dispatch->local()->Get(axis) == 0,
              "a grid that its group does not divide");
    }
  }
  for (const auto* list : {plan.inputs(), plan.outputs()}) {
    for (const fb::Io* io : *list) {
      Require(static_cast<uint32_t>(io->tensor()) < plan.tensors()->size(),
              "a tensor that is not there");
    }
  }
  for (const fb::ProgramBinary* binary : *binaries.programs()) {
    if (binary->bytes() && binary->bytes()->size() > 0) last_byte = *(binary->bytes()->end() - 1);
    if (!binary->kernels()) continue;
    for (const fb::Kernel* kernel : *binary->kernels()) {
      Require(kernel->entry() != nullptr, "a kernel without a name");
      last_byte = static_cast<uint8_t>(kernel->entry()->c_str()[kernel->entry()->size()]);
    }
  }
}

const std::string& Path() {
  static const std::string path = [] {
    const char* folder = getenv("QUADRA_FUZZ_FOLDER");
    return std::string(folder ? folder : "/dev/shm") + "/cache_file_fuzz." +
           std::to_string(getpid());
  }();
  return path;
}

// What is in the file of weights: a page, and a part of one.
Bytes Content() {
  Bytes content(4096 + 100);
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<uint8_t>(i * 7);
  return content;
}

WeightsAt Named(uint64_t offset) {
  const Bytes content = Content();
  uint64_t hash[2];
  Hash(content.data(), content.size(), hash);
  return {offset, content.size(), hash[0], hash[1]};
}

std::string PathOfContent() { return PathOfWeights(Path(), Named(0)); }

void Write(const std::string& path, const uint8_t* data, size_t size) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const bool written = file >= 0 && write(file, data, size) == static_cast<ssize_t>(size);
  if (!written || close(file) != 0) {
    perror(path.c_str());
    _exit(1);
  }
}

}  // namespace
}  // namespace quadra

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const quadra::Bytes content = quadra::Content();
  quadra::Write(quadra::PathOfContent(), content.data(), content.size());
  return atexit([] {
    unlink(quadra::Path().c_str());
    unlink(quadra::PathOfContent().c_str());
  });
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quadra;
  Write(Path(), data, size);
  // The reader knows the key that it wants: that of the file, wherever it has one.
  Header header = {};
  memcpy(&header, data, std::min(size, sizeof(header)));
  const size_t left = size < sizeof(header) ? 0 : size - sizeof(header);
  const std::string key(reinterpret_cast<const char*>(data) + (left ? sizeof(header) : 0),
                        std::min<size_t>(header.key_bytes, left));
  PlanBytes plan;
  Part binaries = {nullptr, 0};
  const Status status = ReadCacheFile(Path(), key, Check, &plan, &binaries);
  if (!status.ok()) {
    Require(!status.message().empty(), "refused without a reason");
    return 0;
  }
  Walk(*fb::GetPlan(plan.data()), *flatbuffers::GetRoot<fb::Binaries>(binaries.data));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  using namespace quadra;
  Header header;
  Bytes parts[4];
  if (seed % 2 == 0 || !Split(data, size, &header, parts)) {
    return LLVMFuzzerMutate(data, size, most);
  }
  const unsigned chosen = seed / 2 % 8;
  Bytes& part = parts[chosen == 0 ? 0 : chosen == 1 ? 3 : chosen == 2 ? 1 : 2];
  const size_t before = part.size();
  part.resize(before + std::min<size_t>(64, most > size ? most - size : 0));
  part.resize(part.empty() ? 0 : LLVMFuzzerMutate(part.data(), before, part.size()));
  if (chosen == 2 && seed / 16 % 2 == 0) {
    const WeightsAt at = Named(seed / 32 % (parts[2].size() + 1));
    parts[1].assign(reinterpret_cast<const uint8_t*>(&at),
                    reinterpret_cast<const uint8_t*>(&at + 1));
  }
  const Bytes file = Join(header, parts);
  if (file.size() > most) return LLVMFuzzerMutate(data, size, most);
  memcpy(data, file.data(), file.size());
  return file.size();
}
