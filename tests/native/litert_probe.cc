// An accelerator that runs nothing: it says what the runtime hands to it, read by our declarations.
#include <cstdio>

#include "delegate_native/accelerator/litert_abi.h"

namespace {

TfLiteDelegate* const kDelegate = reinterpret_cast<TfLiteDelegate*>(0x40);

LiteRtStatus Name(LiteRtAccelerator, const char** name) {
  *name = "probe";
  return kLiteRtStatusOk;
}
LiteRtStatus Version(LiteRtAccelerator, LiteRtApiVersion* version) {
  *version = {1, 0, 0};
  return kLiteRtStatusOk;
}
LiteRtStatus Hardware(LiteRtAccelerator, int* set) {
  *set = kLiteRtHwAcceleratorGpu;
  return kLiteRtStatusOk;
}
LiteRtStatus Compiles(LiteRtAccelerator, bool* does) {
  *does = true;
  return kLiteRtStatusOk;
}

bool Unwraps(LiteRtRuntimeContext* context) {
  using Unwrap = LiteRtStatus (*)(LiteRtDelegateWrapper, TfLiteDelegate**);
  LiteRtDelegateWrapper wrapper = nullptr;
  TfLiteDelegate* delegate = nullptr;
  void* const unwrap =
      reinterpret_cast<void* const*>(&context->wrap_delegate)[1];  // the member after wrap_delegate
  return context->wrap_delegate(
             kDelegate, [](TfLiteDelegate*) {}, &wrapper) == kLiteRtStatusOk &&
         reinterpret_cast<Unwrap>(unwrap)(wrapper, &delegate) == kLiteRtStatusOk &&
         delegate == kDelegate;
}

LiteRtStatus Create(LiteRtRuntimeContext* context, LiteRtEnvironment, LiteRtAccelerator,
                    LiteRtOptions options, LiteRtDelegateWrapper*) {
  const LiteRtAbiHeader& header = context->abi_header;
  LiteRtOpaqueOptions opaque = nullptr;
  const bool has_options =
      context->get_opaque_options(options, &opaque) == kLiteRtStatusOk && opaque;
  fprintf(stderr,
          "probe: {\"size\": %u, \"major\": %u, \"minor\": %u, \"reserved\": %u, "
          "\"unwrapped\": %s, \"has_options\": %s}\n",
          header.struct_size, header.major_version, header.minor_version, header.reserved,
          Unwraps(context) ? "true" : "false", has_options ? "true" : "false");
  return kLiteRtStatusOk;
}

}  // namespace

extern "C" {
QUADRA_EXPORT extern const LiteRtAcceleratorDef LiteRtAcceleratorImpl;
const LiteRtAcceleratorDef LiteRtAcceleratorImpl = {
    {sizeof(LiteRtAcceleratorDef), 1, 0, 0},
    Name,
    Version,
    Hardware,
    Compiles,
    Create,
    {},
    {{sizeof(LiteRtCustomTensorBufferHandlersDef), 1, 0, 0}},
};
}
