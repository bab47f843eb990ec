// The part of rendering that all languages share; one instance renders one kernel.
#ifndef QUADRA_KERNEL_RENDERER_H_
#define QUADRA_KERNEL_RENDERER_H_

#include <string>
#include <vector>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/bindings.h"
#include "delegate_native/kernel/dialect.h"
#include "delegate_native/kernel/kernel.h"
#include "delegate_native/kernel/number_format.h"
#include "delegate_native/kernel/text.h"

namespace quadra {

bool IsWordChar(char c);
// Epilogues are macros, and macros are one line.
std::string OnOneLine(const std::string& text);

class Renderer {
 public:
  using Kind = TensorLayout::Kind;
  using View = RenderedArg::View;

  Renderer(const KernelDesc& desc, const std::vector<TensorLayout>& layouts, const Dialect& dialect)
      : desc_(desc),
        layouts_(layouts),
        dialect_(dialect),
        body_(desc.body),
        bindings_(BindingsOf(desc, layouts, dialect)) {}
  virtual ~Renderer() = default;

  RenderedKernel Run(const std::string& entry);

 protected:
  virtual void Declare(MemoryKind memory, bool read, const std::string& declaration) = 0;
  virtual void DeclareNumber(const std::string& name, bool is_float) = 0;
  virtual std::string Assemble(const std::string& entry) = 0;
  // They define the words of a tensor or constant, too.
  virtual void DeclareTensor(size_t i);
  virtual void DeclareConstant(size_t i);

  void DeclareInt(const std::string& name, int value);
  // A macro ("read_$t(I)") and its text, in both of which $t is the name of a tensor or constant.
  void Define(const std::string& name, const char* macro, const std::string& text);
  // Four numbers of a tensor.
  static const char* TypeOf(const TensorLayout& layout) {
    return layout.is_int() ? "ivec4" : "vec4";
  }
  // The statement behind write_$t: the merged steps, zeros in the dead lanes, then the store.
  // medium: behind write_medium_$t.
  std::string WriteText(size_t tensor, const std::string& store, bool medium) const;
  bool HasSteps(size_t tensor) const { return !desc_.tensors[tensor].epilogue.empty(); }
  // The merged steps on one line.
  std::string StepsOf(size_t tensor) const { return OnOneLine(desc_.tensors[tensor].epilogue); }
  // Declares e_c, the channels from e_s on, where the last slice has dead lanes.
  std::string CountLanes(size_t tensor) const;
  // Whether the body uses the word.
  bool BodyUses(const std::string& word) const;
  // " + base_x" where the grid is dispatched in parts.
  const char* Base(int axis) const;

  const KernelDesc& desc_;
  const std::vector<TensorLayout>& layouts_;
  const Dialect& dialect_;
  const std::string body_;
  const Bindings bindings_;
  RenderedKernel out_;
  std::string macros_, undefs_;
  bool flat_ = false;

 private:
  // A tensor or constant, whose elements are vectors of `width` numbers.
  struct Argument {
    const std::string& name;
    Cell cell;
    int width;
    bool slices, read;
    MemoryKind memory;
    const NumberFormat& format;
    std::string slice;  // of a view: which slice of the pixel is at (X, Y, S)
    // The text of a place in slices.
    const char* place() const {
      return slice.empty() || memory == MemoryKind::kImage ? format.place : slice.c_str();
    }
  };
  Argument ArgumentOf(const std::string& name, View view, bool is_image, Cell cell, int width,
                      bool slices, bool read) const;
  // Argument::slice.
  static std::string SliceOf(const TensorLayout& layout);
  // A text of its format, where an element's place is `at`.
  std::string Fill(const Argument& arg, const char* text, const char* at) const;
  // The macro of a read as a medium4_t, where the text has it.
  void DefineMedium(const Argument& arg, const std::string& name, const char* macro,
                    const char* at);
  // Behind write_medium_$t. The merged steps run on floats where some have no text for halfs.
  std::string WriteMediumText(size_t tensor, const Argument& arg) const;
  std::string MediumSteps(size_t tensor) const;
  void AddArgument(RenderedArg::Kind kind, size_t index, View view, const Argument& arg);
  // The words that walk through a tensor which is read in slices, where the body uses them. `fetch`
  // is the text of a read at P.
  void DefineWalk(const std::string& name, const TensorLayout& layout, const std::string& fetch);
  void NameNumbers();
  void AddDimensions();
  void MakeGrid();
  void Flatten();
};

RenderedKernel RenderOpenCl(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                            const Dialect& dialect, const std::string& entry);
RenderedKernel RenderGles(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                          const Dialect& dialect, const std::string& entry);

}  // namespace quadra

#endif  // QUADRA_KERNEL_RENDERER_H_
