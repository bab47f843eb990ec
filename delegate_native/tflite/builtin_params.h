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
  kTfLiteBuiltinEmbeddingLookup = 7,
  kTfLiteBuiltinFloor = 8,
  kTfLiteBuiltinFullyConnected = 9,
  kTfLiteBuiltinL2Normalization = 11,
  kTfLiteBuiltinL2Pool2d = 12,
  kTfLiteBuiltinLocalResponseNormalization = 13,
  kTfLiteBuiltinLogistic = 14,
  kTfLiteBuiltinLstm = 16,
  kTfLiteBuiltinMaxPool2d = 17,
  kTfLiteBuiltinMul = 18,
  kTfLiteBuiltinRelu = 19,
  kTfLiteBuiltinReluN1To1 = 20,
  kTfLiteBuiltinRelu6 = 21,
  kTfLiteBuiltinReshape = 22,
  kTfLiteBuiltinResizeBilinear = 23,
  kTfLiteBuiltinRnn = 24,
  kTfLiteBuiltinSoftmax = 25,
  kTfLiteBuiltinSpaceToDepth = 26,
  kTfLiteBuiltinSvdf = 27,
  kTfLiteBuiltinTanh = 28,
  kTfLiteBuiltinCustom = 32,
  kTfLiteBuiltinPad = 34,
  kTfLiteBuiltinUnidirectionalSequenceRnn = 35,
  kTfLiteBuiltinGather = 36,
  kTfLiteBuiltinBatchToSpaceNd = 37,
  kTfLiteBuiltinSpaceToBatchNd = 38,
  kTfLiteBuiltinTranspose = 39,
  kTfLiteBuiltinMean = 40,
  kTfLiteBuiltinSub = 41,
  kTfLiteBuiltinDiv = 42,
  kTfLiteBuiltinSqueeze = 43,
  kTfLiteBuiltinUnidirectionalSequenceLstm = 44,
  kTfLiteBuiltinStridedSlice = 45,
  kTfLiteBuiltinBidirectionalSequenceRnn = 46,
  kTfLiteBuiltinExp = 47,
  kTfLiteBuiltinTopkV2 = 48,
  kTfLiteBuiltinSplit = 49,
  kTfLiteBuiltinLogSoftmax = 50,
  kTfLiteBuiltinBidirectionalSequenceLstm = 52,
  kTfLiteBuiltinCast = 53,
  kTfLiteBuiltinPrelu = 54,
  kTfLiteBuiltinMaximum = 55,
  kTfLiteBuiltinArgMax = 56,
  kTfLiteBuiltinMinimum = 57,
  kTfLiteBuiltinLess = 58,
  kTfLiteBuiltinNeg = 59,
  kTfLiteBuiltinPadV2 = 60,
  kTfLiteBuiltinGreater = 61,
  kTfLiteBuiltinGreaterEqual = 62,
  kTfLiteBuiltinLessEqual = 63,
  kTfLiteBuiltinSelect = 64,
  kTfLiteBuiltinSlice = 65,
  kTfLiteBuiltinSin = 66,
  kTfLiteBuiltinTransposeConv = 67,
  kTfLiteBuiltinTile = 69,
  kTfLiteBuiltinExpandDims = 70,
  kTfLiteBuiltinEqual = 71,
  kTfLiteBuiltinNotEqual = 72,
  kTfLiteBuiltinLog = 73,
  kTfLiteBuiltinSum = 74,
  kTfLiteBuiltinSqrt = 75,
  kTfLiteBuiltinRsqrt = 76,
  kTfLiteBuiltinShape = 77,
  kTfLiteBuiltinPow = 78,
  kTfLiteBuiltinArgMin = 79,
  kTfLiteBuiltinFakeQuant = 80,
  kTfLiteBuiltinReduceProd = 81,
  kTfLiteBuiltinReduceMax = 82,
  kTfLiteBuiltinPack = 83,
  kTfLiteBuiltinLogicalOr = 84,
  kTfLiteBuiltinOneHot = 85,
  kTfLiteBuiltinLogicalAnd = 86,
  kTfLiteBuiltinLogicalNot = 87,
  kTfLiteBuiltinUnpack = 88,
  kTfLiteBuiltinReduceMin = 89,
  kTfLiteBuiltinFloorDiv = 90,
  kTfLiteBuiltinReduceAny = 91,
  kTfLiteBuiltinSquare = 92,
  kTfLiteBuiltinZerosLike = 93,
  kTfLiteBuiltinFill = 94,
  kTfLiteBuiltinFloorMod = 95,
  kTfLiteBuiltinRange = 96,
  kTfLiteBuiltinResizeNearestNeighbor = 97,
  kTfLiteBuiltinLeakyRelu = 98,
  kTfLiteBuiltinSquaredDifference = 99,
  kTfLiteBuiltinMirrorPad = 100,
  kTfLiteBuiltinAbs = 101,
  kTfLiteBuiltinSplitV = 102,
  kTfLiteBuiltinUnique = 103,
  kTfLiteBuiltinCeil = 104,
  kTfLiteBuiltinReverseV2 = 105,
  kTfLiteBuiltinAddN = 106,
  kTfLiteBuiltinGatherNd = 107,
  kTfLiteBuiltinCos = 108,
  kTfLiteBuiltinWhere = 109,
  kTfLiteBuiltinRank = 110,
  kTfLiteBuiltinElu = 111,
  kTfLiteBuiltinReverseSequence = 112,
  kTfLiteBuiltinMatrixDiag = 113,
  kTfLiteBuiltinQuantize = 114,
  kTfLiteBuiltinRound = 116,
  kTfLiteBuiltinHardSwish = 117,
  kTfLiteBuiltinIf = 118,
  kTfLiteBuiltinWhile = 119,
  kTfLiteBuiltinNonMaxSuppressionV4 = 120,
  kTfLiteBuiltinNonMaxSuppressionV5 = 121,
  kTfLiteBuiltinScatterNd = 122,
  kTfLiteBuiltinSelectV2 = 123,
  kTfLiteBuiltinDensify = 124,
  kTfLiteBuiltinSegmentSum = 125,
  kTfLiteBuiltinBatchMatmul = 126,
  kTfLiteBuiltinCumsum = 128,
  kTfLiteBuiltinCallOnce = 129,
  kTfLiteBuiltinBroadcastTo = 130,
  kTfLiteBuiltinRfft2d = 131,
  kTfLiteBuiltinConv3d = 132,
  kTfLiteBuiltinImag = 133,
  kTfLiteBuiltinReal = 134,
  kTfLiteBuiltinComplexAbs = 135,
  kTfLiteBuiltinHashtable = 136,
  kTfLiteBuiltinReduceAll = 140,
  kTfLiteBuiltinConv3dTranspose = 141,
  kTfLiteBuiltinVarHandle = 142,
  kTfLiteBuiltinReadVariable = 143,
  kTfLiteBuiltinAssignVariable = 144,
  kTfLiteBuiltinBroadcastArgs = 145,
  kTfLiteBuiltinBucketize = 147,
  kTfLiteBuiltinGelu = 150,
  kTfLiteBuiltinDynamicUpdateSlice = 151,
  kTfLiteBuiltinRelu0To1 = 152,
  kTfLiteBuiltinUnsortedSegmentProd = 153,
  kTfLiteBuiltinUnsortedSegmentMax = 154,
  kTfLiteBuiltinUnsortedSegmentSum = 155,
  kTfLiteBuiltinAtan2 = 156,
  kTfLiteBuiltinUnsortedSegmentMin = 157,
  kTfLiteBuiltinSign = 158,
  kTfLiteBuiltinBitwiseXor = 160,
  kTfLiteBuiltinRightShift = 161,
  kTfLiteBuiltinStablehloAdd = 163,
  kTfLiteBuiltinStablehloMultiply = 165,
  kTfLiteBuiltinStablehloMaximum = 166,
  kTfLiteBuiltinStablehloMinimum = 181,
  kTfLiteBuiltinStablehloScatter = 190,
  kTfLiteBuiltinStablehloPad = 195,
  kTfLiteBuiltinStablehloReduceWindow = 198,
  kTfLiteBuiltinDilate = 203,
  kTfLiteBuiltinStablehloComposite = 206,
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

