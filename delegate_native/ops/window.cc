#include "delegate_native/ops/window.h"

namespace quadra {

Status SetPadding(TfLitePadding padding, Attributes* attributes) {
  if (padding != kTfLitePaddingSame && padding != kTfLitePaddingValid) {
    return InvalidModel("its padding has the unknown code %d", padding);
  }
  attributes->SetWord("padding", padding == kTfLitePaddingSame ? "same" : "valid");
  return Status();
}

Status SetWindow(TfLitePadding padding, int stride_y, int stride_x, int dilation_y, int dilation_x,
                 Attributes* attributes) {
  QUADRA_RETURN_IF_ERROR(SetPadding(padding, attributes));
  if (stride_y < 1 || stride_x < 1 || dilation_y < 1 || dilation_x < 1) {
    return InvalidModel("its strides (%d, %d) and dilations (%d, %d) must be positive", stride_y,
                        stride_x, dilation_y, dilation_x);
  }
  attributes->SetInts("stride", {stride_y, stride_x});
  attributes->SetInts("dilation", {dilation_y, dilation_x});
  return Status();
}

}  // namespace quadra
