#include "delegate_native/plan/layout.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/base/half.h"
#include "delegate_native/kernel/bindings.h"
#include "delegate_native/plan/plan_bytes.h"

namespace quadra {
namespace {

using Kind = TensorLayout::Kind;

int64_t BytesOf(const TensorLayout& layout) {
  const Shape& s = layout.shape;
  if (layout.is_bytes()) return s.elements();
  if (layout.kind == Kind::kDenseBuffer) return s.elements() * 4;
  return int64_t{s.b} * s.slices() * s.h * s.w * (layout.half() ? 8 : 16);
}

uint64_t BytesOfConstant(const ConstantArg& constant) {
  return static_cast<uint64_t>(constant.floats) * (constant.half ? 2 : 4);
}

// Dense BHWC numbers to slices of four, unused lanes zero.
template <typename T>
std::vector<T> PackSlices(const std::vector<T>& dense, const Shape& s) {
  std::vector<T> packed(static_cast<size_t>(s.b) * s.slices() * s.h * s.w * 4, T{0});
  size_t from = 0;
  for (int b = 0; b < s.b; ++b) {
    for (int y = 0; y < s.h; ++y) {
      for (int x = 0; x < s.w; ++x) {
        for (int c = 0; c < s.c; ++c) {
          const size_t pixel = (static_cast<size_t>(b * s.slices() + c / 4) * s.h + y) * s.w + x;
          packed[pixel * 4 + c % 4] = dense[from++];
        }
      }
    }
  }
  return packed;
}

// `to` is aligned for floats.
void Store(const std::vector<float>& floats, bool half, uint8_t* to) {
  if (!half) {
    memcpy(to, floats.data(), floats.size() * sizeof(float));
    return;
  }
  uint16_t* halfs = reinterpret_cast<uint16_t*>(to);
  // A finite number stays one: 0 times it is 0.
  constexpr float kLargestHalf = 65504.0f;
  for (size_t i = 0; i < floats.size(); ++i) {
    const float n = floats[i];
    halfs[i] = FloatToHalf(std::isinf(n)       ? n
                           : n > kLargestHalf  ? kLargestHalf
                           : n < -kLargestHalf ? -kLargestHalf
                                               : n);
  }
}

}  // namespace

Layout::Layout(const KernelContext& context, const Graph& graph, const std::vector<Value>& scratch)
    : context_(context), gpu_(*context.gpu) {
  for (const std::vector<Value>* values : {&graph.values, &scratch}) {
    for (const Value& value : *values) {
      PlacedTensor tensor;
      tensor.name = value.name;
      tensor.layout = context_.LayoutOf(value);
      tensor.constant = value.constant;
      tensor.copy_of = value.copy_of;
      tensor.memory_of = value.memory_of;
      tensors_.push_back(std::move(tensor));
    }
  }
}

Status Layout::Place(const std::vector<KernelDesc>& kernels) {
  FindLifetimes(kernels);
  QUADRA_RETURN_IF_ERROR(PlaceActivations());
  PlaceImages();
  PlaceIo();
  PlaceConstants(kernels);
  // A FlatBuffer counts its bytes with 31 bits.
  constexpr uint64_t kMostConstantBytes = (uint64_t{1} << 31) - (uint64_t{1} << 24);
  if (constant_bytes_ > kMostConstantBytes) {
    return Unsupported(
        "its constants have %llu bytes; a plan holds %llu: half storage (precision f32_f16) helps",
        static_cast<unsigned long long>(constant_bytes_),
        static_cast<unsigned long long>(kMostConstantBytes));
  }
  for (const PlannedBuffer& buffer : buffers_) {
    if (buffer.kind != fb::BufferKind_Image &&
        buffer.bytes > static_cast<uint64_t>(gpu_.max_buffer_bytes)) {
      return Unsupported("the plan needs a buffer of %llu bytes; '%s' allows %lld",
                         static_cast<unsigned long long>(buffer.bytes), gpu_.name.c_str(),
                         static_cast<long long>(gpu_.max_buffer_bytes));
    }
  }
  return Status();
}

void Layout::FindLifetimes(const std::vector<KernelDesc>& kernels) {
  for (size_t k = 0; k < kernels.size(); ++k) {
    for (const TensorArg& arg : kernels[k].tensors) {
      PlacedTensor& tensor = tensors_[static_cast<size_t>(arg.tensor)];
      if (tensor.first < 0) tensor.first = static_cast<int>(k);
      tensor.last = static_cast<int>(k);
    }
  }
  for (PlacedTensor& tensor : tensors_) tensor.bytes = BytesOf(tensor.layout);
}

int Layout::AddRegion(int buffer, uint64_t offset, uint64_t bytes) {
  regions_.emplace_back(buffer, offset, bytes);
  return static_cast<int>(regions_.size()) - 1;
}

// Activations in buffers share one arena.
Status Layout::PlaceActivations() {
  std::vector<Lifetime> lifetimes;
  std::vector<PlacedTensor*> placed;
  for (PlacedTensor& tensor : tensors_) {
    if (tensor.first < 0 || tensor.constant || tensor.layout.kind != Kind::kSlicesBuffer) continue;
    lifetimes.push_back({tensor.bytes, tensor.first, tensor.last});
    placed.push_back(&tensor);
  }
  if (placed.empty()) return Status();
  const MemoryLayout memory = PlaceBySize(lifetimes, std::max(gpu_.buffer_alignment_bytes, 64));
  // One arena as long as the device allows a buffer so large, and its parts are not slow.
  const bool is_arena =
      !gpu_.separate_buffers && !gpu_.whole_buffers && memory.bytes <= gpu_.max_buffer_bytes;
  std::vector<int> buffer_of(placed.size());
  if (gpu_.separate_buffers) std::iota(buffer_of.begin(), buffer_of.end(), 0);
  else if (!is_arena) buffer_of = ShareObjects(lifetimes);
  const size_t first = buffers_.size();
  for (size_t i = 0; i < placed.size(); ++i) {
    const int buffer = static_cast<int>(first) + buffer_of[i];
    while (buffers_.size() <= static_cast<size_t>(buffer)) {
      buffers_.push_back({fb::BufferKind_Arena, 0, 0, 0, Cell::kFloat, false, {}});
    }
    const uint64_t offset = is_arena ? static_cast<uint64_t>(memory.offsets[i]) : 0;
    const uint64_t bytes = static_cast<uint64_t>(placed[i]->bytes);
    uint64_t& room = buffers_[static_cast<size_t>(buffer)].bytes;
    room = std::max(room, is_arena ? static_cast<uint64_t>(memory.bytes) : bytes);
    placed[i]->region = AddRegion(buffer, offset, bytes);
  }
  for (size_t i = first; i < buffers_.size(); ++i) activation_bytes_ += buffers_[i].bytes;
  lower_bound_ += static_cast<uint64_t>(memory.lower_bound);
  return Status();
}

// Images are whole objects, shared by tensors of the same size.
void Layout::PlaceImages() {
  std::vector<Lifetime> lifetimes;
  std::vector<int64_t> shapes;
  std::vector<PlacedTensor*> placed;
  for (PlacedTensor& tensor : tensors_) {
    if (tensor.first < 0 || tensor.layout.kind != Kind::kSlicesImage2d) continue;
    const Shape& s = tensor.layout.shape;
    lifetimes.push_back({tensor.bytes, tensor.first, tensor.last});
    shapes.push_back((int64_t{s.w} << 32) | (int64_t{s.b} * s.slices() * s.h << 2) |
                     static_cast<int>(tensor.layout.cell));
    placed.push_back(&tensor);
  }
  if (placed.empty()) return;
  const std::vector<int> objects = ShareEqualObjects(lifetimes, shapes);
  const int first_buffer = static_cast<int>(buffers_.size());
  for (size_t i = 0; i < placed.size(); ++i) {
    const int buffer = first_buffer + objects[i];
    if (buffer == static_cast<int>(buffers_.size())) {
      const Shape& s = placed[i]->layout.shape;
      buffers_.push_back({fb::BufferKind_Image,
                          static_cast<uint64_t>(placed[i]->bytes),
                          s.w,
                          s.b * s.slices() * s.h,
                          placed[i]->layout.cell,
                          false,
                          {}});
      activation_bytes_ += static_cast<uint64_t>(placed[i]->bytes);
    }
    placed[i]->region = AddRegion(buffer, 0, static_cast<uint64_t>(placed[i]->bytes));
  }
  lower_bound_ += static_cast<uint64_t>(PlaceBySize(lifetimes, 1).lower_bound);
}

void Layout::PlaceIo() {
  int copies = -1;  // the buffer of all of them
  for (PlacedTensor& tensor : tensors_) {
    if (tensor.layout.kind != Kind::kDenseBuffer) continue;
    if (tensor.memory_of >= 0) {
      tensor.region = RegionOf(tensor.memory_of);
      continue;
    }
    int buffer = copies;
    if (!tensor.copy_of || buffer < 0) {
      buffer = static_cast<int>(buffers_.size());
      buffers_.push_back({fb::BufferKind_Io, 0, 0, 0, Cell::kFloat, false, {}});
    }
    if (tensor.copy_of) copies = buffer;
    const uint64_t bytes = static_cast<uint64_t>(AlignUp(tensor.bytes, 4));  // GLSL reads words
    uint64_t& room = buffers_[static_cast<size_t>(buffer)].bytes;
    room = std::max(room, bytes);
    tensor.region = AddRegion(buffer, 0, bytes);
  }
}

// Large constants have buffers of their own, which plans share. All others lie in one, unless the
// device's largest is too small or a memory checker is to see each one's end.
int Layout::AddConstantRegion(uint64_t bytes) {
  constexpr uint64_t kLarge = 1 << 16;
  const int64_t alignment = std::max(gpu_.buffer_alignment_bytes, 64);
  constant_bytes_ += bytes;
  if (bytes >= kLarge) {
    buffers_.push_back({fb::BufferKind_Constant, bytes, 0, 0, Cell::kFloat, true, {}});
    return AddRegion(static_cast<int>(buffers_.size()) - 1, 0, bytes);
  }
  const bool fresh = constant_buffer_ < 0 || gpu_.separate_buffers ||
                     buffers_[static_cast<size_t>(constant_buffer_)].bytes +
                             static_cast<uint64_t>(alignment) + bytes >
                         static_cast<uint64_t>(gpu_.max_buffer_bytes);
  if (fresh) {
    constant_buffer_ = static_cast<int>(buffers_.size());
    buffers_.push_back({fb::BufferKind_Constant, 0, 0, 0, Cell::kFloat, false, {}});
  }
  PlannedBuffer& buffer = buffers_[static_cast<size_t>(constant_buffer_)];
  const uint64_t offset =
      static_cast<uint64_t>(AlignUp(static_cast<int64_t>(buffer.bytes), alignment));
  buffer.bytes = offset + bytes;
  return AddRegion(constant_buffer_, offset, bytes);
}

void Layout::PlaceConstants(const std::vector<KernelDesc>& kernels) {
  const auto add = [&](uint64_t offset, const ConstantArg* constant, const PlacedTensor* tensor) {
    const auto buffer = static_cast<size_t>(regions_.back().buffer());
    buffers_[buffer].pieces.push_back({offset, constant, tensor});
  };
  for (PlacedTensor& tensor : tensors_) {
    if (!tensor.constant || tensor.first < 0) continue;
    tensor.region = AddConstantRegion(static_cast<uint64_t>(tensor.bytes));
    add(regions_.back().offset(), nullptr, &tensor);
  }
  for (const KernelDesc& kernel : kernels) {
    const std::vector<int> joined = JoinedConstants(kernel, context_.DialectOf().language);
    uint64_t together = 0;
    for (int i : joined) together += BytesOfConstant(kernel.constants[static_cast<size_t>(i)]);
    const int region = joined.empty() ? -1 : AddConstantRegion(together);
    uint64_t offset = joined.empty() ? 0 : regions_.back().offset();
    for (int i : joined) {
      const ConstantArg& constant = kernel.constants[static_cast<size_t>(i)];
      region_of_constant_[&constant] = region;
      add(offset, &constant, nullptr);
      offset += BytesOfConstant(constant);
    }
    for (const ConstantArg& constant : kernel.constants) {
      if (region_of_constant_.count(&constant)) continue;
      region_of_constant_[&constant] = AddConstantRegion(BytesOfConstant(constant));
      add(regions_.back().offset(), &constant, nullptr);
    }
  }
}

// One after the other: what was packed for one goes before the next is.
void Layout::Write(const Piece& piece, uint8_t* to) const {
  if (piece.constant) return Store(piece.constant->pack(), piece.constant->half, to);
  const TensorLayout& layout = piece.tensor->layout;
  const Constant& constant = *piece.tensor->constant;
  if (layout.is_int()) {
    const std::vector<int32_t> ints = PackSlices(constant.ints(), layout.shape);
    memcpy(to, ints.data(), ints.size() * sizeof(ints[0]));
    return;
  }
  Store(PackSlices(*constant.floats(), layout.shape), layout.half(), to);
}

size_t Layout::large_constants() const {
  const auto is_large = [](const PlannedBuffer& buffer) { return buffer.is_shared; };
  return static_cast<size_t>(std::count_if(buffers_.begin(), buffers_.end(), is_large));
}

int Layout::RegionOf(const ConstantArg& constant) const {
  return region_of_constant_.at(&constant);
}

Layout::Vector<flatbuffers::Offset<fb::Buffer>> Layout::WriteBuffers(Builder* builder) const {
  std::vector<flatbuffers::Offset<fb::Buffer>> buffers;
  for (const PlannedBuffer& buffer : buffers_) {
    flatbuffers::Offset<flatbuffers::Vector<uint8_t>> data;
    ContentHash content;
    if (buffer.kind == fb::BufferKind_Constant) {
      uint8_t* bytes = nullptr;
      // Large ones begin with a page: the cache maps them from files of their own.
      builder->ForceVectorAlignment(buffer.bytes, 1,
                                    buffer.is_shared ? PageBytes() : PlanBytes::kAlignment);
      data = builder->CreateUninitializedVector(buffer.bytes, 1, &bytes);
      memset(bytes, 0, buffer.bytes);  // between the pieces
      for (const Piece& piece : buffer.pieces) Write(piece, bytes + piece.offset);
      if (buffer.is_shared) content.Add(bytes, buffer.bytes);
    }
    buffers.push_back(fb::CreateBuffer(*builder, buffer.kind, buffer.bytes, data, buffer.width,
                                       buffer.height, static_cast<fb::Cell>(buffer.cell),
                                       buffer.is_shared ? content.low() : 0,
                                       buffer.is_shared ? content.high() : 0));
  }
  return builder->CreateVector(buffers);
}

Layout::Vector<const fb::Region*> Layout::WriteRegions(Builder* builder) const {
  return builder->CreateVectorOfStructs(regions_);
}

Layout::Vector<flatbuffers::Offset<fb::Tensor>> Layout::WriteTensors(
    Builder* builder, const std::vector<int>& dispatch_of) const {
  std::vector<flatbuffers::Offset<fb::Tensor>> tensors;
  for (const PlacedTensor& tensor : tensors_) {
    const Shape& s = tensor.layout.shape;
    const std::vector<int> shape = {s.b, s.h, s.w, s.c};
    fb::Region region(-1, 0, 0);
    const bool used = tensor.first >= 0;
    const int first = used ? dispatch_of[static_cast<size_t>(tensor.first)] : -1;
    const int last = used ? dispatch_of[static_cast<size_t>(tensor.last) + 1] - 1 : -1;
    if (tensor.region >= 0) region = regions_[static_cast<size_t>(tensor.region)];
    tensors.push_back(fb::CreateTensorDirect(
        *builder, tensor.name.c_str(), &shape, region.buffer(), region.offset(),
        tensor.layout.is_bytes() ? static_cast<uint64_t>(tensor.bytes) : region.bytes(),
        static_cast<fb::Cell>(tensor.layout.cell), tensor.layout.kind == Kind::kDenseBuffer, first,
        last, tensor.copy_of));
  }
  return builder->CreateVector(tensors);
}

}  // namespace quadra
