// Makes a kernel's text for one GPU language.
#ifndef QUADRA_KERNEL_DIALECT_H_
#define QUADRA_KERNEL_DIALECT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "delegate_native/base/element.h"
#include "delegate_native/base/group.h"
#include "delegate_native/base/shape.h"
#include "delegate_native/base/slice_view.h"
#include "delegate_native/kernel/kernel.h"
#include "delegate_native/kernel/number_format.h"

namespace quadra {

// The language of a text, and how it may be written.
struct Dialect {
  Language language = Language::kOpenCl;
  Precision precision = Precision::kF32;
  // How many buffers of a kernel may be images, so that they are read as images of one row, and how
  // long such a row may be. OpenGL ES: written images are among them; OpenCL: constants alone may.
  // 0: none.
  int image_units = 0;
  int64_t max_row_texels = 0;
  // OpenGL ES: work-items lie in one row of groups of this many, and the text finds its x, y, z
  // from its place there; kernels with shared memory stay as they are. 0: grids are as described.
  int flat_group = 0;
  // Texts that would differ by little are one, which does a little more than is asked.
  bool merge_similar_sources = false;
  // OpenCL: elements are read at an offset of 32 bits.
  bool short_offsets = false;
  // Limits of one dispatch: groups, and loop iterations of all its work-items.
  int max_groups[3] = {INT32_MAX, INT32_MAX, INT32_MAX};
  int64_t max_trips = INT64_MAX;
};

// How one tensor of a kernel is stored.
struct TensorLayout {
  enum class Kind { kSlicesBuffer, kSlicesImage2d, kDenseBuffer };
  Kind kind = Kind::kSlicesBuffer;
  Cell cell = Cell::kFloat;
  Shape shape;
  bool is_view = false;  // its slices are some of one pixel's
  SliceView view;

  // A view that does not lie as another tensor of its shape does: only its accessors find it.
  bool is_scattered() const { return is_view && (shape.w > 1 || shape.h > 1 || view.run > 0); }
  bool half() const { return cell == Cell::kHalf; }
  bool is_int() const { return cell >= Cell::kInt; }
  bool is_bytes() const { return cell > Cell::kInt; }  // dense ones only
};

// One argument of the rendered kernel, in order.
struct RenderedArg {
  // kFirstTexel: where in its memory's row of texels the constant `index` begins.
  enum class Kind { kTensor, kConstant, kFirstTexel, kInt, kFloat };
  // How the kernel sees a buffer: as memory, or as an image of one row of four floats, halfs or
  // ints, or of single floats or ints.
  enum class View { kMemory, kTexelsFloat4, kTexelsHalf4, kTexelsFloat, kTexelsInt4, kTexelsInt };
  Kind kind = Kind::kInt;
  View view = View::kMemory;
  int index = 0;  // into desc.tensors or desc.constants
  int i = 0;
  float f = 0.0f;
};

struct RenderedKernel {
  std::string entry;   // name of the entry point
  std::string source;  // without the prelude
  std::vector<RenderedArg> args;
  int grid[3] = {1, 1, 1};
  Group group = {1, 1, 1};
  // The number that says where along an axis a dispatch begins; -1: at 0, one dispatch is enough.
  int base_arg[3] = {-1, -1, -1};
  int max_groups[3] = {1, 1, 1};  // of one dispatch
  // The types of its parameters, where a common entry point may call it (cpu/); else none.
  std::vector<std::string> types;
};

// The part that the kernels of a program share, all of which are in `sources`.
std::string Prelude(const Dialect& dialect, const std::string& sources);

// `layouts` runs parallel to desc.tensors. Two descriptions that differ only in numbers render to
// the same source: programs are shared by text. `entry` goes in as the kernel's name.
RenderedKernel Render(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                      const Dialect& dialect, const std::string& entry);

}  // namespace quadra

#endif  // QUADRA_KERNEL_DIALECT_H_
