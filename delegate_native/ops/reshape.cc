// RESHAPE: the same elements in the same dense order under another shape, of which one dimension
// may be -1. The shape is the second input if that is a constant vector, else the node's options.
#include "delegate_native/ops/reshape.h"

#include <climits>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/grid.h"

namespace quadra {
namespace {

// The same of complex numbers, whose parts are counted.
Status ReadShapeOfParts(Importer* importer, Attributes* attributes) {
  std::vector<int> shape;
  QUADRA_RETURN_IF_ERROR(importer->ConstantInts(1, &shape));
  if (shape.empty() || shape.back() > INT_MAX / 2) {
    return Unsupported("it makes a scalar or more numbers than there are of complex64");
  }
  if (shape.back() > 0) shape.back() *= 2;
  attributes->SetInts("shape", std::move(shape));
  return Status();
}

Status ReadShape(Importer* importer, Attributes* attributes) {
  if (importer->HasInput(1) && importer->InputRank(1) == 1) {
    return importer->Sizes(1, "shape", attributes);
  }
  const TfLiteReshapeParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  const int rank = params->num_dimensions;
  if (rank < 0 || rank > 8) return InvalidModel("its options have a shape of rank %d", rank);
  // How old converters wrote a scalar.
  const bool is_scalar = rank == 1 && params->shape[0] == 0;
  attributes->SetInts("shape", {params->shape, params->shape + (is_scalar ? 0 : rank)});
  return Status();
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 2));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements | kComplex));
  Attributes attributes;
  const bool has_parts = importer->graph()->value(src).element == Element::kComplex64;
  QUADRA_RETURN_IF_ERROR(has_parts ? ReadShapeOfParts(importer, &attributes)
                                   : ReadShape(importer, &attributes));
  return importer->AddNode("reshape", {src}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  const std::vector<int>& wanted = node.attributes.Ints("shape");
  const int64_t elements = graph->shape(node.inputs[0]).elements();
  const int rank = static_cast<int>(wanted.size());
  QUADRA_RETURN_IF_ERROR(CheckRank(static_cast<size_t>(rank)));
  Shape shape;
  int64_t known = 1;
  constexpr int kNoAxis = 4;
  int free_axis = kNoAxis;
  for (int i = 0; i < rank; ++i) {
    const int n = wanted[static_cast<size_t>(i)];
    const int axis = 4 - rank + i;
    if (n == -1 && free_axis == kNoAxis) {
      free_axis = axis;
    } else if (n < 1 || n > elements) {
      return InvalidModel("dimension %d of its new shape is %d, for %lld elements", i, n,
                          static_cast<long long>(elements));
    } else {
      shape.set_axis(axis, n);
      known *= n;
    }
  }
  if (free_axis != kNoAxis && known <= elements) {
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

// Where the first element lies in src; the next pixel's is dst_c elements on: that many whole
// images (step_s), rows, pixels and channels.
constexpr const char* kRow = QUADRA_TEXT(R"(
  int from = ((s / dst_s * dst_h + y) * dst_w + x_begin) * dst_c + s % dst_s * 4;
  int p = from / src_c;
  int q = p / src_w;
  int from_c = from - p * src_c;
  int from_x = p - q * src_w;
  int from_y = q % src_h;
  int from_s = q / src_h * src_s;
  int end_s = src_s * src_b;
)");

// Four elements are a slice of one pixel of src (kind 0), or neighbours there (1), or are looked up
// one by one (2). The last slice's unused lanes may run over the end: they stay at the last image.
constexpr const char* kPixel = QUADRA_TEXT(R"(
    int low = from_s + from_c / 4;
    num4 v = read_src(from_x, from_y, low);
$if(kind%2)
    if (from_c % 4 != 0) {
      int high = from_s + min(from_c / 4 + 1, src_s - 1);
      v = num_lanes_from(v, read_src(from_x, from_y, high), from_c % 4);
    }
$end
$if(kind/2)
    int c = from_c;
    int at_x = from_x;
    int at_y = from_y;
    int at_s = from_s;
    for (int i = 0; i < 4; ++i) {
      v = num_with_lane(v, i, num_lane(read_src(at_x, at_y, at_s + c / 4), c % 4));
      c += 1;
      if (c == src_c) { c = 0; at_x += 1; }
      if (at_x == src_w) { at_x = 0; at_y += 1; }
      if (at_y == src_h) { at_y = 0; at_s = min(at_s + src_s, end_s - src_s); }
    }
$end
    write_dst(v, x, y, s);
    if (x + 1 < x_end) {
      from_c += step_c; from_x += step_x; from_y += step_y; from_s += step_s;
      if (from_c >= src_c) { from_c -= src_c; from_x += 1; }
      if (from_x >= src_w) { from_x -= src_w; from_y += 1; }
      if (from_y >= src_h) { from_y -= src_h; from_s += src_s; }
    }
)");

}  // namespace

bool SameLayout(const Shape& a, const Shape& b) {
  return a.b == b.b && a.h == b.h && a.w == b.w && a.c == b.c;
}

ConstantData SameNumbers(const Graph& graph, const Node& node) {
  return graph.value(node.inputs[0]).constant;
}

bool AllOfIt(const Graph& graph, const Node& node, SlicePlaces*, Shape* taken) {
  *taken = graph.shape(node.inputs[0]);
  return true;
}

void AddReshapeKernel(const KernelContext& context, int from, const Shape& from_shape, int to,
                      const Shape& to_shape, KernelList* list) {
  KernelDesc& desc = list->Add("reshape");
  desc.Read("src", from);
  desc.Write("dst", to);
  int left = to_shape.c;
  const auto step = [&](const char* name, int size) {
    desc.Int(name, left % size);
    left /= size;
  };
  step("step_c", from_shape.c);
  step("step_x", from_shape.w);
  step("step_y", from_shape.h);
  desc.Int("step_s", left * from_shape.slices());
  const int kind = from_shape.c % 4 == 0 && to_shape.c % 4 == 0 ? 0
                   : from_shape.c % to_shape.c == 0             ? 1
                                                                : 2;
  const std::string pixel = Text(kPixel).Set("kind", kind);
  LoopOverResults(context, to_shape, kRow, pixel.c_str(), &desc);
}

Status ReshapeKernels(const KernelContext& context, const Graph& graph, const Node& node,
                      KernelList* list) {
  AddReshapeKernel(context, node.inputs[0], graph.shape(node.inputs[0]), node.outputs[0],
                   graph.shape(node.outputs[0]), list);
  return Status();
}

int Viewed(const KernelContext& context, const Graph& graph, ValueId id, const Shape& shape,
           KernelList* list) {
  const Value& value = graph.value(id);
  if (SameLayout(value.shape, shape)) return id;
  const int to = list->AddScratch(shape, value.element);
  AddReshapeKernel(context, id, value.shape, to, shape, list);
  return to;
}

int BeginReshape(const Graph& graph, const Node& node, const Shape& made, KernelList* list) {
  const Value& out = graph.value(node.outputs[0]);
  return SameLayout(made, out.shape) ? node.outputs[0] : list->AddScratch(made, out.element);
}

void FinishReshape(const KernelContext& context, const Graph& graph, const Node& node, int from,
                   const Shape& made, KernelList* list) {
  if (from == node.outputs[0]) return;
  AddReshapeKernel(context, from, made, node.outputs[0], graph.shape(node.outputs[0]), list);
}

extern const Op kReshapeOp;
const Op kReshapeOp = {
    .name = "reshape",
    .builtins = {kTfLiteBuiltinReshape, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteReshapeParams),
    .attributes = QUADRA_TEXT("shape"),
    .import = Import,
    .shape = InferShape,
    .kernels = ReshapeKernels,
    .fold = SameNumbers,
    .max_rank = kMostRank,
    .copies = AlwaysCopies,
    .part = AllOfIt,
    .moves = true,
    .size_input = 1,
};

}  // namespace quadra
