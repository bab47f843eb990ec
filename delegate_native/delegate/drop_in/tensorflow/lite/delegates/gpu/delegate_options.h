/* Quadra under the C names of TensorFlow Lite's GPU delegate: its options. Names, numbers and the
 * order of the fields are that delegate's, so that code written for it compiles and runs unchanged.
 * docs/options.md says what each decides. */
#ifndef TENSORFLOW_LITE_DELEGATES_GPU_DELEGATE_OPTIONS_H_
#define TENSORFLOW_LITE_DELEGATES_GPU_DELEGATE_OPTIONS_H_

#include <stdint.h>

#ifndef TFL_CAPI_EXPORT
#define TFL_CAPI_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum TfLiteGpuInferenceUsage {
  TFLITE_GPU_INFERENCE_PREFERENCE_FAST_SINGLE_ANSWER = 0,
  TFLITE_GPU_INFERENCE_PREFERENCE_SUSTAINED_SPEED = 1,
  TFLITE_GPU_INFERENCE_PREFERENCE_BALANCED = 2,
};

enum TfLiteGpuInferencePriority {
  TFLITE_GPU_INFERENCE_PRIORITY_AUTO = 0,
  TFLITE_GPU_INFERENCE_PRIORITY_MAX_PRECISION = 1,
  TFLITE_GPU_INFERENCE_PRIORITY_MIN_LATENCY = 2,
  TFLITE_GPU_INFERENCE_PRIORITY_MIN_MEMORY_USAGE = 3,
};

enum TfLiteGpuExperimentalFlags {
  TFLITE_GPU_EXPERIMENTAL_FLAGS_NONE = 0,
  TFLITE_GPU_EXPERIMENTAL_FLAGS_ENABLE_QUANT = 1 << 0,
  TFLITE_GPU_EXPERIMENTAL_FLAGS_CL_ONLY = 1 << 1,
  TFLITE_GPU_EXPERIMENTAL_FLAGS_GL_ONLY = 1 << 2,
  TFLITE_GPU_EXPERIMENTAL_FLAGS_ENABLE_SERIALIZATION = 1 << 3,
};

typedef struct {
  int32_t is_precision_loss_allowed; /* -1: the priorities decide */
  int32_t inference_preference;      /* TfLiteGpuInferenceUsage */
  int32_t inference_priority1;       /* TfLiteGpuInferencePriority */
  int32_t inference_priority2;
  int32_t inference_priority3;
  int64_t experimental_flags; /* bits of TfLiteGpuExperimentalFlags */
  int32_t max_delegated_partitions;
  /* Both are needed, and ENABLE_SERIALIZATION; the strings are copied. */
  const char* serialization_dir;
  const char* model_token;
} TfLiteGpuDelegateOptionsV2;

/* Full precision, quantized models allowed, one partition, nothing serialized. */
TFL_CAPI_EXPORT TfLiteGpuDelegateOptionsV2 TfLiteGpuDelegateOptionsV2Default(void);

#ifdef __cplusplus
}
#endif

#endif /* TENSORFLOW_LITE_DELEGATES_GPU_DELEGATE_OPTIONS_H_ */
