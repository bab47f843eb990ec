#include "delegate_native/ops/op.h"

#include <algorithm>
#include <cstring>

#include "delegate_native/ops/cpu_kernels.h"
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/ops/limits.h"
#include "delegate_native/tflite/builtin_params.h"
#include "delegate_native/tflite/importer.h"
#include "delegate_native/tflite/mixed_types.h"

namespace quadra {

#define QUADRA_OP(name) extern const Op name;
#include "delegate_native/ops/op_list.def"
#undef QUADRA_OP

namespace {

const Op* const kOps[] = {
#define QUADRA_OP(name) &name,
#include "delegate_native/ops/op_list.def"
#undef QUADRA_OP
};

// Every op, one after the other; null after the last.
const Op* OpAt(size_t i) {
  constexpr size_t kCount = sizeof(kOps) / sizeof(kOps[0]);
  return i < kCount                         ? kOps[i]
         : i - kCount < kElementwiseOpCount ? &kElementwiseOps[i - kCount]
                                            : nullptr;
}

// Sets the result's element type where the op says it.
void InferElement(const Op& op, Graph* graph, const Node& node) {
  if (op.result == Result::kDeclared) return;
  for (ValueId output : node.outputs) {
    Value& out = graph->value(output);
    if (op.result == Result::kBool) {
      out.element = Element::kBool;
      continue;
    }
    const Value& like = graph->value(node.inputs[op.result == Result::kLikeSecond ? 1 : 0]);
    // Which floats these are, the model says.
    if (!IsFloat(like.element) || !IsFloat(out.element)) out.element = like.element;
  }
}

Status CheckRanks(const Op& op, const Graph& graph, const std::vector<ValueId>& values) {
  for (ValueId id : values) {
    const Value& value = graph.value(id);
    if (value.rank <= op.max_rank) continue;
    return Unsupported("tensor '%s' has rank %d; ranks up to %d are supported", value.name.c_str(),
                       value.rank, op.max_rank);
  }
  return Status();
}

Status In(const std::string& op, const Status& status) {
  return Status(status.code(), op + ": " + status.message());
}

Status CheckAttributes(const std::string& name, const Attributes& attributes) {
  const Op* op = FindOp(name);
  if (!op) return Internal("there is no op '%s'", name.c_str());
  for (const char* next = op->attributes; *next; next += *next == ' ') {
    const std::string attribute(next, strcspn(next, " "));
    if (!attributes.Has(attribute.c_str())) {
      return In(name, Internal("it has no attribute '%s'", attribute.c_str()));
    }
    next += attribute.size();
  }
  return Status();
}

// Attributes that are the numbers of a value.
Status ReadInts(const Graph& graph, Node* node) {
  for (const Attribute& attribute : node->attributes.all()) {
    if (attribute.type != Attribute::Type::kIntsOf) continue;
    const Value& value = graph.value(attribute.ints[0]);
    if (!value.constant) {
      return Unsupported("its %s, '%s', is computed while the model runs", attribute.name.c_str(),
                         value.name.c_str());
    }
    node->attributes.SetInts(attribute.name.c_str(), value.constant->ints());
  }
  return Status();
}

// That the nodes are still those which the shapes ask for.
Status CheckHeld(const Graph& graph) {
  for (const auto& [id, held] : graph.held) {
    const Value& value = graph.value(id);
    if (value.constant == held) continue;
    const bool same =
        value.constant && (IsFloat(value.element) ? *value.constant->floats() == *held->floats()
                                                  : value.constant->ints() == held->ints());
    if (same) continue;
    return Unsupported("'%s' has other numbers for these shapes, which its reader cannot follow",
                       value.name.c_str());
  }
  return Status();
}

// The node's result, if it is known already.
void Fold(const Op& op, Graph* graph, const Node& node) {
  const auto is_known = [graph](ValueId id) {
    const ConstantData& constant = graph->value(id).constant;
    return constant && constant->fits_ints();
  };
  if (!node.fused.empty() || !std::all_of(node.inputs.begin(), node.inputs.end(), is_known)) return;
  ConstantData folded = op.fold      ? op.fold(*graph, node)
                        : op.formula ? FoldElementwise(op, *graph, node)
                                     : nullptr;
  if (folded) graph->value(node.outputs[0]).constant = std::move(folded);
}

// Why there is no such op.
Status HasNone(int builtin, const char* name) {
  if (builtin == kTfLiteBuiltinWhere) {
    return Unsupported("how many results %s has depends on numbers", name);
  }
  if (builtin == kTfLiteBuiltinCallOnce) {
    return Unsupported("%s has something to do before the first inference alone", name);
  }
  // Hash tables.
  if (builtin >= kTfLiteBuiltinHashtable && builtin < kTfLiteBuiltinVarHandle) {
    return Unsupported("%s uses what the interpreter keeps, for other subgraphs, too", name);
  }
  return Unsupported("Quadra has no %s yet", name);
}

bool Writes(const KernelDesc& kernel, ValueId value) {
  for (const TensorArg& arg : kernel.tensors) {
    if (arg.tensor == value && arg.access == Access::kWrite) return true;
  }
  return false;
}

std::vector<TensorLayout> LayoutsOf(const KernelContext& context, const Graph& graph,
                                    const KernelList& list, const KernelDesc& kernel) {
  std::vector<TensorLayout> layouts;
  for (const TensorArg& arg : kernel.tensors) {
    if (arg.tensor < list.first_scratch) {
      layouts.push_back(context.LayoutOf(graph.value(arg.tensor)));
      continue;
    }
    const KernelList::Scratch& made =
        list.scratch[static_cast<size_t>(arg.tensor - list.first_scratch)];
    layouts.push_back(
        context.LayoutOf(made.shape, made.element, /*constant=*/false, /*float32=*/false));
  }
  return layouts;
}

}  // namespace

Storage KernelContext::StorageOf(const Shape& shape) const {
  const bool fits = gpu->supports_images && shape.w <= gpu->max_image2d[0] &&
                    int64_t{shape.b} * shape.slices() * shape.h <= gpu->max_image2d[1];
  return gpu->storage == Storage::kImage2d && fits ? Storage::kImage2d : Storage::kBuffer;
}

TensorLayout KernelContext::LayoutOf(const Shape& shape, Element element, bool constant,
                                     bool float32) const {
  TensorLayout layout;
  const bool image = !constant && StorageOf(shape) == Storage::kImage2d;
  layout.kind = image ? TensorLayout::Kind::kSlicesImage2d : TensorLayout::Kind::kSlicesBuffer;
  layout.cell = CellOf(element, StoresHalf(precision) && !float32);
  layout.shape = shape;
  return layout;
}

TensorLayout KernelContext::SlicesLayout(const Value& value) const {
  TensorLayout layout =
      LayoutOf(value.shape, value.element, value.constant != nullptr, value.float32);
  layout.view = value.view;
  layout.is_view = value.memory_of >= 0;
  return layout;
}

TensorLayout KernelContext::DenseLayout(const Value& value) {
  TensorLayout layout;
  layout.kind = TensorLayout::Kind::kDenseBuffer;
  layout.cell = CellOfInput(value.element);
  layout.shape = value.shape;
  return layout;
}

Dialect KernelContext::DialectOf() const {
  Dialect dialect;
  dialect.language = gpu->api == Api::kGles ? Language::kGles : Language::kOpenCl;
  // Where half arithmetic is none, only storage is half.
  const bool no_half = ComputesHalf(precision) && !plan_computes_half();
  dialect.precision = no_half ? Precision::kF32F16 : precision;
  // A row shows all of a buffer in OpenCL, in OpenGL ES a part.
  const bool fits = gpu->api == Api::kGles ||
                    gpu->max_image_buffer_width >= gpu->max_buffer_bytes / 8;  // of halfs
  if (gpu->reads_buffers_as_images && fits) {
    dialect.image_units = gpu->max_image_units;
    dialect.max_row_texels = gpu->max_image_buffer_width;
  }
  if (gpu->api == Api::kGles) dialect.flat_group = gpu->flat_group;
  dialect.short_offsets = gpu->has_short_offsets();
  dialect.merge_similar_sources = MergesSimilarSources(*gpu);
  for (int axis = 0; axis < 3; ++axis) dialect.max_groups[axis] = gpu->max_groups[axis];
  dialect.max_trips = gpu->trips_per_second;
  return dialect;
}

const Op* FindOp(const std::string& name) {
  for (size_t i = 0; const Op* op = OpAt(i); ++i) {
    if (name == op->name) return op;
  }
  return nullptr;
}

const Op* FindOpFor(int builtin, const char* custom_name) {
  for (size_t n = 0; const Op* op = OpAt(n); ++n) {
    if (builtin == kTfLiteBuiltinCustom) {
      if (op->custom && custom_name && strcmp(op->custom, custom_name) == 0) return op;
      continue;
    }
    for (int i = 0; op->builtins[i] >= 0; ++i) {
      if (op->builtins[i] == builtin) return op;
    }
  }
  return nullptr;
}

Status ImportNode(int index, const TfLiteNode* node, const TfLiteRegistration* registration,
                  Importer* importer) {
  const int code = registration->builtin_code;
  const Op* op = FindOpFor(code, registration->custom_name);
  const std::string name = OpName(code, registration->custom_name);
  if (!op) return HasNone(code, name.c_str());
  if (registration->version > op->max_version) {
    return Unsupported("%s has version %d; versions up to %d are supported", name.c_str(),
                       registration->version, op->max_version);
  }
  importer->Begin(index, node, registration, op->params_bytes);
  QUADRA_RETURN_IF_ERROR(CheckMixedTypes(*importer));
  return op->import(importer);
}

Status InferShapes(Graph* graph) {
  for (Node& node : graph->nodes) {
    QUADRA_RETURN_IF_ERROR(ReadInts(*graph, &node));
    QUADRA_RETURN_IF_ERROR(CheckAttributes(node.op, node.attributes));
    for (const FusedStep& step : node.fused) {
      QUADRA_RETURN_IF_ERROR(CheckAttributes(step.op, step.attributes));
    }
    const Op& op = *FindOp(node.op);
    Status status = CheckRanks(op, *graph, node.inputs);
    if (status.ok()) status = op.shape(graph, node);
    if (status.ok()) status = CheckRanks(op, *graph, node.outputs);
    if (!status.ok()) return In(node.op, status);
    InferElement(op, graph, node);
    for (ValueId output : node.outputs) {
      if (FitsInts(graph->shape(output))) continue;
      return In(node.op,
                Unsupported("its result has the shape %s; from 1 to 2^31 numbers are supported",
                            ToString(graph->shape(output)).c_str()));
    }
    Fold(op, graph, node);
  }
  const auto is_known = [graph](const Node& node) { return graph->IsConstant(node.outputs[0]); };
  graph->nodes.erase(std::remove_if(graph->nodes.begin(), graph->nodes.end(), is_known),
                     graph->nodes.end());
  return CheckHeld(*graph);
}

Status MakeKernels(const KernelContext& context, const Graph& graph, const Node& node,
                   KernelList* list) {
  const Op* op = FindOp(node.op);
  if (!op) return Internal("there is no op '%s'", node.op.c_str());
  if (graph.MovesNothing(node)) return Status();
  const Status status =
      (op->kernels ? op->kernels : ElementwiseKernels)(context, graph, node, list);
  if (!status.ok()) return In(node.op, status);
  if (list->kernels.empty()) return Internal("op '%s' made no kernel", op->name);
  // Results may be stored by several kernels, each a part of them.
  for (KernelDesc& kernel : list->kernels) {
    if (!Writes(kernel, node.outputs[0])) continue;
    QUADRA_RETURN_IF_ERROR(AttachEpilogue(context, graph, node, list->steps_taken, &kernel));
  }
  for (KernelDesc& kernel : list->kernels) {
    FitGroup(*context.gpu, &kernel);
    const Status fits = CheckLimits(context, kernel, LayoutsOf(context, graph, *list, kernel));
    if (!fits.ok()) return In(node.op, fits);
  }
  return Status();
}

}  // namespace quadra
