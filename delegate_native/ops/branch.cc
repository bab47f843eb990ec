// IF: one of two subgraphs of the model makes the results. Both are computed, in one partition, and
// the condition chooses: less than the way to the CPU and back, if neither has much to do.
#include <algorithm>
#include <vector>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/ops/subgraph.h"
#include "delegate_native/tflite/importer.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {
namespace {

// Multiplications, or numbers made: a phone's GPU takes a fraction of a millisecond for as many.
constexpr double kMostWork = 1 << 24;

double Count(const TfLiteTensor& tensor) {
  double count = 1;
  for (int i = 0; tensor.dims && i < tensor.dims->size; ++i) count *= tensor.dims->data[i];
  return count;
}

double Last(const TfLiteTensor& tensor) {
  const bool has_axis = tensor.dims && tensor.dims->size > 0;
  return has_axis ? std::max(1, tensor.dims->data[tensor.dims->size - 1]) : 1;
}

// Weights are read for each pixel of the results.
double WorkOf(const TfLiteContext& context, const ModelNodes::Entry& entry) {
  double work = 0, factors = 1;
  const bool multiplies = entry.registration->builtin_code == kTfLiteBuiltinBatchMatmul;
  for (int i = 0; i < entry.node->outputs->size; ++i) {
    work += Count(context.tensors[entry.node->outputs->data[i]]);
  }
  for (int i = 0; i < entry.node->inputs->size; ++i) {
    const int tensor = entry.node->inputs->data[i];
    if (tensor < 0) continue;
    const TfLiteTensor& t = context.tensors[tensor];
    if (multiplies && i == 0) factors += Last(t);
    if (IsConstantTensor(t)) {
      const TfLiteTensor& made = context.tensors[entry.node->outputs->data[0]];
      factors = std::max(factors, Count(t) / std::max(1.0, std::min(Last(made), Count(t))));
    }
  }
  return work * factors;
}

class Branch {
 public:
  // `known` has the subgraphs around it.
  Branch(Importer* node, int subgraph, KnownTensors* known)
      : node_(*node),
        subgraph_(node->context(), subgraph, known->subgraphs),
        known_(*known),
        inner_(subgraph_.context(), known, node->graph()) {}

  Status Import(std::vector<ValueId>* results) {
    if (!subgraph_.ok()) return InvalidModel("one of its subgraphs is none");
    QUADRA_RETURN_IF_ERROR(ReadCalled(subgraph_.context(), &model_));
    QUADRA_RETURN_IF_ERROR(CheckNodes());
    QUADRA_RETURN_IF_ERROR(BindInputs());
    for (const ModelNodes::Entry& entry : model_.entries) {
      Status status = ImportNode(node_.index(), entry.node, entry.registration, &inner_);
      if (status.ok()) continue;
      const TfLiteRegistration& op = *entry.registration;
      return Status(status.code(), TextOf("%s of its branches: %s",
                                          OpName(op.builtin_code, op.custom_name).c_str(),
                                          status.message().c_str()));
    }
    if (!inner_.states()->values().empty() || !inner_.states()->read().empty()) {
      return Unsupported("one of its branches keeps a state");
    }
    for (int i = 0; i < node_.num_outputs(); ++i) {
      int tensor = -1;
      QUADRA_RETURN_IF_ERROR(FindResult(i, &tensor));
      ValueId result;
      QUADRA_RETURN_IF_ERROR(inner_.tensors()->Operand(tensor, kAllElements, &result));
      results->push_back(result);
    }
    return Status();
  }

 private:
  const TfLiteTensor& tensor(int i) const { return subgraph_.context()->tensors[i]; }
  int inputs() const { return node_.num_inputs() - 1; }  // but the condition

