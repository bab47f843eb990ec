#include "delegate_native/delegate/verdicts.h"

#include <algorithm>
#include <set>

#include "delegate_native/base/ranges.h"
#include "delegate_native/delegate/resources.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/importer.h"
#include "delegate_native/tflite/op_names.h"

namespace quadra {
namespace {

int SizeInputOf(const TfLiteRegistration& registration) {
  const Op* op = FindOpFor(registration.builtin_code, registration.custom_name);
  return op ? op->size_input : SizeInputOfForeign(registration.builtin_code);
}

class Judgement {
 public:
  Judgement(TfLiteContext* context, const ModelNodes& model, const GpuInfo& target,
            Precision precision, const std::string& float32_nodes, KnownTensors* known)
      : context_(context), model_(model), float32_nodes_(float32_nodes), known_(known) {
    kernel_context_.gpu = &target;
    kernel_context_.precision = precision;
  }

  std::vector<Verdict> Run() {
    std::vector<Verdict> verdicts = NameNodes(*context_, model_);
    for (size_t i = 0; i < verdicts.size(); ++i) JudgeNode(model_.entries[i], &verdicts[i]);
    PlaceFoldedNodes(model_, &verdicts);
    return verdicts;
  }

 private:
  void JudgeNode(const ModelNodes::Entry& entry, Verdict* verdict) {
    if (!entry.status.ok()) {
      verdict->reason = entry.status.message();
      return;
    }
    const TfLiteIntArray* outputs = entry.node->outputs;
    std::string note;
    Status status = CheckSizesKnown(entry);
    if (status.ok()) status = Try(verdict->node, entry, &note);
    verdict->on_gpu = status.ok();
    verdict->is_constant =
        status.ok() && outputs->size > 0 &&
        (known_->constants.Has(outputs->data[0]) || known_->variables.count(outputs->data[0]) > 0);
    verdict->reason = status.ok() ? note : status.message();
    if (!status.ok()) NoteUnknownSizes(entry);
  }

  Status Try(int index, const ModelNodes::Entry& entry, std::string* note) {
    scratch_ = Graph();
    Importer importer(context_, known_, &scratch_);
    QUADRA_RETURN_IF_ERROR(ImportNode(index, entry.node, entry.registration, &importer));
    *note = importer.note();
    for (const auto& state : importer.states()->values())
      QUADRA_RETURN_IF_ERROR(CheckOwned(state.first));
    for (const auto& read : importer.states()->read()) scratch_.inputs.push_back(read.second);
    for (int i = 0; i < entry.node->inputs->size; ++i) {
      const int tensor = entry.node->inputs->data[i];
      const ValueId value = tensor < 0 ? -1 : importer.tensors()->ValueOf(tensor);
      std::vector<ValueId>& inputs = scratch_.inputs;
      const bool listed = std::find(inputs.begin(), inputs.end(), value) != inputs.end();
      if (value >= 0 && !listed && !scratch_.IsConstant(value)) inputs.push_back(value);
    }
    QUADRA_RETURN_IF_ERROR(InferShapes(&scratch_));
    QUADRA_RETURN_IF_ERROR(Verify(scratch_));
    const KernelContext context = kernel_context_.For(InRanges(float32_nodes_.c_str(), index) > 0);
    for (const Node& node : scratch_.nodes) {
      KernelList list;
      list.first_scratch = static_cast<int>(scratch_.values.size());
      QUADRA_RETURN_IF_ERROR(MakeKernels(context, scratch_, node, &list));
    }
    for (int i = 0; i < entry.node->outputs->size; ++i) {
      const int tensor = entry.node->outputs->data[i];
      const ValueId value = importer.tensors()->ValueOf(tensor);
      if (value < 0 || known_->constants.Has(tensor)) continue;
      known_->shapes[tensor] = {scratch_.shape(value), scratch_.value(value).rank};
      if (scratch_.IsConstant(value))
        known_->constants.PutSize(tensor, scratch_.value(value).constant);
      QUADRA_RETURN_IF_ERROR(CheckElement(context_->tensors[tensor], scratch_.value(value)));
    }
    return Status();
  }

  // Nothing orders nodes that share a variable, once partitions run as one node each.
  Status CheckOwned(int tensor) const {
    if (!context_->tensors[tensor].is_variable) return Status();
    std::ptrdiff_t uses = 0;
    for (const ModelNodes::Entry& entry : model_.entries) {
      if (!entry.status.ok()) continue;
      for (const TfLiteIntArray* list : {entry.node->inputs, entry.node->outputs}) {
        uses += std::count(list->data, list->data + list->size, tensor);
      }
    }
    if (uses == 1) return Status();
    return Unsupported("its state '%s' is used %d times in the model; once is supported",
                       context_->tensors[tensor].name, static_cast<int>(uses));
  }

  // The op says what it computes, and so does the file.
  static Status CheckElement(const TfLiteTensor& tensor, const Value& value) {
    Element element;
    if (ComputedElementOf(tensor.type, &element) && element == value.element) return Status();
    if (IsQuantized(tensor) && IsFloat(value.element)) return Status();
    return InvalidModel("its result is %s, and %s in the model", NameOf(value.element),
                        TypeName(tensor.type));
  }

  Status CheckSizesKnown(const ModelNodes::Entry& entry) const {
    for (int i = 0; i < entry.node->inputs->size; ++i) {
      const int tensor = entry.node->inputs->data[i];
      if (tensor >= 0 && unknown_size_.count(tensor)) {
        const char* name = context_->tensors[tensor].name;
        return Unsupported("the size of its input '%s' is only known while the model runs",
                           name ? name : "");
      }
    }
    return Status();
  }

