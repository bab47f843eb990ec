// CONCATENATION: any number of tensors after each other along any axis; constants, and one tensor
// several times, are inputs like others.
#include <utility>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/folding.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1 << 20));
  const TfLiteConcatenationParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  const int rank = importer->InputRank(0);
  const int axis = params->axis < 0 ? params->axis + rank : params->axis;
  if (axis < 0 || axis >= rank) {
    return InvalidModel("axis %d is out of range for rank %d", params->axis, rank);
  }
  std::vector<ValueId> inputs(static_cast<size_t>(importer->num_inputs()));
  for (int i = 0; i < importer->num_inputs(); ++i) {
    QUADRA_RETURN_IF_ERROR(importer->Operand(i, &inputs[static_cast<size_t>(i)], kAllElements));
  }
  QUADRA_RETURN_IF_ERROR(importer->CheckAlike(inputs));
  Attributes attributes;
  attributes.SetInt("axis", axis + 4 - rank);
  return importer->AddNode("concat", std::move(inputs), std::move(attributes), params->activation);
}

Status InferShape(Graph* graph, const Node& node) {
  const int axis = node.attributes.Int("axis");
  Value& out = graph->value(node.outputs[0]);
  out.rank = graph->value(node.inputs[0]).rank;
  out.shape = graph->shape(node.inputs[0]);
  int64_t sum = 0;
  for (ValueId id : node.inputs) {
    Shape shape = graph->shape(id);
    const int length = shape.axis(axis);
    shape.set_axis(axis, out.shape.axis(axis));
    if (shape != out.shape || graph->value(id).rank != out.rank) {
      return InvalidModel("shapes %s and %s do not agree outside axis %d",
                          ToString(graph->shape(node.inputs[0])).c_str(),
                          ToString(graph->shape(id)).c_str(), axis);
    }
    sum += length;
    if (sum > INT32_MAX) return Unsupported("its result has more than 2^31 elements");
  }
  out.shape.set_axis(axis, static_cast<int>(sum));
  return Status();
}

struct Part {
  int tensor;
  Shape shape;
};

// `a` and `b` into their place of the result: whole slices move. Along the batch or an axis before
// it, all slices of all images that lie together are one long row of slices.
constexpr const char* kRow = QUADRA_TEXT(R"(
  int image = s / part_s;
  int slice = s - image * part_s;
  int split = along_x;
  if (along_y != 0) { split = y < along_y ? part_w : 0; }
  if (along_s != 0) { split = slice < along_s ? part_w : 0; }
  int a_row = image * a_slices + slice;
  int b_row = image * b_slices + slice - along_s;
  int to_row = image * dst_slices + slice + to_s;
  for (int x = x_begin; x < min(split, x_end); ++x) {
    num4 v = read_a(x, y, a_row);
    write_dst(v, x + to_x, y + to_y, to_row);
  }
  for (int x = max(split, x_begin); x < x_end; ++x) {
    num4 v = read_b(x - along_x, y - along_y, b_row);
    write_dst(v, x + to_x, y + to_y, to_row);
  }
)");

// Puts one or two parts into `out`, from position `at` of the axis on.
void AddPlace(const KernelContext& context, const Part& a, const Part* b, const Part& out, int axis,
              int at, KernelList* list) {
  int images = axis > 0 ? out.shape.b : 1;
  for (int before = kFirstAxis; before < axis && axis <= 0; ++before) {
    images *= out.shape.axis(before);
  }
  const auto slices = [&](const Shape& shape) { return shape.slices() * (shape.b / images); };
  const int a_slices = slices(a.shape), b_slices = b ? slices(b->shape) : 0;
  KernelDesc& desc = list->Add("concat");
  desc.Read("a", a.tensor);
  desc.Read("b", b ? b->tensor : a.tensor);
  desc.Write("dst", out.tensor);
  Shape part = out.shape;
  part.set_axis(axis, a.shape.axis(axis) + (b ? b->shape.axis(axis) : 0));
  const int part_slices = slices(part);
  desc.Int("part_w", part.w);
  desc.Int("part_h", part.h);
  desc.Int("part_s", part_slices);
  desc.Int("images", images);
  desc.Int("a_slices", a_slices);
  desc.Int("b_slices", b_slices);
  desc.Int("dst_slices", slices(out.shape));
  desc.Int("along_x", axis == 2 ? a.shape.w : 0);
  desc.Int("along_y", axis == 1 ? a.shape.h : 0);
  desc.Int("along_s", axis <= 0 || axis == 3 ? a_slices : 0);
  desc.Int("to_x", axis == 2 ? at : 0);
  desc.Int("to_y", axis == 1 ? at : 0);
  desc.Int("to_s", axis <= 0   ? slices(out.shape) / out.shape.axis(axis) * at
                   : axis == 3 ? at / 4
                               : 0);
  Loops loops;
  loops.limits[0] = "part_w", loops.limits[1] = "part_h", loops.limits[2] = "part_s * images";
  loops.row = kRow;
  LoopOver(context, part.w, part.h, part_slices * images, loops, &desc);
}

