#include "delegate_native/kernel/bindings.h"

#include <algorithm>

namespace quadra {
namespace {

using Kind = TensorLayout::Kind;
using View = RenderedArg::View;

int64_t TexelsOf(const TensorLayout& layout, int width) {
  const Shape& s = layout.shape;
  if (layout.is_bytes()) return (s.elements() + 3) / 4;
  return width == 1 ? s.elements() : int64_t{s.b} * s.slices() * s.h * s.w;
}

// Hands out a device's units, one argument after the other.
class Binder {
 public:
  Binder(const Dialect& dialect, Bindings* bindings) : dialect_(dialect), bindings_(bindings) {}

  // A buffer: as an image of one row while there are units for that, else as a storage block.
  View Buffer(bool may_be_row, int64_t texels, int width, Cell cell) {
    const bool row = may_be_row && bindings_->image_units < dialect_.image_units &&
                     texels <= dialect_.max_row_texels;
    ++(row ? bindings_->image_units : bindings_->storage_blocks);
    if (!row) return View::kMemory;
    if (cell == Cell::kInt) return width == 1 ? View::kTexelsInt : View::kTexelsInt4;
    return width == 1            ? View::kTexelsFloat
           : cell == Cell::kHalf ? View::kTexelsHalf4
                                 : View::kTexelsFloat4;
  }

 private:
  const Dialect& dialect_;
  Bindings* bindings_;
};

bool Holds(const std::vector<int>& list, size_t index) {
  return std::find(list.begin(), list.end(), static_cast<int>(index)) != list.end();
}

}  // namespace

std::vector<int> JoinedConstants(const KernelDesc& desc, Language language) {
  std::vector<int> joined;
  if (language != Language::kGles) return joined;
  for (size_t i = 0; i < desc.constants.size(); ++i) {
    const ConstantArg& constant = desc.constants[i];
    if (constant.width == 4 && !constant.ints && !constant.halfs)
      joined.push_back(static_cast<int>(i));
  }
  // Those of kernels that were joined are shared with other plans.
  if (joined.size() < 2 || desc.parts > 1) joined.clear();
  return joined;
}

Bindings BindingsOf(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                    const Dialect& dialect) {
  Bindings bindings;
  bindings.joined = JoinedConstants(desc, dialect.language);
  // Images first: they have no other way.
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (layouts[i].kind != Kind::kSlicesImage2d || desc.tensors[i].access == Access::kKept)
      continue;
    const bool read = desc.tensors[i].access == Access::kRead;
    ++(read ? bindings.texture_units : bindings.image_units);
  }
  // OpenCL's tensors have memory that callers may replace, so they stay buffers.
  const bool is_gles = dialect.language == Language::kGles;
  Binder binder(dialect, &bindings);
  for (size_t i = 0; i < layouts.size(); ++i) {
    const bool image = layouts[i].kind == Kind::kSlicesImage2d;
    const int width = desc.tensors[i].dense ? 1 : 4;
    bindings.tensors.push_back(
        image || desc.tensors[i].access == Access::kKept
            ? View::kMemory
            : binder.Buffer(is_gles && desc.tensors[i].access == Access::kRead,
                            TexelsOf(layouts[i], width), width,
                            layouts[i].is_int() ? Cell::kInt : layouts[i].cell));
  }
  int64_t joined_texels = 0;
  for (int i : bindings.joined) joined_texels += desc.constants[static_cast<size_t>(i)].floats / 4;
  for (size_t i = 0; i < desc.constants.size(); ++i) {
    const ConstantArg& constant = desc.constants[i];
    const Cell cell = constant.CellOf(StoresHalf(dialect.precision));
    if (!Holds(bindings.joined, i)) {
      const bool may_be_row = is_gles || (constant.width == 4 && !constant.ints);
      bindings.constants.push_back(
          binder.Buffer(may_be_row, constant.floats / constant.width, constant.width, cell));
    } else if (static_cast<int>(i) == bindings.joined[0]) {
      bindings.constants.push_back(binder.Buffer(true, joined_texels, 4, cell));
    } else {
      bindings.constants.push_back(bindings.constants[static_cast<size_t>(bindings.joined[0])]);
    }
  }
  return bindings;
}

}  // namespace quadra
