#include "delegate_native/tflite/importer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace quadra {
namespace {

bool IsConstantTensor(const TfLiteTensor& tensor) {
  return (tensor.allocation_type == kTfLiteMmapRo ||
          tensor.allocation_type == kTfLitePersistentRo) &&
         tensor.data != nullptr;
}

const char* NameOf(const TfLiteTensor& tensor) { return tensor.name ? tensor.name : "(unnamed)"; }

// -1 where a dimension is negative, or all together are more than any file holds.
int64_t ElementCount(const TfLiteIntArray* dims) {
  int64_t count = 1;
  for (int i = 0; i < dims->size; ++i) {
    count *= dims->data[i];
    if (dims->data[i] < 0 || count > int64_t{1} << 32) return -1;
  }
  return count;
}

// The scales of a quantised tensor; null if there are none that say something.
const TfLiteAffineQuantization* ScalesOf(const TfLiteTensor& tensor) {
  const auto* affine = static_cast<const TfLiteAffineQuantization*>(tensor.quantization.params);
  if (tensor.quantization.type != kTfLiteAffineQuantization || !affine || !affine->scale)
    return nullptr;
  return affine->scale->size > 0 && affine->scale->data[0] != 0 ? affine : nullptr;
}

// The scale with two bits less than a float has: kernels count on it (`onto_grid`). Constants have
// it, too: what is equal as integers is equal as floats.
float ShortScale(float scale) {
  uint32_t bits;
  memcpy(&bits, &scale, sizeof(bits));
  bits = (bits + 2) & ~3u;
  memcpy(&scale, &bits, sizeof(bits));
  return scale;
}

// Of a constant whose size is its type's and shape's.
Status ReadScales(const TfLiteTensor& tensor, Scales* scales) {
  const TfLiteAffineQuantization& affine = *ScalesOf(tensor);
  const int count = affine.scale->size, axis = affine.quantized_dimension;
  scales->scales.assign(affine.scale->data, affine.scale->data + count);
  scales->zero_points = {0};
  if (affine.zero_point && affine.zero_point->size > 0) {
    scales->zero_points.assign(affine.zero_point->data,
                               affine.zero_point->data + affine.zero_point->size);
  }
  const size_t zeros = scales->zero_points.size();
  if (zeros != 1 && zeros != scales->scales.size()) {
    return InvalidModel("constant '%s' has %d scales and %zu zero points", NameOf(tensor), count,
                        zeros);
  }
  if (count == 1) {
    scales->scales[0] = ShortScale(scales->scales[0]);
    return Status();
  }
  if (axis < 0 || axis >= tensor.dims->size || tensor.dims->data[axis] != count) {
    return InvalidModel("constant '%s' has %d scales along axis %d", NameOf(tensor), count, axis);
  }
  for (int i = axis + 1; i < tensor.dims->size; ++i) {
    scales->stride *= static_cast<size_t>(tensor.dims->data[i]);
  }
  return Status();
}

// How many bits of a byte a number takes, where several share one; else 0.
int BitsOf(TfLiteType type) { return type == kTfLiteInt4 ? 4 : type == kTfLiteInt2 ? 2 : 0; }

// "float32, int32 or bool"
std::string NamesOf(Elements elements) {
  std::string names;
  for (int i = static_cast<int>(Element::kInt64); i >= 0; --i) {
    const Element element = static_cast<Element>(i);
    if (!(elements & Only(element)) || element == Element::kFloat16) continue;
    const int before = elements & (Only(element) - 1);
    names.insert(0, std::string(before == 0     ? ""
                                : names.empty() ? " or "
                                                : ", ") +
                        NameOf(element));
  }
  return names;
}

// The floats that a quantised tensor can hold, as the ops name them.
Attributes GridOf(const TfLiteTensor& tensor) {
  const TfLiteAffineQuantization& affine = *ScalesOf(tensor);
  const float scale = ShortScale(affine.scale->data[0]);
  const float zero = static_cast<float>(affine.zero_point->data[0]);
  const float numbers = tensor.type == kTfLiteInt16 ? 65536.0f : 256.0f;
  const float least = tensor.type == kTfLiteUInt8 ? 0.0f : -numbers / 2;
  Attributes attributes;
  attributes.SetFloat("scale", scale);
  attributes.SetFloat("inverse", 1.0f / scale);
  attributes.SetFloat("zero", zero);
  attributes.SetFloat("low", least - zero);
  attributes.SetFloat("high", least + numbers - 1.0f - zero);
  return attributes;
}

// Of a tensor whose integers stand for floats.
Element StoredElement(const TfLiteTensor& tensor) {
  Element element = Element::kInt16;
  ElementOf(tensor.type, &element);
  return element;
}

}  // namespace

