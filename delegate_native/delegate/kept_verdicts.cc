#include "delegate_native/delegate/kept_verdicts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/builtin_params.h"

namespace quadra {
namespace {

// TfLiteIntArray or TfLiteFloatArray: a count, and so many numbers of four bytes.
template <typename Array>
void AddArray(const Array* array, ContentHash* hash) {
  hash->Add(array, array ? sizeof(int) * (1 + static_cast<size_t>(array->size)) : 0);
}

void AddText(const char* text, ContentHash* hash) { hash->Add(text, text ? strlen(text) : 0); }

void AddNode(const ModelNodes::Entry& entry, ContentHash* hash) {
  const TfLiteNode& node = *entry.node;
  const TfLiteRegistration& registration = *entry.registration;
  const int facts[] = {registration.builtin_code, registration.version,
                       registration.prepare || registration.init};
  hash->Add(facts, sizeof(facts));
  AddText(registration.custom_name, hash);
  for (const TfLiteIntArray* list : {node.inputs, node.outputs, node.intermediates}) {
    AddArray(list, hash);
  }
  const Op* op = FindOpFor(registration.builtin_code, registration.custom_name);
  hash->Add(node.builtin_data, op && node.builtin_data ? op->params_bytes : 0);
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

void AddTensor(const TfLiteTensor& tensor, ContentHash* hash) {
  const bool is_constant =
      tensor.allocation_type == kTfLiteMmapRo || tensor.allocation_type == kTfLitePersistentRo;
  const bool is_known = is_constant && tensor.data;
  const int facts[] = {tensor.type, tensor.allocation_type, tensor.is_variable, is_known};
  hash->Add(facts, sizeof(facts));
  AddText(tensor.name, hash);
  AddArray(tensor.dims, hash);
  AddQuantization(tensor.quantization, hash);
  hash->Add(tensor.data, is_known ? tensor.bytes : 0);
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

// The numbers of a file.
class Numbers {
 public:
  void Add(const int* list, int size) { all_.insert(all_.end(), list, list + size); }
  void Add(int number) { Add(&number, 1); }
  void Add(const std::vector<int>& list) {
    Add(static_cast<int>(list.size()));
    Add(list.data(), static_cast<int>(list.size()));
  }
  void Add(const std::vector<Port>& ports) {
    for (const Port& port : ports) {
      for (int axis = kFirstAxis; axis < 4; ++axis) Add(port.shape.axis(axis));
      Add(port.rank);
    }
  }
  Part bytes() const {
    return {reinterpret_cast<const uint8_t*>(all_.data()), all_.size() * sizeof(int)};
  }

 private:
  std::vector<int> all_;
};

}  // namespace

std::string HashOfModel(const TfLiteContext& context, const ModelNodes& model) {
  ContentHash hash;
  for (size_t i = 0; i < model.plan.size(); ++i) {
    const ModelNodes::Entry& entry = model.entries[i];
    if (entry.registration->builtin_code == kTfLiteBuiltinStablehloComposite) return "";
    AddNode(entry, &hash);
  }
  for (const std::vector<int>* list : {&model.plan, &model.outputs}) {
    hash.Add(list->data(), list->size() * sizeof(int));
  }
  for (size_t i = 0; i < context.tensors_size; ++i) AddTensor(context.tensors[i], &hash);
  return hash.hex();
}

void SaveVerdicts(const ModelCache& cache, const std::string& key,
                  const std::vector<Verdict>& verdicts,
                  const std::vector<std::shared_ptr<Partition>>& partitions, const Status& result) {
  Numbers numbers;
  std::string texts;
  numbers.Add(static_cast<int>(verdicts.size()));
  for (const Verdict& verdict : verdicts) {
    numbers.Add(verdict.on_gpu + (verdict.on_gpu && verdict.is_constant));
    texts.append(verdict.reason.c_str(), verdict.reason.size() + 1);
  }
  for (const auto& partition : partitions) {
    const Session& session = *partition->session;
    numbers.Add(partition->nodes);
    numbers.Add(partition->input_tensors);
    numbers.Add(partition->output_tensors);
    numbers.Add(partition->states);
    numbers.Add(partition->only_shapes);
    numbers.Add(session.inputs());
    numbers.Add(session.outputs());
    texts.append(session.graph_hash().c_str(), session.graph_hash().size() + 1);
  }
  texts.append(result.message().c_str(), result.message().size() + 1);
  cache.SaveVerdicts(key, numbers.bytes(),
                     {reinterpret_cast<const uint8_t*>(texts.data()), texts.size()});
}

// From the first that is not there on, there are only zeros and empty texts.
int KeptVerdicts::Number() {
  fits_ = fits_ && number_ < numbers_end_;
  return fits_ ? *number_++ : 0;
}

// So many numbers, or null.
const int32_t* KeptVerdicts::Take(int count) {
  fits_ = fits_ && count >= 0 && count <= numbers_end_ - number_;
  if (!fits_) return nullptr;
  number_ += count;
  return number_ - count;
}

void KeptVerdicts::List(std::vector<int>* list) {
  const int count = Number();
  if (const int32_t* numbers = Take(count)) list->assign(numbers, numbers + count);
}

const char* KeptVerdicts::Text() {
  const char* text = text_;
  const size_t left = static_cast<size_t>(texts_end_ - text_);
  const void* end = left ? memchr(text_, 0, left) : nullptr;
  fits_ = fits_ && end;
  if (!fits_) return "";
  text_ = static_cast<const char*>(end) + 1;
  return text;
}

Status KeptVerdicts::Fits() const {
  return fits_ ? Status() : Unsupported("they do not fit the model");
}

Status KeptVerdicts::Load(const ModelCache& cache, const std::string& key,
                          std::vector<Verdict>* verdicts) {
  Part texts;
  QUADRA_RETURN_IF_ERROR(cache.LoadVerdicts(key, &file_, &texts));
  number_ = reinterpret_cast<const int32_t*>(file_.data());
  const size_t count = file_.size() / sizeof(int32_t);
  numbers_end_ = number_ + count;
  text_ = reinterpret_cast<const char*>(texts.data);
  texts_end_ = text_ + texts.size;
  fits_ = static_cast<size_t>(Number()) == verdicts->size();
  for (Verdict& verdict : *verdicts) {
    const int kept = Number();
    verdict.on_gpu = kept > 0;
    verdict.is_constant = kept > 1;
    verdict.reason = Text();
  }
  return Fits();
}

Status KeptVerdicts::Result() {
  const char* message = Text();
  return *message ? Status(Code::kMiscompiled, message) : Status();
}

Status KeptVerdicts::Ports(const TfLiteContext& context, const std::vector<int>& tensors,
                           std::vector<Port>* ports) {
  for (int tensor : tensors) {
    const int32_t* sizes = Take(kMostRank);
    fits_ = fits_ && std::all_of(sizes, sizes + kMostRank, [](int size) { return size > 0; }) &&
            tensor >= 0 && static_cast<size_t>(tensor) < context.tensors_size;
    QUADRA_RETURN_IF_ERROR(Fits());
    Port port;
    port.shape = ShapeOf(sizes, kMostRank);
    port.rank = Number();
    fits_ = fits_ && FitsInts(port.shape);
    // As an import has it: int16 is only in states.
    if (!ElementOf(context.tensors[tensor].type, &port.element)) port.element = Element::kInt16;
    ports->push_back(port);
  }
  return Fits();
}

Status KeptVerdicts::Next(const TfLiteContext& context, const SessionOptions& options,
                          const std::shared_ptr<Backend>& backend, Partition* partition) {
  List(&partition->nodes);
  List(&partition->input_tensors);
  List(&partition->output_tensors);
  partition->states = Number();
  partition->only_shapes = Number();
  const auto ends = [](int count, const std::vector<int>& list) {
    return count >= 0 && static_cast<size_t>(count) <= list.size();
  };
  fits_ = fits_ && ends(partition->states, partition->output_tensors) &&
          ends(partition->only_shapes, partition->input_tensors);
  std::vector<Port> inputs, outputs;
  QUADRA_RETURN_IF_ERROR(Ports(context, partition->input_tensors, &inputs));
  QUADRA_RETURN_IF_ERROR(Ports(context, partition->output_tensors, &outputs));
  partition->session = std::make_unique<Session>(std::move(inputs), partition->only_shapes,
                                                 std::move(outputs), backend, options);
  return partition->session->Recall(Text());
}

}  // namespace quadra
