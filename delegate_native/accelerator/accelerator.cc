// Quadra as the GPU accelerator of LiteRT's CompiledModel: makes a delegate of libquadra.so for
// each compiled model. Whatever is wrong is a sentence in the log, and the model stays on the CPU:
// a failed status would fail the model.
#include "delegate_native/accelerator/accelerator.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "delegate_native/accelerator/buffers.h"
#include "delegate_native/accelerator/gpu_environment.h"
#include "delegate_native/accelerator/gpu_options.h"
#include "delegate_native/accelerator/litert_abi.h"
#include "delegate_native/base/log.h"
#include "delegate_native/base/toolchain.h"

namespace quadra {
namespace {

// The library's note of who made it comes with this.
__attribute__((used)) const auto kToolchain = &Toolchain;

// Plain data: threads may still make models while the process ends.
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
struct Living {
  TfLiteDelegate* delegate;
  Living* before;
};
Living* g_newest = nullptr;

// False: there is no memory.
bool AddLiving(TfLiteDelegate* delegate) {
  Living* const one = static_cast<Living*>(malloc(sizeof(Living)));
  if (!one) return false;
  pthread_mutex_lock(&g_mutex);
  *one = {delegate, g_newest};
  g_newest = one;
  pthread_mutex_unlock(&g_mutex);
  return true;
}

void DeleteDelegate(TfLiteDelegate* delegate) {
  pthread_mutex_lock(&g_mutex);
  Living** at = &g_newest;
  while (*at && (*at)->delegate != delegate) at = &(*at)->before;
  Living* const gone = *at;
  if (gone) *at = gone->before;
  pthread_mutex_unlock(&g_mutex);
  free(gone);
  QuadraDelegateDelete(delegate);
}

void Say(const char* sentence) { Log(0, "LiteRT's models stay on the CPU: %s", sentence); }

LiteRtStatus GetName(LiteRtAccelerator, const char** name) {
  *name = "Quadra";
  return kLiteRtStatusOk;
}

LiteRtStatus GetVersion(LiteRtAccelerator, LiteRtApiVersion* version) {
  *version = {1, 0, 0};
  return kLiteRtStatusOk;
}

LiteRtStatus GetHardwareSupport(LiteRtAccelerator, int* set) {
  *set = kLiteRtHwAcceleratorGpu;
  return kLiteRtStatusOk;
}

// Makes the delegate only for those who ask for a GPU.
LiteRtStatus CompilesModels(LiteRtAccelerator, bool* does) {
  *does = true;
  return kLiteRtStatusOk;
}

// The text of the compiled model's options with this name; null where it has none.
const char* OptionsOf(LiteRtRuntimeContext* context, LiteRtOptions options, const char* name) {
  LiteRtOpaqueOptions opaque = nullptr;
  void* text = nullptr;
  if (!options || !QUADRA_LITERT_HAS(context, get_opaque_options) ||
      !QUADRA_LITERT_HAS(context, find_opaque_options_data) ||
      context->get_opaque_options(options, &opaque) != kLiteRtStatusOk || !opaque ||
      context->find_opaque_options_data(opaque, name, &text) != kLiteRtStatusOk) {
    return nullptr;
  }
  return static_cast<const char*>(text);
}

TfLiteDelegate* MakeDelegate(LiteRtRuntimeContext* context, LiteRtOptions options) {
  GpuOptions given;
  given.TakeLiteRts(OptionsOf(context, options, "gpu_options"));
  given.TakeOurs(OptionsOf(context, options, "quadra_options"));
  return tflite_plugin_create_delegate(given.keys(), given.values(), given.count(), Say);
}

// environment: null: its contexts and buffers are left alone.
LiteRtStatus Create(LiteRtRuntimeContext* context, LiteRtEnvironment environment,
                    LiteRtOptions options, LiteRtDelegateWrapper* wrapper) {
  *wrapper = nullptr;
  if (!context || !QUADRA_LITERT_HAS(context, wrap_delegate)) {
    Say("this LiteRT's table of functions has another layout than those of 2.2 and 2.3");
    return kLiteRtStatusOk;
  }
  TfLiteDelegate* delegate = MakeDelegate(context, options);
  if (!delegate) return kLiteRtStatusOk;
  if (environment) {
    UseContextsOf(context, environment, delegate);
    UseBuffersOf(context, delegate);
  }
  if (!AddLiving(delegate) ||
      context->wrap_delegate(delegate, DeleteDelegate, wrapper) != kLiteRtStatusOk) {
    *wrapper = nullptr;
    DeleteDelegate(delegate);
    Say("LiteRT did not take the delegate");
  }
  return kLiteRtStatusOk;
}

LiteRtStatus CreateDelegate(LiteRtRuntimeContext* context, LiteRtEnvironment environment,
                            LiteRtAccelerator, LiteRtOptions options,
                            LiteRtDelegateWrapper* wrapper) {
  return Create(context, environment, options, wrapper);
}

// ---- LiteRT 2.1.6: tables without headers, and a function that registers ----

LiteRtStatus CreateDelegateFor21(void* context, LiteRtEnvironment, LiteRtAccelerator,
                                 LiteRtOptions options, LiteRtDelegateWrapper* wrapper) {
  LiteRtRuntimeContext with_header = {};
  with_header.abi_header = {sizeof(with_header), 1, 0, 0};
  memcpy(reinterpret_cast<char*>(&with_header) + sizeof(with_header.abi_header), context,
         sizeof(with_header) - sizeof(with_header.abi_header));
  return Create(&with_header, nullptr, options, wrapper);
}

// The functions that register an accelerator, of the runtime at hand.
struct Registry {
  LiteRtStatus (*create)(LiteRtAccelerator*);
  LiteRtStatus (*set_name)(LiteRtAccelerator, decltype(&GetName));
  LiteRtStatus (*set_version)(LiteRtAccelerator, decltype(&GetVersion));
  LiteRtStatus (*set_hardware)(LiteRtAccelerator, decltype(&GetHardwareSupport));
  LiteRtStatus (*set_delegate)(LiteRtAccelerator, decltype(&CreateDelegateFor21));
  LiteRtStatus (*set_compiles)(LiteRtAccelerator, decltype(&CompilesModels));
  LiteRtStatus (*add)(LiteRtEnvironment, LiteRtAccelerator, void* data, void (*release)(void*));
};

const char* const kRegistryNames[] = {
    "LiteRtCreateAccelerator",        "LiteRtSetAcceleratorGetName",
    "LiteRtSetAcceleratorGetVersion", "LiteRtSetAcceleratorGetHardwareSupport",
    "LiteRtSetDelegateFunction",      "LiteRtSetIsAcceleratorDelegateResponsibleForJitCompilation",
    "LiteRtRegisterAccelerator",
};
static_assert(sizeof(Registry) == sizeof(kRegistryNames), "a name for each function");

// The version of the runtime that is loaded. Only 2.1.6 has the tables known here: what came with
// it is there, what came with 2.2.0 is not.
bool FindRegistry(Registry* registry) {
  void* runtime = dlopen("libLiteRt.so", RTLD_NOW | RTLD_NOLOAD);
  if (!runtime) return false;
  bool found = dlsym(runtime, "LiteRtDestroyDelegateWrapper") != nullptr &&
               dlsym(runtime, "LiteRtGetCompiledModelEnvironment") == nullptr;
  void* functions[sizeof(kRegistryNames) / sizeof(*kRegistryNames)];
  for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); ++i) {
    functions[i] = dlsym(runtime, kRegistryNames[i]);
    found = found && functions[i];
  }
  memcpy(static_cast<void*>(registry), static_cast<const void*>(functions), sizeof(functions));
  return found;
}

