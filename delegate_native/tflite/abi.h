// The parts of TFLite's C interface that a delegate uses, written out so that the delegate links
// to nothing and builds without TFLite's sources. Same layout in tflite-runtime 2.14 … ai-edge-
// litert 2.3 and in the AARs; tests/native compares it with running runtimes. Names are TFLite's.
#ifndef QUADRA_TFLITE_ABI_H_
#define QUADRA_TFLITE_ABI_H_

#include <cstddef>
#include <cstdint>

extern "C" {

// Enumerations have a fixed type: a later runtime, or a damaged file, may bring values that are not
// listed here, and reading one is then as good as reading an int.
enum TfLiteStatus : int { kTfLiteOk = 0, kTfLiteError = 1, kTfLiteDelegateError = 2 };

enum TfLiteType : int {
  kTfLiteNoType = 0,
  kTfLiteFloat32 = 1,
  kTfLiteInt32 = 2,
  kTfLiteUInt8 = 3,
  kTfLiteInt64 = 4,
  kTfLiteString = 5,
  kTfLiteBool = 6,
  kTfLiteInt16 = 7,
  kTfLiteComplex64 = 8,
  kTfLiteInt8 = 9,
  kTfLiteFloat16 = 10,
  kTfLiteFloat64 = 11,
  kTfLiteComplex128 = 12,
  kTfLiteUInt64 = 13,
  kTfLiteResource = 14,
  kTfLiteVariant = 15,
  kTfLiteUInt32 = 16,
  kTfLiteUInt16 = 17,
  kTfLiteInt4 = 18,
  kTfLiteInt2 = 20,
};

enum TfLiteAllocationType : int {
  kTfLiteMemNone = 0,
  kTfLiteMmapRo = 1,
  kTfLiteArenaRw = 2,
  kTfLiteArenaRwPersistent = 3,
  kTfLiteDynamic = 4,
  kTfLitePersistentRo = 5,
  kTfLiteCustom = 6,
};

enum TfLiteDelegateFlags { kTfLiteDelegateFlagsAllowDynamicTensors = 1 };

struct TfLiteIntArray {
  int size;
  int data[];
};

struct TfLiteQuantizationParams {
  float scale;
  int32_t zero_point;
};

struct TfLiteFloatArray {
  int size;
  float data[];
};

constexpr int kTfLiteAffineQuantization = 1;
constexpr int kTfLiteBlockwiseQuantization = 2;

struct TfLiteAffineQuantization {
  TfLiteFloatArray* scale;
  TfLiteIntArray* zero_point;
  int32_t quantized_dimension;
};

// Scales of a matrix, one for so many numbers of a row. The fields are indexes of tensors.
struct TfLiteBlockwiseQuantization {
  int32_t scale;
  int32_t zero_point;  // -1: none
  int32_t blocksize;
  int32_t quantized_dimension;
};

struct TfLiteQuantization {
  int type;
  void* params;
};

struct TfLiteDimensionMetadata {
  int format;  // 0 dense, 1 sparse (CSR)
  int dense_size;
  TfLiteIntArray* array_segments;
  TfLiteIntArray* array_indices;
};

struct TfLiteSparsity {
  TfLiteIntArray* traversal_order;
  TfLiteIntArray* block_map;
  TfLiteDimensionMetadata* dim_metadata;
  int dim_metadata_size;
};

struct TfLiteDelegate;
struct TfLiteContext;

struct TfLiteTensor {
  TfLiteType type;
  void* data;
  TfLiteIntArray* dims;
  TfLiteQuantizationParams params;
  TfLiteAllocationType allocation_type;
  size_t bytes;
  const void* allocation;
  const char* name;
  TfLiteDelegate* delegate;
  int buffer_handle;
  bool data_is_stale;
  bool is_variable;
  TfLiteQuantization quantization;
  TfLiteSparsity* sparsity;
  const TfLiteIntArray* dims_signature;
};

struct TfLiteNode {
  TfLiteIntArray* inputs;
  TfLiteIntArray* outputs;
  TfLiteIntArray* intermediates;
  TfLiteIntArray* temporaries;
  void* user_data;
  void* builtin_data;
  const void* custom_initial_data;
  int custom_initial_data_size;
  TfLiteDelegate* delegate;
  bool might_have_side_effect;
};

struct TfLiteRegistration {
  void* (*init)(TfLiteContext*, const char* buffer, size_t length);
  void (*free)(TfLiteContext*, void* buffer);
  TfLiteStatus (*prepare)(TfLiteContext*, TfLiteNode*);
  TfLiteStatus (*invoke)(TfLiteContext*, TfLiteNode*);
  const char* (*profiling_string)(const TfLiteContext*, const TfLiteNode*);
  int32_t builtin_code;
  const char* custom_name;
  int version;
  void* registration_external;
  void* async_kernel;
  uint64_t inplace_operator;
};

struct TfLiteDelegateParams {
  TfLiteDelegate* delegate;
  TfLiteIntArray* nodes_to_replace;
  TfLiteIntArray* input_tensors;
  TfLiteIntArray* output_tensors;
};

struct TfLiteContext {
  size_t tensors_size;
  TfLiteStatus (*GetExecutionPlan)(TfLiteContext*, TfLiteIntArray** execution_plan);
  TfLiteTensor* tensors;
  void* impl_;
  // Takes ownership of new_size, which must come from malloc.
  TfLiteStatus (*ResizeTensor)(TfLiteContext*, TfLiteTensor*, TfLiteIntArray* new_size);
  void (*ReportError)(TfLiteContext*, const char* message, ...);
  TfLiteStatus (*AddTensors)(TfLiteContext*, int count, int* first_new_tensor_index);
  TfLiteStatus (*GetNodeAndRegistration)(TfLiteContext*, int node_index, TfLiteNode**,
                                         TfLiteRegistration**);
  TfLiteStatus (*ReplaceNodeSubsetsWithDelegateKernels)(TfLiteContext*, TfLiteRegistration,
                                                        const TfLiteIntArray* nodes_to_replace,
                                                        TfLiteDelegate*);
  int recommended_num_threads;
  void* (*GetExternalContext)(TfLiteContext*, int type);
  void* SetExternalContext;
  bool allow_fp32_relax_to_fp16;
  void* profiler;
  void* AllocatePersistentBuffer;
  void* AllocateBufferForEval;
  void* RequestScratchBufferInArena;
  void* GetScratchBuffer;
  void* ResizeTensorExplicit;
  TfLiteStatus (*PreviewDelegatePartitioning)(TfLiteContext*, const TfLiteIntArray* nodes,
                                              TfLiteDelegateParams** partitions, int* count);
  void* GetTensor;
  void* GetEvalTensor;
  void* GetModelMetadata;
  TfLiteStatus (*AcquireSubgraphContext)(TfLiteContext*, int subgraph, TfLiteContext** acquired);
  TfLiteStatus (*ReleaseSubgraphContext)(TfLiteContext*, int subgraph);
};

struct TfLiteDelegate {
  void* data_;
  TfLiteStatus (*Prepare)(TfLiteContext*, TfLiteDelegate*);
  void* CopyFromBufferHandle;
  void* CopyToBufferHandle;
  void* FreeBufferHandle;
  int64_t flags;
  void* opaque_delegate_builder;
};

}  // extern "C"

#if UINTPTR_MAX == UINT64_MAX
static_assert(sizeof(TfLiteTensor) == 112 && offsetof(TfLiteTensor, quantization) == 80, "ABI");
static_assert(sizeof(TfLiteNode) == 80, "ABI");
static_assert(sizeof(TfLiteRegistration) == 88, "ABI");
static_assert(sizeof(TfLiteContext) == 200, "ABI");
static_assert(sizeof(TfLiteDelegate) == 56, "ABI");
static_assert(sizeof(TfLiteDelegateParams) == 32, "ABI");
#endif

#endif  // QUADRA_TFLITE_ABI_H_