  // A node left to the CPU may make tensors whose size only it knows.
  void NoteUnknownSizes(const ModelNodes::Entry& entry) {
    const TfLiteIntArray* inputs = entry.node->inputs;
    const int giver = SizeInputOf(*entry.registration);
    bool unknown = !CheckSizesKnown(entry).ok() || giver == kAllSizeInputs;
    if (giver >= 0 && giver < inputs->size && inputs->data[giver] >= 0) {
      unknown |= context_->tensors[inputs->data[giver]].allocation_type != kTfLiteMmapRo;
    }
    for (int i = 0; i < entry.node->outputs->size; ++i) {
      const int tensor = entry.node->outputs->data[i];
      // A file without sizes says that all its tensors are scalars.
      const TfLiteIntArray* dims = context_->tensors[tensor].dims;
      if (unknown || !dims || dims->size == 0) unknown_size_.insert(tensor);
    }
  }

  TfLiteContext* context_;
  const ModelNodes& model_;
  const std::string& float32_nodes_;
  KnownTensors* known_;
  Graph scratch_;
  KernelContext kernel_context_;
  std::set<int> unknown_size_;
};

// Why the constant that node `i` makes cannot be this delegate's alone; empty when it can.
std::string WhyNotConstant(const ModelNodes& model, size_t i,
                           const std::vector<Verdict>& verdicts) {
  const TfLiteIntArray* made = model.entries[i].node->outputs;
  const auto is_made = [made](int tensor) {
    return std::find(made->data, made->data + made->size, tensor) != made->data + made->size;
  };
  if (std::any_of(model.outputs.begin(), model.outputs.end(), is_made)) {
    return "its result is a constant that is an output of the model";
  }
  bool is_read = false;
  for (size_t j = 0; j < model.plan.size(); ++j) {
    const TfLiteIntArray* inputs = model.entries[j].node->inputs;
    if (std::none_of(inputs->data, inputs->data + inputs->size, is_made)) continue;
    is_read = true;
    if (!verdicts[j].on_gpu) {
      return TextOf("its result is a constant that node %d (%s) reads on the CPU", model.plan[j],
                    verdicts[j].op.c_str());
    }
  }
  return is_read ? "" : "its result is a constant that no node reads";
}

}  // namespace

QuadraVerdict ForC(int subgraph, const Verdict& verdict) {
  return {subgraph,
          verdict.node,
          verdict.op.c_str(),
          verdict.name.c_str(),
          verdict.on_gpu,
          verdict.on_gpu ? verdict.partition : -1,
          verdict.on_gpu ? "" : verdict.reason.c_str(),
          verdict.on_gpu ? verdict.reason.c_str() : ""};
}

std::vector<Verdict> NameNodes(const TfLiteContext& context, const ModelNodes& model) {
  std::vector<Verdict> verdicts(model.plan.size());
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const ModelNodes::Entry& entry = model.entries[i];
    verdicts[i].node = model.plan[i];
    verdicts[i].op = OpName(entry.registration->builtin_code, entry.registration->custom_name);
    if (!entry.status.ok() || entry.node->outputs->size == 0) continue;
    const char* name = context.tensors[entry.node->outputs->data[0]].name;
    if (name) verdicts[i].name = name;
  }
  return verdicts;
}

Judged Judge(TfLiteContext* context, const ModelNodes& model, const GpuInfo& target,
             Precision precision, const std::string& float32_nodes, bool allows_quantized) {
  Judged judged;
  judged.known.allows_quantized = allows_quantized;
  FindVariables(*context, model, &judged.known);
  judged.verdicts =
      Judgement(context, model, target, precision, float32_nodes, &judged.known).Run();
  return judged;
}

IntArray NodesOnGpu(const std::vector<Verdict>& verdicts) {
  std::vector<int> nodes;
  for (const Verdict& verdict : verdicts) {
    if (verdict.on_gpu) nodes.push_back(verdict.node);
  }
  return MakeIntArray(nodes);
}

void PlaceFoldedNodes(const ModelNodes& model, std::vector<Verdict>* verdicts) {
  // Backwards: a constant may be made of a constant.
  for (size_t i = verdicts->size(); i-- > 0;) {
    Verdict& verdict = (*verdicts)[i];
    if (!verdict.is_constant) continue;
    verdict.reason = WhyNotConstant(model, i, *verdicts);
    verdict.on_gpu = verdict.reason.empty();
  }
}

void KeepOnCpu(const ModelNodes& model, const std::vector<int>& nodes, const std::string& reason,
               std::vector<Verdict>* verdicts) {
  const auto is_one = [&](const Verdict& verdict) {
    return std::find(nodes.begin(), nodes.end(), verdict.node) != nodes.end();
  };
  // Constants go where their readers are, unless they are all there is: then the CPU makes them,
  // too.
  const bool works = std::any_of(verdicts->begin(), verdicts->end(), [&](const Verdict& verdict) {
    return !verdict.is_constant && is_one(verdict);
  });
  for (Verdict& verdict : *verdicts) {
    if (!is_one(verdict) || (verdict.is_constant && works)) continue;
    verdict.on_gpu = verdict.is_constant = false;
    verdict.reason = reason;
  }
  PlaceFoldedNodes(model, verdicts);
}

}  // namespace quadra
