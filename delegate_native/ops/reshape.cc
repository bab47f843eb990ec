// RESHAPE: the same elements in the same dense order under another shape, of which one dimension
// may be -1. The shape is the second input if that is a constant vector, else the node's options.
#include "delegate_native/ops/reshape.h"

#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status ReadShape(Importer* importer, std::vector<int>* shape) {
  if (importer->HasInput(1) && importer->InputRank(1) == 1) {
    return importer->ConstantInts(1, shape);
  }
  const TfLiteReshapeParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  const int rank = params->num_dimensions;
  if (rank < 0 || rank > 8) return InvalidModel("its options have a shape of rank %d", rank);
  shape->assign(params->shape, params->shape + rank);
  // How old converters wrote a scalar.
  if (rank == 1 && params->shape[0] == 0) shape->clear();
  return Status();
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 2));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  std::vector<int> shape;
  QUADRA_RETURN_IF_ERROR(ReadShape(importer, &shape));
  if (shape.size() > 4) {
    return Unsupported("its result has rank %zu; ranks up to 4 are supported", shape.size());
  }
  Attributes attributes;
  attributes.SetInts("shape", shape);
  return importer->AddNode("reshape", {src}, attributes);
}

Status InferShape(Graph* graph, const Node& node) {
  const std::vector<int>& wanted = node.attributes.Ints("shape");
  const int64_t elements = graph->shape(node.inputs[0]).elements();
  const int rank = static_cast<int>(wanted.size());
  Shape shape;
  int64_t known = 1;
  int free_axis = -1;
  for (int i = 0; i < rank; ++i) {
    const int n = wanted[static_cast<size_t>(i)];
    const int axis = 4 - rank + i;
    if (n == -1 && free_axis < 0) {
      free_axis = axis;
    } else if (n < 1 || n > elements) {
      return InvalidModel("dimension %d of its new shape is %d, for %lld elements", i, n,
                          static_cast<long long>(elements));
    } else {
      shape.set_axis(axis, n);
      known *= n;
    }
  }
  if (free_axis >= 0 && known <= elements) {
    shape.set_axis(free_axis, static_cast<int>(elements / known));
  }
  if (shape.elements() != elements) {
    return InvalidModel("it makes %s of %lld elements", ToString(shape).c_str(),
                        static_cast<long long>(elements));
  }
  graph->value(node.outputs[0]).shape = shape;
  graph->value(node.outputs[0]).rank = rank;
  return Status();
}

constexpr char kRow[] = R"(
  int slice = s % dst_s;
  int row = (s / dst_s * dst_h + y) * dst_w;
)";

// Whole slices move where the channels of both are the same or multiples of four.
constexpr char kPixel[] = R"(
    vec4 v = vec4(0.0f);
    if (whole_slices != 0) {
      int from = (row + x) * dst_s + slice;
      int p = from / src_s;
      int q = p / src_w;
      v = read_src(p - q * src_w, q % src_h, q / src_h * src_s + from - p * src_s);
    } else {
      int first = (row + x) * dst_c + slice * 4;
      for (int i = 0; i < 4; ++i) {
        int from = min(first + i, last);
        int p = from / src_c;
        int q = p / src_w;
        int c = from - p * src_c;
        vec4 u = read_src(p - q * src_w, q % src_h, q / src_h * src_s + c / 4);
        v = with_lane(v, i, lane(u, c % 4));
      }
    }
    write_dst(v, x, y, s);
)";

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  AddReshapeKernel(context, node.inputs[0], graph.shape(node.inputs[0]), node.outputs[0],
                   graph.shape(node.outputs[0]), list);
  return Status();
}

}  // namespace

void AddReshapeKernel(const KernelContext& context, int from, const Shape& from_shape, int to,
                      const Shape& to_shape, KernelList* list) {
  KernelDesc& desc = list->Add("reshape");
  desc.Read("src", from);
  desc.Write("dst", to);
  desc.Int("whole_slices", from_shape.c == to_shape.c ||
                               (from_shape.c % 4 == 0 && to_shape.c % 4 == 0));
  desc.Int("last", static_cast<int>(from_shape.elements()) - 1);
  LoopOverResults(context, to_shape, kRow, kPixel, &desc);
}

int BeginReshape(const Graph& graph, const Node& node, const Shape& made, KernelList* list) {
  return made == graph.shape(node.outputs[0]) ? node.outputs[0] : list->AddScratch(made);
}

void FinishReshape(const KernelContext& context, const Graph& graph, const Node& node, int from,
                   const Shape& made, KernelList* list) {
  if (from == node.outputs[0]) return;
  AddReshapeKernel(context, from, made, node.outputs[0], graph.shape(node.outputs[0]), list);
}

extern const Op kReshapeOp;
const Op kReshapeOp = {"reshape", {kTfLiteBuiltinReshape, -1}, nullptr, 1,
                       Import, InferShape, Kernels, nullptr};

}  // namespace quadra
