// A stand-in for LiteRT's runtime, which asks an accelerator as one version or another would. Which
// one an accelerator takes it for hangs on what it exports: OLDER or NEWER than 2.1.6.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "delegate_native/accelerator/accelerator.h"
#include "delegate_native/accelerator/litert_abi.h"

namespace {

using CreateDelegate = decltype(LiteRtAcceleratorDef::create_delegate);

CreateDelegate g_create = nullptr;
TfLiteDelegate* g_delegate = nullptr;
void (*g_delete)(TfLiteDelegate*) = nullptr;

LiteRtStatus Wrap(TfLiteDelegate* delegate, void (*deleter)(TfLiteDelegate*),
                  LiteRtDelegateWrapper* wrapper) {
  g_delegate = delegate;
  g_delete = deleter;
  *wrapper = reinterpret_cast<LiteRtDelegateWrapper>(&g_delegate);
  return kLiteRtStatusOk;
}

const char* g_texts[2];  // of "gpu_options" and "quadra_options"; null: none

LiteRtStatus All(LiteRtOptions, LiteRtOpaqueOptions* options) {
  *options = reinterpret_cast<LiteRtOpaqueOptions>(g_texts);
  return kLiteRtStatusOk;
}

LiteRtStatus Find(LiteRtOpaqueOptions, const char* name, void** text) {
  *text = const_cast<char*>(g_texts[name[0] == 'q']);
  return *text ? kLiteRtStatusOk : kLiteRtStatusErrorInvalidArgument;
}

int Ask(LiteRtRuntimeContext* context, void* report) {
  static char said[1 << 16];
  LiteRtDelegateWrapper wrapper = nullptr;
  const auto options = reinterpret_cast<LiteRtOptions>(g_texts);
  const LiteRtStatus status = g_create(context, nullptr, nullptr, options, &wrapper);
  if (reinterpret_cast<decltype(&QuadraAcceleratorReport)>(report)(said, sizeof(said))) puts(said);
  if (wrapper && g_delegate) g_delete(g_delegate);
  printf("status %d, %s\n", status, wrapper ? "a delegate" : "no delegate");
  return 0;
}

LiteRtRuntimeContext Table() {
  LiteRtRuntimeContext table = {};
  table.abi_header = {sizeof(table), 1, 0, 0};
  table.get_opaque_options = All;
  table.find_opaque_options_data = Find;
  table.wrap_delegate = Wrap;
  return table;
}

}  // namespace

// What 2.1.6 exports for those who register by a function; the version is told by two of the names.
extern "C" {
QUADRA_EXPORT LiteRtStatus LiteRtCreateAccelerator(LiteRtAccelerator* accelerator) {
  *accelerator = reinterpret_cast<LiteRtAccelerator>(&g_create);
  return kLiteRtStatusOk;
}
QUADRA_EXPORT LiteRtStatus LiteRtSetAcceleratorGetName(LiteRtAccelerator, void*) {
  return kLiteRtStatusOk;
}
QUADRA_EXPORT LiteRtStatus LiteRtSetAcceleratorGetVersion(LiteRtAccelerator, void*) {
  return kLiteRtStatusOk;
}
QUADRA_EXPORT LiteRtStatus LiteRtSetAcceleratorGetHardwareSupport(LiteRtAccelerator, void*) {
  return kLiteRtStatusOk;
}
QUADRA_EXPORT LiteRtStatus LiteRtSetDelegateFunction(LiteRtAccelerator, CreateDelegate create) {
  g_create = create;
  return kLiteRtStatusOk;
}
QUADRA_EXPORT LiteRtStatus
LiteRtSetIsAcceleratorDelegateResponsibleForJitCompilation(LiteRtAccelerator, void*) {
  return kLiteRtStatusOk;
}
QUADRA_EXPORT LiteRtStatus LiteRtRegisterAccelerator(LiteRtEnvironment, LiteRtAccelerator, void*,
                                                     void*) {
  return kLiteRtStatusOk;
}
#ifndef OLDER
QUADRA_EXPORT void LiteRtDestroyDelegateWrapper() {}
#endif
#ifdef NEWER
QUADRA_EXPORT void LiteRtGetCompiledModelEnvironment() {}
#endif
}

// how: 2.2, 2.1 (by the function that registers), or a table with a fault.
extern "C" QUADRA_EXPORT int AskAccelerator(const char* path, const char* how, const char* litert,
                                            const char* ours) {
  if (*litert) g_texts[0] = litert;
  if (*ours) g_texts[1] = ours;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  LiteRtRuntimeContext table = Table();
  void* report = dlsym(library, "QuadraAcceleratorReport");
  if (strcmp(how, "2.1") == 0) {
    using Register = LiteRtStatus (*)(LiteRtEnvironment);
    const LiteRtStatus status =
        reinterpret_cast<Register>(dlsym(library, "LiteRtRegisterGpuAccelerator"))(nullptr);
    if (status != kLiteRtStatusOk) return printf("status %d, no accelerator\n", status), 0;
    void* headless[48] = {};
    memcpy(headless, &table.abi_header + 1, sizeof(table) - sizeof(table.abi_header));
    return Ask(reinterpret_cast<LiteRtRuntimeContext*>(headless), report);
  }
  const void* definition = dlsym(library, "LiteRtAcceleratorImpl");
  g_create = static_cast<const LiteRtAcceleratorDef*>(definition)->create_delegate;
  if (strcmp(how, "short") == 0) table.abi_header.struct_size = 64;
  if (strcmp(how, "major") == 0) table.abi_header.major_version = 2;
  if (strcmp(how, "empty") == 0) table.wrap_delegate = nullptr;
  return Ask(strcmp(how, "null") == 0 ? nullptr : &table, report);
}
