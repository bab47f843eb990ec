// STABLEHLO_COMPOSITE: a name for a subgraph of the model, which is to do the same. That subgraph
// is imported in the node's place, but for names whose meaning Quadra knows.
#include <algorithm>
#include <cstring>
#include <set>

#include "delegate_native/ops/composites.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/ops/subgraph.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

// Tensors that the nodes read and none of them makes. A context does not tell the order of a
// subgraph's inputs: converters write them before all other tensors.
std::vector<int> InputsOf(const TfLiteContext* context, const ModelNodes& model) {
  std::set<int> read, made;
  for (const ModelNodes::Entry& entry : model.entries) {
    for (int i = 0; entry.status.ok() && i < entry.node->inputs->size; ++i) {
      const int tensor = entry.node->inputs->data[i];
      if (tensor >= 0 && !made.count(tensor)) read.insert(tensor);
    }
    for (int i = 0; entry.status.ok() && i < entry.node->outputs->size; ++i) {
      made.insert(entry.node->outputs->data[i]);
    }
  }
  std::vector<int> inputs;
  for (int tensor : read) {
    if (context->tensors[tensor].allocation_type != kTfLiteMmapRo) inputs.push_back(tensor);
  }
  return inputs;
}

// Gives the subgraph the node's inputs.
Status BindInputs(Importer* importer, const ModelNodes& model, TfLiteContext* context,
                  KnownTensors* known, Importer* inner) {
  const std::vector<int> inputs = InputsOf(context, model);
  if (static_cast<int>(inputs.size()) != importer->num_inputs()) {
    return Unsupported("its decomposition reads %zu tensors, it has %d inputs", inputs.size(),
                       importer->num_inputs());
  }
  for (int i = 0; i < importer->num_inputs(); ++i) {
    const int tensor = inputs[static_cast<size_t>(i)];
    if (!importer->HasInput(i) || !SameTensor(importer->InputTensor(i), context->tensors[tensor])) {
      return Unsupported("its input %d and its decomposition's differ in type or size", i);
    }
    ValueId value;
    QUADRA_RETURN_IF_ERROR(importer->Operand(i, &value, kAllElements));
    if (!importer->graph()->IsConstant(value)) inner->tensors()->Bind(tensor, value);
    // Also of a size that the graph computes.
    if (!importer->IsConstant(i)) continue;
    ConstantData constant;
    QUADRA_RETURN_IF_ERROR(importer->constants()->Get(importer->context(), importer->InputIndex(i),
                                                      /*wants_floats=*/false, &constant));
    known->constants.Put(tensor, std::move(constant));
  }
  return Status();
}

Status ImportNodes(int index, const ModelNodes& model, Importer* inner) {
  for (size_t i = 0; i < model.plan.size(); ++i) {
    const ModelNodes::Entry& entry = model.entries[i];
    Status status = entry.status;
    if (status.ok()) status = ImportNode(index, entry.node, entry.registration, inner);
    if (status.ok()) continue;
    const TfLiteRegistration& op = *entry.registration;
    return Status(status.code(), TextOf("node %d (%s) of its decomposition: %s", model.plan[i],
                                        OpName(op.builtin_code, op.custom_name).c_str(),
                                        status.message().c_str()));
  }
  return Status();
}

// Composites whose meaning Quadra knows.
struct Meaning {
  const char* name;
  Status (*import)(const FlexMap& attributes, Importer* importer, ValueId* results);
};
const Meaning kMeanings[] = {
    {QUADRA_TEXT("odml.cache_update"), ImportCacheUpdate},
    {QUADRA_TEXT("odml.group_norm"), ImportGroupNorm},
    {QUADRA_TEXT("odml.rms_norm"), ImportRmsNorm},
    {QUADRA_TEXT("odml.runtime_bmm"), ImportMatrixProduct},
    {QUADRA_TEXT("odml.scaled_dot_product_attention"), ImportAttention},
    {QUADRA_TEXT("odml.sdpa_transposed"), ImportCachedAttention},
    {QUADRA_TEXT("odml.softmax"), ImportSoftmax},
};

