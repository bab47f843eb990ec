// What public documentation shows of TFLite's GPU delegate, compiled against Quadra's headers of
// the same names; and Quadra's own callback. tests/test_options.py calls it.
#include <cstdio>
#include <string>

#include "delegate_native/delegate/quadra.h"
#include "tensorflow/lite/delegates/gpu/delegate.h"

namespace {

std::string* g_heard = new std::string;

void Hear(void* data, const QuadraVerdict* verdict) {
  char line[512];
  snprintf(line, sizeof(line), "%d|%d|%s|%s|%d|%s\n", verdict->subgraph, verdict->node, verdict->op,
           verdict->on_gpu ? "gpu" : "cpu", verdict->partition, verdict->reason);
  *static_cast<std::string*>(data) += line;
}

}  // namespace

extern "C" {

TfLiteDelegate* Default() { return TfLiteGpuDelegateV2Create(/*default options=*/nullptr); }

TfLiteDelegate* Fast() {
  TfLiteGpuDelegateOptionsV2 options = TfLiteGpuDelegateOptionsV2Default();
  options.inference_preference = TFLITE_GPU_INFERENCE_PREFERENCE_SUSTAINED_SPEED;
  options.inference_priority1 = TFLITE_GPU_INFERENCE_PRIORITY_MIN_LATENCY;
  options.inference_priority2 = TFLITE_GPU_INFERENCE_PRIORITY_AUTO;
  options.inference_priority3 = TFLITE_GPU_INFERENCE_PRIORITY_AUTO;
  options.experimental_flags |= TFLITE_GPU_EXPERIMENTAL_FLAGS_ENABLE_SERIALIZATION;
  options.serialization_dir = "/tmp";
  options.model_token = "cut_model";
  return TfLiteGpuDelegateV2Create(&options);
}

TfLiteDelegate* OnlyOpenGl() {
  TfLiteGpuDelegateOptionsV2 options = TfLiteGpuDelegateOptionsV2Default();
  options.experimental_flags |= TFLITE_GPU_EXPERIMENTAL_FLAGS_GL_ONLY;
  return TfLiteGpuDelegateV2Create(&options);
}

TfLiteDelegate* Wrong() {
  TfLiteGpuDelegateOptionsV2 options = TfLiteGpuDelegateOptionsV2Default();
  options.inference_preference = 17;
  return TfLiteGpuDelegateV2Create(&options);
}

TfLiteDelegate* BothApis() {
  TfLiteGpuDelegateOptionsV2 options = TfLiteGpuDelegateOptionsV2Default();
  options.experimental_flags =
      TFLITE_GPU_EXPERIMENTAL_FLAGS_CL_ONLY | TFLITE_GPU_EXPERIMENTAL_FLAGS_GL_ONLY;
  return TfLiteGpuDelegateV2Create(&options);
}

TfLiteDelegate* Listening() {
  QuadraDelegateOptions options = QuadraDelegateOptionsDefault();
  options.on_verdict = Hear;
  options.on_verdict_data = g_heard;
  return QuadraDelegateCreate(&options, nullptr);
}

const char* Heard() { return g_heard->c_str(); }

void Forget(TfLiteDelegate* delegate) {
  TfLiteGpuDelegateV2Delete(delegate);
  TfLiteGpuDelegateV2Delete(nullptr);
}

}  // extern "C"
