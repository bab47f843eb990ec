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

// Rows of pixels of an image: slices lie below each other.
int64_t RowsOf(const TensorLayout& layout) {
  return int64_t{layout.shape.b} * layout.shape.slices() * layout.shape.h;
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
  PlaceActivations();
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
      if (arg.access == Access::kKept) continue;
      PlacedTensor& tensor = tensors_[static_cast<size_t>(arg.tensor)];
      if (tensor.first < 0) tensor.first = static_cast<int>(k);
      tensor.last = static_cast<int>(k);
    }
  }
  for (PlacedTensor& tensor : tensors_) {
    tensor.bytes = BytesOf(tensor.layout);
    if (!tensor.layout.is_view || tensor.first < 0) continue;
    // Whoever needs a view needs its memory; the plan lists that alone.
    PlacedTensor& memory = tensors_[static_cast<size_t>(tensor.memory_of)];
    memory.first = memory.first < 0 ? tensor.first : std::min(memory.first, tensor.first);
    memory.last = std::max(memory.last, tensor.last);
    tensor.first = tensor.last = -1;
  }
}

int Layout::RegionOf(int tensor) const {
  const PlacedTensor& placed = at(tensor);
  return placed.layout.is_view ? RegionOf(placed.memory_of) : placed.region;
}

int Layout::AddRegion(int buffer, uint64_t offset, uint64_t bytes) {
  regions_.emplace_back(buffer, offset, bytes);
  return static_cast<int>(regions_.size()) - 1;
}

Layout::Tensors Layout::Activations(Kind kind) {
  Tensors found;
  for (PlacedTensor& tensor : tensors_) {
    if (tensor.first >= 0 && !tensor.constant && tensor.layout.kind == kind)
      found.push_back(&tensor);
  }
  return found;
}

// From one row of pixels to the next, over a buffer.
uint32_t Layout::RowBytes(const PlacedTensor& image) const {
  const int pixel = image.layout.half() ? 8 : 16;
  const int step = gpu_.image_row_bytes > 0 ? std::max(gpu_.image_row_bytes, pixel)
                                            : std::max(gpu_.image_pitch_alignment, 1) * pixel;
  return static_cast<uint32_t>(AlignUp(int64_t{image.layout.shape.w} * pixel, step));
}

// Images have the rows that they have over a buffer.
std::vector<Lifetime> Layout::LifetimesOf(const Tensors& buffers, const Tensors& images) const {
  std::vector<Lifetime> lifetimes;
  for (const PlacedTensor* one : buffers) lifetimes.push_back({one->bytes, one->first, one->last});
  for (const PlacedTensor* one : images) {
    lifetimes.push_back({int64_t{RowBytes(*one)} * RowsOf(one->layout), one->first, one->last});
  }
  return lifetimes;
}

int64_t Layout::ArenaAlignment(bool has_images) const {
  constexpr int kPixelBytes = 16;
  const int least = std::max(gpu_.buffer_alignment_bytes, 64);
  return has_images ? std::max(least, gpu_.image_base_alignment * kPixelBytes) : least;
}

Layout::PlannedBuffer Layout::ImageOf(const PlacedTensor& tensor) {
  PlannedBuffer image;
  image.kind = fb::BufferKind_Image;
  image.bytes = static_cast<uint64_t>(tensor.bytes);
  image.width = tensor.layout.shape.w;
  image.height = static_cast<int>(RowsOf(tensor.layout));
  image.cell = tensor.layout.cell;
  return image;
}

int Layout::AddBuffer(fb::BufferKind kind, int64_t bytes) {
  PlannedBuffer buffer;
  buffer.kind = kind;
  buffer.bytes = static_cast<uint64_t>(bytes);
  buffers_.push_back(std::move(buffer));
  return static_cast<int>(buffers_.size()) - 1;
}

// The first of them.
int Layout::AddArenas(const std::vector<int64_t>& bytes_of_each) {
  const auto first = static_cast<int>(buffers_.size());
  for (int64_t bytes : bytes_of_each) {
    AddBuffer(fb::BufferKind_Arena, bytes);
    activation_bytes_ += static_cast<uint64_t>(bytes);
  }
  return first;
}

