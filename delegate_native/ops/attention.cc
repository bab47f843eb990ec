// odml.scaled_dot_product_attention, a composite: softmax(scale * q * k^T + mask) * v for each
// head. q is [b, t, n, h], k is [b, s, m, h], v is [b, s, m, d], the result [b, t, n, d]: n / m
// heads in a row share a head of k and v. A mask, [b, n, t, s], is broadcast; `logit_cap` bounds
// the products before: cap * tanh(product / cap).
#include "delegate_native/ops/composites.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

struct Sizes {
  int batches, rows, heads, shared_heads, columns;
  // A group of heads that share k and v is one matrix, of `group` * `rows` rows, below one another.
  // But where all share them and the mask has a row for each of theirs, BATCH_MATMUL broadcasts.
  int group;
};

Status ReadSizes(const Importer& importer, Sizes* sizes) {
  Shape shapes[3];
  for (int i = 0; i < 3; ++i) {
    int rank;
    QUADRA_RETURN_IF_ERROR(importer.InputShape(i, &shapes[i], &rank));
    if (rank != 4) return Unsupported("its input %d has rank %d; rank 4 is supported", i, rank);
  }
  const auto& [q, k, v] = shapes;
  if (q.b != k.b || k.b != v.b || k.h != v.h || k.w != v.w || q.c != k.c || q.w % k.w != 0) {
    return Unsupported("its inputs have the shapes %s, %s and %s", ToString(q).c_str(),
                       ToString(k).c_str(), ToString(v).c_str());
  }
  *sizes = {q.b, q.h, q.w, k.w, k.h, q.h > 1 && k.w == 1 ? 1 : q.w / k.w};
  return Status();
}

ValueId Reshaped(Importer* importer, ValueId value, std::vector<int> shape) {
  Attributes attributes;
  attributes.SetInts("shape", std::move(shape));
  return importer->AddInnerNode("reshape", {value}, std::move(attributes));
}

Attributes HeadsBeforeRows() {
  Attributes attributes;
  attributes.SetInts("order", {0, 2, 1, 3});
  return attributes;
}

ValueId Product(Importer* importer, ValueId a, ValueId b, bool columns_of_b) {
  Attributes attributes;
  attributes.SetInt("columns_of_b", columns_of_b);
  return importer->AddInnerNode("batch_matmul", {a, b}, std::move(attributes));
}

ValueId Scaled(Importer* importer, ValueId value, float factor) {
  return importer->AddInnerNode("mul", {value, importer->AddConstant({}, {factor})}, {});
}

// The mask as rows of groups have it; -1 where it cannot be.
Status ReadMask(const Sizes& sizes, Importer* importer, ValueId* mask) {
  Shape shape;
  int rank;
  QUADRA_RETURN_IF_ERROR(importer->InputShape(3, &shape, &rank));
  const bool of_heads = shape.h > 1 && sizes.group > 1, of_rows = shape.w > 1;
  const auto fits = [](int n, int most) { return n == 1 || n == most; };
  if (rank != 4 || !fits(shape.b, sizes.batches) || !fits(shape.h, sizes.heads) ||
      !fits(shape.w, sizes.rows) || !fits(shape.c, sizes.columns) ||
      (of_heads && shape.w != sizes.rows)) {
    return Unsupported("its mask has the shape %s", ToString(shape).c_str());
  }
  QUADRA_RETURN_IF_ERROR(importer->Operand(3, mask));
  if (of_heads) {
    const int groups = sizes.heads / sizes.group;
    *mask = Reshaped(importer, *mask, {shape.b, groups, sizes.group * sizes.rows, shape.c});
  } else if (of_rows && sizes.group > 1) {
    Attributes attributes;
    attributes.SetInts("counts", {1, 1, sizes.group, 1});
    *mask = importer->AddInnerNode("tile", {*mask}, std::move(attributes));
  }
  return Status();
}

}  // namespace

Status ImportAttention(const FlexMap& attributes, Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 4));
  float scale = 1.0f, cap = 0.0f;
  QUADRA_RETURN_IF_ERROR(attributes.Float("scale", &scale));
  const bool has_cap = attributes.Has("logit_cap");
  if (has_cap) QUADRA_RETURN_IF_ERROR(attributes.Float("logit_cap", &cap));
  if (attributes.size() != (has_cap ? 2 : 1) || (has_cap && !(cap > 0.0f))) {
    return Unsupported("it has attributes other than scale and a logit_cap above 0");
  }
  Sizes sizes;
  QUADRA_RETURN_IF_ERROR(ReadSizes(*importer, &sizes));
  ValueId values[3], mask = -1;
  for (int i = 0; i < 3; ++i) QUADRA_RETURN_IF_ERROR(importer->Operand(i, &values[i]));
  if (importer->HasInput(3)) QUADRA_RETURN_IF_ERROR(ReadMask(sizes, importer, &mask));
  auto [q, k, v] = values;

  k = importer->AddInnerNode("transpose", {k}, HeadsBeforeRows());
  v = importer->AddInnerNode("transpose", {v}, HeadsBeforeRows());
  if (sizes.rows > 1) q = importer->AddInnerNode("transpose", {q}, HeadsBeforeRows());
  const int groups = sizes.heads / sizes.group;
  q = Reshaped(importer, q, {sizes.batches, groups, sizes.group * sizes.rows, -1});
  q = Scaled(importer, q, has_cap ? scale / cap : scale);
  ValueId weights = Product(importer, q, k, /*columns_of_b=*/true);
  if (has_cap) weights = Scaled(importer, importer->AddInnerNode("tanh", {weights}, {}), cap);
  if (mask >= 0) weights = importer->AddInnerNode("add", {weights, mask}, {});
  Attributes softmax;
  softmax.SetFloat("beta", 1.0f);
  weights = importer->AddInnerNode("softmax", {weights}, std::move(softmax));
  const ValueId made = Product(importer, weights, v, /*columns_of_b=*/false);
  Attributes shape;
  if (sizes.rows == 1) {
    shape.SetInts("shape", {sizes.batches, 1, sizes.heads, -1});
    return importer->AddNode("reshape", {made}, std::move(shape));
  }
  const ValueId heads = Reshaped(importer, made, {sizes.batches, sizes.heads, sizes.rows, -1});
  return importer->AddNode("transpose", {heads}, HeadsBeforeRows());
}

}  // namespace quadra