// Parameters of CONV_3D and CONV_3D_TRANSPOSE.
struct TfLiteConv3DParams {
  TfLitePadding padding;
  int stride_width;
  int stride_height;
  int stride_depth;
  int dilation_width_factor;
  int dilation_height_factor;
  int dilation_depth_factor;
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

struct TfLiteLeakyReluParams {
  float alpha;
};

struct TfLiteGeluParams {
  bool approximate;
};

struct TfLiteBatchMatMulParams {
  bool adj_x;
  bool adj_y;
  bool asymmetric_quantize_inputs;
};

struct TfLiteL2NormParams {
  TfLiteFusedActivation activation;
};

struct TfLiteLocalResponseNormParams {
  int radius;
  float bias;
  float alpha;
  float beta;
};

struct TfLiteSplitParams {
  int num_splits;
};

struct TfLiteSplitVParams {
  int num_splits;
};

struct TfLitePackParams {
  int values_count;
  int axis;
};

struct TfLiteUnpackParams {
  int num;
  int axis;
};

struct TfLiteGatherParams {
  int axis;
  int batch_dims;
};

struct TfLiteSqueezeParams {
  int squeeze_dims[8];
  int num_squeeze_dims;
};

struct TfLiteReverseSequenceParams {
  int seq_dim;
  int batch_dim;
};

enum TfLiteMirrorPaddingMode : int {
  kTfLiteMirrorPaddingUnknown = 0,
  kTfLiteMirrorPaddingReflect = 1,
  kTfLiteMirrorPaddingSymmetric = 2
};

struct TfLiteMirrorPaddingParams {
  TfLiteMirrorPaddingMode mode;
};

struct TfLiteResizeNearestNeighborParams {
  bool align_corners;
  bool half_pixel_centers;
};

struct TfLiteOneHotParams {
  int axis;
};

struct TfLiteBucketizeParams {
  int num_boundaries;
  const float* boundaries;
};

struct TfLiteCumsumParams {
  bool exclusive;
  bool reverse;
};

struct TfLiteFakeQuantParams {
  float min;
  float max;
  int num_bits;
  bool narrow_range;
};

enum TfLiteLSTMKernelType : int { kTfLiteLSTMFullKernel = 0, kTfLiteLSTMBasicKernel = 1 };

struct TfLiteLSTMParams {
  TfLiteFusedActivation activation;
  float cell_clip;
  float proj_clip;
  TfLiteLSTMKernelType kernel_type;
  bool asymmetric_quantize_inputs;
};

struct TfLiteUnidirectionalSequenceLSTMParams {
  TfLiteFusedActivation activation;
  float cell_clip;
  float proj_clip;
  bool time_major;
  bool asymmetric_quantize_inputs;
  bool diagonal_recurrent_tensors;
};

struct TfLiteRNNParams {
  TfLiteFusedActivation activation;
  bool asymmetric_quantize_inputs;
};

struct TfLiteSequenceRNNParams {
  bool time_major;
  TfLiteFusedActivation activation;
  bool asymmetric_quantize_inputs;
};

struct TfLiteBidirectionalSequenceRNNParams {
  bool time_major;
  TfLiteFusedActivation activation;
  bool merge_outputs;
  bool asymmetric_quantize_inputs;
};

struct TfLiteBidirectionalSequenceLSTMParams {
  TfLiteFusedActivation activation;
  float cell_clip;
  float proj_clip;
  bool merge_outputs;
  bool time_major;
  bool asymmetric_quantize_inputs;
};

struct TfLiteSVDFParams {
  int rank;
  TfLiteFusedActivation activation;
  bool asymmetric_quantize_inputs;
};

struct TfLiteDepthToSpaceParams {
  int block_size;
};

struct TfLiteIfParams {
  int then_subgraph_index;
  int else_subgraph_index;
};

struct TfLiteWhileParams {
  int cond_subgraph_index;
  int body_subgraph_index;
};

struct TfLiteVarHandleParams {
  const char* container;
  const char* shared_name;
};

struct TfLiteCallOnceParams {
  int init_subgraph_index;
};

constexpr int kMostStablehloDims = 8;  // in the lists below

struct TfLiteStablehloScatterParams {
  bool indices_are_sorted;
  int64_t update_window_dims[kMostStablehloDims];
  int num_update_window_dims;
  int64_t inserted_window_dims[kMostStablehloDims];
  int num_inserted_window_dims;
  int64_t scatter_dims_to_operand_dims[kMostStablehloDims];
  int num_scatter_dims_to_operand_dims;
  int64_t index_vector_dim;
  bool unique_indices;
  int update_computation_subgraph_index;
};

struct TfLiteStablehloPadParams {
  int64_t edge_padding_low[kMostStablehloDims];
  int64_t edge_padding_high[kMostStablehloDims];
  int64_t interior_padding[kMostStablehloDims];
};

struct TfLiteStablehloReduceWindowParams {
  int64_t window_dimensions[kMostStablehloDims];
  int64_t window_strides[kMostStablehloDims];
  int64_t base_dilations[kMostStablehloDims];
  int64_t window_dilations[kMostStablehloDims];
  int64_t padding[2 * kMostStablehloDims];
  int body_subgraph_index;
};

struct TfLiteStablehloCompositeParams {
  const char* name;
  int32_t subgraph_index;
  int32_t version;
  const uint8_t* attributes;  // a FlexBuffer
  size_t attributes_size;
};

}  // extern "C"

#endif  // QUADRA_TFLITE_BUILTIN_PARAMS_H_