const char* TypeName(TfLiteType type) {
  static const char* const kNames[] = {
      "no type",  "float32",   "int32",  "uint8",   "int64",   "string",     "bool",
      "int16",    "complex64", "int8",   "float16", "float64", "complex128", "uint64",
      "resource", "variant",   "uint32", "uint16",  "int4",    "bfloat16",   "int2"};
  const unsigned index = static_cast<unsigned>(type);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "an unknown type";
}

bool ElementOf(TfLiteType type, Element* element) {
  switch (type) {
    case kTfLiteFloat32: *element = Element::kFloat32; return true;
    case kTfLiteInt32: *element = Element::kInt32; return true;
    case kTfLiteBool: *element = Element::kBool; return true;
    case kTfLiteInt8: *element = Element::kInt8; return true;
    case kTfLiteUInt8: *element = Element::kUInt8; return true;
    case kTfLiteInt64: *element = Element::kInt64; return true;
    case kTfLiteFloat16: *element = Element::kFloat16; return true;
    default: return false;
  }
}

bool IsQuantized(const TfLiteTensor& tensor) {
  return (tensor.type == kTfLiteInt8 || tensor.type == kTfLiteUInt8) && ScalesOf(tensor);
}

// A scale for each block of a row, in a tensor of their own.
Status ConstantPool::ReadBlocks(const TfLiteContext* context, const TfLiteTensor& tensor,
                                Scales* scales) {
  const auto* blocks = static_cast<const TfLiteBlockwiseQuantization*>(tensor.quantization.params);
  const int tensors = static_cast<int>(context->tensors_size);
  Status misfits = Unsupported(
      "constant '%s' has blocks without fitting scales, or with zero points", NameOf(tensor));
  if (!blocks || blocks->blocksize < 1 || blocks->scale < 0 || blocks->scale >= tensors ||
      blocks->zero_point >= tensors || tensor.dims->size != 2 ||
      tensor.dims->data[1] % blocks->blocksize != 0) {
    return misfits;
  }
  const TfLiteType type = context->tensors[blocks->scale].type;
  if (type != kTfLiteFloat16 && type != kTfLiteFloat32) return misfits;
  ConstantData data;
  QUADRA_RETURN_IF_ERROR(Get(context, blocks->scale, /*wants_floats=*/true, &data));
  scales->scales = *data->floats();
  scales->zero_points = {0};
  scales->stride = static_cast<size_t>(blocks->blocksize);
  if (data->size() * scales->stride != static_cast<size_t>(ElementCount(tensor.dims))) {
    return misfits;
  }
  if (blocks->zero_point < 0) return Status();
  // The interpreter takes all of them for 0.
  const TfLiteTensor& zeros = context->tensors[blocks->zero_point];
  const char* bytes = static_cast<const char*>(zeros.data);
  if (IsConstantTensor(zeros) &&
      std::count(bytes, bytes + zeros.bytes, 0) == static_cast<std::ptrdiff_t>(zeros.bytes)) {
    return Status();
  }
  return misfits;
}

