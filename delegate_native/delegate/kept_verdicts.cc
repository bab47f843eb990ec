#include "delegate_native/delegate/kept_verdicts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "delegate_native/ops/op.h"
#include "delegate_native/ops/subgraph.h"
#include "delegate_native/tflite/builtin_params.h"
#include "delegate_native/tflite/tensor_info.h"

namespace quadra {
namespace {

// TfLiteIntArray or TfLiteFloatArray: a count, and so many numbers of four bytes.
template <typename Array>
void AddArray(const Array* array, ContentHash* hash) {
  hash->Add(array, array ? sizeof(int) * (1 + static_cast<size_t>(array->size)) : 0);
}

void AddText(const char* text, ContentHash* hash) { hash->Add(text, text ? strlen(text) : 0); }

bool IsComposite(const ModelNodes::Entry& entry) {
  return entry.registration->builtin_code == kTfLiteBuiltinStablehloComposite;
}

const Op* OpOf(const ModelNodes::Entry& entry) {
  return FindOpFor(entry.registration->builtin_code, entry.registration->custom_name);
}

// Whether the import of a node reads another subgraph: loops and branches are no ops.
bool ReadsSubgraph(const ModelNodes::Entry& entry) {
  return SubgraphsOf(entry).count > 0 && OpOf(entry);
}

void AddParams(const ModelNodes::Entry& entry, ContentHash* hash) {
  const TfLiteNode& node = *entry.node;
  if (IsComposite(entry)) {
    const auto* params = static_cast<const TfLiteStablehloCompositeParams*>(node.builtin_data);
    if (!params) return;
    AddText(params->name, hash);
    hash->Add(params->subgraph_index);
    hash->Add(params->version);
    hash->Add(params->attributes, params->attributes ? params->attributes_size : 0);
    return;
  }
  const Op* op = OpOf(entry);
  hash->Add(node.builtin_data, op && node.builtin_data ? op->params_bytes : 0);
}

void AddNode(const ModelNodes::Entry& entry, ContentHash* hash) {
  const TfLiteNode& node = *entry.node;
  const TfLiteRegistration& registration = *entry.registration;
  const int facts[] = {registration.builtin_code, registration.version,
                       registration.prepare || registration.init};
  hash->Add(facts, sizeof(facts));
  AddText(registration.custom_name, hash);
  std::string variable;
  if (VariableOf(entry, &variable)) AddText(variable.c_str(), hash);
  for (const TfLiteIntArray* list : {node.inputs, node.outputs, node.intermediates}) {
    AddArray(list, hash);
  }
  AddParams(entry, hash);
  const int custom = node.custom_initial_data ? node.custom_initial_data_size : 0;
  hash->Add(node.custom_initial_data, static_cast<size_t>(std::max(custom, 0)));
}

void AddQuantization(const TfLiteQuantization& quantization, ContentHash* hash) {
  hash->Add(quantization.type);
  if (!quantization.params) return;
  if (quantization.type == kTfLiteBlockwiseQuantization) {
    hash->Add(quantization.params, sizeof(TfLiteBlockwiseQuantization));
  } else if (quantization.type == kTfLiteAffineQuantization) {
    const auto& affine = *static_cast<const TfLiteAffineQuantization*>(quantization.params);
    AddArray(affine.scale, hash);
    AddArray(affine.zero_point, hash);
    hash->Add(affine.quantized_dimension);
  }
}

void AddTensor(const TfLiteTensor& tensor, ConstantHashes* constants, ContentHash* hash) {
  const bool is_constant =
      tensor.allocation_type == kTfLiteMmapRo || tensor.allocation_type == kTfLitePersistentRo;
  const bool is_known = is_constant && tensor.data;
  const int facts[] = {tensor.type, tensor.allocation_type, tensor.is_variable, is_known};
  hash->Add(facts, sizeof(facts));
  AddText(tensor.name, hash);
  AddArray(tensor.dims, hash);
  AddQuantization(tensor.quantization, hash);
  if (is_known && tensor.allocation_type == kTfLiteMmapRo) {
    constants->Add(tensor.data, tensor.bytes, hash);
  } else {
    hash->Add(tensor.data, is_known ? tensor.bytes : 0);
  }
  if (!tensor.sparsity) return;
  AddArray(tensor.sparsity->traversal_order, hash);
  AddArray(tensor.sparsity->block_map, hash);
  for (int i = 0; i < tensor.sparsity->dim_metadata_size; ++i) {
    const TfLiteDimensionMetadata& dimension = tensor.sparsity->dim_metadata[i];
    hash->Add(dimension.format);
    hash->Add(dimension.dense_size);
    AddArray(dimension.array_segments, hash);
    AddArray(dimension.array_indices, hash);
  }
}

class ModelHash {
 public:
  explicit ModelHash(ConstantHashes* constants) : constants_(constants) {}

