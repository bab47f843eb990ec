#include "delegate_native/kernel/dialect.h"

#include <cctype>

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/prelude.h"

namespace quadra {
namespace {

using Kind = TensorLayout::Kind;
using View = RenderedArg::View;

bool IsWordChar(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Whether `text` uses `word` as a whole word.
bool Uses(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !IsWordChar(text[at - 1])) && (end == text.size() || !IsWordChar(text[end]))) {
      return true;
    }
  }
  return false;
}

int DimensionOf(const Shape& shape, char letter) {
  switch (letter) {
    case 'w': return shape.w;
    case 'h': return shape.h;
    case 's': return shape.slices();
    case 'c': return shape.c;
    default: return shape.b;
  }
}

// Epilogues are macros, and macros are one line.
std::string OnOneLine(const std::string& text) {
  std::string line;
  for (char c : text) line += c == '\n' ? ' ' : c;
  return line;
}

// Everything that differs between the languages; one instance renders one kernel.
class Renderer {
 public:
  Renderer(const KernelDesc& desc, const std::vector<TensorLayout>& layouts, const Dialect& dialect)
      : desc_(desc), layouts_(layouts), dialect_(dialect),
        half_constants_(dialect.precision != Precision::kF32) {}
  virtual ~Renderer() = default;

  RenderedKernel Run(const std::string& entry) {
    out_.entry = entry;
    for (size_t i = 0; i < desc_.tensors.size(); ++i) AddTensor(static_cast<int>(i));
    for (size_t i = 0; i < desc_.constants.size(); ++i) AddConstant(static_cast<int>(i));
    AddDimensions();
    for (const ScalarArg& scalar : desc_.scalars) {
      DeclareNumber(scalar.name, scalar.is_float);
      RenderedArg arg;
      arg.kind = scalar.is_float ? RenderedArg::Kind::kFloat : RenderedArg::Kind::kInt;
      arg.i = scalar.i;
      arg.f = scalar.f;
      out_.args.push_back(arg);
    }
    for (int axis = 0; axis < 3; ++axis) {
      out_.grid[axis] = desc_.grid[axis];
      out_.group[axis] = desc_.group[axis];
    }
    if (dialect_.flat_group > 0 && desc_.shared.empty()) Flatten();
    out_.source = Assemble(entry);
    return std::move(out_);
  }

 protected:
  // The view that the kernel has of it.
  virtual View DeclareTensor(const TensorArg& tensor, const TensorLayout& layout) = 0;
  virtual View DeclareConstant(const ConstantArg& constant, bool half) = 0;
  virtual void DeclareNumber(const std::string& name, bool is_float) = 0;
  virtual std::string Assemble(const std::string& entry) = 0;

  void Define(const std::string& name, const std::string& parameters, const std::string& text) {
    macros_ += "#define " + name + "(" + parameters + ") " + text + "\n";
    undefs_ += "#undef " + name + "\n";
  }

  // Work-items in one row; the text learns the sizes of the grid.
  void Flatten() {
    flat_ = true;
    DeclareInt("flat_w", desc_.grid[0]);
    DeclareInt("flat_h", desc_.grid[1]);
    out_.grid[0] = desc_.grid[0] * desc_.grid[1] * desc_.grid[2];
    out_.grid[1] = out_.grid[2] = 1;
    out_.group[0] = dialect_.flat_group;
    out_.group[1] = out_.group[2] = 1;
  }

  void DeclareInt(const std::string& name, int value) {
    DeclareNumber(name, false);
    RenderedArg arg;
    arg.kind = RenderedArg::Kind::kInt;
    arg.i = value;
    out_.args.push_back(arg);
  }

  // The statement behind write_NAME: the merged steps, then the store.
  std::string WriteText(const TensorArg& tensor, const std::string& store) const {
    std::string text = "{ vec4 e_v = (VALUE); ";
    if (tensor.name == desc_.epilogue_tensor && !desc_.epilogue.empty()) {
      text += "int e_x = (X); int e_y = (Y); int e_s = (S); " + OnOneLine(desc_.epilogue) + " ";
    }
    return text + store + " }";
  }

  const KernelDesc& desc_;
  const std::vector<TensorLayout>& layouts_;
  const Dialect& dialect_;
  const bool half_constants_;
  RenderedKernel out_;
  std::string macros_, undefs_;
  bool flat_ = false;

 private:
  void AddTensor(int i) {
    const TensorArg& tensor = desc_.tensors[static_cast<size_t>(i)];
    RenderedArg arg;
    arg.view = DeclareTensor(tensor, layouts_[static_cast<size_t>(i)]);
    arg.kind = RenderedArg::Kind::kTensor;
    arg.index = i;
    out_.args.push_back(arg);
  }

