// Prints the layout that delegate_native/tflite gives to TFLite's structs, as JSON: sizes, and
// offset and size of every field. test_abi.py reads running interpreters with it.
#include <cstdio>

#include "delegate_native/tflite/abi.h"
#include "delegate_native/tflite/builtin_params.h"

#define BEGIN(type) \
  std::printf("%s\"%s\": {\"sizeof\": %zu", separator, #type, sizeof(type)), separator = ",\n "
#define FIELD(type, field) \
  std::printf(", \"%s\": [%zu, %zu]", #field, offsetof(type, field), sizeof(type::field))
#define END() std::printf("}")

#define F1(t, a) FIELD(t, a)
#define F2(t, a, ...) FIELD(t, a), F1(t, __VA_ARGS__)
#define F3(t, a, ...) FIELD(t, a), F2(t, __VA_ARGS__)
#define F4(t, a, ...) FIELD(t, a), F3(t, __VA_ARGS__)
#define F5(t, a, ...) FIELD(t, a), F4(t, __VA_ARGS__)
#define F6(t, a, ...) FIELD(t, a), F5(t, __VA_ARGS__)
#define F7(t, a, ...) FIELD(t, a), F6(t, __VA_ARGS__)
#define F8(t, a, ...) FIELD(t, a), F7(t, __VA_ARGS__)
#define F9(t, a, ...) FIELD(t, a), F8(t, __VA_ARGS__)
#define F10(t, a, ...) FIELD(t, a), F9(t, __VA_ARGS__)
#define F11(t, a, ...) FIELD(t, a), F10(t, __VA_ARGS__)
#define F12(t, a, ...) FIELD(t, a), F11(t, __VA_ARGS__)
#define F13(t, a, ...) FIELD(t, a), F12(t, __VA_ARGS__)
#define F14(t, a, ...) FIELD(t, a), F13(t, __VA_ARGS__)
#define F15(t, a, ...) FIELD(t, a), F14(t, __VA_ARGS__)
#define STRUCT(count, type, ...) BEGIN(type), F##count(type, __VA_ARGS__), END()

int main() {
  const char* separator = "{";
  STRUCT(1, TfLiteIntArray, size);
  STRUCT(2, TfLiteQuantizationParams, scale, zero_point);
  STRUCT(2, TfLiteQuantization, type, params);
  STRUCT(4, TfLiteBlockwiseQuantization, scale, zero_point, blocksize, quantized_dimension);
  STRUCT(4, TfLiteDimensionMetadata, format, dense_size, array_segments, array_indices);
  STRUCT(4, TfLiteSparsity, traversal_order, block_map, dim_metadata, dim_metadata_size);
  STRUCT(15, TfLiteTensor, type, data, dims, params, allocation_type, bytes, allocation, name,
         delegate, buffer_handle, data_is_stale, is_variable, quantization, sparsity,
         dims_signature);
  STRUCT(10, TfLiteNode, inputs, outputs, intermediates, temporaries, user_data, builtin_data,
         custom_initial_data, custom_initial_data_size, delegate, might_have_side_effect);
  STRUCT(8, TfLiteRegistration, init, free, prepare, invoke, profiling_string, builtin_code,
         custom_name, version);
  STRUCT(4, TfLiteDelegateParams, delegate, nodes_to_replace, input_tensors, output_tensors);
  STRUCT(10, TfLiteContext, tensors_size, GetExecutionPlan, tensors, ResizeTensor, ReportError,
         AddTensors, GetNodeAndRegistration, ReplaceNodeSubsetsWithDelegateKernels,
         recommended_num_threads, PreviewDelegatePartitioning);
  STRUCT(3, TfLiteDelegate, data_, Prepare, flags);
  STRUCT(6, TfLiteConvParams, padding, stride_width, stride_height, activation,
         dilation_width_factor, dilation_height_factor);
  STRUCT(7, TfLiteDepthwiseConvParams, padding, stride_width, stride_height, depth_multiplier,
         activation, dilation_width_factor, dilation_height_factor);
  STRUCT(4, TfLiteTransposeConvParams, padding, stride_width, stride_height, activation);
  STRUCT(8, TfLiteConv3DParams, padding, stride_width, stride_height, stride_depth,
         dilation_width_factor, dilation_height_factor, dilation_depth_factor, activation);
  STRUCT(6, TfLitePoolParams, padding, stride_width, stride_height, filter_width, filter_height,
         activation);
  STRUCT(3, TfLiteFullyConnectedParams, activation, weights_format, keep_num_dims);
  STRUCT(1, TfLiteAddParams, activation);
  STRUCT(1, TfLiteMulParams, activation);
  STRUCT(1, TfLiteSoftmaxParams, beta);
  STRUCT(2, TfLiteConcatenationParams, axis, activation);
  STRUCT(2, TfLiteReshapeParams, shape, num_dimensions);
  STRUCT(2, TfLiteResizeBilinearParams, align_corners, half_pixel_centers);
  STRUCT(1, TfLiteReducerParams, keep_dims);
  STRUCT(5, TfLiteStridedSliceParams, begin_mask, end_mask, ellipsis_mask, new_axis_mask,
         shrink_axis_mask);
  STRUCT(1, TfLiteDepthToSpaceParams, block_size);
  STRUCT(2, TfLiteIfParams, then_subgraph_index, else_subgraph_index);
  STRUCT(2, TfLiteWhileParams, cond_subgraph_index, body_subgraph_index);
  STRUCT(10, TfLiteStablehloScatterParams, indices_are_sorted, update_window_dims,
         num_update_window_dims, inserted_window_dims, num_inserted_window_dims,
         scatter_dims_to_operand_dims, num_scatter_dims_to_operand_dims, index_vector_dim,
         unique_indices, update_computation_subgraph_index);
  STRUCT(3, TfLiteStablehloPadParams, edge_padding_low, edge_padding_high, interior_padding);
  STRUCT(6, TfLiteStablehloReduceWindowParams, window_dimensions, window_strides, base_dilations,
         window_dilations, padding, body_subgraph_index);
  STRUCT(4, TfLiteStablehloCompositeParams, subgraph_index, version, attributes, attributes_size);
  std::printf("}\n");
  return 0;
}
