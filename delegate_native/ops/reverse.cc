// REVERSE_V2: some axes backwards. REVERSE_SEQUENCE: the beginning of one axis, of another length
// for each place of a second one. A computed length beyond the axis reverses all of it; the CPU
// fails there.
#include "delegate_native/base/status.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/index_map.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  std::vector<int> axes;
  QUADRA_RETURN_IF_ERROR(ReadAxes(*importer, 1, &axes));
  Attributes attributes;
  attributes.SetInts("axes", axes);
  return importer->AddNode("reverse", {src}, std::move(attributes));
}

Status ImportSequence(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteReverseSequenceParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  std::vector<ValueId> values(2);
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &values[0], kAllElements));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &values[1], kInts | Only(Element::kInt64)));
  const int rank = importer->InputRank(0);
  int axis, batch_axis;
  QUADRA_RETURN_IF_ERROR(ToAxis(params->seq_dim, rank, &axis));
  QUADRA_RETURN_IF_ERROR(ToAxis(params->batch_dim, rank, &batch_axis));
  if (params->seq_dim < 0 || params->batch_dim < 0 || axis == batch_axis) {
    return InvalidModel("its seq_dim is %d, its batch_dim %d", params->seq_dim, params->batch_dim);
  }
  Attributes attributes;
  attributes.SetInt("axis", axis);
  attributes.SetInt("batch_axis", batch_axis);
  return importer->AddNode("reverse_sequence", std::move(values), std::move(attributes));
}

Status SequenceShape(Graph* graph, const Node& node) {
  const Value& lengths = graph->value(node.inputs[1]);
  const Shape& shape = graph->shape(node.inputs[0]);
  const int batches = shape.axis(node.attributes.Int("batch_axis"));
  if (lengths.rank != 1 || lengths.shape.c != batches) {
    return InvalidModel("its lengths have the shape %s; a vector of %d is right",
                        ToString(lengths.shape).c_str(), batches);
  }
  const int most = shape.axis(node.attributes.Int("axis"));
  if (lengths.constant) {
    for (int length : lengths.constant->ints()) {
      if (length > most) {
        return InvalidModel("its length %d is out of range for an axis of %d", length, most);
      }
    }
  }
  return SameShape(graph, node);
}

Status SequenceKernels(const KernelContext& context, const Graph& graph, const Node& node,
                       KernelList* list) {
  const Shape& shape = graph.shape(node.inputs[0]);
  const int axis = node.attributes.Int("axis"), batch_axis = node.attributes.Int("batch_axis");
  IndexMap map;
  map.keeps_channels = axis != 3 && batch_axis != 3;
  map.address =
      Text(QUADRA_TEXT(R"(int turned = min(int_lane(read_lengths(0, 0, $b / 4), $b % 4), most);
if ($at < turned) { $at = turned - 1 - $at; }
)"))
          .Set("at", PlaceName(axis))
          .Set("b", PlaceName(batch_axis));
  KernelDesc& desc = AddIndexMap(context, "reverse_sequence", map, node.inputs[0], shape,
                                 node.outputs[0], shape, list);
  desc.Read("lengths", node.inputs[1]);
  desc.Int("most", shape.axis(axis));
  return Status();
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& shape = graph.shape(node.inputs[0]);
  IndexMap map;
  map.keeps_channels = true;
  for (int axis : node.attributes.Ints("axes")) {
    map.address += Along(axis, axis - kFirstAxis, "$at = last_$i - $at;\n");
    map.keeps_channels &= axis != 3;
  }
  KernelDesc& desc =
      AddIndexMap(context, "reverse", map, node.inputs[0], shape, node.outputs[0], shape, list);
  for (int axis : node.attributes.Ints("axes")) {
    desc.Int(Format("last_%d", axis - kFirstAxis), shape.axis(axis) - 1);
  }
  return Status();
}

}  // namespace

extern const Op kReverseOp;
const Op kReverseOp = {
    .name = "reverse",
    .builtins = {kTfLiteBuiltinReverseV2, -1},
    .max_version = 3,
    .attributes = QUADRA_TEXT("axes"),
    .import = Import,
    .shape = SameShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .moves = true,
};

extern const Op kReverseSequenceOp;
const Op kReverseSequenceOp = {
    .name = "reverse_sequence",
    .builtins = {kTfLiteBuiltinReverseSequence, -1},
    .params_bytes = sizeof(TfLiteReverseSequenceParams),
    .attributes = QUADRA_TEXT("axis batch_axis"),
    .import = ImportSequence,
    .shape = SequenceShape,
    .kernels = SequenceKernels,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .moves = true,
    .place_input = 1,
};

}  // namespace quadra