// Activations share one arena, images over parts of it, too, if the target makes such. Otherwise
// images share buffers or, at equal size, objects. Rows that the driver wants longer than they are
// may take more than all of that gains: whichever takes the fewest bytes.
void Layout::PlaceActivations() {
  const Tensors in_buffers = Activations(Kind::kSlicesBuffer);
  const Tensors images = Activations(Kind::kSlicesImage2d);
  const MemoryLayout arena = PlaceBySize(LifetimesOf(in_buffers, {}), ArenaAlignment(false));
  std::vector<Lifetime> alone;
  std::vector<int64_t> shapes;
  for (const PlacedTensor* one : images) {
    alone.push_back({one->bytes, one->first, one->last});
    shapes.push_back((int64_t{one->layout.shape.w} << 32) | (RowsOf(one->layout) << 2) |
                     static_cast<int>(one->layout.cell));
  }
  const std::vector<int> objects = ShareEqualObjects(alone, shapes);
  int64_t fewest = arena.bytes;
  for (size_t i = 0; i < images.size(); ++i) {
    const auto first = std::find(objects.begin(), objects.end(), objects[i]) - objects.begin();
    if (static_cast<size_t>(first) == i) fewest += images[i]->bytes;
  }
  const ImageMemory may =
      images.empty() || gpu_.separate_buffers ? ImageMemory::kOwn : gpu_.image_memory;
  if (may == ImageMemory::kArena && !gpu_.whole_buffers) {
    const MemoryLayout all = PlaceBySize(LifetimesOf(in_buffers, images), ArenaAlignment(true));
    if (all.bytes <= std::min(fewest, gpu_.max_buffer_bytes)) {
      return PlaceInArena(in_buffers, images, all);
    }
  }
  PlaceInArena(in_buffers, {}, arena);
  const SharedObjects shared = ShareObjects(LifetimesOf({}, images));
  int64_t bytes = arena.bytes;
  for (int64_t one : shared.bytes) bytes += one;
  if (may != ImageMemory::kOwn && bytes <= fewest) return PlaceInBuffers(images, shared);
  PlaceAlone(images, objects);
}

// One arena as long as the device allows a buffer so large, and its parts are not slow; else whole
// buffers, which tensors share.
void Layout::PlaceInArena(const Tensors& buffers, const Tensors& images,
                          const MemoryLayout& memory) {
  if (memory.offsets.empty()) return;
  const bool is_arena =
      !gpu_.separate_buffers && !gpu_.whole_buffers && memory.bytes <= gpu_.max_buffer_bytes;
  SharedObjects shared = {std::vector<int>(buffers.size()), {memory.bytes}};
  if (gpu_.separate_buffers) {
    std::iota(shared.objects.begin(), shared.objects.end(), 0);
    shared.bytes.clear();
    for (const PlacedTensor* one : buffers) shared.bytes.push_back(one->bytes);
  } else if (!is_arena) {
    shared = ShareObjects(LifetimesOf(buffers, {}));
  }
  const int first = AddArenas(shared.bytes);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const int64_t offset = is_arena ? memory.offsets[i] : 0;
    buffers[i]->region = AddRegion(first + shared.objects[i], static_cast<uint64_t>(offset),
                                   static_cast<uint64_t>(buffers[i]->bytes));
  }
  for (size_t i = 0; i < images.size(); ++i) {
    PlaceOver(first, static_cast<uint64_t>(memory.offsets[buffers.size() + i]), images[i]);
  }
  lower_bound_ += static_cast<uint64_t>(memory.lower_bound);
}

void Layout::PlaceInBuffers(const Tensors& images, const SharedObjects& shared) {
  const int first = AddArenas(shared.bytes);
  for (size_t i = 0; i < images.size(); ++i) PlaceOver(first + shared.objects[i], 0, images[i]);
  lower_bound_ += static_cast<uint64_t>(PlaceBySize(LifetimesOf({}, images), 1).lower_bound);
}

// One object for all tensors of the same size at the same place.
void Layout::PlaceOver(int buffer, uint64_t offset, PlacedTensor* image) {
  PlannedBuffer made = ImageOf(*image);
  made.lies_in = buffer;
  made.offset = offset;
  made.row_bytes = RowBytes(*image);
  const auto is_same = [&](const PlannedBuffer& one) {
    return one.lies_in == made.lies_in && one.offset == made.offset && one.width == made.width &&
           one.height == made.height && one.cell == made.cell;
  };
  const auto known = std::find_if(buffers_.begin(), buffers_.end(), is_same);
  const auto index = static_cast<int>(known - buffers_.begin());
  if (known == buffers_.end()) buffers_.push_back(std::move(made));
  image->region = AddRegion(index, 0, static_cast<uint64_t>(image->bytes));
}

