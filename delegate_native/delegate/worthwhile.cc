#include "delegate_native/delegate/worthwhile.h"

#include <algorithm>
#include <string>

#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/builtin_params.h"

namespace quadra {
namespace {

// A phone's, on the GPU's side where they differ: rather a partition too many than a slow model.
constexpr double kRoundTripUs = 100;        // to submit, to wait, to go on in another thread
constexpr double kBorderBytesPerUs = 2000;  // written, converted and read again
constexpr double kCpuMacsPerUs = 10000;     // four fast cores with XNNPACK
constexpr double kCpuBytesPerUs = 8000;
constexpr double kCpuNodeUs = 2;

bool Contains(const TfLiteIntArray& list, int number) {
  return std::find(list.data, list.data + list.size, number) != list.data + list.size;
}

// Nobody but this delegate can run it: the interpreter has a place holder for a custom op that no
// kernel was registered for.
bool LacksKernel(const TfLiteRegistration& registration) {
  return registration.builtin_code == kTfLiteBuiltinCustom && !registration.prepare &&
         !registration.init;
}

class Estimate {
 public:
  Estimate(const TfLiteContext* context, const KnownTensors& known)
      : context_(context), known_(known) {}

  // Time of the CPU. Without a table of ops: each number of a weight is multiplied once per
  // position of the output, and two computed operands are a product of matrices. That is too much
  // for some ops, which then stay on the GPU.
  double CpuUs(const ModelNodes::Entry& entry) const {
    const Op* op = FindOpFor(entry.registration->builtin_code, entry.registration->custom_name);
    const TfLiteIntArray& inputs = *entry.node->inputs;
    double bytes = 0;
    double weights = 0;
    double first_channels = 0;
    int computed = 0;
    for (int i = 0; i < inputs.size; ++i) {
      const int tensor = inputs.data[i];
      if (tensor < 0) continue;
      if (IsConstant(tensor)) {
        weights = std::max(weights, Size(tensor).elements);
        continue;
      }
      bytes += Bytes(tensor);
      if (computed++ == 0) first_channels = Size(tensor).channels;
    }
    double macs = 0;
    for (int i = 0; i < entry.node->outputs->size; ++i) {
      const int tensor = entry.node->outputs->data[i];
      const Sizes size = Size(tensor);
      bytes += Bytes(tensor);
      if (op && op->formula) continue;
      macs += size.elements / size.channels * weights;
      if (computed > 1) macs += size.elements * first_channels;
    }
    return kCpuNodeUs + std::max(macs / kCpuMacsPerUs, bytes / kCpuBytesPerUs);
  }

  double BorderUs(const TfLiteDelegateParams& partition) const {
    double bytes = 0;
    for (const TfLiteIntArray* list : {partition.input_tensors, partition.output_tensors}) {
      for (int i = 0; i < list->size; ++i) {
        if (list->data[i] >= 0 && !IsConstant(list->data[i])) bytes += Bytes(list->data[i]);
      }
    }
    return kRoundTripUs + bytes / kBorderBytesPerUs;
  }

 private:
  struct Sizes {
    double elements = 1;
    double channels = 1;
  };

  bool IsConstant(int tensor) const {
    return context_->tensors[tensor].allocation_type == kTfLiteMmapRo ||
           known_.constants.Has(tensor);
  }

  // As it was inferred, or as the file has it.
  Sizes Size(int tensor) const {
    Sizes size;
    const auto known = known_.shapes.find(tensor);
    if (known != known_.shapes.end()) {
      const Shape& shape = known->second.shape;
      size.elements = static_cast<double>(shape.elements());
      size.channels = std::max(1, shape.c);
    } else if (const TfLiteIntArray* dims = context_->tensors[tensor].dims) {
      for (int i = 0; i < dims->size; ++i) size.elements *= dims->data[i];
      if (dims->size > 0) size.channels = std::max(1, dims->data[dims->size - 1]);
    }
    return size;
  }

  double Bytes(int tensor) const { return 4 * Size(tensor).elements; }