  // False: a subgraph that a node needs cannot be read.
  bool Add(TfLiteContext* context, const ModelNodes& model) {
    outer_.push_back(context);
    bool is_whole = true;
    for (const ModelNodes::Entry& entry : model.entries) {
      AddNode(entry, &hash_);
      is_whole = is_whole && (!ReadsSubgraph(entry) || AddCalled(context, entry));
    }
    for (const std::vector<int>* list : {&model.plan, &model.outputs}) {
      hash_.Add(list->data(), list->size() * sizeof(int));
    }
    for (size_t i = 0; i < context->tensors_size; ++i) {
      AddTensor(context->tensors[i], constants_, &hash_);
    }
    outer_.pop_back();
    return is_whole;
  }
  std::string hex() const { return hash_.hex(); }

 private:
  // Once: nodes have the number of what they call.
  bool AddCalled(TfLiteContext* context, const ModelNodes::Entry& entry) {
    for (int index : SubgraphsOf(entry)) {
      if (std::find(seen_.begin(), seen_.end(), index) != seen_.end()) continue;
      seen_.push_back(index);
      const Subgraph called(context, index, outer_);
      ModelNodes model;
      if (!called.ok() || !ReadCalled(called.context(), &model).ok() ||
          !Add(called.context(), model)) {
        return false;
      }
    }
    return true;
  }