Status ConstantPool::Get(const TfLiteContext* context, int tensor, bool wants_floats,
                         ConstantData* data) {
  const auto known = known_.find(tensor);
  if (known != known_.end() && (!wants_floats || IsFloat(known->second->element()))) {
    *data = known->second;
    return Status();
  }
  const TfLiteTensor& t = context->tensors[tensor];
  if (!IsConstantTensor(t)) {
    return Unsupported(
        "operand '%s' is computed while the model runs; it must be a constant of the model",
        NameOf(t));
  }
  if (t.sparsity) {
    return Unsupported("constant '%s' is sparse and no DENSIFY precedes it", NameOf(t));
  }
  const bool half = t.type == kTfLiteFloat16;
  const bool blocks = t.quantization.type == kTfLiteBlockwiseQuantization;
  const bool scaled = blocks || ScalesOf(t);
  const int narrow = scaled ? BitsOf(t.type) : 0;
  Element element = narrow ? Element::kInt8 : Element::kFloat32;
  const bool wide = scaled && t.type == kTfLiteInt16;
  if (wide) element = Element::kInt16;
  if (!half && !narrow && !wide && !ElementOf(t.type, &element)) {
    return Unsupported("constant '%s' is %s, which the GPU has no numbers for", NameOf(t),
                       TypeName(t.type));
  }
  const int64_t count = ElementCount(t.dims);
  const size_t bits = narrow ? static_cast<size_t>(narrow) : half ? 16 : 8 * BytesOf(element);
  const size_t bytes = (static_cast<size_t>(count < 0 ? 0 : count) * bits + 7) / 8;
  if (count < 1 || t.bytes != bytes) {
    return InvalidModel("constant '%s' has %zu bytes, its shape asks for %zu", NameOf(t), t.bytes,
                        bytes);
  }
  if (scaled && (wide || kBytes & Only(element) || (wants_floats && element == Element::kInt32))) {
    Scales scales;
    QUADRA_RETURN_IF_ERROR(blocks ? ReadBlocks(context, t, &scales) : ReadScales(t, &scales));
    *data = std::make_shared<const Constant>(t.data, element, static_cast<int>(bits),
                                             std::move(scales), static_cast<size_t>(count));
    known_[tensor] = *data;
    return Status();
  }
  *data = std::make_shared<const Constant>(t.data, element, half, static_cast<size_t>(count));
  known_[tensor] = *data;
  return Status();
}

const KnownShape* Importer::Known(int tensor) const {
  const auto known = known_->shapes.find(tensor);
  return known == known_->shapes.end() ? nullptr : &known->second;
}

void Importer::Begin(int index, const TfLiteNode* node, const TfLiteRegistration* registration,
                     size_t params_bytes) {
  params_bytes_ = params_bytes;
  index_ = index;
  node_ = node;
  registration_ = registration;
}

Status Importer::ExpectInputs(int least, int most, int outputs) const {
  int count = num_inputs();
  while (count > 0 && !HasInput(count - 1)) --count;
  if (count < least || count > most) {
    return Unsupported("it has %d inputs; %d to %d are supported", count, least, most);
  }
  for (int i = 0; i < count; ++i) {
    if (i < least && !HasInput(i)) return InvalidModel("its input %d is absent", i);
  }
  if (num_outputs() != outputs) {
    return Unsupported("it has %d outputs; %d %s supported", num_outputs(), outputs,
                       outputs == 1 ? "is" : "are");
  }
  return Status();
}

Status Importer::CheckOptions(size_t size) const {
  // What is not declared is no part of a cache's key.
  if (size > params_bytes_) return Internal("its op declares too few bytes of parameters");
  return node_->builtin_data ? Status() : InvalidModel("it carries no options");
}

Status Importer::CopyCustomOptions(size_t size, void* options) const {
  const int given = node_->custom_initial_data ? node_->custom_initial_data_size : 0;
  if (given < 0 || static_cast<size_t>(given) < size) {
    return InvalidModel("its custom options have %d bytes; %zu are needed", given, size);
  }
  memcpy(options, node_->custom_initial_data, size);
  return Status();
}

bool Importer::IsConstant(int input) const {
  return known_->constants.Has(InputIndex(input)) || IsConstantTensor(InputTensor(input));
}

int Importer::InputRank(int input) const {
  const KnownShape* known = Known(InputIndex(input));
  return known ? known->rank : InputTensor(input).dims->size;
}