  // A context does not tell the order of a subgraph's inputs: converters write them before all
  // other tensors.
  Status CheckNodes() const {
    if (subgraph_.context()->tensors_size < static_cast<size_t>(inputs())) {
      return InvalidModel("a branch has fewer tensors than inputs");
    }
    std::vector<char> is_made(subgraph_.context()->tensors_size, 0);
    std::fill_n(is_made.begin(), inputs(), 1);
    double work = 0;
    for (const ModelNodes::Entry& entry : model_.entries) {
      QUADRA_RETURN_IF_ERROR(entry.status);
      const TfLiteIntArray &read = *entry.node->inputs, &made = *entry.node->outputs;
      if (entry.registration->builtin_code == kTfLiteBuiltinWhile || made.size == 0) {
        return Unsupported("one of its branches has a loop, or what makes nothing");
      }
      for (int i = 0; i < read.size; ++i) {
        const int from = read.data[i];
        if (from < 0 || IsConstantTensor(tensor(from)) || is_made[static_cast<size_t>(from)])
          continue;
        return Unsupported("a branch reads '%s', which nobody made before", tensor(from).name);
      }
      for (int i = 0; i < made.size; ++i) {
        char& before = is_made[static_cast<size_t>(made.data[i])];
        if (before) return InvalidModel("a branch makes a tensor twice, or an input");
        before = 1;
      }
      work += WorkOf(*subgraph_.context(), entry);
    }
    if (work <= kMostWork) return Status();
    return Unsupported(
        "a branch takes %.0f million steps; both are computed, if they take up to %.0f", work / 1e6,
        kMostWork / 1e6);
  }

  Status BindInputs() {
    for (int i = 0; i < inputs(); ++i) {
      if (!node_.HasInput(i + 1) || IsConstantTensor(tensor(i)) ||
          !SameTensor(node_.InputTensor(i + 1), tensor(i))) {
        return Unsupported("its input %d and a branch's differ in type or size", i + 1);
      }
      ValueId value;
      QUADRA_RETURN_IF_ERROR(node_.Operand(i + 1, &value, kAllElements));
      if (!node_.graph()->IsConstant(value)) inner_.tensors()->Bind(i, value);
      if (!node_.IsConstant(i + 1)) continue;
      ConstantData constant;
      QUADRA_RETURN_IF_ERROR(node_.constants()->Get(node_.context(), node_.InputIndex(i + 1),
                                                    /*wants_floats=*/false, &constant));
      known_.constants.Put(i, std::move(constant));
    }
    return Status();
  }

  // A branch without nodes hands an input on.
  Status FindResult(int output, int* found) const {
    std::vector<int> among = model_.outputs;
    for (int i = 0; model_.entries.empty() && i < inputs(); ++i) among.push_back(i);
    int fitting;
    *found = FindOutput(node_, output, *subgraph_.context(), among, &fitting);
    if (*found >= 0) return Status();
    return Unsupported("%d tensors of a branch may be its output %d", fitting, output);
  }

  Importer& node_;
  Subgraph subgraph_;
  KnownTensors& known_;
  ModelNodes model_;
  Importer inner_;
};

Status Import(Importer* importer) {
  const TfLiteIfParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  if (importer->num_inputs() < 1) return InvalidModel("it has no condition");
  ValueId condition;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &condition, kBools));
  std::vector<ValueId> results[2];
  const int subgraphs[] = {params->then_subgraph_index, params->else_subgraph_index};
  for (int i = 0; i < 2; ++i) {
    KnownTensors known;
    known.allows_quantized = importer->known()->allows_quantized;
    known.subgraphs = importer->known()->subgraphs;
    known.subgraphs.push_back(importer->context());
    QUADRA_RETURN_IF_ERROR(Branch(importer, subgraphs[i], &known).Import(&results[i]));
  }
  for (int i = 0; i < importer->num_outputs(); ++i) {
    if (IsQuantized(importer->OutputTensor(i))) {
      return Unsupported("its output %d has integers with a scale", i);
    }
    const size_t output = static_cast<size_t>(i);
    const ValueId yes = results[0][output], no = results[1][output];
    QUADRA_RETURN_IF_ERROR(importer->CheckAlike({yes, no}));
    Attributes attributes;
    attributes.SetInt("alike", 1);
    QUADRA_RETURN_IF_ERROR(
        importer->AddNodeFor(i, "select", {condition, yes, no}, std::move(attributes)));
  }
  importer->Note(TextOf("both branches are computed"));
  return Status();
}

}  // namespace

extern const Op kBranchOp;
const Op kBranchOp = {
    .name = "branch",
    .builtins = {kTfLiteBuiltinIf, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteIfParams),
    .import = Import,
    .size_input = kAllSizeInputs,  // on the CPU
};

}  // namespace quadra
