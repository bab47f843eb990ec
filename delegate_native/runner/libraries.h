// The two libraries that a run needs, loaded by path: TFLite's C API and Quadra's.
#ifndef QUADRA_RUNNER_LIBRARIES_H_
#define QUADRA_RUNNER_LIBRARIES_H_

#include <cstdarg>
#include <cstdint>
#include <string>

#include "delegate_native/runner/outcome.h"
#include "delegate_native/tflite/abi.h"

extern "C" {
struct TfLiteModel;
struct TfLiteInterpreter;
struct TfLiteInterpreterOptions;
struct TfLiteSignatureRunner;
}

namespace quadra {

// The AAR exports XNNPACK's delegate, but not its header: this is what TFLite's repository has in
// front, with room for what follows, which the runtime itself fills in.
struct XnnpackOptions {
  int32_t num_threads;
  uint32_t rest[31];
};

struct TfLiteApi {
#define QUADRA_TFLITE(result, name, arguments) result(*name) arguments = nullptr;
#include "delegate_native/runner/tflite_functions.def"
#undef QUADRA_TFLITE
  XnnpackOptions (*TfLiteXNNPackDelegateOptionsDefault)() = nullptr;
  TfLiteDelegate* (*TfLiteXNNPackDelegateCreate)(const XnnpackOptions*) = nullptr;
  void (*TfLiteXNNPackDelegateDelete)(TfLiteDelegate*) = nullptr;

  Outcome Load(const std::string& path);
};

// delegate/quadra.h and the external-delegate pair; options go in by their names.
struct QuadraApi {
  TfLiteDelegate* (*create)(const char* const* keys, const char* const* values, size_t count,
                            void (*report_error)(const char*)) = nullptr;
  void (*destroy)(TfLiteDelegate*) = nullptr;
  size_t (*report)(TfLiteDelegate*, char* buffer, size_t size) = nullptr;

  Outcome Load(const std::string& path);  // again: nothing happens
};

}  // namespace quadra

#endif  // QUADRA_RUNNER_LIBRARIES_H_