LiteRtStatus Register(LiteRtEnvironment environment, const Registry& registry) {
  LiteRtAccelerator accelerator = nullptr;
  LiteRtStatus status = registry.create(&accelerator);
  if (status != kLiteRtStatusOk) return status;
  registry.set_name(accelerator, GetName);
  registry.set_version(accelerator, GetVersion);
  registry.set_hardware(accelerator, GetHardwareSupport);
  registry.set_delegate(accelerator, CreateDelegateFor21);
  registry.set_compiles(accelerator, CompilesModels);
  return registry.add(environment, accelerator, nullptr, nullptr);
}

}  // namespace
}  // namespace quadra

extern "C" {

QUADRA_EXPORT extern const LiteRtAcceleratorDef LiteRtAcceleratorImpl;
const LiteRtAcceleratorDef LiteRtAcceleratorImpl = {
    {sizeof(LiteRtAcceleratorDef), 1, 0, 0},
    quadra::GetName,
    quadra::GetVersion,
    quadra::GetHardwareSupport,
    quadra::CompilesModels,
    quadra::CreateDelegate,
    {},
    {{sizeof(LiteRtCustomTensorBufferHandlersDef), 1, 0, 0},
     quadra::CreateBuffer,
     quadra::DestroyBuffer,
     quadra::LockBuffer,
     quadra::UnlockBuffer,
     quadra::ClearBuffer,
     quadra::ImportBuffer,
     kLiteRtEnvOptionTagOpenClContext,  // what CreateBuffer and ImportBuffer get first
     kLiteRtEnvOptionTagNull,
     1,
     {kLiteRtTensorBufferTypeOpenClBuffer}},
};

// Called by runtimes that do not take the definition above: they are older, or newer.
QUADRA_EXPORT LiteRtStatus LiteRtRegisterGpuAccelerator(LiteRtEnvironment environment) {
  quadra::Registry registry;
  if (quadra::FindRegistry(&registry)) {
    return quadra::Register(environment, registry);
  }
  quadra::Say(
      "this accelerator is for LiteRT 2.1.6, 2.2 and 2.3, and this runtime is none of them");
  return kLiteRtStatusErrorWrongVersion;
}

TfLiteDelegate* QuadraAcceleratorDelegate(size_t age) {
  pthread_mutex_lock(&quadra::g_mutex);
  const quadra::Living* one = quadra::g_newest;
  for (; one && age > 0; --age) one = one->before;
  TfLiteDelegate* const delegate = one ? one->delegate : nullptr;
  pthread_mutex_unlock(&quadra::g_mutex);
  return delegate;
}

size_t QuadraAcceleratorReport(char* buffer, size_t size) {
  pthread_mutex_lock(&quadra::g_mutex);
  const quadra::Living* const newest = quadra::g_newest;
  const size_t bytes = QuadraDelegateReport(newest ? newest->delegate : nullptr, buffer, size);
  pthread_mutex_unlock(&quadra::g_mutex);
  return bytes;
}

}  // extern "C"
