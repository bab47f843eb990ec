/* Quadra under the C names of TensorFlow Lite's GPU delegate. Put the folder above `tensorflow/`
 * first on the search path of headers, and link libquadra.so in the place of that delegate's
 * library. */
#ifndef TENSORFLOW_LITE_DELEGATES_GPU_DELEGATE_H_
#define TENSORFLOW_LITE_DELEGATES_GPU_DELEGATE_H_

#include "tensorflow/lite/delegates/gpu/delegate_options.h"

#if defined(__has_include)
#if __has_include("tensorflow/lite/core/c/common.h")
#include "tensorflow/lite/core/c/common.h"
#elif __has_include("tensorflow/lite/c/common.h")
#include "tensorflow/lite/c/common.h"
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct TfLiteDelegate;

/* options may be NULL: the defaults. NULL when an option is wrong; the log says which. */
TFL_CAPI_EXPORT struct TfLiteDelegate* TfLiteGpuDelegateV2Create(
    const TfLiteGpuDelegateOptionsV2* options);

/* After the interpreter; NULL is fine. */
TFL_CAPI_EXPORT void TfLiteGpuDelegateV2Delete(struct TfLiteDelegate* delegate);

#ifdef __cplusplus
}
#endif

#endif /* TENSORFLOW_LITE_DELEGATES_GPU_DELEGATE_H_ */