  ConstantHashes* const constants_;
  ContentHash hash_;
  std::vector<const TfLiteContext*> outer_;
  std::vector<int> seen_;
};

Status Misfit() { return Unsupported("they do not fit the model"); }

// The inputs or outputs of a partition, with six sizes and a rank for each.
Status ReadPorts(const TfLiteContext& context, const flatbuffers::Vector<int32_t>& tensors,
                 const int* sizes, const int* ranks, std::vector<IoTensor>* ports) {
  for (int tensor : tensors) {
    IoTensor port;
    port.rank = *ranks++;
    port.shape = ShapeOf(sizes, kMostRank);
    const bool is_empty = std::any_of(sizes, sizes + kMostRank, [](int size) { return size < 1; });
    if (tensor < 0 || static_cast<size_t>(tensor) >= context.tensors_size || is_empty ||
        port.rank < 0 || port.rank > kMostRank || !FitsInts(port.shape)) {
      return Misfit();
    }
    if (!ComputedElementOf(context.tensors[tensor].type, &port.element)) return Misfit();
    ports->push_back(port);
    sizes += kMostRank;
  }
  return Status();
}

void Assign(const flatbuffers::Vector<int32_t>& from, std::vector<int>* to) {
  to->assign(from.data(), from.data() + from.size());
}

}  // namespace

std::string HashOfModel(TfLiteContext* context, const ModelNodes& model,
                        ConstantHashes* constants) {
  ModelHash hash(constants);
  return hash.Add(context, model) ? hash.hex() : "";
}

void SaveVerdicts(const ModelCache& cache, const std::string& key,
                  const std::vector<Verdict>& verdicts,
                  const std::vector<std::shared_ptr<Partition>>& partitions, const Status& result) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<uint8_t> placements(verdicts.size());
  std::vector<flatbuffers::Offset<flatbuffers::String>> reasons(verdicts.size());
  for (size_t i = 0; i < verdicts.size(); ++i) {
    placements[i] = !verdicts[i].on_gpu       ? fb::Placement_Cpu
                    : verdicts[i].is_constant ? fb::Placement_Folded
                                              : fb::Placement_Gpu;
    reasons[i] = builder.CreateString(verdicts[i].reason);
  }
  std::vector<flatbuffers::Offset<fb::PartitionRecord>> records(partitions.size());
  for (size_t i = 0; i < partitions.size(); ++i) {
    const Partition& partition = *partitions[i];
    const Session& session = *partition.session;
    std::vector<int> sizes, ranks;
    for (const std::vector<IoTensor>* ports : {&session.inputs(), &session.outputs()}) {
      for (const IoTensor& port : *ports) {
        for (int axis = kFirstAxis; axis < 4; ++axis) sizes.push_back(port.shape.axis(axis));
        ranks.push_back(port.rank);
      }
    }
    records[i] = fb::CreatePartitionRecordDirect(
        builder, &partition.nodes, &partition.input_tensors, &partition.output_tensors, &sizes,
        &ranks, partition.states, partition.only_shapes, session.graph_hash().c_str());
  }
  builder.Finish(fb::CreateVerdictsDirect(builder, &placements, &reasons, &records,
                                          result.ok() ? nullptr : result.message().c_str()));
  cache.SaveVerdicts(key, {builder.GetBufferPointer(), builder.GetSize()});
}

Status ReadVerdicts(const fb::Verdicts& saved, std::vector<Verdict>* verdicts) {
  const size_t count = verdicts->size();
  if (saved.placements()->size() != count || saved.reasons()->size() != count) return Misfit();
  for (unsigned i = 0; i < count; ++i) {
    Verdict& verdict = (*verdicts)[i];
    verdict.on_gpu = saved.placements()->Get(i) != fb::Placement_Cpu;
    verdict.is_constant = saved.placements()->Get(i) == fb::Placement_Folded;
    verdict.reason = saved.reasons()->Get(i)->c_str();
  }
  return Status();
}

Status ReadPartition(const fb::PartitionRecord& saved, const TfLiteContext& context,
                     const SessionOptions& options, const std::shared_ptr<Backend>& backend,
                     Partition* partition) {
  const size_t read = saved.inputs()->size(), all = read + saved.outputs()->size();
  if (saved.ranks()->size() != all || saved.sizes()->size() != kMostRank * all) return Misfit();
  const int *sizes = saved.sizes()->data(), *ranks = saved.ranks()->data();
  std::vector<IoTensor> inputs, outputs;
  QUADRA_RETURN_IF_ERROR(ReadPorts(context, *saved.inputs(), sizes, ranks, &inputs));
  QUADRA_RETURN_IF_ERROR(
      ReadPorts(context, *saved.outputs(), sizes + kMostRank * read, ranks + read, &outputs));
  Assign(*saved.nodes(), &partition->nodes);
  Assign(*saved.inputs(), &partition->input_tensors);
  Assign(*saved.outputs(), &partition->output_tensors);
  partition->states = saved.states();
  partition->only_shapes = saved.only_shapes();
  const auto ends = [](int count, const std::vector<IoTensor>& ports) {
    return count >= 0 && static_cast<size_t>(count) <= ports.size();
  };
  if (!ends(partition->states, outputs) || !ends(partition->only_shapes, inputs)) return Misfit();
  partition->session = std::make_unique<Session>(std::move(inputs), partition->only_shapes,
                                                 std::move(outputs), backend, options);
  return partition->session->Restore(saved.graph_hash()->str());
}

}  // namespace quadra
