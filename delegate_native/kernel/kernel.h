// The description of a kernel: what it reads and writes, its numbers, its grid, and a body in the
// GLSL-like dialect (docs/kernels.md). Rendering adds a prelude and accessors for one language. The
// kernels themselves are in ops/, in the file of their op.
//
// Tensors of activations are slices of four channels; a body reads and writes them with
//   vec4 read_NAME(x, y, s)      write_NAME(value, x, y, s)      s = batch * NAME_s + slice
// and knows their sizes as the ints NAME_w, NAME_h, NAME_s (slices), NAME_c, NAME_b.
// Wide kernels (OpenCL only) have pointers: NAME_lanes is the first channel of a tensor's or a
// constant's first element, of type LANES, read by lane_at(p), quad_at(p) and quads_at(p); that of
// a written tensor is of type OUT_LANES, written by put_quads(v, p). write_quads_NAME(value, x, y,
// s) writes the four pixels of a vec16. Dense tensors (inputs and outputs of a partition, BHWC
// floats): read_NAME(i), write_NAME(value, i), one float each. Constants: vecN read_NAME(i), N as
// declared.
#ifndef QUADRA_KERNEL_KERNEL_H_
#define QUADRA_KERNEL_KERNEL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "delegate_native/base/element.h"
#include "delegate_native/base/lean/function.h"
#include "delegate_native/base/shape.h"

namespace quadra {

class ContentHash;

// kKept: written, but in no memory; the last of its steps (TensorArg::epilogue) takes it.
enum class Access { kRead, kWrite, kKept };

struct TensorArg {
  std::string name;
  int tensor = -1;  // id in the plan: a graph's value, or one made for the kernel
  Access access = Access::kRead;
  bool dense = false;  // a body that asks for its numbers one by one
  // Runs on the value of write_NAME just before it is stored: reads and assigns `vec4 v`, knows the
  // place as `x, y, s` (each prefixed e_). Empty: stored as it is.
  std::string epilogue;
};

struct ConstantArg {
  std::string name;
  int width = 4;       // numbers per element: 1, 4, 8 or 16
  int64_t floats = 0;  // how many numbers
  bool ints = false;   // of 32 bits: `pack` makes their bits
  bool half = false;   // kept so; the plan says
  bool halfs = false;  // they are halfs in the model: kept so in every precision
  // Makes them, when the plan is written: a kernel that is only judged never asks.
  Function<std::vector<float>()> pack;
  // In its place, of large ints and halfs: puts them where they are to lie, where zeros were.
  Function<void(int32_t* to)> write;
  // Hashes what `write` makes them of, and how: of equal ones equal bytes come, so that who has
  // these need not make them again. May be null.
  Function<void(ContentHash* hash)> source;

  // How they are kept, where the precision asks for halfs.
  Cell CellOf(bool half) const {
    return ints ? Cell::kInt : (half || halfs) && width > 1 ? Cell::kHalf : Cell::kFloat;
  }
};

struct ScalarArg {
  std::string name;
  bool is_float = false;
  int i = 0;
  float f = 0.0f;
};

struct SharedArg {
  std::string name;
  std::string type;  // "float", "vec4", "sum_t" or "sum4_t"
  int count = 0;
};

// The kernels of a program are all of one.
struct Variant {
  bool float32 = false;      // its text and constants are, whatever the plan's precision
  bool unoptimised = false;  // by the driver's compiler

  bool operator==(const Variant& other) const {
    return float32 == other.float32 && unoptimised == other.unoptimised;
  }
};

struct KernelDesc {
  std::string name;  // of the op or variant: "conv2d", names the kernel's file
  std::vector<TensorArg> tensors;
  std::vector<ConstantArg> constants;
  std::vector<ScalarArg> scalars;
  std::vector<SharedArg> shared;
  std::string body;
  std::string epilogue_tensor;  // the tensor that merged steps belong to
  int grid[3] = {1, 1, 1};      // work-items; rounded up to groups when launched, bodies guard
  int group[3] = {1, 1, 1};     // work-items of a group
  int64_t trips = 0;            // of all loops of one work-item together, where they may be many
  Variant variant;
  bool shares_sums = false;  // its work-items, in a group that must be as it is
  bool reads_own = false;    // a work-item reads the first tensor only where it writes
  bool outlined = false;     // OpenCL on CPUs: the body is a function of its own, compiled once
  int parts = 1;             // kernels that were joined to this one (plan/join_kernels.h)

  KernelDesc() = default;
  explicit KernelDesc(std::string kernel_name) : name(std::move(kernel_name)) {}

  void Read(std::string_view arg, int tensor) {
    tensors.push_back({std::string(arg), tensor, Access::kRead, false, ""});
  }
  void Write(std::string_view arg, int tensor) {
    epilogue_tensor = arg;
    tensors.push_back({std::string(arg), tensor, Access::kWrite, false, ""});
  }
  void Constant(std::string_view arg, int width, int64_t floats,
                Function<std::vector<float>()> pack) {
    constants.push_back(
        {std::string(arg), width, floats, false, false, false, std::move(pack), {}, {}});
  }
  // Ints, or halfs, of which `write` puts two into each int.
  void Stored(std::string_view arg, int width, int64_t count, bool halfs,
              Function<void(int32_t*)> write, Function<void(ContentHash*)> source) {
    constants.push_back({std::string(arg),
                         width,
                         count,
                         !halfs,
                         false,
                         halfs,
                         {},
                         std::move(write),
                         std::move(source)});
  }
  void ReadDense(std::string_view arg, int tensor) {
    Read(arg, tensor);
    tensors.back().dense = true;
  }
  void WriteDense(std::string_view arg, int tensor) {
    Write(arg, tensor);
    tensors.back().dense = true;
  }
  // A short constant.
  void Constant(std::string_view arg, std::vector<float> data, int width = 4) {
    const int64_t floats = static_cast<int64_t>(data.size());
    Constant(arg, width, floats, [data = std::move(data)] { return data; });
  }
  void Int(std::string_view arg, int value) {
    scalars.push_back({std::string(arg), false, value, 0.0f});
  }
  void Float(std::string_view arg, float value) {
    scalars.push_back({std::string(arg), true, 0, value});
  }
  void Grid(int x, int y, int z) { grid[0] = x, grid[1] = y, grid[2] = z; }
  void Group(int x, int y, int z) { group[0] = x, group[1] = y, group[2] = z; }
  // The index of epilogue_tensor.
  size_t Written() const {
    size_t i = 0;
    while (tensors[i].name != epilogue_tensor) ++i;
    return i;
  }
  // Whether work-items know nothing of each other: any group gives the same numbers.
  bool HasFreeGroup() const { return shared.empty() && !outlined; }
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_H_
