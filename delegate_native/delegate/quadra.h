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
  const char* note;   /* how the GPU computes it, where its op does not say that; else empty */
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
  int self_check;
  int cache_limit_mib;
  const char* states;
} QuadraDelegateOptions;

QUADRA_EXPORT QuadraDelegateOptions QuadraDelegateOptionsDefault(void);

/* NULL when an option is wrong; `report_error` (may be NULL) then gets a sentence that names it.
 * options may be NULL: the defaults. */
QUADRA_EXPORT TfLiteDelegate* QuadraDelegateCreate(const QuadraDelegateOptions* options,
                                                   void (*report_error)(const char*));

/* The same with key/value strings, by the name that loaders of external delegates look for. */
QUADRA_EXPORT TfLiteDelegate* tflite_plugin_create_delegate(const char* const* keys,
                                                            const char* const* values, size_t count,
                                                            void (*report_error)(const char*));

/* NULL is fine. The interpreter must be gone, or be about to go without another call. */
QUADRA_EXPORT void QuadraDelegateDelete(TfLiteDelegate* delegate);

/* The contexts that kernels run in, and that an app shares with them. NULL: none. */
typedef struct QuadraContexts {
  void* opencl_platform; /* cl_platform_id, cl_device_id, cl_context */
  void* opencl_device;
  void* opencl_context;
  void* egl_display; /* EGLDisplay, EGLContext */
  void* egl_context;
} QuadraContexts;

/* Before the delegate gets a model: it runs in this OpenCL context, on its best device (platform
 * and device are not read), or in an OpenGL ES context that shares objects with this EGL context.
 * Without, in contexts of its own. They are of the libraries that the delegate opens, and stay
 * while a model does. */
QUADRA_EXPORT void QuadraDelegateUseContexts(TfLiteDelegate* delegate,
                                             const QuadraContexts* contexts);

/* Those that the delegate's model runs in: OpenCL's, or the delegate's own of OpenGL ES. Delegates
 * of a process share them, but for one that shares with an app's EGL context. */
QUADRA_EXPORT QuadraContexts QuadraDelegateContexts(TfLiteDelegate* delegate);

/* Memory for an input or output of the model in the place of the interpreter's. Dense float32 or
 * int32. */
typedef enum QuadraBufferKind {
  QUADRA_BUFFER_HOST = 0,   /* handle: its address */
  QUADRA_BUFFER_OPENCL = 1, /* handle: a cl_mem of the context of QuadraDelegateContexts */
  QUADRA_BUFFER_GL = 2,     /* handle: the name of a buffer of OpenGL ES, of a shared context */
  /* Memory of the system, from its first byte, which the GPU's driver imports. What the host does
   * with it must have ended before (for a dma-buf, DMA_BUF_IOCTL_SYNC), and begins after. */
  QUADRA_BUFFER_DMA_BUF = 3,         /* handle: its file descriptor, not 0; it stays its owner's */
  QUADRA_BUFFER_AHARDWAREBUFFER = 4, /* handle: an AHardwareBuffer* of the format BLOB */
} QuadraBufferKind;

typedef enum QuadraEventKind {
  QUADRA_EVENT_GPU = 1,      /* a cl_event; on OpenGL ES an EGLSyncKHR of the app's display */
  QUADRA_EVENT_FENCE_FD = 2, /* the file descriptor of a sync fence */
} QuadraEventKind;

typedef struct QuadraBuffer {
  QuadraBufferKind kind;
  void* handle;
  size_t bytes;
  /* From a QuadraBufferSource: the inference waits for this before it uses it; NULL: no wait. It
   * stays until `finish`. */
  void* event;
  int event_kind; /* 0: QUADRA_EVENT_GPU */
} QuadraBuffer;

/* From the next inference on, kernels read and write this buffer for a tensor of the main subgraph
 * that is an input or output of a partition, by its index; NULL: the interpreter's memory again.
 * The buffer must stay as long. Returns 1; or 0 and a sentence for `report_error` (may be NULL). To
 * be called after the interpreter was made with the delegate, and not during an inference, which
 * fails if the buffer turns out to be another context's, or too small. */
QUADRA_EXPORT int QuadraDelegateBindBuffer(TfLiteDelegate* delegate, int tensor,
                                           const QuadraBuffer* buffer,
                                           void (*report_error)(const char*));

/* The same for a tensor of another subgraph that is run by itself, as a signature's is. An input
 * and the output that DYNAMIC_UPDATE_SLICE makes of it may be bound to one buffer. */
QUADRA_EXPORT int QuadraDelegateBindSubgraphBuffer(TfLiteDelegate* delegate, int subgraph,
                                                   int tensor, const QuadraBuffer* buffer,
                                                   void (*report_error)(const char*));

