// Quadra's C API under the names of TensorFlow Lite's GPU delegate.
#include <string>

#include "delegate_native/base/log.h"
#include "delegate_native/base/status.h"
#include "delegate_native/delegate/drop_in/tensorflow/lite/delegates/gpu/delegate_options.h"
#include "delegate_native/delegate/quadra.h"

namespace {

void Complain(const char* sentence) { quadra::Log(0, "%s", sentence); }

}  // namespace

extern "C" {

TfLiteGpuDelegateOptionsV2 TfLiteGpuDelegateOptionsV2Default(void) {
  TfLiteGpuDelegateOptionsV2 options{};
  options.is_precision_loss_allowed = -1;
  options.inference_priority1 = TFLITE_GPU_INFERENCE_PRIORITY_MAX_PRECISION;
  options.experimental_flags = TFLITE_GPU_EXPERIMENTAL_FLAGS_ENABLE_QUANT;
  options.max_delegated_partitions = 1;
  return options;
}

TFL_CAPI_EXPORT TfLiteDelegate* TfLiteGpuDelegateV2Create(
    const TfLiteGpuDelegateOptionsV2* options) {
  const TfLiteGpuDelegateOptionsV2 given = options ? *options : TfLiteGpuDelegateOptionsV2Default();
  QuadraDelegateOptions own = QuadraDelegateOptionsDefault();
  own.is_precision_loss_allowed = given.is_precision_loss_allowed;
  // A word may be given by its number, and these are in the order of the enums.
  const std::string numbers[] = {quadra::Format("%d", given.inference_preference),
                                 quadra::Format("%d", given.inference_priority1),
                                 quadra::Format("%d", given.inference_priority2),
                                 quadra::Format("%d", given.inference_priority3)};
  own.inference_preference = numbers[0].c_str();
  own.inference_priority1 = numbers[1].c_str();
  own.inference_priority2 = numbers[2].c_str();
  own.inference_priority3 = numbers[3].c_str();
  const int64_t flags = given.experimental_flags;
  own.quantized_models_allowed = (flags & TFLITE_GPU_EXPERIMENTAL_FLAGS_ENABLE_QUANT) != 0;
  const bool opencl = (flags & TFLITE_GPU_EXPERIMENTAL_FLAGS_CL_ONLY) != 0;
  const bool gles = (flags & TFLITE_GPU_EXPERIMENTAL_FLAGS_GL_ONLY) != 0;
  if (opencl || gles)
    own.backend = opencl && gles ? "both CL_ONLY and GL_ONLY" : opencl ? "opencl" : "gles";
  own.max_delegated_partitions = given.max_delegated_partitions;
  if (flags & TFLITE_GPU_EXPERIMENTAL_FLAGS_ENABLE_SERIALIZATION) {
    own.serialization_dir = given.serialization_dir;
    own.model_token = given.model_token;
  }
  return QuadraDelegateCreate(&own, Complain);
}

TFL_CAPI_EXPORT void TfLiteGpuDelegateV2Delete(TfLiteDelegate* delegate) {
  QuadraDelegateDelete(delegate);
}

}  // extern "C"