Status Importer::Describe(int tensor, Shape* shape, int* rank) const {
  if (const KnownShape* known = Known(tensor)) {
    *shape = known->shape;
    *rank = known->rank;
    return Status();
  }
  const TfLiteTensor& t = context_->tensors[tensor];
  if (!t.dims) return InvalidModel("tensor '%s' has no shape", NameOf(t));
  if (t.dims->size > kMostRank) {
    return Unsupported("tensor '%s' has rank %d; ranks up to %d are supported", NameOf(t),
                       t.dims->size, kMostRank);
  }
  *rank = t.dims->size;
  for (int i = 0; i < *rank; ++i) {
    const int n = t.dims->data[i];
    if (n <= 0) {
      return Unsupported("tensor '%s' has %s dimension (axis %d is %d)", NameOf(t),
                         n == 0 ? "an empty" : "an unknown", i, n);
    }
  }
  *shape = ShapeOf(t.dims->data, *rank);
  if (!FitsInts(*shape)) {
    return Unsupported("tensor '%s' has the shape %s; up to 2^31 numbers are supported", NameOf(t),
                       ToString(*shape).c_str());
  }
  return Status();
}

std::string Importer::Wanted(Elements elements) const {
  const bool takes_grids =
      known_->allows_quantized && (elements & kFloats) && !(elements & Only(Element::kInt8));
  return NamesOf(elements) + (takes_grids ? ", or int8 and uint8 with a scale," : "");
}

Status Importer::Typed(const TfLiteTensor& tensor, const char* what, Elements elements,
                       Value* value) const {
  if (!ElementOf(tensor.type, &value->element) || !(elements & Only(value->element))) {
    return Unsupported("%s '%s' is %s; %s is supported", what, NameOf(tensor),
                       TypeName(tensor.type), Wanted(elements).c_str());
  }
  if (!IsQuantized(tensor)) return Status();
  return Unsupported("%s '%s' is quantized %s; its integers are no numbers here", what,
                     NameOf(tensor), TypeName(tensor.type));
}

// That a tensor of integers is one that Quadra can see as floats.
Status Importer::CheckQuantized(const TfLiteTensor& tensor, const char* what) const {
  if (!known_->allows_quantized) {
    return Unsupported("%s '%s' is quantized %s, and the option quantized_models_allowed is 0",
                       what, NameOf(tensor), TypeName(tensor.type));
  }
  const TfLiteAffineQuantization& affine = *ScalesOf(tensor);
  const float scale = affine.scale->data[0];
  if (affine.scale->size != 1 || !affine.zero_point || affine.zero_point->size != 1) {
    return Unsupported("%s '%s' has %d scales; computed tensors need one", what, NameOf(tensor),
                       affine.scale->size);
  }
  if (!(scale > 1e-30f) || !(scale < 1e30f)) {
    return InvalidModel("%s '%s' has the scale %g", what, NameOf(tensor),
                        static_cast<double>(scale));
  }
  return Status();
}

Status Importer::CheckRuntime(const TfLiteTensor& tensor, const char* what) const {
  if (tensor.is_variable) {
    return Unsupported("%s '%s' is a variable that keeps its value between runs", what,
                       NameOf(tensor));
  }
  // Texts always are, and their type says more.
  if (tensor.allocation_type == kTfLiteDynamic && tensor.type != kTfLiteString) {
    return Unsupported("%s '%s' has a size that is only known while the model runs", what,
                       NameOf(tensor));
  }
  return Status();
}

Status Importer::Operand(int input, ValueId* value, Elements elements) {
  if (!HasInput(input)) return InvalidModel("its input %d is absent", input);
  const int tensor = InputIndex(input);
  const auto known = value_of_tensor_.find(tensor);
  const bool is_known = known != value_of_tensor_.end();
  const bool is_computed = is_known && !graph_->IsConstant(known->second);
  if (!is_computed && IsConstant(input)) return ConstantOperand(input, value, elements);
  if (!is_known) QUADRA_RETURN_IF_ERROR(CheckRuntime(InputTensor(input), "input"));
  return Computed(tensor, elements, value);
}