// Channels of `b` after those of `a` where they begin inside a slice: `shift` lanes of each slice
// of the result are the end of one slice of b (the end of a, the first time), then come the first
// lanes of the next.
constexpr const char* kChannelsRow = QUADRA_TEXT(R"(
  int image = s / dst_s;
  int slice = s - image * dst_s;
  int shift = a_c % 4;
  int next = slice - a_c / 4;
  int a_row = image * a_s + min(slice, a_s - 1);
  int b_row = image * b_s + min(next, b_s - 1);
  int b_before = image * b_s + next - 1;
)");

constexpr const char* kChannelsPixel = QUADRA_TEXT(R"(
    num4 v = num4(0);
    if (next > 0) {
      v = read_b(x, y, b_before);
    } else {
      v = read_a(x, y, a_row);
      if (next == 0) { v = num_lanes_from(v, v, shift); }
    }
    if (next >= 0) { v = num_lanes_from(v, read_b(x, y, b_row), 4 - shift); }
    write_dst(v, x, y, s);
)");

void AddChannels(const KernelContext& context, const Part& a, const Part& b, const Part& out,
                 KernelList* list) {
  KernelDesc& desc = list->Add("concat_channels");
  desc.Read("a", a.tensor);
  desc.Read("b", b.tensor);
  desc.Write("dst", out.tensor);
  LoopOverResults(context, out.shape, kChannelsRow, kChannelsPixel, &desc);
}

// Neighbours in pairs until one is left; the last pair makes the result.
void AddChannelsTree(const KernelContext& context, std::vector<Part> parts, const Part& out,
                     Element element, KernelList* list) {
  while (parts.size() > 1) {
    std::vector<Part> joined;
    for (size_t i = 0; i + 1 < parts.size(); i += 2) {
      Part both = out;
      if (parts.size() > 2) {
        both.shape.c = parts[i].shape.c + parts[i + 1].shape.c;
        both.tensor = list->AddScratch(both.shape, element);
      }
      AddChannels(context, parts[i], parts[i + 1], both, list);
      joined.push_back(both);
    }
    if (parts.size() % 2 != 0) joined.push_back(parts.back());
    parts = std::move(joined);
  }
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const int axis = node.attributes.Int("axis");
  const Part out = {node.outputs[0], graph.shape(node.outputs[0])};
  std::vector<Part> parts;
  bool whole_slices = true;
  for (ValueId id : node.inputs) {
    if (axis == 3 && !parts.empty()) whole_slices &= parts.back().shape.c % 4 == 0;
    parts.push_back({id, graph.shape(id)});
  }
  if (!whole_slices) {
    AddChannelsTree(context, std::move(parts), out, graph.value(node.outputs[0]).element, list);
    return Status();
  }
  int at = 0;
  for (size_t i = 0; i < parts.size(); i += 2) {
    const Part* second = i + 1 < parts.size() ? &parts[i + 1] : nullptr;
    AddPlace(context, parts[i], second, out, axis, at, list);
    at += parts[i].shape.axis(axis) + (second ? second->shape.axis(axis) : 0);
  }
  return Status();
}

bool HasOneInput(const Node& node) { return node.inputs.size() == 1; }

// Picks from all inputs' numbers, one input after the other.
ConstantData Fold(const Graph& graph, const Node& node) {
  if (!IsSmallConstant(graph, node)) return nullptr;
  const auto join = [&](const auto& numbers_of, auto* all) {
    for (ValueId id : node.inputs) {
      const auto& numbers = numbers_of(*graph.value(id).constant);
      all->insert(all->end(), numbers.begin(), numbers.end());
    }
  };
  const int axis = node.attributes.Int("axis");
  std::vector<int> places;
  int outer = 1;
  for (int a = kFirstAxis; a < axis; ++a) outer *= graph.shape(node.outputs[0]).axis(a);
  for (int i = 0; i < outer; ++i) {
    int first = 0;
    for (ValueId id : node.inputs) {
      const int size = static_cast<int>(graph.shape(id).elements());
      for (int k = 0; k < size / outer; ++k) places.push_back(first + size / outer * i + k);
      first += size;
    }
  }
  if (IsFloat(graph.value(node.inputs[0]).element)) {
    std::vector<float> all;
    join([](const Constant& one) { return *one.floats(); }, &all);
    return Picked(Constant(std::move(all)), places);
  }
  std::vector<int32_t> all;
  join([](const Constant& one) { return one.ints(); }, &all);
  return Picked(Constant(graph.value(node.inputs[0]).element, std::move(all)), places);
}

}  // namespace

extern const Op kConcatOp;
const Op kConcatOp = {
    .name = "concat",
    .builtins = {kTfLiteBuiltinConcatenation, -1},
    .max_version = 6,
    .params_bytes = sizeof(TfLiteConcatenationParams),
    .attributes = QUADRA_TEXT("axis"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .fold = Fold,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .copies = HasOneInput,
    .moves = true,
};

}  // namespace quadra
