// The two libraries that a run needs, loaded by path: TFLite's C API and Quadra's.
#ifndef QUADRA_RUNNER_LIBRARIES_H_
#define QUADRA_RUNNER_LIBRARIES_H_

#include <cstdarg>
#include <string>

#include "delegate_native/runner/outcome.h"
#include "delegate_native/tflite/abi.h"

extern "C" {
struct TfLiteModel;
struct TfLiteInterpreter;
struct TfLiteInterpreterOptions;
}

namespace quadra {

struct TfLiteApi {
#define QUADRA_TFLITE(result, name, arguments) result (*name) arguments = nullptr;
#include "delegate_native/runner/tflite_functions.def"
#undef QUADRA_TFLITE

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
