// What public documentation shows of TFLite's GPU delegate, compiled against Quadra's headers of
// the same names; and Quadra's own callback. tests/test_options.py calls it.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "delegate_native/delegate/quadra.h"
#include "tensorflow/lite/delegates/gpu/delegate.h"

namespace {

std::string* g_heard = new std::string;
std::string* g_said = new std::string;

void Keep(const char* sentence) { *g_said = sentence; }

// A value that no such field may have. Of texts those are wrong that say more than a path.
void Spoil(const char** text) { *text = "a/b"; }
void Spoil(int* number) { *number = -7; }

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
  options.serialization_dir = getenv("SNIPPETS_DIR");
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

TfLiteDelegate* WithoutQuantized() {
  TfLiteGpuDelegateOptionsV2 options = TfLiteGpuDelegateOptionsV2Default();
  options.experimental_flags = TFLITE_GPU_EXPERIMENTAL_FLAGS_NONE;
  return TfLiteGpuDelegateV2Create(&options);
}

TfLiteDelegate* Exact() {
  TfLiteGpuDelegateOptionsV2 options = TfLiteGpuDelegateOptionsV2Default();
  options.is_precision_loss_allowed = 0;
  options.inference_priority1 = TFLITE_GPU_INFERENCE_PRIORITY_MIN_LATENCY;
  return TfLiteGpuDelegateV2Create(&options);
}

TfLiteDelegate* ByThreePriorities() {
  TfLiteGpuDelegateOptionsV2 options = TfLiteGpuDelegateOptionsV2Default();
  options.inference_priority1 = TFLITE_GPU_INFERENCE_PRIORITY_MIN_MEMORY_USAGE;
  options.inference_priority2 = TFLITE_GPU_INFERENCE_PRIORITY_MAX_PRECISION;
  options.inference_priority3 = TFLITE_GPU_INFERENCE_PRIORITY_MIN_LATENCY;
  return TfLiteGpuDelegateV2Create(&options);
}

TfLiteDelegate* SamePriorities() {
  TfLiteGpuDelegateOptionsV2 options = TfLiteGpuDelegateOptionsV2Default();
  options.inference_priority1 = TFLITE_GPU_INFERENCE_PRIORITY_MIN_LATENCY;
  options.inference_priority2 = TFLITE_GPU_INFERENCE_PRIORITY_MIN_LATENCY;
  return TfLiteGpuDelegateV2Create(&options);
}

TfLiteDelegate* ManyPartitions() {
  TfLiteGpuDelegateOptionsV2 options = TfLiteGpuDelegateOptionsV2Default();
  options.max_delegated_partitions = 8;
  return TfLiteGpuDelegateV2Create(&options);
}

// The fields of QuadraDelegateOptions of which a wrong value makes a delegate, or another sentence.
const char* FieldsThatTakeAll() {
  static std::string fields;
#define QUADRA_OPTION(field, kind, default_value, values, help)                      \
  {                                                                                  \
    QuadraDelegateOptions options = QuadraDelegateOptionsDefault();                  \
    Spoil(&options.field);                                                           \
    TfLiteDelegate* made = QuadraDelegateCreate(&options, Keep);                     \
    const bool is_named = g_said->find("option " #field "=") != std::string::npos || \
                          g_said->find("option " #field ":") != std::string::npos;   \
    if (made || !is_named) fields += #field " ";                                     \
    QuadraDelegateDelete(made);                                                      \
  }
#include "delegate_native/delegate/options.def"
#undef QUADRA_OPTION
  return fields.c_str();
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