const Meaning* MeaningOf(const char* name) {
  for (const Meaning& meaning : kMeanings) {
    if (name && strcmp(name, meaning.name) == 0) return &meaning;
  }
  return nullptr;
}

// The decomposition's tensor that is the node's output; an only one needs no look.
Status FindResult(const Importer& importer, const ModelNodes& model, const TfLiteContext& context,
                  int output, int* found) {
  int fitting = 1;
  *found = importer.num_outputs() == 1
               ? model.outputs[0]
               : FindOutput(importer, output, context, model.outputs, &fitting);
  if (*found >= 0) return Status();
  return Unsupported("its output %d is as %d of its decomposition, whose order is not known",
                     output, fitting);
}

Status ImportDecomposition(const TfLiteStablehloCompositeParams* params, Importer* importer,
                           std::vector<ValueId>* results) {
  KnownTensors known;
  known.allows_quantized = importer->known()->allows_quantized;
  known.subgraphs = importer->known()->subgraphs;
  known.subgraphs.push_back(importer->context());
  const Subgraph subgraph(importer->context(), params->subgraph_index, known.subgraphs);
  if (!subgraph.ok()) {
    return InvalidModel("its decomposition, subgraph %d, is none", params->subgraph_index);
  }
  ModelNodes model;
  QUADRA_RETURN_IF_ERROR(ReadCalled(subgraph.context(), &model));
  if (results->empty() || results->size() != model.outputs.size()) {
    return Unsupported("it has %d outputs, its decomposition %zu", importer->num_outputs(),
                       model.outputs.size());
  }
  Importer inner(subgraph.context(), &known, importer->graph());
  QUADRA_RETURN_IF_ERROR(BindInputs(importer, model, subgraph.context(), &known, &inner));
  QUADRA_RETURN_IF_ERROR(ImportNodes(importer->index(), model, &inner));
  if (!inner.states()->values().empty()) return Unsupported("its decomposition keeps a state");
  for (size_t i = 0; i < results->size(); ++i) {
    int tensor = -1;
    QUADRA_RETURN_IF_ERROR(
        FindResult(*importer, model, *subgraph.context(), static_cast<int>(i), &tensor));
    (*results)[i] = inner.tensors()->ValueOf(tensor);
    if ((*results)[i] < 0) return InvalidModel("nobody makes its decomposition's output");
  }
  importer->Note(std::string(inner.note()));
  return Status();
}

Status Import(Importer* importer) {
  const TfLiteStablehloCompositeParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  std::vector<ValueId> results(static_cast<size_t>(importer->num_outputs()), -1);
  const Meaning* meaning = MeaningOf(params->name);
  FlexMap attributes;
  Status by_name;
  if (meaning) by_name = attributes.Read(params->attributes, params->attributes_size);
  if (meaning && by_name.ok()) by_name = meaning->import(attributes, importer, results.data());
  const bool is_by_name = meaning && by_name.ok();
  if (!is_by_name) QUADRA_RETURN_IF_ERROR(ImportDecomposition(params, importer, &results));
  if (is_by_name) {
    importer->Note(TextOf("computed as %s is meant; its decomposition is not used", params->name));
  } else if (meaning) {
    importer->Note(TextOf("computed as its decomposition, which need not be %s: %s", params->name,
                          by_name.message().c_str()));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    QUADRA_RETURN_IF_ERROR(importer->AddNodeFor(static_cast<int>(i), "copy", {results[i]}, {}));
  }
  return Status();
}

}  // namespace

extern const Op kCompositeOp;
const Op kCompositeOp = {
    .name = "composite",
    .builtins = {kTfLiteBuiltinStablehloComposite, -1},
    .max_version = 1,
    .params_bytes = sizeof(TfLiteStablehloCompositeParams),
    .import = Import,
};

}  // namespace quadra