  void AddConstant(int i) {
    const ConstantArg& constant = desc_.constants[static_cast<size_t>(i)];
    RenderedArg arg;
    arg.view = DeclareConstant(constant, half_constants_ && constant.width > 1);
    arg.kind = RenderedArg::Kind::kConstant;
    arg.index = i;
    out_.args.push_back(arg);
  }

  // Sizes of tensors become arguments where the text speaks of them.
  void AddDimensions() {
    const std::string text = macros_ + desc_.body + desc_.epilogue;
    for (size_t i = 0; i < desc_.tensors.size(); ++i) {
      for (char letter : {'w', 'h', 's', 'c', 'b'}) {
        const std::string name = desc_.tensors[i].name + "_" + letter;
        if (!Uses(text, name)) continue;
        DeclareInt(name, DimensionOf(layouts_[i].shape, letter));
      }
    }
  }
};

// "(S * NAME_h + Y) * NAME_w + X" of macro parameters: capitals, for a macro replaces a letter
// wherever it stands alone, the x of v.x too.
std::string SliceIndex(const std::string& name) {
  return "((S) * " + name + "_h + (Y)) * " + name + "_w + (X)";
}

class OpenClRenderer : public Renderer {
 public:
  using Renderer::Renderer;

 protected:
  View DeclareTensor(const TensorArg& tensor, const TensorLayout& layout) override {
    const std::string& name = tensor.name;
    const bool read = tensor.access == Access::kRead;
    const std::string data = name + "_data";
    if (layout.kind == Kind::kFlatBuffer) {
      Parameter((read ? "__global const float* restrict " : "__global float* restrict ") + data);
      if (read) Define("read_" + name, "I", data + "[I]");
      else Define("write_" + name, "VALUE, I", data + "[I] = (VALUE)");
      return View::kMemory;
    }
    if (layout.kind == Kind::kSlicesImage2d) {
      Parameter((read ? "__read_only image2d_t " : "__write_only image2d_t ") + data);
      const std::string at = "(int2)((X), (S) * " + name + "_h + (Y))";
      if (read) {
        Define("read_" + name, "X, Y, S", "read_imagef(" + data + ", PIXEL_SAMPLER, " + at + ")");
      } else {
        const std::string place = "(int2)((X), (S) * " + name + "_h + (Y))";
        Define("write_" + name, "VALUE, X, Y, S",
               WriteText(tensor, "write_imagef(" + data + ", " + place + ", e_v);"));
      }
      return View::kMemory;
    }
    DeclareSlicesBuffer(tensor, layout.half);
    return View::kMemory;
  }

  void DeclareSlicesBuffer(const TensorArg& tensor, bool half) {
    const std::string& name = tensor.name;
    const std::string data = name + "_data";
    const bool read = tensor.access == Access::kRead;
    Parameter(std::string("__global ") + (read ? "const " : "") + (half ? "half" : "vec4") +
              "* restrict " + data);
    // Row and column apart: what is known of either in a loop is found once by the compiler.
    const std::string row = "(" + data + " + ((S) * " + name + "_h + (Y)) * " + name + "_w" +
                            (half ? " * 4)" : ")");
    const auto load = [&](const std::string& from, const std::string& i) {
      return half ? "vload_half4(" + i + ", " + from + ")" : from + "[" + i + "]";
    };
    const auto store = [&](const std::string& to, const std::string& i) {
      return half ? "vstore_half4(e_v, " + i + ", " + to + ");" : to + "[" + i + "] = e_v;";
    };
    if (read) {
      Define("read_" + name, "X, Y, S", load(row, "(X)"));
      Define("read_" + name + "_at", "I", load(data, "I"));
      DefineLanes(name, "LANES");
      return;
    }
    Define("write_" + name, "VALUE, X, Y, S", WriteText(tensor, store(row, "(X)")));
    Define("write_" + name + "_at", "VALUE, I", "{ vec4 e_v = (VALUE); " + store(data, "I") + " }");
    DefineLanes(name, "OUT_LANES");
  }

  View DeclareConstant(const ConstantArg& constant, bool half) override {
    const std::string data = constant.name + "_data";
    const std::string width = constant.width == 1 ? "" : Format("%d", constant.width);
    Parameter("__global const " + (half ? "half" : "float" + width) + "* restrict " + data);
    Define("read_" + constant.name, "I",
           half ? "vload_half" + width + "(I, " + data + ")" : data + "[I]");
    if (constant.width > 1) DefineLanes(constant.name, "LANES");
    return View::kMemory;
  }

  void DeclareNumber(const std::string& name, bool is_float) override {
    Parameter((is_float ? "float " : "int ") + name);
  }

