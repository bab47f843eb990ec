#include "delegate_native/runner/libraries.h"

#include <dlfcn.h>

#include <cstring>

namespace quadra {
namespace {

Outcome NotLoaded(const std::string& path, const std::string& what) {
  const char* const reason = dlerror();
  return Outcome::Misuse("load " + what + path, reason ? reason : "it is not there",
                         "push the library that was made for this device's ABI");
}

struct Function {
  const char* name;
  void* place;  // of the pointer to it

  template <typename Type>
  Function(const char* symbol, Type** pointer) : name(symbol), place(static_cast<void*>(pointer)) {}
};

template <size_t count>
Outcome LoadAll(const std::string& path, const std::string& what,
                const Function (&functions)[count]) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return NotLoaded(path, what);
  for (const Function& function : functions) {
    void* found = dlsym(library, function.name);
    if (!found) return NotLoaded(path, std::string(function.name) + " of ");
    memcpy(function.place, static_cast<const void*>(&found), sizeof(found));
  }
  return Outcome();
}

}  // namespace

Outcome TfLiteApi::Load(const std::string& path) {
  const Function functions[] = {
#define QUADRA_TFLITE(result, name, arguments) {#name, &name},
#include "delegate_native/runner/tflite_functions.def"
#undef QUADRA_TFLITE
      {"TfLiteXNNPackDelegateOptionsDefault", &TfLiteXNNPackDelegateOptionsDefault},
      {"TfLiteXNNPackDelegateCreate", &TfLiteXNNPackDelegateCreate},
      {"TfLiteXNNPackDelegateDelete", &TfLiteXNNPackDelegateDelete},
  };
  return LoadAll(path, "TFLite's runtime ", functions);
}

Outcome QuadraApi::Load(const std::string& path) {
  if (report) return Outcome();
  const Function functions[] = {
      {"tflite_plugin_create_delegate", &create},
      {"tflite_plugin_destroy_delegate", &destroy},
      {"QuadraDelegateReport", &report},
  };
  return LoadAll(path, "the delegate ", functions);
}

}  // namespace quadra
