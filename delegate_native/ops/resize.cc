#include "delegate_native/ops/resize.h"

namespace quadra {

Status ImportResize(Importer* importer, const char* op, Elements elements) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteResizeBilinearParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, elements));
  if (importer->InputRank(0) != 4) {
    return InvalidModel("its input has rank %d; rank 4 is needed", importer->InputRank(0));
  }
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(1, "size", &attributes));
  attributes.SetInt("align_corners", params->align_corners);
  attributes.SetInt("half_pixel_centers", params->half_pixel_centers);
  const Element element = importer->graph()->value(src).element;
  if (IsFloat(element) || elements == kAllElements)
    return importer->AddNode(op, {src}, std::move(attributes));
  // Integers become floats, and the result is rounded.
  src = importer->AddInnerNode("to_float", {src}, {});
  src = importer->AddInnerNode(op, {src}, std::move(attributes));
  src = importer->AddInnerNode("round", {src}, {});
  return importer->AddNode(Format("to_%s", NameOf(element)).c_str(), {src}, {});
}

Status InferResized(Graph* graph, const Node& node) {
  const Value& in = graph->value(node.inputs[0]);
  Value& out = graph->value(node.outputs[0]);
  const std::vector<int>& size = node.attributes.Ints("size");
  if (size.size() != 2) return InvalidModel("its size has %zu numbers, not 2", size.size());
  if (size[0] < 1 || size[1] < 1) {
    return InvalidModel("its size of %dx%d is not positive", size[0], size[1]);
  }
  out.shape = {in.shape.b, size[0], size[1], in.shape.c};
  out.rank = in.rank;
  return Status();
}

float ResizeScale(int in, int out, bool align_corners) {
  if (align_corners && out > 1) return static_cast<float>(in - 1) / static_cast<float>(out - 1);
  return static_cast<float>(in) / static_cast<float>(out);
}

}  // namespace quadra