  std::string Assemble(const std::string& entry) override {
    std::string shared;
    for (const SharedArg& s : desc_.shared) {
      shared += "__local " + s.type + " " + s.name + Format("[%d];\n", s.count);
    }
    const std::string kernel =
        Format("__kernel __attribute__((reqd_work_group_size(%d, %d, %d)))\nvoid ", desc_.group[0],
               desc_.group[1], desc_.group[2]) + entry + "(" + parameters_ + ") {\n";
    if (desc_.outlined) {
      return macros_ + "OUTLINED void " + entry + "_body(" + parameters_ +
             ", int global_x, int global_y, int global_z) {\n" + desc_.body + "}\n" + kernel +
             entry + "_body(" + names_ + ", get_global_id(0), get_global_id(1), get_global_id(2));\n}\n" +
             undefs_;
    }
    return macros_ + kernel + "const int global_x = get_global_id(0), global_y = get_global_id(1), " +
           "global_z = get_global_id(2);\n" + shared + desc_.body + "}\n" + undefs_;
  }

 private:
  // `declared` ends with the name, after a space.
  void Parameter(const std::string& declared) {
    const char* comma = parameters_.empty() ? "" : ", ";
    parameters_ += comma + declared;
    const size_t space = declared.rfind(' ');
    names_ += comma + declared.substr(space + 1);
    const std::string type = declared.substr(0, space);
    out_.types.push_back(type.substr(0, type.find(" restrict")));
  }

  void DefineLanes(const std::string& name, const char* type) {
    macros_ += "#define " + name + "_lanes ((" + type + ")" + name + "_data)\n";
    undefs_ += "#undef " + name + "_lanes\n";
  }

  std::string parameters_, names_;
};

const char kPlace[] =
    "int global_x = int(gl_GlobalInvocationID.x), global_y = int(gl_GlobalInvocationID.y), "
    "global_z = int(gl_GlobalInvocationID.z);\n";
const char kFlatPlace[] =
    "int flat_place = int(gl_GlobalInvocationID.x), flat_row = flat_place / flat_w, "
    "global_x = flat_place - flat_row * flat_w, global_z = flat_row / flat_h, "
    "global_y = flat_row - global_z * flat_h;\n";

class GlesRenderer : public Renderer {
 public:
  GlesRenderer(const KernelDesc& desc, const std::vector<TensorLayout>& layouts, const Dialect& dialect)
      : Renderer(desc, layouts, dialect), rows_left_(dialect.image_units) {
    for (size_t i = 0; i < layouts.size(); ++i) {
      const bool image = layouts[i].kind == Kind::kSlicesImage2d;
      if (image && desc.tensors[i].access == Access::kWrite) --rows_left_;
    }
  }

 protected:
  View DeclareTensor(const TensorArg& tensor, const TensorLayout& layout) override {
    const std::string& name = tensor.name;
    const bool read = tensor.access == Access::kRead;
    const std::string data = name + "_data";
    if (layout.kind == Kind::kSlicesImage2d) {
      DeclareImage(tensor, layout.half);
      return View::kMemory;
    }
    const bool flat = layout.kind == Kind::kFlatBuffer;
    const char* type = flat ? "float" : layout.half ? "uvec2" : "vec4";
    const Shape& s = layout.shape;
    const int64_t texels = flat ? s.elements() : int64_t{s.b} * s.slices() * s.h * s.w;
    if (read && MayBeRow(texels)) {
      const View view = Row(name, flat ? 1 : 4, layout.half);
      if (flat) {
        Define("read_" + name, "I", "imageLoad(" + data + ", I).x");
      } else {
        Define("read_" + name, "X, Y, S", "imageLoad(" + data + ", " + SliceIndex(name) + ")");
        Define("read_" + name + "_at", "I", "imageLoad(" + data + ", I)");
      }
      return view;
    }
    Block(name, type, read);
    if (flat) {
      if (read) Define("read_" + name, "I", data + "[I]");
      else Define("write_" + name, "VALUE, I", data + "[I] = (VALUE)");
      return View::kMemory;
    }
    const std::string index = SliceIndex(name);
    if (read) {
      Define("read_" + name, "X, Y, S", Load(data, index, layout.half));
      Define("read_" + name + "_at", "I", Load(data, "I", layout.half));
    } else {
      const auto store = [&](const std::string& i) {
        return data + "[" + i + "] = " +
               (layout.half ? "uvec2(packHalf2x16(e_v.xy), packHalf2x16(e_v.zw));" : "e_v;");
      };
      Define("write_" + name, "VALUE, X, Y, S", WriteText(tensor, store(index)));
      Define("write_" + name + "_at", "VALUE, I", "{ vec4 e_v = (VALUE); " + store("I") + " }");
    }
    return View::kMemory;
  }

