// BATCH_MATMUL: products of the matrices in the last two axes, of two computed or constant tensors;
// axes before are broadcast as numpy does. FULLY_CONNECTED with computed weights is one, too.
#include <algorithm>
#include <utility>

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/composites.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

// The same matrices with rows and columns changed.
ValueId Flipped(Importer* importer, ValueId matrices, int rank) {
  std::vector<int> order(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = i;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  Attributes attributes;
  attributes.SetInts("order", order);
  return importer->AddInnerNode("transpose", {matrices}, std::move(attributes));
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteBatchMatMulParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId a, b;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &a));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &b));
  if (importer->InputRank(0) < 2 || importer->InputRank(1) < 2) {
    return InvalidModel("its operands have ranks %d and %d; rank 2 is the least",
                        importer->InputRank(0), importer->InputRank(1));
  }
  if (params->adj_x) a = Flipped(importer, a, importer->InputRank(0));
  Attributes attributes;
  attributes.SetInt("columns_of_b", params->adj_y);
  return importer->AddNode("batch_matmul", {a, b}, std::move(attributes));
}

// `columns_of_b`: each row of the second operand is a column of the matrix.
Status InferShape(Graph* graph, const Node& node) {
  const Value& a = graph->value(node.inputs[0]);
  const Value& b = graph->value(node.inputs[1]);
  Value& out = graph->value(node.outputs[0]);
  const bool columns = node.attributes.Int("columns_of_b") != 0;
  const int inner = columns ? b.shape.c : b.shape.w;
  if (a.shape.c != inner) {
    return InvalidModel("rows of %d do not fit columns of %d", a.shape.c, inner);
  }
  out.rank = a.rank < 2 ? a.rank : std::max(a.rank, b.rank);  // a vector is FULLY_CONNECTED's
  out.shape = Shape();
  for (int axis = kFirstAxis; axis < 2; ++axis) {
    const int n = a.shape.axis(axis), m = b.shape.axis(axis);
    if (n != m && n != 1 && m != 1) {
      return InvalidModel("shapes %s and %s cannot be broadcast to one", ToString(a.shape).c_str(),
                          ToString(b.shape).c_str());
    }
    out.shape.set_axis(axis, std::max(n, m));
  }
  out.shape.w = a.shape.w;
  out.shape.c = columns ? b.shape.w : b.shape.c;
  return Status();
}

constexpr int kRows = 4;  // of the result that a work-item makes

// Columns of b are turned into rows: sums across a vector are slow on CPUs. Rows of b beyond the
// last count as 0: a's numbers there are 0, and 0 times infinity is none.
constexpr const char* kBody = QUADRA_TEXT(R"(
int batch = s / dst_s;
int slice = s - batch * dst_s;
int outer = batch / to_b;
int at_b = batch - outer * to_b;
int first_row = x * 4;
int a_first = (outer / to_q * left_p + outer % to_q * left_q + at_b * left_o) * left_s;
int b_first = (outer / to_q * right_p + outer % to_q * right_q + at_b * right_o) * right_s;
$for(i, rows)
int row$i = min(first_row + $i, dst_w - 1);
sum4_t sum$i = vec4(0.0f);
$end
for (int k = 0; k < left_s; ++k) {
$for(i, rows) sum4_t a$i = read_left(row$i, y * left_y, a_first + k);
$if(columns)
$for(i, 4) sum4_t c$i = read_right(min(slice * 4 + $i, right_w - 1), y * right_y, b_first + k);
$for(i, 4) sum4_t b$i = vec4(c0.${i:x,y,z,w}, c1.${i:x,y,z,w}, c2.${i:x,y,z,w}, c3.${i:x,y,z,w});
$end
$if(!columns)
$for(i, 4)

sum4_t b$i = vec4(0.0f);
if (k * 4 + $i < right_w) { b$i = read_right(k * 4 + $i, y * right_y, b_first + slice); }
$end
$end
$for(i, rows) sum$i += vec4(a$i.x) * b0 + vec4(a$i.y) * b1 + vec4(a$i.z) * b2 + vec4(a$i.w) * b3;
}
$for(i, rows) if (first_row + $i < dst_w) { write_dst(sum$i, row$i, y, s); }
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& out = graph.shape(node.outputs[0]);
  KernelDesc& desc = list->Add("batch_matmul");
  desc.Read("left", node.inputs[0]);
  desc.Read("right", node.inputs[1]);
  desc.Write("dst", node.outputs[0]);
  desc.Int("to_b", out.axis(0));
  desc.Int("to_q", out.axis(-1));
  const char* const names[2][4] = {{"left_p", "left_q", "left_o", "left_y"},
                                   {"right_p", "right_q", "right_o", "right_y"}};
  for (size_t i = 0; i < 2; ++i) {
    // How many batches on the next place of an axis is: none where the operand is broadcast.
    const Shape& shape = graph.shape(node.inputs[i]);
    int stride = 1;
    for (int axis = 0; axis >= kFirstAxis; --axis) {
      desc.Int(names[i][axis - kFirstAxis], shape.axis(axis) == 1 ? 0 : stride);
      stride *= shape.axis(axis);
    }
    desc.Int(names[i][3], shape.h == 1 ? 0 : 1);
  }
  const int tiles = CeilDiv(out.w, kRows);
  desc.Int("tiles", tiles);
  desc.trips = graph.shape(node.inputs[0]).slices();
  Text text(kBody);
  text.Set("rows", kRows).Set("columns", node.attributes.Int("columns_of_b"));
  const std::string body = text;
  Loops loops;
  loops.limits[0] = "tiles";
  loops.pixel = body.c_str();
  loops.work = 32;
  LoopOver(context, tiles, out.h, out.slices() * out.b, loops, &desc);
  return Status();
}

}  // namespace

// odml.runtime_bmm: rows of the second operand are columns. Its third input says how many places of
// a cache are used, which others are multiplied by 0 or hidden by a mask.
Status ImportMatrixProduct(const FlexMap& attributes, Importer* importer, ValueId* result) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 3));
  size_t known = 0;
  for (const char* name : {"is_global", "is_src", "rhs_cache_update"}) {
    known += attributes.Has(name);
  }
  if (attributes.size() != known) return Unsupported("it has attributes that are not known");
  Shape a, b;
  int rank_a, rank_b;
  QUADRA_RETURN_IF_ERROR(importer->InputShape(0, &a, &rank_a));
  QUADRA_RETURN_IF_ERROR(importer->InputShape(1, &b, &rank_b));
  if (rank_a != 4 || rank_b != 4 || a.c != b.c || a.b != b.b || a.h != b.h) {
    return Unsupported("the shapes of its inputs do not fit each other");
  }
  std::vector<ValueId> values(2);
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &values[0]));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &values[1]));
  Attributes how;
  how.SetInt("columns_of_b", 1);
  *result = importer->AddInnerNode("batch_matmul", std::move(values), std::move(how));
  return Status();
}

extern const Op kBatchMatmulOp;
const Op kBatchMatmulOp = {
    .name = "batch_matmul",
    .builtins = {kTfLiteBuiltinBatchMatmul, -1},
    .max_version = 4,
    .params_bytes = sizeof(TfLiteBatchMatMulParams),
    .attributes = QUADRA_TEXT("columns_of_b"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
};

}  // namespace quadra