Status Importer::State(int input, ValueId* value, bool quantized) {
  if (!HasInput(input) || !InputTensor(input).is_variable) return Operand(input, value);
  const TfLiteTensor& t = InputTensor(input);
  const bool has_integers = IsQuantized(t) || (t.type == kTfLiteInt16 && ScalesOf(t));
  if (!has_integers) return Computed(InputIndex(input), Only(Element::kFloat32), value);
  if (quantized) return QuantizedOperand(InputIndex(input), value);
  return Unsupported("its state '%s' is quantized %s; float32 is supported", NameOf(t),
                     TypeName(t.type));
}

void Importer::SetState(int input, ValueId value) {
  const TfLiteTensor& t = InputTensor(input);
  if (!t.is_variable) return;
  states_[InputIndex(input)] = t.type == kTfLiteFloat32 ? value : Quantized(t, value);
}

ValueId Importer::OntoGrid(int state, ValueId floats) {
  const TfLiteTensor& t = InputTensor(state);
  return t.type == kTfLiteFloat32 ? floats : AddInnerNode("requantize", {floats}, GridOf(t));
}

const TfLiteTensor* Importer::Intermediate(int i) const {
  const TfLiteIntArray* all = node_->intermediates;
  if (!all || i >= all->size || all->data[i] < 0) return nullptr;
  return &context_->tensors[all->data[i]];
}

Status Importer::Computed(int tensor, Elements elements, ValueId* value) {
  const TfLiteTensor& t = context_->tensors[tensor];
  if (IsQuantized(t) && elements & kFloats) return QuantizedOperand(tensor, value);
  Value made;
  QUADRA_RETURN_IF_ERROR(Typed(t, "input", elements, &made));
  const auto known = value_of_tensor_.find(tensor);
  if (known != value_of_tensor_.end()) {
    *value = known->second;
    return Status();
  }
  QUADRA_RETURN_IF_ERROR(Describe(tensor, &made.shape, &made.rank));
  made.name = NameOf(t);
  *value = AddValueOf(tensor, std::move(made));
  return Status();
}

ValueId Importer::AddValueOf(int tensor, Value&& value) {
  const ValueId added = graph_->AddValue(std::move(value));
  value_of_tensor_[tensor] = added;
  if (known_->subgraphs.empty() && !context_->tensors[tensor].is_variable) {
    graph_->tensors.emplace_back(tensor, added);
  }
  return added;
}

// Integers as the floats that they stand for.
Status Importer::QuantizedOperand(int tensor, ValueId* value) {
  const auto known = floats_of_tensor_.find(tensor);
  if (known != floats_of_tensor_.end()) {
    *value = known->second;
    return Status();
  }
  const TfLiteTensor& t = context_->tensors[tensor];
  QUADRA_RETURN_IF_ERROR(CheckQuantized(t, "input"));
  Value stored;
  stored.element = StoredElement(t);
  QUADRA_RETURN_IF_ERROR(Describe(tensor, &stored.shape, &stored.rank));
  stored.name = NameOf(t);
  *value = AddInnerNode("dequantize", {AddValueOf(tensor, std::move(stored))}, GridOf(t));
  floats_of_tensor_[tensor] = *value;
  return Status();
}

ValueId Importer::StoredValueOf(int tensor) {
  const ValueId value = ValueOf(tensor);
  const TfLiteTensor& t = context_->tensors[tensor];
  if (value < 0 || !IsQuantized(t) || graph_->IsConstant(value) ||
      !IsFloat(graph_->value(value).element)) {
    return value;
  }
  const ValueId stored = Quantized(t, value);
  graph_->nodes.back().sources =
      graph_->nodes[static_cast<size_t>(graph_->Producer(value))].sources;
  return stored;
}

ValueId Importer::Quantized(const TfLiteTensor& tensor, ValueId floats) {
  const ValueId stored = AddInnerNode("quantize", {floats}, GridOf(tensor));
  graph_->value(stored).element = StoredElement(tensor);
  return stored;
}