// Whole objects, shared by tensors of the same size.
void Layout::PlaceAlone(const Tensors& images, const std::vector<int>& objects) {
  const int first_buffer = static_cast<int>(buffers_.size());
  for (size_t i = 0; i < images.size(); ++i) {
    const int buffer = first_buffer + objects[i];
    if (buffer == static_cast<int>(buffers_.size())) {
      buffers_.push_back(ImageOf(*images[i]));
      activation_bytes_ += static_cast<uint64_t>(images[i]->bytes);
    }
    images[i]->region = AddRegion(buffer, 0, static_cast<uint64_t>(images[i]->bytes));
  }
  std::vector<Lifetime> lifetimes;
  for (const PlacedTensor* one : images) lifetimes.push_back({one->bytes, one->first, one->last});
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
      buffer = AddBuffer(fb::BufferKind_Io, 0);
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
    const int buffer = AddBuffer(fb::BufferKind_Constant, static_cast<int64_t>(bytes));
    buffers_.back().is_shared = true;
    return AddRegion(buffer, 0, bytes);
  }
  const bool fresh = constant_buffer_ < 0 || gpu_.separate_buffers ||
                     buffers_[static_cast<size_t>(constant_buffer_)].bytes +
                             static_cast<uint64_t>(alignment) + bytes >
                         static_cast<uint64_t>(gpu_.max_buffer_bytes);
  if (fresh) {
    constant_buffer_ = AddBuffer(fb::BufferKind_Constant, 0);
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
  if (piece.constant && piece.constant->write) {
    return piece.constant->write(reinterpret_cast<int32_t*>(to));
  }
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

Layout::Vector<flatbuffers::Offset<fb::Buffer>> Layout::WriteBuffers(Builder* builder,
                                                                     WeightStore* known) const {
  std::vector<flatbuffers::Offset<fb::Buffer>> buffers;
  std::vector<ContentHash> written;  // large ones of this plan
  for (const PlannedBuffer& buffer : buffers_) {
    flatbuffers::Offset<flatbuffers::Vector<uint8_t>> data;
    ContentHash content;
    if (buffer.kind == fb::BufferKind_Constant) {
      uint8_t* bytes = nullptr;
      // Large ones begin with a page: the cache maps them from files of their own.
      builder->ForceVectorAlignment(buffer.bytes, 1,
                                    buffer.is_shared ? PageBytes() : PlanBytes::kAlignment);
      data = builder->CreateUninitializedVector(buffer.bytes, 1, &bytes);
      // Lookups and products of this plan may share them, too: a tied table.
      const auto has = [&](const ContentHash& made) {
        const auto is_equal = [&](const ContentHash& one) {
          return one.low() == made.low() && one.high() == made.high();
        };
        return std::any_of(written.begin(), written.end(), is_equal) ||
               known->Has(made.low(), made.high(), buffer.bytes);
      };
      const ConstantArg* const large = buffer.is_shared && known && buffer.pieces.size() == 1 &&
                                               buffer.pieces[0].constant &&
                                               buffer.pieces[0].constant->source
                                           ? buffer.pieces[0].constant
                                           : nullptr;
      ContentHash source;
      if (large) large->source(&source);
      // Then the bytes stay as a mapping has them, in no memory: nobody reads them.
      const bool is_made = large && known->Recall(source, &content) && has(content);
      if (!is_made) {
        memset(bytes, 0, buffer.bytes);  // between the pieces
        for (const Piece& piece : buffer.pieces) Write(piece, bytes + piece.offset);
        content = ContentHash();
        if (buffer.is_shared) content.Add(bytes, buffer.bytes);
        if (large) known->Remember(source, content);
        if (buffer.is_shared && known && has(content)) GiveBack(bytes, buffer.bytes);
      }
      if (buffer.is_shared) written.push_back(content);
    }
    buffers.push_back(fb::CreateBuffer(*builder, buffer.kind, buffer.bytes, data, buffer.width,
                                       buffer.height, static_cast<fb::Cell>(buffer.cell),
                                       buffer.is_shared ? content.low() : 0,
                                       buffer.is_shared ? content.high() : 0, buffer.lies_in + 1,
                                       buffer.offset, buffer.row_bytes));
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