/* Whether a buffer could serve so for a tensor of this index in any subgraph, 1 or 0 and a
 * sentence. handle: NULL: any of this kind. */
QUADRA_EXPORT int QuadraDelegateTakesBuffer(TfLiteDelegate* delegate, int tensor,
                                            const QuadraBuffer* buffer,
                                            void (*report_error)(const char*));

/* Memory in an OpenCL context, of the system's OpenCL library, that the host can map. One thread at
 * a time, and not during an inference with it. */
typedef struct QuadraGpuBuffer QuadraGpuBuffer;

/* context: NULL: the one that delegates share which were given none. handle: a cl_mem of the
 * context, which stays its owner's; NULL: a new one. NULL, and a sentence for `report_error` (may
 * be NULL), where it cannot be made. */
QUADRA_EXPORT QuadraGpuBuffer* QuadraGpuBufferCreate(void* context, void* handle, size_t bytes,
                                                     void (*report_error)(const char*));
QUADRA_EXPORT void QuadraGpuBufferDelete(QuadraGpuBuffer* buffer);
/* The cl_mem. */
QUADRA_EXPORT void* QuadraGpuBufferHandle(QuadraGpuBuffer* buffer);
/* The view on the host, until Unlock; NULL where the driver fails. reads: it has the buffer's
 * numbers. */
QUADRA_EXPORT void* QuadraGpuBufferLock(QuadraGpuBuffer* buffer, int reads);
/* 0 where the driver fails. writes: the buffer has the view's numbers. */
QUADRA_EXPORT int QuadraGpuBufferUnlock(QuadraGpuBuffer* buffer, int writes);

/* The numbers of a state that the option `states` keeps on the device, by the name that it has in
 * all signatures: what is behind "decode_" where the option is "kv_cache_" and an input is named
 * decode_kv_cache_k_0. Dense, as the tensor has them; states begin with zeros. Write: numbers NULL:
 * zeros; name NULL, too: all states. Returns 1; or 0 and a sentence for `report_error` (may be
 * NULL). Waits for an inference that goes on, and must not be called while one is being begun. */
QUADRA_EXPORT int QuadraDelegateReadState(TfLiteDelegate* delegate, const char* name, void* numbers,
                                          size_t bytes, void (*report_error)(const char*));
QUADRA_EXPORT int QuadraDelegateWriteState(TfLiteDelegate* delegate, const char* name,
                                           const void* numbers, size_t bytes,
                                           void (*report_error)(const char*));

/* A callback that says where memory is, instead of QuadraDelegateBindBuffer. */
typedef struct QuadraBufferSource {
  void* data;
  /* Told of each input and output (of the TfLiteContext, by its index) that can be in a buffer of
   * this kind, or else (QUADRA_BUFFER_HOST) is larger than the model says, how many bytes a buffer
   * for it must have: when a model that runs wholly in one partition has been given to the
   * delegate, and again when sizes change. */
  void (*offer)(void* data, void* context, int tensor, size_t bytes, QuadraBufferKind kind);
  /* Asked for each input and output before each inference: 1 and where it is; 0: in the
   * interpreter's memory; -1: its buffer cannot be had, and the inference fails. */
  int (*find)(void* data, void* context, int tensor, int is_output, QuadraBuffer* found);
  /* Asked before each inference: 0, or it may go on when the interpreter returns, and `finish` gets
   * an event of this kind. It does where all inputs and outputs are buffers of the GPU and the
   * driver has such events. The device then waits for the inputs' events as far as the driver lets
   * it; else the host does. May be NULL: 0. */
  int (*goes_on)(void* data, void* context, const QuadraContexts* contexts);
  /* After each inference, and each that ended before it began. event: NULL; or it goes on: that of
   * its end, which is to be retained or duplicated: it stays until the next inference. Returns 1;
   * or 0: it is waited for after all. */
  int (*finish)(void* data, void* event);
  void (*release)(void* data); /* when nobody will ask any more */
  int deadline_ms;             /* how long the host waits for an event; 0: 10 s */
} QuadraBufferSource;

/* Before the delegate gets a model; the struct is copied. */
QUADRA_EXPORT void QuadraDelegateSetBufferSource(TfLiteDelegate* delegate,
                                                 const QuadraBufferSource* source);

/* Verdicts, plans and times of the interpreter that this delegate was last applied to, as JSON.
 * Writes at most `size` bytes with the final NUL; returns the bytes needed. */
QUADRA_EXPORT size_t QuadraDelegateReport(TfLiteDelegate* delegate, char* buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* QUADRA_DELEGATE_QUADRA_H_ */
