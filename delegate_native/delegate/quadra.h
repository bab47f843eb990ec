/* Quadra's C API: a TFLite delegate that runs models on the GPU, and its report.
 *
 *   QuadraDelegateOptions options = QuadraDelegateOptionsDefault();
 *   options.backend = "opencl";
 *   TfLiteDelegate* delegate = QuadraDelegateCreate(&options, NULL);
 *   TfLiteInterpreterOptionsAddDelegate(interpreter_options, delegate);
 *   ...
 *   QuadraDelegateDelete(delegate);   // after the interpreter
 */
#ifndef QUADRA_DELEGATE_QUADRA_H_
#define QUADRA_DELEGATE_QUADRA_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUADRA_EXPORT __attribute__((visibility("default")))

typedef struct TfLiteDelegate TfLiteDelegate;

/* Where a node of the model runs. The texts live until the callback returns. */
typedef struct QuadraVerdict {
  int subgraph;       /* 0 is the main one */
  int node;           /* index in the subgraph */
  const char* op;     /* "CONV_2D" */
  const char* name;   /* of its first output tensor, as the file has it */
  int on_gpu;         /* 1, or 0: it is left to the CPU */
  int partition;      /* on the GPU: counted over all subgraphs; else -1 */
  const char* reason; /* why it is left to the CPU; else empty */
} QuadraVerdict;

/* One field per row of delegate/options.def; docs/options.md explains them. Strings are copied; a
 * NULL string keeps its default. */
typedef struct QuadraDelegateOptions {
  size_t size; /* sizeof(QuadraDelegateOptions), set by QuadraDelegateOptionsDefault */
  const char* backend;
  const char* precision;
  const char* target;
  const char* dump_dir;
  int profile;
  int max_delegated_partitions;
  const char* opencl_library;
  int debug;
  const char* egl_library;
  int quantized_models_allowed;
  int dump_tensors;
  int is_precision_loss_allowed;
  const char* inference_preference;
  const char* inference_priority1;
  const char* inference_priority2;
  const char* inference_priority3;
  int min_nodes_per_partition;
  int small_partitions_allowed;
  int first_delegate_node_index;
  int last_delegate_node_index;
  const char* serialization_dir;
  const char* model_token;
  /* Called for each node of each subgraph while an interpreter is being made with the delegate, or
   * resized, in the thread that does it. May be NULL. Calls no function of the delegate or of the
   * interpreter. */
  void (*on_verdict)(void* on_verdict_data, const QuadraVerdict* verdict);
  void* on_verdict_data;
  const char* float32_nodes;
  const char* tuning;
} QuadraDelegateOptions;

QUADRA_EXPORT QuadraDelegateOptions QuadraDelegateOptionsDefault(void);

/* NULL when an option is wrong; `report_error` (may be NULL) then gets a sentence that names it.
 * options may be NULL: the defaults. */
QUADRA_EXPORT TfLiteDelegate* QuadraDelegateCreate(const QuadraDelegateOptions* options,
                                                   void (*report_error)(const char*));

/* NULL is fine. The interpreter must be gone, or be about to go without another call. */
QUADRA_EXPORT void QuadraDelegateDelete(TfLiteDelegate* delegate);

/* Verdicts, plans and times of the interpreter that this delegate was last applied to, as JSON.
 * Writes at most `size` bytes with the final NUL; returns the bytes needed. */
QUADRA_EXPORT size_t QuadraDelegateReport(TfLiteDelegate* delegate, char* buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* QUADRA_DELEGATE_QUADRA_H_ */
