// Parameters of TFLite's builtin ops (TfLiteNode::builtin_data) and the op codes, for the ops that
// Quadra imports. Layouts are TFLite's; fields are only ever added at the end.
#ifndef QUADRA_TFLITE_BUILTIN_PARAMS_H_
#define QUADRA_TFLITE_BUILTIN_PARAMS_H_

extern "C" {

enum TfLitePadding : int {
  kTfLitePaddingUnknown = 0,
  kTfLitePaddingSame = 1,
  kTfLitePaddingValid = 2
};

enum TfLiteFusedActivation : int {
  kTfLiteActNone = 0,
  kTfLiteActRelu = 1,
  kTfLiteActReluN1To1 = 2,
  kTfLiteActRelu6 = 3,
  kTfLiteActTanh = 4,
  kTfLiteActSignBit = 5,
  kTfLiteActSigmoid = 6,
};

enum TfLiteBuiltinOperator : int {
  kTfLiteBuiltinAdd = 0,
  kTfLiteBuiltinAveragePool2d = 1,
  kTfLiteBuiltinConcatenation = 2,
  kTfLiteBuiltinConv2d = 3,
  kTfLiteBuiltinDepthwiseConv2d = 4,
  kTfLiteBuiltinDepthToSpace = 5,
  kTfLiteBuiltinDequantize = 6,
  kTfLiteBuiltinFullyConnected = 9,
  kTfLiteBuiltinLogistic = 14,
  kTfLiteBuiltinMaxPool2d = 17,
  kTfLiteBuiltinMul = 18,
  kTfLiteBuiltinRelu = 19,
  kTfLiteBuiltinReluN1To1 = 20,
  kTfLiteBuiltinRelu6 = 21,
  kTfLiteBuiltinReshape = 22,
  kTfLiteBuiltinResizeBilinear = 23,
  kTfLiteBuiltinSoftmax = 25,
  kTfLiteBuiltinTanh = 28,
  kTfLiteBuiltinCustom = 32,
  kTfLiteBuiltinPad = 34,
  kTfLiteBuiltinMean = 40,
  kTfLiteBuiltinStridedSlice = 45,
  kTfLiteBuiltinPrelu = 54,
  kTfLiteBuiltinPadV2 = 60,
  kTfLiteBuiltinSlice = 65,
  kTfLiteBuiltinTransposeConv = 67,
  kTfLiteBuiltinTile = 69,
  kTfLiteBuiltinSum = 74,
  kTfLiteBuiltinReduceProd = 81,
  kTfLiteBuiltinReduceMax = 82,
  kTfLiteBuiltinReduceMin = 89,
  kTfLiteBuiltinFill = 94,
  kTfLiteBuiltinRange = 96,
  kTfLiteBuiltinResizeNearestNeighbor = 97,
  kTfLiteBuiltinUnique = 103,
  kTfLiteBuiltinWhere = 109,
  kTfLiteBuiltinHardSwish = 117,
  kTfLiteBuiltinIf = 118,
  kTfLiteBuiltinWhile = 119,
  kTfLiteBuiltinNonMaxSuppressionV4 = 120,
  kTfLiteBuiltinNonMaxSuppressionV5 = 121,
  kTfLiteBuiltinDensify = 124,
  kTfLiteBuiltinBroadcastTo = 130,
};

struct TfLiteConvParams {
  TfLitePadding padding;
  int stride_width;
  int stride_height;
  TfLiteFusedActivation activation;
  int dilation_width_factor;
  int dilation_height_factor;
};

struct TfLiteDepthwiseConvParams {
  TfLitePadding padding;
  int stride_width;
  int stride_height;
  int depth_multiplier;
  TfLiteFusedActivation activation;
  int dilation_width_factor;
  int dilation_height_factor;
};

struct TfLiteTransposeConvParams {
  TfLitePadding padding;
  int stride_width;
  int stride_height;
  TfLiteFusedActivation activation;
};

struct TfLitePoolParams {
  TfLitePadding padding;
  int stride_width;
  int stride_height;
  int filter_width;
  int filter_height;
  TfLiteFusedActivation activation;
};

struct TfLiteFullyConnectedParams {
  TfLiteFusedActivation activation;
  int weights_format;  // 0 is the plain [out, in]
  bool keep_num_dims;
  bool asymmetric_quantize_inputs;
};

struct TfLiteAddParams {
  TfLiteFusedActivation activation;
  bool pot_scale_int16;
};

struct TfLiteMulParams {
  TfLiteFusedActivation activation;
};

struct TfLiteSoftmaxParams {
  float beta;
};

struct TfLiteConcatenationParams {
  int axis;
  TfLiteFusedActivation activation;
};

struct TfLiteReshapeParams {
  int shape[8];
  int num_dimensions;
};

struct TfLiteResizeBilinearParams {
  bool align_corners;
  bool half_pixel_centers;
};

struct TfLiteReducerParams {
  bool keep_dims;
};

struct TfLiteStridedSliceParams {
  int begin_mask;
  int end_mask;
  int ellipsis_mask;
  int new_axis_mask;
  int shrink_axis_mask;
  bool offset;
};

struct TfLiteDepthToSpaceParams {
  int block_size;
};

}  // extern "C"

#endif  // QUADRA_TFLITE_BUILTIN_PARAMS_H_
