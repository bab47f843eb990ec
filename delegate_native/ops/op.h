// An op: one file under ops/, three functions. Import reads the TFLite node, shape computes the
// outputs' shapes from the inputs' (again whenever a model is resized), kernels makes the text.
// A node is accepted when all three succeed for the target, and never otherwise. What passes and
// verdicts must know of it are fields, too. Passes that match a pattern name ops, and so does
// keep_beyond_half.cc; no other file does.
#ifndef QUADRA_OPS_OP_H_
#define QUADRA_OPS_OP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/device/gpu_info.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/kernel/dialect.h"
#include "delegate_native/kernel/kernel.h"
#include "delegate_native/tflite/abi.h"
#include "delegate_native/tflite/op_names.h"

namespace quadra {

class Importer;

// The graph, node and target that a kernel is made for.
struct KernelContext {
  const GpuInfo* gpu = nullptr;
  Precision precision = Precision::kF32;
  bool float_sums = false;  // as of a node (Node::float_sums)
  // Where a tensor of this shape is kept.
  Storage StorageOf(const Shape& shape) const;
  // The same for a kernel's text. Constant operands are read rarely and are small: always buffers.
  TensorLayout LayoutOf(const Shape& shape, Element element, bool constant, bool float32) const;
  TensorLayout LayoutOf(const Value& value) const {
    return value.dense ? DenseLayout(value) : SlicesLayout(value);
  }
  TensorLayout SlicesLayout(const Value& value) const;
  static TensorLayout DenseLayout(const Value& value);
  // The same; float32: with that precision.
  KernelContext For(bool float32) const { return {gpu, float32 ? Precision::kF32 : precision}; }
  // Whether the plan has sums and products in half (docs/kernels.md), and whether this text has.
  bool plan_computes_half() const { return ComputesHalf(precision) && gpu->supports_fp16; }
  bool computes_half() const { return plan_computes_half() && !float_sums; }
  // The language, and how the device wants it written.
  Dialect DialectOf() const;
};

// Tensors that a node needs between its kernels: ids start after the graph's values.
struct KernelList {
  struct Scratch {
    Shape shape;
    Element element;
  };
  std::vector<KernelDesc> kernels;
  std::vector<Scratch> scratch;
  int first_scratch = 0;  // id of scratch[0]
  int steps_taken = 0;    // merged steps that the op's own kernel does (see TakeBounds)

  int AddScratch(Shape shape, Element element = Element::kFloat32) {
    scratch.push_back({shape, element});
    return first_scratch + static_cast<int>(scratch.size()) - 1;
  }
  KernelDesc& Add(const char* name) {
    kernels.emplace_back(name);
    return kernels.back();
  }
};

// How an op's results get their element type.
enum class Result : uint8_t {
  kLikeFirst,   // of the first input's element
  kLikeSecond,  // of the second's
  kBool,
  kDeclared,  // as the value says
};

// Kinds of convolution; the op's inputs are source, weights and (optional) bias.
enum class Convolution : uint8_t { kNone, kDense, kDepthwise, kTransposed };

// For Op::copies.
inline bool AlwaysCopies(const Node&) { return true; }

// Along each axis: where the first element is, and how far the next one is from it.
struct SlicePlaces {
  int start[kMostRank] = {0, 0, 0, 0, 0, 0};
  int stride[kMostRank] = {1, 1, 1, 1, 1, 1};

  int* start_of(int axis) { return &start[axis - kFirstAxis]; }
  int* stride_of(int axis) { return &stride[axis - kFirstAxis]; }
};

struct Op {
  const char* name = nullptr;
  // TFLite op codes that this file imports, ended by -1; custom ops by name.
  int16_t builtins[5] = {-1};
  const char* custom = nullptr;
  int16_t max_version = 1;
  uint16_t params_bytes = 0;  // of the TFLite node's parameters, as far as `import` reads them
  // Attributes that every node has, with a blank between them. Others are optional: who reads one
  // says what its absence means.
  const char* attributes = "";

  Status (*import)(Importer* importer) = nullptr;
  // Sets shape and rank of the outputs from the inputs and attributes.
  Status (*shape)(Graph* graph, const Node& node) = nullptr;
  // Appends the kernels of the node. Those that write output 0, each a part of it, get the steps of
  // node.fused that the op does not do itself (see TakeBounds) as their epilogue.
  Status (*kernels)(const KernelContext& context, const Graph& graph, const Node& node,
                    KernelList* list) = nullptr;
  // The result where all inputs are constants, or null if the GPU is to compute it all the same.
  ConstantData (*fold)(const Graph& graph, const Node& node) = nullptr;
  // Elementwise ops: the result as an expression of its operands $a, $b, $c and its float
  // attributes $NAME; null for other ops. Such an op needs no kernels function of its own
  // (ElementwiseKernels serves it), and can be merged into another's (docs/kernels.md).
  const char* formula = nullptr;
  // The same where the first operand is of ints; null: it is the same text.
  const char* int_formula = nullptr;
  // The same for numbers that are known before: sizes which a model computes, tables of positions.
  // Two floats are no nearer to each other than doubles tell; a result is rounded to its type.
  double (*value)(double a, double b, bool of_ints) = nullptr;
  int8_t operands = 1;
  Elements takes = kFloats;  // elements of the operands
  bool activates = false;    // its parameters begin with a fused activation
  Result result = Result::kLikeFirst;

  Convolution convolution = Convolution::kNone;
  int8_t max_rank = 4;  // of inputs and outputs: more axes than four lie in memory as batches
  // The input's rank is more than a label: axes are counted by it, or ranks have to agree.
  bool asks_for_rank = false;
  // Whether a node whose result has the shape of its input only copies it; null: it never does.
  bool (*copies)(const Node& node) = nullptr;
  // Where the result is a part of the first input, of the shape `taken` before axes are dropped or
  // inserted: finds where it lies there. False: it is no part. Null: it never is one.
  bool (*part)(const Graph& graph, const Node& node, SlicePlaces* places, Shape* taken) = nullptr;
  // Each number of the results is one of an input's, or 0; what quantised inputs can hold, they
  // can.
  bool moves = false;
  bool jumps = false;         // a result may be far off where an operand hardly differs
  bool makes_places = false;  // its results say where numbers are: none is beyond 32 bits
  // The input of the graph's node that says so.
  int8_t place_input = -1;
  // The input of the TFLite node whose numbers give the result its size (tflite/op_names.h).
  int8_t size_input = kNoSizeInput;
};

const Op* FindOp(const std::string& name);
// The op that imports a TFLite node; null when there is none.
const Op* FindOpFor(int builtin, const char* custom_name);

// Imports a node that stands for node `index` of the model: by its op, if there is one of a version
// that it knows.
Status ImportNode(int index, const TfLiteNode* node, const TfLiteRegistration* registration,
                  Importer* importer);

// Shapes, elements and quantisation of all values from the graph's inputs. Nodes whose results are
// constants by then become these.
Status InferShapes(Graph* graph);

// Whether the weights of a convolution stay integers or halfs in the GPU's memory, as the model has
// them (ops/stored_weights.h): passes leave such weights alone, for they would make floats of them.
bool KeepsStored(const Graph& graph, const Node& node);

// Kernels of one node, epilogue attached.
Status MakeKernels(const KernelContext& context, const Graph& graph, const Node& node,
                   KernelList* list);

}  // namespace quadra

#endif  // QUADRA_OPS_OP_H_