  View DeclareConstant(const ConstantArg& constant, bool half) override {
    const std::string data = constant.name + "_data";
    if (MayBeRow(static_cast<int64_t>(constant.data->size()) / constant.width)) {
      const char* lanes = constant.width == 1 ? ", I).x" : ", I)";
      Define("read_" + constant.name, "I", "imageLoad(" + data + lanes);
      return Row(constant.name, constant.width, half);
    }
    Block(constant.name, half ? "uvec2" : constant.width == 1 ? "float" : "vec4", true);
    Define("read_" + constant.name, "I", Load(data, "I", half));
    return View::kMemory;
  }

  void DeclareNumber(const std::string& name, bool is_float) override {
    const std::string type = is_float ? "highp float " : "highp int ";
    numbers_ += type + "in_" + name + "; ";
    locals_ += type + name + " = in_" + name + ";\n";
  }

  std::string Assemble(const std::string&) override {
    std::string shared;
    for (const SharedArg& s : desc_.shared) {
      shared += "shared " + s.type + " " + s.name + Format("[%d];\n", s.count);
    }
    const std::string group =
        Format("layout(local_size_x = %d, local_size_y = %d, local_size_z = %d) in;\n",
               out_.group[0], out_.group[1], out_.group[2]);
    // One block, four bytes each: a dispatch binds its part of a buffer instead of setting each.
    const std::string numbers =
        numbers_.empty() ? "" : "layout(std140, binding = 0) uniform numbers { " + numbers_ + "};\n";
    return group + declarations_ + numbers + shared + macros_ + "void main() {\n" +
           locals_ + (flat_ ? kFlatPlace : kPlace) + desc_.body + "}\n";
  }

 private:
  bool MayBeRow(int64_t texels) const { return rows_left_ > 0 && texels <= dialect_.max_row_texels; }

  View Row(const std::string& name, int width, bool half) {
    declarations_ += Format("layout(%s, binding = %d) readonly uniform highp imageBuffer ",
                            width == 1 ? "r32f" : half ? "rgba16f" : "rgba32f", image_++) + name + "_data;\n";
    --rows_left_;
    return width == 1 ? View::kTexelsFloat : half ? View::kTexelsHalf4 : View::kTexelsFloat4;
  }

  void Block(const std::string& name, const char* type, bool read) {
    declarations_ += Format("layout(std430, binding = %d) ", binding_++) +
                     (read ? "readonly" : "writeonly") + " buffer " + name + "_block { " + type +
                     " " + name + "_data[]; };\n";
  }

  void DeclareImage(const TensorArg& tensor, bool half) {
    const std::string data = tensor.name + "_data";
    const std::string at = "ivec2((X), (S) * " + tensor.name + "_h + (Y))";
    if (tensor.access == Access::kRead) {
      declarations_ += Format("layout(binding = %d) uniform highp sampler2D ", sampler_++) + data + ";\n";
      Define("read_" + tensor.name, "X, Y, S", "texelFetch(" + data + ", " + at + ", 0)");
    } else {
      declarations_ += Format("layout(%s, binding = %d) writeonly uniform highp image2D ",
                              half ? "rgba16f" : "rgba32f", image_++) + data + ";\n";
      Define("write_" + tensor.name, "VALUE, X, Y, S",
             WriteText(tensor, "imageStore(" + data + ", " + at + ", e_v);"));
    }
  }

  static std::string Load(const std::string& data, const std::string& i, bool half) {
    if (!half) return data + "[" + i + "]";
    return "vec4(unpackHalf2x16(" + data + "[" + i + "].x), unpackHalf2x16(" + data + "[" + i +
           "].y))";
  }

  std::string declarations_, numbers_;
  std::string locals_;  // numbers are read once: drivers may read a block anew at each use
  int binding_ = 0, sampler_ = 0, image_ = 0;
  int rows_left_;  // image units for buffers that are read as images
};

}  // namespace

std::string Prelude(const Dialect& dialect) {
  if (dialect.language == Language::kGles) {
    // Extensions come before anything else.
    return std::string("#version 310 es\n") +
           (dialect.image_units > 0 ? "#extension GL_EXT_texture_buffer : require\n" : "") + "precision " +
           (dialect.precision == Precision::kF16 ? "mediump" : "highp") + " float;\n" + kGlesPrelude;
  }
  const bool half = dialect.precision != Precision::kF32;
  return std::string(kOpenClPrelude) + (half ? kOpenClHalfLanes : kOpenClLanes);
}

RenderedKernel Render(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                      const Dialect& dialect, const std::string& entry) {
  if (dialect.language == Language::kOpenCl) return OpenClRenderer(desc, layouts, dialect).Run(entry);
  return GlesRenderer(desc, layouts, dialect).Run(entry);
}

}  // namespace quadra