Status Importer::ConstantOperand(int input, ValueId* value, Elements elements) {
  if (!HasInput(input)) return InvalidModel("its input %d is absent", input);
  const int tensor = InputIndex(input);
  const auto known = value_of_tensor_.find(tensor);
  if (known != value_of_tensor_.end() && graph_->IsConstant(known->second) &&
      (elements & Only(graph_->value(known->second).element))) {
    *value = known->second;
    return Status();
  }
  const TfLiteTensor& t = context_->tensors[tensor];
  Value made;
  QUADRA_RETURN_IF_ERROR(
      known_->constants.Get(context_, tensor, !(elements & kInts), &made.constant));
  Hold(tensor, made.constant);
  made.element = made.constant->element();
  if (!IsFloat(made.element)) QUADRA_RETURN_IF_ERROR(Typed(t, "constant", elements, &made));
  if (!(elements & Only(made.element))) {
    return Unsupported("constant '%s' is %s; %s is supported", NameOf(t), NameOf(made.element),
                       Wanted(elements).c_str());
  }
  QUADRA_RETURN_IF_ERROR(Describe(tensor, &made.shape, &made.rank));
  if (made.shape.elements() != static_cast<int64_t>(made.constant->size())) {
    return InvalidModel("constant '%s' has %zu values for shape %s", NameOf(t),
                        made.constant->size(), ToString(made.shape).c_str());
  }
  made.name = NameOf(t);
  *value = graph_->AddValue(std::move(made));
  // What the graph computes stays the tensor's for those that can follow it.
  if (known == value_of_tensor_.end() || graph_->IsConstant(known->second))
    value_of_tensor_[tensor] = *value;
  return Status();
}

Status Importer::WeightedOperands(std::vector<ValueId>* values, int src, int bias) {
  values->assign(HasInput(bias) ? 3 : 2, -1);
  QUADRA_RETURN_IF_ERROR(Operand(src, &(*values)[0]));
  QUADRA_RETURN_IF_ERROR(ConstantOperand(1, &(*values)[1]));
  return values->size() > 2 ? ConstantOperand(bias, &(*values)[2]) : Status();
}

void Importer::Hold(int tensor, const ConstantData& data) const {
  const ValueId value = ValueOf(tensor);
  if (value >= 0 && !graph_->IsConstant(value)) graph_->held.emplace_back(value, data);
}

Status Importer::ConstantInts(int input, std::vector<int>* ints) const {
  if (!HasInput(input)) return InvalidModel("its input %d is absent", input);
  const TfLiteTensor& t = InputTensor(input);
  if (known_->constants.Has(InputIndex(input))) {
    ConstantData data;
    QUADRA_RETURN_IF_ERROR(
        known_->constants.Get(context_, InputIndex(input), /*wants_floats=*/false, &data));
    if (!IsFloat(data->element()) && data->fits_ints()) {
      *ints = data->ints();
      Hold(InputIndex(input), data);
      return Status();
    }
  }
  if (!IsConstantTensor(t)) {
    return Unsupported(
        "input %d ('%s') is computed while the model runs; it must be a constant of the model",
        input, NameOf(t));
  }
  const int64_t count = ElementCount(t.dims);
  Element element;
  if (!ElementOf(t.type, &element) || IsFloat(element)) {
    return Unsupported("input %d ('%s') is %s; int32 and int64 are supported", input, NameOf(t),
                       TypeName(t.type));
  }
  const size_t width = BytesOf(element);
  if (count < 0 || t.bytes != static_cast<size_t>(count) * width) {
    return InvalidModel("constant '%s' has %zu bytes for %lld numbers", NameOf(t), t.bytes,
                        static_cast<long long>(count));
  }
  const Constant constant(t.data, element, /*half=*/false, static_cast<size_t>(count));
  if (!constant.fits_ints()) {
    return Unsupported("constant '%s' holds a number beyond 32 bits", NameOf(t));
  }
  *ints = constant.ints();
  return Status();
}

Status Importer::Sizes(int input, const char* name, Attributes* attributes) const {
  const ValueId value = HasInput(input) ? ValueOf(InputIndex(input)) : -1;
  if (value >= 0 && !graph_->IsConstant(value)) {
    attributes->SetIntsOf(name, value);
    return Status();
  }
  std::vector<int> ints;
  QUADRA_RETURN_IF_ERROR(ConstantInts(input, &ints));
  attributes->SetInts(name, std::move(ints));
  return Status();
}

