#include "delegate_native/kernel/renderer.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "delegate_native/base/status.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"

namespace quadra {
namespace {

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

// The words of tensor $t. Parameters of macros are capitals, for a macro replaces a
// letter wherever it stands alone, the x of v.x too.
constexpr const char* kWalkThroughImage = QUADRA_TEXT(R"(#define $t_at ivec2
#define $t_slice ivec2(0, $t_h)
#define at_$t(X, Y, S) ivec2((X), (S) * $t_h + (Y)$begin)
#define along_$t(X) ivec2((X), 0)
#define down_$t(Y) ivec2(0, (Y))
#define fetch_$t(P) $fetch
)");
constexpr const char* kWalkThroughBuffer = QUADRA_TEXT(R"(#define $t_at int
#define $t_slice ($t_h * $t_w)
#define at_$t(X, Y, S) (((S) * $t_h + (Y)) * $t_w + (X)$begin)
#define along_$t(X) (X)
#define down_$t(Y) ((Y) * $t_w)
#define fetch_$t(P) $fetch
)");
constexpr const char* kWalkEnds = QUADRA_TEXT(R"(#undef $t_at
#undef $t_slice
#undef at_$t
#undef along_$t
#undef down_$t
#undef fetch_$t
)");

// Where four neighbours of a dense tensor lie, in fours.
constexpr const char* kDensePlace = QUADRA_TEXT(
    "(${batches:(Y),((S) / $t_s * $t_h + (Y))} * $t_w + (X)) * $t_s + (S)${batches:, % $t_s}");
// GPUs add an offset of 32 bits to an address of 64 in half of the steps that an index takes.
constexpr const char* kElement = QUADRA_TEXT(
    "((__global const $stored*)((__global const char*)$t_data + (uint)($i) * "
    "(uint)sizeof($stored)))");

// The pair N of the numbers behind I.
constexpr const char* kPair =
    QUADRA_TEXT("eight_at((__global const char*)$t_data + (uint)($i) * (uint)sizeof($stored), N)");

constexpr const char* kBaseNames[] = {"base_x", "base_y", "base_z"};

}  // namespace

bool IsWordChar(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string OnOneLine(const std::string& text) {
  std::string line;
  for (char c : text) line += c == '\n' ? ' ' : c;
  return line;
}

RenderedKernel Renderer::Run(const std::string& entry) {
  out_.entry = entry;
  for (size_t i = 0; i < desc_.tensors.size(); ++i) DeclareTensor(i);
  for (size_t i = 0; i < desc_.constants.size(); ++i) DeclareConstant(i);
  NameNumbers();
  AddDimensions();
  for (const ScalarArg& scalar : desc_.scalars) {
    DeclareNumber(scalar.name, scalar.is_float);
    RenderedArg arg;
    arg.kind = scalar.is_float ? RenderedArg::Kind::kFloat : RenderedArg::Kind::kInt;
    arg.i = scalar.i;
    arg.f = scalar.f;
    out_.args.push_back(arg);
  }
  MakeGrid();
  out_.source = Assemble(entry);
  return std::move(out_);
}

Renderer::Argument Renderer::ArgumentOf(const std::string& name, View view, bool is_image,
                                        Cell cell, int width, bool slices, bool read) const {
  const MemoryKind memory = is_image                           ? MemoryKind::kImage
                            : view != View::kMemory            ? MemoryKind::kTexelRow
                            : cell == Cell::kHalf && width > 4 ? MemoryKind::kWideBuffer
                                                               : MemoryKind::kBuffer;
  return {name,
          cell,
          width,
          slices,
          read,
          memory,
          FormatOf(dialect_.language, dialect_.precision, memory, cell),
          ""};
}

std::string Renderer::SliceOf(const TensorLayout& layout) {
  if (!layout.is_view) return "";
  Text text("$n${runs:, + ($n) / $t_run * $t_gap} + $t_begin");
  const std::string n = Text(kDensePlace).Set("batches", layout.shape.b > 1);
  return text.Set("n", n).Set("runs", layout.view.run > 0);
}

std::string Renderer::Fill(const Argument& arg, const char* text, const char* at) const {
  Text made(text);
  made.Set("i", at).Set("row", "((S) * $t_h + (Y)) * $t_w");
  made.Set("pixel", arg.slice.empty() ? "(X), (S) * $t_h + (Y)" : "0, " + arg.slice);
  made.Set("t", arg.name).Set("v", arg.slices ? "e_v" : "(VALUE)").Set("stored", arg.format.type);
  made.Set("lanes", arg.width == 1 ? "" : Format("%d", arg.width)).Set("one", arg.width == 1);
  made.Set("ints", arg.cell >= Cell::kInt).Set("read", arg.read).Set("slices", arg.slices);
  made.Set("half", arg.cell == Cell::kHalf && ComputesHalf(dialect_.precision));
  const bool plane = at == arg.format.place, offset = !plane && dialect_.short_offsets;
  made.Set("from", plane ? "($t_data + $row)" : offset ? kElement : "$t_data");
  return made.Set("at", offset ? "0" : "$i").Set("plane", plane);
}

void Renderer::DefineMedium(const Argument& arg, const std::string& name, const char* macro,
                            const char* at) {
  const std::string word = Text(macro).Set("t", name);
  if (!Uses(body_ + macros_, word.substr(0, word.find('(')))) return;
  const char* const medium = arg.format.read_medium;
  Define(name, macro,
         medium ? Fill(arg, medium, at) : "to_medium(" + Fill(arg, arg.format.read, at) + ")");
}

void Renderer::AddArgument(RenderedArg::Kind kind, size_t index, View view, const Argument& arg) {
  RenderedArg made;
  made.kind = kind;
  made.index = static_cast<int>(index);
  made.view = view;
  out_.args.push_back(made);
  Declare(arg.memory, arg.read, Fill(arg, arg.format.declaration, ""));
}

void Renderer::DeclareTensor(size_t i) {
  const TensorArg& tensor = desc_.tensors[i];
  const TensorLayout& layout = layouts_[i];
  const bool slices = !tensor.dense, read = tensor.access == Access::kRead;
  const bool lies_dense = slices && layout.kind == Kind::kDenseBuffer;
  const bool is_image = layout.kind == Kind::kSlicesImage2d;
  const View view = bindings_.tensors[i];
  Argument arg = ArgumentOf(tensor.name, view, is_image, layout.cell, slices ? 4 : 1,
                            slices && !lies_dense, read);
  arg.slice = SliceOf(layout);
  const NumberFormat& format = arg.format;
  const bool kept = tensor.access == Access::kKept;
  if (!kept) AddArgument(RenderedArg::Kind::kTensor, i, view, arg);
  if (lies_dense) {
    // As it comes in in slices: see ToSlices.
    const bool half = StoresHalf(dialect_.precision) && !layout.is_int();
    Text place(kDensePlace);
    place.Set("batches", layout.shape.b > 1);
    const std::string four = Fill(arg, format.read, place.str().c_str());
    Define(tensor.name, "read_$t(X, Y, S)", half ? "within_half(" + four + ")" : four);
  } else if (read) {
    Define(tensor.name, slices ? "read_$t(X, Y, S)" : "read_$t(I)",
           Fill(arg, format.read, slices ? arg.place() : "I"));
    if (slices) DefineWalk(tensor.name, layout, Fill(arg, format.read, format.walk));
    if (slices) DefineMedium(arg, tensor.name, "fetch_medium_$t(P)", format.walk);
    if (slices) DefineMedium(arg, tensor.name, "read_medium_$t(X, Y, S)", arg.place());
  } else if (slices) {
    Define(tensor.name, "write_$t(VALUE, X, Y, S)",
           WriteText(i, kept ? "" : Fill(arg, format.write, arg.place()) + ";", /*medium=*/false));
    if (BodyUses("write_medium_" + tensor.name))
      Define(tensor.name, "write_medium_$t(VALUE, X, Y, S)", WriteMediumText(i, arg));
  } else {
    Define(tensor.name, "write_$t(VALUE, I)", Fill(arg, format.write, "I"));
  }
}

// A constant that lies behind others in their region is read from there on.
void Renderer::DeclareConstant(size_t i) {
  const ConstantArg& constant = desc_.constants[i];
  const std::vector<int>& joined = bindings_.joined;
  const auto at = std::find(joined.begin(), joined.end(), static_cast<int>(i));
  const bool is_behind = at != joined.end() && at != joined.begin();
  const View view = bindings_.constants[i];
  const Argument arg =
      ArgumentOf(is_behind ? desc_.constants[static_cast<size_t>(joined[0])].name : constant.name,
                 view, false, constant.CellOf(StoresHalf(dialect_.precision)), constant.width,
                 /*slices=*/false, /*read=*/true);
  std::string begin;
  if (is_behind) {
    int64_t before = 0;
    for (auto j = joined.begin(); j != at; ++j)
      before += desc_.constants[static_cast<size_t>(*j)].floats / 4;
    begin = constant.name + "_first";
    DeclareInt(begin, static_cast<int>(before));
  } else {
    AddArgument(RenderedArg::Kind::kConstant, i, view, arg);
  }
  // Some drivers make no image of a part of a buffer.
  if (dialect_.language == Language::kOpenCl && view != View::kMemory) {
    begin = constant.name + "_first";
    DeclareNumber(begin, false);
    RenderedArg first = out_.args.back();
    first.kind = RenderedArg::Kind::kFirstTexel;
    out_.args.push_back(first);
  }
  const std::string index = begin.empty() ? "I" : "(I) + " + begin;
  Define(constant.name, "read_$t(I)", Fill(arg, arg.format.read, index.c_str()));
  DefineMedium(arg, constant.name, "read_medium_$t(I)", index.c_str());
  if (!BodyUses("begin_" + constant.name)) return;
  Define(constant.name, "begin_$t", begin.empty() ? "0" : begin);
  Define(constant.name, "fetch_$t(I)", Fill(arg, arg.format.read, "I"));
  DefineMedium(arg, constant.name, "fetch_medium_$t(I)", "I");
  if (BodyUses("fetch_pair_" + constant.name))
    Define(constant.name, "fetch_pair_$t(I, N)", Fill(arg, kPair, "I"));
}

void Renderer::DeclareInt(const std::string& name, int value) {
  DeclareNumber(name, false);
  RenderedArg arg;
  arg.kind = RenderedArg::Kind::kInt;
  arg.i = value;
  out_.args.push_back(arg);
}

void Renderer::Define(const std::string& name, const char* macro, const std::string& text) {
  const std::string named = Text(macro).Set("t", name);
  macros_ += Text(QUADRA_TEXT("#define $macro $text\n"))
                 .Set("macro", named)
                 .Set("text", text)
                 .Set("t", name)
                 .str();
  undefs_ += "#undef " + named.substr(0, named.find('(')) + "\n";
}

void Renderer::DefineWalk(const std::string& name, const TensorLayout& layout,
                          const std::string& fetch) {
  if (!BodyUses("fetch_" + name) && !BodyUses("fetch_medium_" + name)) return;
  Text walk(layout.kind == Kind::kSlicesImage2d ? kWalkThroughImage : kWalkThroughBuffer);
  walk.Set("begin", layout.is_view ? " + $t_begin" : "");
  macros_ += walk.Set("t", name).Set("fetch", fetch).str();
  undefs_ += Text(kWalkEnds).Set("t", name).str();
}

bool Renderer::BodyUses(const std::string& word) const { return Uses(body_, word); }

std::string Renderer::CountLanes(size_t tensor) const {
  const Shape& shape = layouts_[tensor].shape;
  if (shape.c % 4 == 0 && !dialect_.merge_similar_sources) return "";
  return Text(QUADRA_TEXT("int e_c = $t_c - e_s${batches:, % $t_s} * 4; "))
      .Set("batches", shape.b > 1);
}

std::string Renderer::WriteText(size_t index, const std::string& store, bool medium) const {
  const bool steps = HasSteps(index);
  const std::string lanes = CountLanes(index);
  Text text(
      QUADRA_TEXT("{ $type e_v = (VALUE); ${steps:,int e_x = (X); int e_y = (Y); }"
                  "${places:,int e_s = (S); }$merged$zeros$store }"));
  // Steps that have no text for halfs run on floats, in OpenGL ES too.
  const bool floats = !medium && steps && !layouts_[index].is_int() &&
                      ComputesHalf(dialect_.precision) && MediumSteps(index).empty();
  text.Set("type", medium ? "medium4_t" : floats ? "sum4_t" : TypeOf(layouts_[index]));
  text.Set("ints", layouts_[index].is_int()).Set("steps", steps);
  text.Set("merged", !steps ? "" : medium ? MediumSteps(index) : StepsOf(index) + " ");
  text.Set("places", steps || !lanes.empty()).Set("lanes", lanes).Set("store", store);
  return text.Set("zeros", lanes.empty() ? ""
                           : medium ? QUADRA_TEXT("${lanes}if (e_c < 4) { e_v = to_medium("
                                                  "with_zeros_from(to_float(e_v), e_c)); } ")
                                    : QUADRA_TEXT("${lanes}if (e_c < 4) { e_v = "
                                                  "${ints:,int_}with_zeros_from(e_v, e_c); } "));
}

std::string Renderer::WriteMediumText(size_t index, const Argument& arg) const {
  const char* const store = arg.format.write_medium;
  if (!store || (HasSteps(index) && MediumSteps(index).empty()))
    return QUADRA_TEXT("write_$t(to_float(VALUE), X, Y, S)");
  return WriteText(index, Fill(arg, store, arg.place()) + ";", /*medium=*/true);
}

// The steps on halfs, where each is a sum, difference or product of tensors or a bound: those of
// two halfs are exact but for the rounding of the result. Nothing else.
std::string Renderer::MediumSteps(size_t tensor) const {
  const std::string steps = StepsOf(tensor);
  std::string made;
  bool in_call = false;  // of a function whose other operands are floats
  for (size_t at = 0; at < steps.size();) {
    size_t end = at;
    while (end < steps.size() && IsWordChar(steps[end])) ++end;
    const std::string word = steps.substr(at, end - at);
    at = end;
    if (word.empty()) {
      if (!strchr("=+-*();, ", steps[at])) return "";
      if (steps[at] == ';') in_call = false;
      made += steps[at++];
    } else if (word.compare(0, 5, "read_") == 0) {
      const size_t close = steps.find(')', at);
      made += "read_medium_" + word.substr(5) + steps.substr(at, close + 1 - at);
      at = close + 1;
    } else if (word == "bounded") {
      in_call = true;
      made += "bounded_medium";
    } else if (word == "e_v" || (in_call && word[0] == 'e')) {
      made += word;
    } else {
      return "";
    }
  }
  return made + " ";
}

const char* Renderer::Base(int axis) const {
  constexpr const char* kAdded[] = {" + base_x", " + base_y", " + base_z"};
  return out_.base_arg[axis] < 0 ? "" : kAdded[axis];
}

// The type-neutral words, which stand for floats or ints as the written tensor has them.
void Renderer::NameNumbers() {
  if (body_.find("num") == std::string::npos) return;
  bool is_int = false;
  for (size_t i = 0; i < desc_.tensors.size(); ++i) {
    if (desc_.tensors[i].name == desc_.epilogue_tensor) is_int = layouts_[i].is_int();
  }
  const char* const words[][2] = {{"num4", is_int ? "ivec4" : "vec4"},
                                  {"num", is_int ? "int" : "float"},
                                  {"num_lane", is_int ? "int_lane" : "lane"},
                                  {"num_with_lane", is_int ? "int_with_lane" : "with_lane"},
                                  {"num_lanes_from", is_int ? "int_lanes_from" : "lanes_from"}};
  for (const auto& word : words) Define("", word[0], word[1]);
}

// Sizes of tensors become arguments where the text speaks of them.
void Renderer::AddDimensions() {
  std::string text = macros_ + body_;
  for (const TensorArg& tensor : desc_.tensors) text += tensor.epilogue;
  for (size_t i = 0; i < desc_.tensors.size(); ++i) {
    for (char letter : {'w', 'h', 's', 'c', 'b'}) {
      const std::string name = desc_.tensors[i].name + "_" + letter;
      if (!Uses(text, name)) continue;
      DeclareInt(name, DimensionOf(layouts_[i].shape, letter));
    }
    if (!layouts_[i].is_view) continue;
    const SliceView& view = layouts_[i].view;
    DeclareInt(desc_.tensors[i].name + "_begin", view.begin);
    if (view.run == 0) continue;
    DeclareInt(desc_.tensors[i].name + "_run", view.run);
    DeclareInt(desc_.tensors[i].name + "_gap", view.gap);
  }
}

// In a flat grid a place is divided as a float, because CPUs divide integers one by one: up to here
// what two roundings change is less than the half that is added.
constexpr int64_t kMostFlat = 1 << 22;

// A grid of more groups, or more work, than the device takes at once is dispatched in parts, each
// of which knows by numbers where it begins. For its work a grid is cut along its longest axis.
void Renderer::MakeGrid() {
  for (int axis = 0; axis < 3; ++axis) {
    out_.grid[axis] = desc_.grid[axis];
    out_.group[axis] = desc_.group[axis];
  }
  const int64_t items = int64_t{desc_.grid[0]} * desc_.grid[1] * desc_.grid[2];
  if (dialect_.flat_group > 0 && desc_.shared.empty() && items <= kMostFlat) Flatten();
  int groups[3], longest = 0;
  for (int axis = 0; axis < 3; ++axis) {
    out_.max_groups[axis] = dialect_.max_groups[axis];
    groups[axis] = CeilDiv(out_.grid[axis], out_.group[axis]);
    if (groups[axis] > groups[longest]) longest = axis;
  }
  const int64_t parts = std::max<int64_t>(1, desc_.trips) * items / dialect_.max_trips + 1;
  int& most = out_.max_groups[longest];
  if (parts < groups[longest])
    most = std::min(most, CeilDiv(groups[longest], static_cast<int>(parts)));
  else most = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (groups[axis] <= out_.max_groups[axis]) continue;
    out_.base_arg[axis] = static_cast<int>(out_.args.size());
    DeclareInt(kBaseNames[axis], 0);
  }
}

// Work-items in one row; the text learns the sizes of the grid.
void Renderer::Flatten() {
  flat_ = true;
  DeclareInt("flat_w", desc_.grid[0]);
  DeclareInt("flat_h", desc_.grid[1]);
  out_.grid[0] = desc_.grid[0] * desc_.grid[1] * desc_.grid[2];
  out_.grid[1] = out_.grid[2] = 1;
  out_.group = {dialect_.flat_group, 1, 1};
}

}  // namespace quadra
