// SPLIT, SPLIT_V, UNPACK: a tensor in parts along one axis. Each part is a node of its own.
#include "delegate_native/base/texts.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/reshape.h"
#include "delegate_native/ops/slice.h"

namespace quadra {
namespace {

// One node for each output. Attributes that not all have: "sizes" of the parts along the axis, one
// of them perhaps -1, without which all are equal; "drops" of UNPACK, whose parts are 1 along an
// axis that it drops.
Status AddParts(Importer* importer, int input, int axis, Attributes&& attributes) {
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(input, &src, kAllElements));
  attributes.SetInt("axis", axis);
  attributes.SetInt("parts", importer->num_outputs());
  for (int i = 0; i < importer->num_outputs(); ++i) {
    attributes.SetInt("part", i);
    QUADRA_RETURN_IF_ERROR(importer->AddNodeFor(i, "split", {src}, Attributes(attributes)));
  }
  return Status();
}

Status Import(Importer* importer) {
  const TfLiteSplitParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2, params->num_splits));
  int axis;
  QUADRA_RETURN_IF_ERROR(ReadAxis(*importer, 0, importer->InputRank(1), &axis));
  return AddParts(importer, 1, axis, {});
}

Status ImportSizes(Importer* importer) {
  const TfLiteSplitVParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 3, params->num_splits));
  int axis;
  QUADRA_RETURN_IF_ERROR(ReadAxis(*importer, 2, importer->InputRank(0), &axis));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(1, "sizes", &attributes));
  return AddParts(importer, 0, axis, std::move(attributes));
}

Status ImportUnpack(Importer* importer) {
  const TfLiteUnpackParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1, params->num));
  int axis;
  QUADRA_RETURN_IF_ERROR(ToAxis(params->axis, importer->InputRank(0), &axis));
  Attributes attributes;
  attributes.SetInts("sizes", std::vector<int>(static_cast<size_t>(importer->num_outputs()), 1));
  attributes.SetInt("drops", 1);
  return AddParts(importer, 0, axis, std::move(attributes));
}

// Where the node's part of an axis of `length` begins, and how long it is.
Status FindPart(const Attributes& attributes, int length, int* start, int* count) {
  const int part = attributes.Int("part"), parts = attributes.Int("parts");
  if (!attributes.Has("sizes")) {
    if (length % parts != 0) return InvalidModel("%d parts do not divide %d", parts, length);
    *count = length / parts;
    *start = part * *count;
    return Status();
  }
  const std::vector<int>& sizes = attributes.Ints("sizes");
  if (static_cast<int>(sizes.size()) != parts) {
    return InvalidModel("it has %zu sizes for %d parts", sizes.size(), parts);
  }
  int64_t sum = 0, before = 0;
  int open = -1;
  for (int i = 0; i < parts; ++i) {
    const int size = sizes[static_cast<size_t>(i)];
    if (size < -1 || (size == -1 && open >= 0)) return InvalidModel("a part has size %d", size);
    if (size == -1) open = i;
    else sum += size;
    if (i < part && size > 0) before += size;
  }
  const int64_t rest = length - sum;
  if (open >= 0 ? rest < 0 : rest != 0) {
    return InvalidModel("its parts are %lld of %d together", static_cast<long long>(sum), length);
  }
  if (open >= 0 && open < part) before += rest;
  *start = static_cast<int>(before);
  *count = open == part ? static_cast<int>(rest) : sizes[static_cast<size_t>(part)];
  if (*count == 0) return Unsupported("part %d is empty", part);
  return Status();
}

// The part with all axes kept.
Status TakenShape(const Value& in, const Attributes& attributes, Shape* taken, int* start) {
  const int axis = attributes.Int("axis");
  int count = 0;
  QUADRA_RETURN_IF_ERROR(FindPart(attributes, in.shape.axis(axis), start, &count));
  *taken = in.shape;
  taken->set_axis(axis, count);
  return Status();
}

bool PartOf(const Graph& graph, const Node& node, SlicePlaces* places, Shape* taken) {
  int* const start = places->start_of(node.attributes.Int("axis"));
  return TakenShape(graph.value(node.inputs[0]), node.attributes, taken, start).ok();
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value taken;
  int start;
  QUADRA_RETURN_IF_ERROR(TakenShape(in, node.attributes, &taken.shape, &start));
  taken.rank = in.rank;
  std::vector<int> dropped;
  if (node.attributes.Int("drops", 0)) dropped.push_back(node.attributes.Int("axis"));
  DropAxes(taken, dropped, /*keep=*/false, &graph->value(node.outputs[0]));
  return Status();
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Value& in = graph.value(node.inputs[0]);
  Shape taken;
  SlicePlaces places;
  const int axis = node.attributes.Int("axis");
  QUADRA_RETURN_IF_ERROR(TakenShape(in, node.attributes, &taken, places.start_of(axis)));
  const int to = BeginReshape(graph, node, taken, list);
  AddSlice(context, places, node.inputs[0], in.shape, to, taken, list);
  FinishReshape(context, graph, node, to, taken, list);
  return Status();
}

ConstantData Fold(const Graph& graph, const Node& node) {
  const Value& in = graph.value(node.inputs[0]);
  Shape taken;
  SlicePlaces places;
  int* start = places.start_of(node.attributes.Int("axis"));
  return TakenShape(in, node.attributes, &taken, start).ok() ? FoldSlice(places, in, taken)
                                                             : nullptr;
}

}  // namespace

extern const Op kSplitOp;
const Op kSplitOp = {
    .name = "split",
    .builtins = {kTfLiteBuiltinSplit, -1},
    .max_version = 4,
    .params_bytes = sizeof(TfLiteSplitParams),
    .attributes = QUADRA_TEXT("axis part parts"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .fold = Fold,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .copies = AlwaysCopies,
    .part = PartOf,
    .moves = true,
    .size_input = 0,
};

extern const Op kSplitVOp;
const Op kSplitVOp = {
    .name = "split_v",
    .builtins = {kTfLiteBuiltinSplitV, -1},
    .max_version = 2,
    .params_bytes = sizeof(TfLiteSplitVParams),
    .import = ImportSizes,
    .moves = true,
    .size_input = 1,
};

extern const Op kUnpackOp;
const Op kUnpackOp = {
    .name = "unpack",
    .builtins = {kTfLiteBuiltinUnpack, -1},
    .max_version = 5,
    .params_bytes = sizeof(TfLiteUnpackParams),
    .import = ImportUnpack,
    .moves = true,
};

}  // namespace quadra
