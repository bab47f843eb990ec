// Where every tensor and constant of a plan lies: storage, buffers, offsets.
#ifndef QUADRA_PLAN_LAYOUT_H_
#define QUADRA_PLAN_LAYOUT_H_

#include <map>
#include <string>
#include <vector>

#include "delegate_native/ops/op.h"
#include "delegate_native/plan/memory_planner.h"
#include "delegate_native/plan/plan_generated.h"
#include "delegate_native/plan/weights.h"

namespace quadra {

class Layout {
 public:
  // The graph's values get the ids 0, 1, …; those between a node's kernels the ids after them.
  Layout(const KernelContext& context, const Graph& graph, const std::vector<Value>& scratch);

  const TensorLayout& LayoutOf(int tensor) const { return at(tensor).layout; }

  // Decides lifetimes, buffers and offsets from the kernels in the order of their dispatch, which
  // must stay where they are until the buffers are written.
  Status Place(const std::vector<KernelDesc>& kernels);

  // The kernel's argument, as an index into the plan's regions. After Place.
  int RegionOf(int tensor) const;
  int RegionOf(const ConstantArg& constant) const;
  // Bytes from the beginning of its buffer.
  uint64_t OffsetOf(int region) const { return regions_[static_cast<size_t>(region)].offset(); }

  using Builder = flatbuffers::FlatBufferBuilder;
  template <typename T>
  using Vector = flatbuffers::Offset<flatbuffers::Vector<T>>;
  // The pages of large constants that `known` has are given back again. It may be null.
  Vector<flatbuffers::Offset<fb::Buffer>> WriteBuffers(Builder* builder, WeightStore* known) const;
  Vector<const fb::Region*> WriteRegions(Builder* builder) const;
  // `dispatch_of[k]` is the first dispatch of kernel k; a last entry tells how many there are.
  Vector<flatbuffers::Offset<fb::Tensor>> WriteTensors(Builder* builder,
                                                       const std::vector<int>& dispatch_of) const;

  uint64_t activation_bytes() const { return activation_bytes_; }
  uint64_t activation_bytes_lower_bound() const { return lower_bound_; }
  uint64_t constant_bytes() const { return constant_bytes_; }
  size_t large_constants() const;  // how many have a buffer of their own

 private:
  struct PlacedTensor {
    std::string name;
    TensorLayout layout;
    ConstantData constant;  // a constant operand, packed into slices
    int first = -1, last = -1;
    int region = -1;
    int64_t bytes = 0;
    int copy_of = 0, memory_of = -1;
  };
  // A constant, or an operand that is one: made when the buffer is written.
  struct Piece {
    uint64_t offset;
    const ConstantArg* constant;
    const PlacedTensor* tensor;
  };
  struct PlannedBuffer {
    fb::BufferKind kind;
    uint64_t bytes = 0;
    int width = 0, height = 0;
    Cell cell = Cell::kFloat;
    bool is_shared = false;     // constants that other plans may have as well
    std::vector<Piece> pieces;  // of a constant buffer
    // An image's: in which buffer it lies, where there, and bytes from row to row; -1: in none.
    int lies_in = -1;
    uint64_t offset = 0;
    uint32_t row_bytes = 0;
  };
  using Tensors = std::vector<PlacedTensor*>;

  const PlacedTensor& at(int tensor) const { return tensors_[static_cast<size_t>(tensor)]; }
  void Write(const Piece& piece, uint8_t* to) const;
  void FindLifetimes(const std::vector<KernelDesc>& kernels);
  Tensors Activations(TensorLayout::Kind kind);
  uint32_t RowBytes(const PlacedTensor& image) const;
  std::vector<Lifetime> LifetimesOf(const Tensors& buffers, const Tensors& images) const;
  int64_t ArenaAlignment(bool has_images) const;
  void PlaceActivations();
  void PlaceInArena(const Tensors& buffers, const Tensors& images, const MemoryLayout& memory);
  void PlaceInBuffers(const Tensors& images, const SharedObjects& shared);
  void PlaceAlone(const Tensors& images, const std::vector<int>& objects);
  static PlannedBuffer ImageOf(const PlacedTensor& tensor);
  int AddArenas(const std::vector<int64_t>& bytes_of_each);
  int AddBuffer(fb::BufferKind kind, int64_t bytes);
  void PlaceOver(int buffer, uint64_t offset, PlacedTensor* image);
  void PlaceIo();
  void PlaceConstants(const std::vector<KernelDesc>& kernels);
  int AddRegion(int buffer, uint64_t offset, uint64_t bytes);
  int AddConstantRegion(uint64_t bytes);

  const KernelContext& context_;
  const GpuInfo& gpu_;
  std::vector<PlacedTensor> tensors_;
  std::vector<PlannedBuffer> buffers_;
  std::vector<fb::Region> regions_;
  std::map<const ConstantArg*, int> region_of_constant_;
  int constant_buffer_ = -1;
  uint64_t activation_bytes_ = 0, lower_bound_ = 0, constant_bytes_ = 0;
};

}  // namespace quadra

#endif  // QUADRA_PLAN_LAYOUT_H_
