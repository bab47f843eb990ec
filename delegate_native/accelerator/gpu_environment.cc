#include "delegate_native/accelerator/gpu_environment.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>

namespace quadra {
namespace {

constexpr int kInteger = 2;  // LiteRtAnyType

// Models are made and run in several threads; LiteRT does not guard this.
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

void* HandleOf(const LiteRtRuntimeContext& litert, LiteRtEnvironmentOptions options, int tag) {
  LiteRtAny value = {};
  const bool found =
      litert.get_environment_options_value(options, tag, &value) == kLiteRtStatusOk &&
      value.type == kInteger;
  // LiteRT has handles as integers. NOLINTNEXTLINE(performance-no-int-to-ptr)
  return found ? reinterpret_cast<void*>(static_cast<intptr_t>(value.integer)) : nullptr;
}

LiteRtEnvOption Option(int tag, void* handle) {
  return {tag, 0, {kInteger, 0, reinterpret_cast<intptr_t>(handle)}};
}

// A context that environments have from Quadra. They keep the handle, and may hold no reference: so
// does this one, for good.
struct Given {
  void* context;
  Given* next;
};
Given* g_given = nullptr;

bool IsGiven(const void* context) {
  const Given* given = g_given;
  while (given && given->context != context) given = given->next;
  return given != nullptr;
}

bool Hold(void* context) {
  if (IsGiven(context)) return true;
  if (!QuadraGpuBufferCreate(context, nullptr, sizeof(float), nullptr)) return false;
  Given* given = static_cast<Given*>(malloc(sizeof(Given)));
  if (!given) return false;
  *given = {context, g_given};
  g_given = given;
  return true;
}

}  // namespace

void* AppsOnly(void* context) {
  pthread_mutex_lock(&g_mutex);
  const bool is_given = IsGiven(context);
  pthread_mutex_unlock(&g_mutex);
  return is_given ? nullptr : context;
}

void UseContextsOf(const LiteRtRuntimeContext* context, LiteRtEnvironment environment,
                   TfLiteDelegate* delegate) {
  LiteRtEnvironmentOptions options = nullptr;
  if (!environment || !QUADRA_LITERT_HAS(context, get_environment_options) ||
      !QUADRA_LITERT_HAS(context, get_environment_options_value) ||
      context->get_environment_options(environment, &options) != kLiteRtStatusOk) {
    return;
  }
  QuadraContexts contexts = {};
  pthread_mutex_lock(&g_mutex);
  contexts.opencl_context = HandleOf(*context, options, kLiteRtEnvOptionTagOpenClContext);
  if (IsGiven(contexts.opencl_context)) contexts.opencl_context = nullptr;
  contexts.egl_display = HandleOf(*context, options, kLiteRtEnvOptionTagEglDisplay);
  contexts.egl_context = HandleOf(*context, options, kLiteRtEnvOptionTagEglContext);
  pthread_mutex_unlock(&g_mutex);
  QuadraDelegateUseContexts(delegate, &contexts);
}

bool KnowsOpenCl(const LiteRtRuntimeContext& litert, LiteRtEnvironment environment,
                 const QuadraContexts& contexts) {
  const LiteRtEnvOption given[] = {
      Option(kLiteRtEnvOptionTagOpenClDeviceId, contexts.opencl_device),
      Option(kLiteRtEnvOptionTagOpenClPlatformId, contexts.opencl_platform),
      Option(kLiteRtEnvOptionTagOpenClContext, contexts.opencl_context)};
  constexpr int kGiven = sizeof(given) / sizeof(*given);
  LiteRtEnvironmentOptions options = nullptr;
  bool is_there = false;
  pthread_mutex_lock(&g_mutex);
  litert.environment_has_gpu_environment(environment, &is_there);
  // An app's queue says nothing of LiteRT. Its functions of OpenCL are null where it did not find
  // the library, and it calls them all the same.
  bool knows = !is_there || dlopen("libOpenCL.so", RTLD_NOW | RTLD_NOLOAD);
  if (!is_there) {
    knows = litert.get_environment_options(environment, &options) == kLiteRtStatusOk &&
            (HandleOf(litert, options, kLiteRtEnvOptionTagOpenClContext) ||
             Hold(contexts.opencl_context));
  }
  if (!is_there && knows) litert.gpu_environment_create(environment, kGiven, given);
  knows = knows && litert.get_environment_options(environment, &options) == kLiteRtStatusOk &&
          HandleOf(litert, options, kLiteRtEnvOptionTagOpenClCommandQueue);
  pthread_mutex_unlock(&g_mutex);
  return knows;
}

}  // namespace quadra
