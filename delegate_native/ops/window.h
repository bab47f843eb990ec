// TFLite's parameters of windows as attributes; graph/window.h reads them.
#ifndef QUADRA_OPS_WINDOW_H_
#define QUADRA_OPS_WINDOW_H_

#include "delegate_native/base/status.h"
#include "delegate_native/graph/window.h"
#include "delegate_native/tflite/builtin_params.h"

namespace quadra {

// Sets the attribute `padding` (same, valid), or says that the code is unknown.
Status SetPadding(TfLitePadding padding, Attributes* attributes);

// Sets `padding`, `stride` [y, x] and `dilation` [y, x].
Status SetWindow(TfLitePadding padding, int stride_y, int stride_x, int dilation_y, int dilation_x,
                 Attributes* attributes);

}  // namespace quadra

#endif  // QUADRA_OPS_WINDOW_H_
