#include "delegate_native/tflite/model_nodes.h"

#include <cstring>

#include "delegate_native/tflite/builtin_params.h"
#include "delegate_native/tflite/int_array.h"

namespace quadra {
namespace {

// A context does not tell the model's outputs. It tells those of a partition: of one with all
// nodes.
Status ReadOutputs(TfLiteContext* context, ModelNodes* model) {
  if (model->plan.empty()) return Status();
  const IntArray all = MakeIntArray(model->plan);
  if (!all) return Internal("out of memory");
  TfLiteDelegateParams* whole = nullptr;
  int count = 0;
  if (context->PreviewDelegatePartitioning(context, all.get(), &whole, &count) != kTfLiteOk) {
    return Internal("the interpreter could not partition the graph");
  }
  for (int i = 0; i < count; ++i) {
    const TfLiteIntArray* outputs = whole[i].output_tensors;
    model->outputs.insert(model->outputs.end(), outputs->data, outputs->data + outputs->size);
  }
  return Status();
}

// A missing optional input is -1; every other index names a tensor.
Status CheckTensors(const TfLiteContext* context, const TfLiteIntArray* tensors, bool may_be_absent,
                    const char* what) {
  if (!tensors) return InvalidModel("it has no list of %ss", what);
  for (int i = 0; i < tensors->size; ++i) {
    const int tensor = tensors->data[i];
    const bool absent = may_be_absent && tensor == -1;
    if (absent || (tensor >= 0 && static_cast<size_t>(tensor) < context->tensors_size)) continue;
    return InvalidModel("its %s %d is tensor %d of %zu", what, i, tensor, context->tensors_size);
  }
  return Status();
}

Status ReadNodes(TfLiteContext* context, ModelNodes* model) {
  for (int index : model->plan) {
    TfLiteNode* node = nullptr;
    TfLiteRegistration* registration = nullptr;
    if (context->GetNodeAndRegistration(context, index, &node, &registration) != kTfLiteOk) {
      return Internal("the interpreter gave no node %d", index);
    }
    Status status = CheckTensors(context, node->inputs, true, "input");
    if (status.ok()) status = CheckTensors(context, node->outputs, false, "output");
    model->entries.push_back({node, registration, status});
  }
  return Status();
}

}  // namespace

Status ReadModel(TfLiteContext* context, ModelNodes* model) {
  TfLiteIntArray* plan = nullptr;
  if (context->GetExecutionPlan(context, &plan) != kTfLiteOk || !plan) {
    return Internal("the interpreter gave no execution plan");
  }
  model->plan.assign(plan->data, plan->data + plan->size);  // the next call overwrites it
  QUADRA_RETURN_IF_ERROR(ReadNodes(context, model));
  return ReadOutputs(context, model);
}

Status ReadCalled(TfLiteContext* context, ModelNodes* model) {
  QUADRA_RETURN_IF_ERROR(ReadModel(context, model));
  if (model->plan.size() != 1) return Status();
  const ModelNodes::Entry kernel = model->entries[0];
  const char* name = kernel.registration->custom_name;
  if (!name || strcmp(name, kUnrunKernel) != 0) return Status();
  const auto& params = *static_cast<const TfLiteDelegateParams*>(kernel.node->builtin_data);
  const TfLiteIntArray& nodes = *params.nodes_to_replace;
  model->plan.assign(nodes.data, nodes.data + nodes.size);
  model->entries.clear();
  return ReadNodes(context, model);
}

Subgraphs SubgraphsOf(const ModelNodes::Entry& entry) {
  const void* params = entry.node->builtin_data;
  switch (params ? entry.registration->builtin_code : -1) {
    case kTfLiteBuiltinIf: {
      const auto& branches = *static_cast<const TfLiteIfParams*>(params);
      return {2, {branches.then_subgraph_index, branches.else_subgraph_index}};
    }
    case kTfLiteBuiltinWhile: {
      const auto& loop = *static_cast<const TfLiteWhileParams*>(params);
      return {2, {loop.cond_subgraph_index, loop.body_subgraph_index}};
    }
    case kTfLiteBuiltinStablehloScatter: {
      const auto& scatter = *static_cast<const TfLiteStablehloScatterParams*>(params);
      return {1, {scatter.update_computation_subgraph_index}};
    }
    case kTfLiteBuiltinStablehloReduceWindow: {
      const auto& windows = *static_cast<const TfLiteStablehloReduceWindowParams*>(params);
      return {1, {windows.body_subgraph_index}};
    }
    case kTfLiteBuiltinStablehloComposite:
      return {1, {static_cast<const TfLiteStablehloCompositeParams*>(params)->subgraph_index}};
    default: return {};
  }
}

void ModelNodes::CopyContext(const TfLiteContext& context) {
  tensors_.assign(context.tensors, context.tensors + context.tensors_size);
  size_t count = 0;
  for (const TfLiteTensor& tensor : tensors_) {
    if (tensor.dims) count += 1 + static_cast<size_t>(tensor.dims->size);
  }
  dims_.reserve(count);  // nothing moves
  for (TfLiteTensor& tensor : tensors_) {
    if (!tensor.dims) continue;
    const int* from = &tensor.dims->size;
    tensor.dims = reinterpret_cast<TfLiteIntArray*>(dims_.data() + dims_.size());
    dims_.insert(dims_.end(), from, from + 1 + *from);
  }
  nodes_.reserve(entries.size());
  for (Entry& entry : entries) {
    nodes_.push_back({*entry.node, *entry.registration});
    entry.node = &nodes_.back().node;
    entry.registration = &nodes_.back().registration;
  }
  kept_.impl_ = context.impl_;
  kept_.AcquireSubgraphContext = context.AcquireSubgraphContext;
  kept_.ReleaseSubgraphContext = context.ReleaseSubgraphContext;
  kept_.tensors_size = tensors_.size();
  kept_.tensors = tensors_.data();
}

}  // namespace quadra