Status Importer::ConstantInt(int input, int* number) const {
  std::vector<int> ints;
  QUADRA_RETURN_IF_ERROR(ConstantInts(input, &ints));
  if (ints.size() != 1) return InvalidModel("its input %d is %zu numbers", input, ints.size());
  *number = ints[0];
  return Status();
}

Status Importer::CheckRows(int rank, int depth, int input) const {
  const TfLiteIntArray* dims = InputTensor(input).dims;
  if (depth > 0 && InputRank(input) == rank && dims && dims->size == rank &&
      dims->data[rank - 1] == depth) {
    return Status();
  }
  return Unsupported("its input %d has rank %d; rank %d with rows of %d numbers is supported",
                     input, InputRank(input), rank, depth);
}

Status Importer::MatrixSize(int input, int* rows, int* columns) const {
  const TfLiteIntArray* dims = HasInput(input) ? InputTensor(input).dims : nullptr;
  if (!dims || dims->size != 2 || dims->data[0] < 1 || dims->data[1] < 1) {
    return InvalidModel("its input %d is no matrix of weights", input);
  }
  *rows = dims->data[0];
  *columns = dims->data[1];
  return Status();
}

Status Importer::ConstantFloats(int input, SharedFloats* floats) const {
  if (!HasInput(input)) return InvalidModel("its input %d is absent", input);
  ConstantData data;
  QUADRA_RETURN_IF_ERROR(
      known_->constants.Get(context_, InputIndex(input), /*wants_floats=*/true, &data));
  if (!IsFloat(data->element())) {
    return Unsupported("input %d ('%s') is %s; %s is supported", input, NameOf(InputTensor(input)),
                       NameOf(data->element()), Wanted(kFloats).c_str());
  }
  *floats = data->floats();
  Hold(InputIndex(input), data);
  return Status();
}

Status Importer::ConstantFloat(int input, float* number) const {
  SharedFloats floats;
  QUADRA_RETURN_IF_ERROR(ConstantFloats(input, &floats));
  if (floats->size() != 1)
    return InvalidModel("its input %d is %zu numbers", input, floats->size());
  *number = floats->front();
  return Status();
}

Status Importer::Grid(const TfLiteTensor& tensor, TfLiteType type, std::vector<float>* grid) const {
  if (tensor.type != type || !ScalesOf(tensor)) {
    return Unsupported("'%s' is %s; quantized %s is supported", NameOf(tensor),
                       TypeName(tensor.type), TypeName(type));
  }
  QUADRA_RETURN_IF_ERROR(CheckQuantized(tensor, "tensor"));
  const Attributes attributes = GridOf(tensor);
  for (const char* word : {"inverse", "scale", "low", "high"}) {
    grid->push_back(attributes.Float(word));
  }
  return Status();
}

Status Importer::CheckAlike(const std::vector<ValueId>& values) const {
  const Value& first = graph_->value(values[0]);
  for (ValueId id : values) {
    const Value& value = graph_->value(id);
    if (value.element == first.element || (IsFloat(value.element) && IsFloat(first.element)))
      continue;
    return InvalidModel("its operands are %s and %s", NameOf(first.element), NameOf(value.element));
  }
  return Status();
}

Status Importer::MakeOutput(int output, ValueId* value) {
  const TfLiteTensor& t = OutputTensor(output);
  Value made;
  if (IsQuantized(t)) {
    QUADRA_RETURN_IF_ERROR(CheckQuantized(t, "output"));
  } else {
    QUADRA_RETURN_IF_ERROR(Typed(t, "output", kAllElements, &made));
  }
  QUADRA_RETURN_IF_ERROR(CheckRuntime(t, "output"));
  // The shape comes from shape inference; the file's may be from before a resize.
  made.name = NameOf(t);
  made.rank = t.dims ? t.dims->size : 4;
  *value = AddValueOf(OutputIndex(output), std::move(made));
  if (IsQuantized(t)) floats_of_tensor_[OutputIndex(output)] = *value;
  return Status();
}

