// odml.scaled_dot_product_attention, a composite: softmax(scale * q * k^T + mask) * v for each
// head. q is [b, t, n, h], k is [b, s, m, h], v is [b, s, m, d], the result [b, t, n, d]: n / m
// heads in a row share a head of k and v. A mask, [b, n, t, s], is broadcast; `logit_cap` bounds
// the products before: cap * tanh(product / cap).
#include "delegate_native/ops/composites.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

// Adds the steps of the work, each of one or two operands and up to one list of integers.
class Steps {
 public:
  explicit Steps(Importer* importer) : importer_(importer) {}

  ValueId Add(const char* op, ValueId a, ValueId b = -1, const char* name = nullptr,
              const int* ints = nullptr, size_t count = 4) const {
    std::vector<ValueId> operands = {a, b};
    if (b < 0) operands.pop_back();
    Attributes attributes;
    if (name) attributes.SetInts(name, {ints, ints + count});
    return importer_->AddInnerNode(op, std::move(operands), std::move(attributes));
  }
  ValueId HeadsAndRowsSwapped(ValueId value) const {
    static constexpr int kOrder[] = {0, 2, 1, 3};
    return Add("transpose", value, -1, "order", kOrder);
  }
  ValueId Reshaped(ValueId value, int b, int h, int w, int c) const {
    const int shape[] = {b, h, w, c};
    return Add("reshape", value, -1, "shape", shape);
  }
  ValueId Product(ValueId a, ValueId b, int columns_of_b) const {
    return Add("batch_matmul", a, b, "columns_of_b", &columns_of_b, 1);
  }
  ValueId Scaled(ValueId value, float factor) const {
    return Add("mul", value, importer_->AddConstant({}, {factor}));
  }

 private:
  Importer* importer_;
};

bool Fits(int n, int most) { return n == 1 || n == most; }

}  // namespace

Status ImportAttention(const FlexMap& attributes, Importer* importer, ValueId* result) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 4));
  float scale, cap = 1.0f;
  QUADRA_RETURN_IF_ERROR(attributes.Float("scale", &scale));
  const bool has_cap = attributes.Has("logit_cap");
  if (has_cap) QUADRA_RETURN_IF_ERROR(attributes.Float("logit_cap", &cap));
  if (attributes.size() != (has_cap ? 2 : 1) || !(cap > 0.0f)) {
    return Unsupported("it has attributes other than scale and a logit_cap above 0");
  }
  const bool has_mask = importer->HasInput(3);
  Shape shapes[4];
  ValueId values[4];
  bool fits = true;
  for (int i = 0; i < 3 + has_mask; ++i) {
    int rank;
    QUADRA_RETURN_IF_ERROR(importer->InputShape(i, &shapes[i], &rank));
    QUADRA_RETURN_IF_ERROR(importer->Operand(i, &values[i]));
    fits &= rank == 4;
  }
  const auto& [q, k, v, mask] = shapes;
  const int rows = q.h, heads = q.w;
  // Heads that share one of k and v are one matrix, of the rows of each below the former's. But
  // where all share it and there are many rows, BATCH_MATMUL broadcasts: so the mask need not be
  // written as often.
  fits &= heads % k.w == 0;
  const int shared = !fits || (rows > 1 && k.w == 1) ? 1 : heads / k.w, groups = heads / shared;
  const bool has_heads = mask.h > 1 && shared > 1;
  fits &= q.b == k.b && q.b == v.b && k.h == v.h && k.w == v.w && q.c == k.c && Fits(mask.b, q.b) &&
          Fits(mask.h, heads) && Fits(mask.w, rows) && Fits(mask.c, k.h) &&
          (!has_heads || mask.w == rows);
  if (!fits) return Unsupported("the shapes of its inputs do not fit each other");

  const Steps steps(importer);
  ValueId weights = rows > 1 ? steps.HeadsAndRowsSwapped(values[0]) : values[0];
  weights = steps.Reshaped(weights, q.b, groups, shared * rows, q.c);
  weights = steps.Scaled(weights, scale / cap);
  weights = steps.Product(weights, steps.HeadsAndRowsSwapped(values[1]), /*columns_of_b=*/1);
  if (has_cap) weights = steps.Scaled(steps.Add("tanh", weights), cap);
  if (has_mask) {
    ValueId added = values[3];
    const int counts[] = {1, 1, shared, 1};
    if (has_heads) added = steps.Reshaped(added, mask.b, groups, shared * rows, mask.c);
    else if (mask.w > 1 && shared > 1) added = steps.Add("tile", added, -1, "counts", counts);
    weights = steps.Add("add", weights, added);
  }
  Attributes beta;
  beta.SetFloat("beta", 1.0f);
  weights = importer->AddInnerNode("softmax", {weights}, std::move(beta));
  *result = steps.Product(weights, steps.HeadsAndRowsSwapped(values[2]), /*columns_of_b=*/0);
  // One row of each head lies as rows do.
  *result = rows > 1 ? steps.HeadsAndRowsSwapped(steps.Reshaped(*result, q.b, heads, rows, v.c))
                     : steps.Reshaped(*result, q.b, rows, heads, v.c);
  return Status();
}

}  // namespace quadra