  const TfLiteContext* context_;
  const KnownTensors& known_;
};

struct PartitionCost {
  const TfLiteDelegateParams* partition;
  int work = 0;  // nodes that compute
  bool lacks_kernel = false;
  double cpu_us = 0;
  double border_us = 0;
  std::string reason;  // why it is not worth it
};

PartitionCost CostOf(const Estimate& estimate, const ModelNodes& model,
                     const std::vector<Verdict>& verdicts, const TfLiteDelegateParams& partition) {
  PartitionCost cost{&partition};
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].is_constant || !Contains(*partition.nodes_to_replace, verdicts[i].node)) {
      continue;
    }
    ++cost.work;
    cost.lacks_kernel = cost.lacks_kernel || LacksKernel(*model.entries[i].registration);
    cost.cpu_us += estimate.CpuUs(model.entries[i]);
  }
  cost.border_us = estimate.BorderUs(partition);
  return cost;
}

}  // namespace

void KeepOutsideOnCpu(const Options& options, const ModelNodes& model,
                      std::vector<Verdict>* verdicts) {
  const int first = options.first_delegate_node_index;
  const int last = options.last_delegate_node_index;
  bool any = false;
  for (Verdict& verdict : *verdicts) {
    if (!verdict.on_gpu || (verdict.node >= first && verdict.node <= last)) continue;
    verdict.on_gpu = verdict.is_constant = false;
    verdict.reason = TextOf("only the nodes %d to %d may run on the GPU", first, last);
    any = true;
  }
  if (any) PlaceFoldedNodes(model, verdicts);
}

bool KeepUnworthyOnCpu(const Options& options, TfLiteContext* context, const ModelNodes& model,
                       const KnownTensors& known, bool is_called,
                       const TfLiteDelegateParams* previews, int count,
                       std::vector<Verdict>* verdicts) {
  // A model in one piece has no cost to weigh. A loop's body is entered again and again.
  const bool is_whole =
      count == 1 && previews->nodes_to_replace->size == static_cast<int>(model.entries.size());
  if (is_whole && !is_called && options.min_nodes_per_partition == 0) return false;
  const Estimate estimate(context, known);
  double model_us = 0;
  for (const ModelNodes::Entry& entry : model.entries) {
    if (entry.status.ok()) model_us += estimate.CpuUs(entry);
  }
  std::vector<PartitionCost> order;  // largest first
  for (int i = 0; i < count; ++i) {
    PartitionCost cost = CostOf(estimate, model, *verdicts, previews[i]);
    const auto is_before = [](const PartitionCost& a, const PartitionCost& b) {
      return a.work > b.work;
    };
    const auto at = std::upper_bound(order.begin(), order.end(), cost, is_before);
    if (cost.work > 0) order.insert(at, std::move(cost));
  }
  for (PartitionCost& cost : order) {
    if (cost.work < options.min_nodes_per_partition) {
      cost.reason = TextOf("its partition has nodes: %d; min_nodes_per_partition is %d", cost.work,
                           options.min_nodes_per_partition);
    }
  }
  const auto is_best = [](const PartitionCost& a, const PartitionCost& b) {
    return a.cpu_us - a.border_us < b.cpu_us - b.border_us;
  };
  auto best = std::max_element(order.begin(), order.end(), is_best);
  constexpr double kWorthStaying = 0.1;  // of the model's work
  if (is_called || (best != order.end() && best->cpu_us < kWorthStaying * model_us)) {
    best = order.end();
  }
  for (auto it = order.begin(); it != order.end() && !options.small_partitions_allowed; ++it) {
    if (it == best || !it->reason.empty() || it->cpu_us >= it->border_us) continue;
    it->reason = TextOf(
        "its partition (nodes: %d) is too small: the CPU needs about %d us for it, the way to the "
        "GPU and back about %d us (small_partitions_allowed=1 keeps it)",
        it->work, static_cast<int>(it->cpu_us), static_cast<int>(it->border_us));
  }
  int kept = 0;
  for (PartitionCost& cost : order) {
    const int most = options.max_delegated_partitions;
    if (cost.reason.empty() && most > 0 && kept++ >= most) {
      cost.reason =
          TextOf("its partition is not among the max_delegated_partitions=%d largest", most);
    }
  }
  bool any = false;
  for (const PartitionCost& cost : order) {
    if (cost.reason.empty() || cost.lacks_kernel) continue;
    const TfLiteIntArray& nodes = *cost.partition->nodes_to_replace;
    KeepOnCpu(model, {nodes.data, nodes.data + nodes.size}, cost.reason, verdicts);
    any = true;
  }
  return any;
}

}  // namespace quadra