Status ReadActivation(TfLiteFusedActivation activation, const char** op, Attributes* attributes) {
  const float infinity = std::numeric_limits<float>::infinity();
  *op = nullptr;
  switch (activation) {
    case kTfLiteActNone: break;
    case kTfLiteActRelu:
    case kTfLiteActRelu6:
    case kTfLiteActReluN1To1:
      *op = "clamp";
      attributes->SetFloat("low", activation == kTfLiteActReluN1To1 ? -1.0f : 0.0f);
      attributes->SetFloat("high", activation == kTfLiteActRelu    ? infinity
                                   : activation == kTfLiteActRelu6 ? 6.0f
                                                                   : 1.0f);
      break;
    case kTfLiteActTanh: *op = "tanh"; break;
    case kTfLiteActSigmoid: *op = "logistic"; break;
    default: return Unsupported("its fused activation has code %d, which is unknown", activation);
  }
  return Status();
}

Status Importer::AddNode(const char* op, std::vector<ValueId>&& inputs, Attributes&& attributes,
                         TfLiteFusedActivation activation) {
  const char* after;
  Attributes after_attributes;
  QUADRA_RETURN_IF_ERROR(ReadActivation(activation, &after, &after_attributes));
  if (after && !IsFloat(graph_->value(inputs[0]).element) && strcmp(after, "clamp") != 0) {
    return Unsupported("its fused activation %s is of floats, its operands are %s", after,
                       NameOf(graph_->value(inputs[0]).element));
  }
  if (after) {
    const ValueId inner = AddInnerNode(op, std::move(inputs), std::move(attributes));
    return AddNode(after, {inner}, std::move(after_attributes));
  }
  return AddNodeFor(0, op, std::move(inputs), std::move(attributes));
}

Status Importer::AddNodeFor(int made, const char* op, std::vector<ValueId>&& inputs,
                            Attributes&& attributes) {
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.sources = {index_};
  ValueId output;
  QUADRA_RETURN_IF_ERROR(MakeOutput(made, &output));
  const TfLiteTensor& t = OutputTensor(made);
  if (IsQuantized(t)) {
    // What the op computes, brought to the numbers that the tensor can hold.
    node.outputs = {graph_->AddValue(std::string(op) + Format("_%d", index_), Shape())};
    Node onto_grid;
    onto_grid.op = "requantize";
    onto_grid.inputs = node.outputs;
    onto_grid.attributes = GridOf(t);
    onto_grid.sources = node.sources;
    graph_->nodes.push_back(std::move(node));
    node = std::move(onto_grid);
  }
  node.outputs = {output};
  graph_->nodes.push_back(std::move(node));
  return Status();
}

ValueId Importer::AddInnerNode(const char* op, std::vector<ValueId>&& inputs,
                               Attributes&& attributes) {
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.sources = {index_};
  const ValueId output = graph_->AddValue(std::string(op) + Format("_%d", index_), Shape());
  node.outputs = {output};
  graph_->nodes.push_back(std::move(node));
  return output;
}

ValueId Importer::AddConstant(Shape shape, std::vector<float> floats) {
  return graph_->AddConstant(Format("constant_%d", index_), shape, std::move(floats));
}

ValueId Importer::ReshapeConstant(ValueId constant, Shape shape) {
  Value reshaped = graph_->value(constant);
  reshaped.shape = shape;
  reshaped.rank = 4;
  return graph_->AddValue(std::move(reshaped));
}

Status Importer::AddConstantOutput(ConstantData data) {
  const int tensor = OutputIndex(0);
  Shape shape;
  int rank = 0;
  QUADRA_RETURN_IF_ERROR(Describe(tensor, &shape, &rank));
  if (shape.elements() != static_cast<int64_t>(data->size())) {
    return InvalidModel("its result has %zu values for shape %s", data->size(),
                        ToString(shape).c_str());
  }
  known_->constants.Put(tensor, data);
  const ValueId value = graph_->AddValue(NameOf(OutputTensor(0)), shape, rank);
  graph_->value(value).element = data->element();
  graph_->value(value).constant = std::move(data);
  value_of_tensor_[tensor] = value;
  return Status();
}

ValueId Importer::ValueOf(int tensor) const {
  const auto known = value_of_tensor_.find(tensor);
  return known == value_of_tensor_.end() ? -1 : known->second;
}

}  // namespace quadra
