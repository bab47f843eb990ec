"""Models that are well-formed files and make no sense: each op with parameters or operands that it cannot have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.model_builder import Blocks, Model
from tests.sparse import Level, Sparse

_IMAGE = (1, 4, 4, 4)
_W, _B = np.ones((8, 3, 3, 4), np.float32), np.zeros(8, np.float32)
_CONV = {"Padding": 0, "StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
_POOL = {"Padding": 0, "StrideH": 1, "StrideW": 1, "FilterHeight": 2, "FilterWidth": 2}
_OUT = (1, 4, 4, 8)


def _ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def _sparse(segments: list[int], indices: list[int], values: int = 4, traversal=(0, 1), rows: int = 4):
    def build(m: Model, x):
        levels = [Level(dense_size=rows), Level(segments=segments, indices=indices)]
        stored = m.value(
            (4, 6),
            data=np.zeros((4, 6), np.float32),
            sparse=Sparse(np.ones(values, np.float32), list(traversal), [], levels),
        )
        return m.add(x, m.op("DENSIFY", [stored], (4, 6)))

    return (4, 6), build


def _on_image(build):
    return _IMAGE, build


def _conv(weights=_W, bias=_B, **options):
    return _on_image(lambda m, x: m.op("CONV_2D", [x, weights, bias], _OUT, "Conv2DOptions", **_CONV | options))


def _depthwise(weights, bias=_B[:4], **options):
    return _on_image(
        lambda m, x: m.op(
            "DEPTHWISE_CONV_2D",
            [x, weights, bias],
            _IMAGE,
            "DepthwiseConv2DOptions",
            **_CONV | {"DepthMultiplier": 1} | options,
        )
    )


def _pool(**options):
    return _on_image(lambda m, x: m.op("MAX_POOL_2D", [x], _IMAGE, "Pool2DOptions", **_POOL | options))


def _op(name, operands, shape=_IMAGE, kind="", **options):
    return _on_image(lambda m, x: m.op(name, [x, *operands], shape, kind, **options))


def _scalar(value: int) -> np.ndarray:
    return np.array(value, np.int32)


def _parts(name, operands, count, shape=(1, 4, 4, 2), kind="", **options):
    return _on_image(lambda m, x: m.op(name, operands(x), [shape] * count, kind, **options)[-1])


def _pack(axis, count=2):
    return _on_image(lambda m, x: m.op("PACK", [x] * count, (2, *_IMAGE), "PackOptions", ValuesCount=count, Axis=axis))


def _complex(name, operands, shape, kind="", **options):
    """An op of complex numbers."""

    def build(m: Model, x):
        made = m.op("RFFT2D", [x, _ints(1, 4)], (1, 4, 1, 3), output={"dtype": "complex64"})
        return m.op(name, [made, *operands], shape, kind, output={"dtype": "complex64"}, **options)

    return _IMAGE, build


def _of_int64(name, *operands, kind="", **options):
    made = {"dtype": "int64"}

    def build(m: Model, x):
        x = m.op("CAST", [x], _IMAGE, "CastOptions", output=made)
        return m.op(name, [x, *operands], _IMAGE, kind, output=made, **options)

    return _on_image(build)


def _of_ints(op, *operands, kind="", **options):
    """An op of a vector of int32 and others."""

    def build(m: Model, x):
        ints = m.op("CAST", [x], (4,), "CastOptions", output={"dtype": "int32"})
        return m.op(op, [ints, *operands], (4,), kind, output={"dtype": "int32"}, **options)

    return (4,), build


def _one_hot(axis, depth):
    on_off = np.float32(1), np.float32(0)
    return _of_ints("ONE_HOT", _scalar(depth), *on_off, kind="OneHotOptions", Axis=axis)


def _gather(indices, axis, batch_dims=0):
    return _op("GATHER", [_ints(*indices)], kind="GatherOptions", Axis=axis, BatchDims=batch_dims)


def _slice(begin, end, strides):
    return _op("STRIDED_SLICE", [_ints(*begin), _ints(*end), _ints(*strides)], kind="StridedSliceOptions")


def _reverse_sequence(seq, batch, *lengths):
    return _op("REVERSE_SEQUENCE", [_ints(*lengths or (1,))], kind="ReverseSequenceOptions", SeqDim=seq, BatchDim=batch)


def _transpose(options: bytes, operands):
    return _on_image(
        lambda m, x: m.op("Convolution2DTransposeBias", [x, *operands], (1, 8, 8, 8), custom_options=options)
    )


def _blocks(size=32, scales=None, at: int | None = None, zeros: int = -1, stored: int = 8 * 64):
    """Weights of int4 with scales of blocks; `at`: index of the tensor that is said to have them."""

    def build(m: Model, x):
        numbers = m.const(np.ones((8, 2), np.float16) if scales is None else scales)
        blocks = Blocks(numbers.index if at is None else at, size, zeros)
        w = m.value((8, 64), "int4", data=np.ones(stored, np.int8), blocks=blocks)
        return m.op("FULLY_CONNECTED", [x, w, None], (1, 8), "FullyConnectedOptions", 12)

    return (1, 64), build


def _mean_of_nothing(m: Model, x):
    return m.op("MEAN", [x, np.zeros((0,), np.int32)], _IMAGE, "ReducerOptions", KeepDims=True)


def _renamed(output: int | None = None, absent: int | None = None):
    """A CONCATENATION whose output is tensor `output`, or whose operand `absent` is not there."""

    def build(m: Model, x):
        y = m.op("CONCATENATION", [x, x], (1, 4, 4, 8), "ConcatenationOptions", Axis=3)
        node = m.nodes.pop()
        inputs = tuple(-1 if i == absent else tensor for i, tensor in enumerate(node.inputs))
        m.nodes.append(replace(node, inputs=inputs, outputs=(y.index if output is None else output,)))
        return y

    return _IMAGE, build


_HUGE = 2**31 - 1
_TRANSPOSE = np.array([1, 2, 2], np.int32).tobytes()
_ROW = np.ones((1, 4, 4, 1), np.float32)

# name -> (input shape, build(model, input) -> output)
BAD_MODELS = {
    "conv_weights_of_other_channels": _conv(np.ones((8, 3, 3, 3), np.float32)),
    "conv_groups_do_not_divide_outputs": _conv(np.ones((7, 3, 3, 2), np.float32), np.zeros(7, np.float32)),
    "conv_bias_too_short": _conv(bias=_B[:5]),
    "conv_stride_zero": _conv(StrideW=0),
    "conv_stride_negative": _conv(StrideH=-1),
    "conv_dilation_zero": _conv(DilationHFactor=0),
    "conv_kernel_bigger_than_image_valid": _conv(np.ones((8, 5, 5, 4), np.float32), Padding=1),
    "conv_weights_rank_2": _conv(np.ones((8, 4), np.float32)),
    "conv_weights_int32": _conv(np.ones((8, 3, 3, 4), np.int32)),
    "conv_unknown_padding": _conv(Padding=9),
    "conv_without_weights": _op("CONV_2D", [], _OUT, "Conv2DOptions", **_CONV),
    "conv_without_options": _op("CONV_2D", [_W, _B], _OUT),
    "depthwise_channels_do_not_match": _depthwise(np.ones((1, 3, 3, 6), np.float32), np.zeros(6, np.float32)),
    "depthwise_weights_first_axis": _depthwise(np.ones((2, 3, 3, 4), np.float32)),
    "depthwise_bias_too_long": _depthwise(np.ones((1, 3, 3, 4), np.float32), _B),
    "pool_kernel_zero": _pool(FilterWidth=0),
    "pool_stride_zero": _pool(StrideH=0),
    "pool_kernel_negative": _pool(FilterHeight=-3),
    "concat_axis_out_of_range": _op("CONCATENATION", [_ROW], kind="ConcatenationOptions", Axis=7),
    "concat_shapes_differ": _op(
        "CONCATENATION", [np.ones((1, 3, 4, 4), np.float32)], kind="ConcatenationOptions", Axis=3
    ),
    "concat_ranks_differ": _op("CONCATENATION", [np.ones((4, 4), np.float32)], kind="ConcatenationOptions", Axis=0),
    "pad_too_few_rows": _op("PAD", [np.zeros((3, 2), np.int32)], kind="PadOptions"),
    "pad_negative": _op("PAD", [_ints(0, 0, -1, 0, 0, 0, 0, 0).reshape(4, 2)], (1, 3, 4, 4), kind="PadOptions"),
    "pad_float_paddings": _op("PAD", [np.zeros((4, 2), np.float32)], kind="PadOptions"),
    "pad_without_paddings": _op("PAD", [], kind="PadOptions"),
    "reshape_to_other_count": _op("RESHAPE", [_ints(5, 5)], (5, 5), "ReshapeOptions"),
    "reshape_two_unknowns": _op("RESHAPE", [_ints(-1, -1)], (8, 8), "ReshapeOptions"),
    "mean_axis_out_of_range": _op("MEAN", [_ints(9)], kind="ReducerOptions", KeepDims=True),
    "mean_without_axes": _op("MEAN", [], kind="ReducerOptions", KeepDims=True),
    "slice_stride_zero": _slice([0] * 4, [1] * 4, [1, 0, 1, 1]),
    "slice_vectors_of_different_length": _slice([0] * 4, [1] * 3, [1] * 4),
    "slice_too_many_axes": _slice([0] * 6, [1] * 6, [1] * 6),
    "slice_of_nothing": _slice([0, 3, 0, 0], [1, 2, 4, 4], [1] * 4),
    "depth_to_space_does_not_divide": _op("DEPTH_TO_SPACE", [], kind="DepthToSpaceOptions", BlockSize=3),
    "depth_to_space_block_zero": _op("DEPTH_TO_SPACE", [], kind="DepthToSpaceOptions", BlockSize=0),
    "resize_to_nothing": _op("RESIZE_BILINEAR", [_ints(0, 4)], kind="ResizeBilinearOptions"),
    "resize_negative": _op("RESIZE_BILINEAR", [_ints(4, -4)], kind="ResizeBilinearOptions"),
    "resize_three_sizes": _op("RESIZE_BILINEAR", [_ints(4, 4, 4)], kind="ResizeBilinearOptions"),
    "fully_connected_inner_size": _op(
        "FULLY_CONNECTED", [np.ones((8, 5), np.float32), _B], (1, 8), "FullyConnectedOptions"
    ),
    "fully_connected_bias_too_short": _op(
        "FULLY_CONNECTED", [np.ones((8, 4), np.float32), _B[:3]], (16, 8), "FullyConnectedOptions"
    ),
    "fully_connected_unknown_format": _op(
        "FULLY_CONNECTED", [np.ones((8, 4), np.float32), _B], (16, 8), "FullyConnectedOptions", WeightsFormat=1
    ),
    "prelu_alpha_does_not_broadcast": _op("PRELU", [np.ones((3,), np.float32)]),
    "add_does_not_broadcast": _op("ADD", [np.ones((3,), np.float32)], kind="AddOptions"),
    "add_one_operand": _op("ADD", [], kind="AddOptions"),
    "add_three_operands": _op("ADD", [_ROW, _ROW], kind="AddOptions"),
    "relu_without_input": _on_image(lambda m, x: m.op("RELU", [None], _IMAGE)),
    "densify_index_out_of_range": _sparse([0, 1, 2, 3, 4], [0, 5, 6, 1]),
    "densify_index_negative_as_uint8": _sparse([0, 1, 2, 3, 4], [0, 255, 2, 1]),
    "densify_segments_go_back": _sparse([0, 3, 1, 3, 4], [0, 1, 2, 3]),
    "densify_segments_past_indices": _sparse([0, 1, 2, 3, 99], [0, 1, 2, 3]),
    "densify_too_few_segments": _sparse([0, 4], [0, 1, 2, 3]),
    "densify_too_few_values": _sparse([0, 1, 2, 3, 4], [0, 1, 2, 3], values=1),
    "densify_traversal_out_of_range": _sparse([0, 1, 2, 3, 4], [0, 1, 2, 3], traversal=(0, 7)),
    "densify_traversal_repeats": _sparse([0, 1, 2, 3, 4], [0, 1, 2, 3], traversal=(1, 1)),
    "densify_rows_do_not_match": _sparse([0, 1, 2, 3, 4], [0, 1, 2, 3], rows=400),
    "transpose_without_options": _transpose(b"", [_W, _B]),
    "transpose_with_short_options": _transpose(b"\1\0", [_W, _B]),
    "transpose_stride_zero": _transpose(np.array([1, 0, 2], np.int32).tobytes(), [_W, _B]),
    "transpose_unknown_padding": _transpose(np.array([5, 2, 2], np.int32).tobytes(), [_W, _B]),
    "transpose_without_weights": _transpose(_TRANSPOSE, []),
    "transpose_weights_of_other_channels": _transpose(_TRANSPOSE, [np.ones((8, 2, 2, 3), np.float32), _B]),
    "output_is_no_tensor": _renamed(output=-1),
    "output_is_beyond_the_tensors": _renamed(output=10_000),
    "operand_between_others_is_absent": _renamed(absent=0),
    "last_operand_is_absent": _renamed(absent=1),
    "conv_dilation_huge": _conv(DilationWFactor=2**30),
    "conv_stride_and_dilation_huge": _conv(StrideH=_HUGE, DilationHFactor=_HUGE),
    "pool_kernel_huge": _pool(FilterHeight=_HUGE, StrideH=2, Padding=0),
    "pad_huge": _op("PAD", [_ints(0, 0, _HUGE, _HUGE, 0, 0, 0, 0).reshape(4, 2)], kind="PadOptions"),
    "resize_to_huge": _op("RESIZE_BILINEAR", [_ints(_HUGE, _HUGE)], kind="ResizeBilinearOptions"),
    "resize_to_long": _op("RESIZE_BILINEAR", [_ints(1, 2**30 + 1)], kind="ResizeBilinearOptions"),
    "depth_to_space_block_huge": _op("DEPTH_TO_SPACE", [], kind="DepthToSpaceOptions", BlockSize=2**16),
    "transpose_strides_huge": _transpose(np.array([1, 2**20, 2**20], np.int32).tobytes(), [_W, _B]),
    "transpose_bias_too_short": _transpose(_TRANSPOSE, [_W, _B[:3]]),
    "order_of_axes_out_of_range": _op("TRANSPOSE", [_ints(0, 1, 2, 7)]),
    "order_of_axes_below_range": _op("TRANSPOSE", [_ints(0, 1, 2, -5)]),
    "order_of_axes_repeats": _op("TRANSPOSE", [_ints(0, 1, 2, 2)]),
    "order_of_too_few_axes": _op("TRANSPOSE", [_ints(0, 1)]),
    "order_of_floats": _op("TRANSPOSE", [np.float32([0, 1, 2, 3])]),
    "reverse_axis_out_of_range": _op("REVERSE_V2", [_ints(4)]),
    "reverse_axis_below_range": _op("REVERSE_V2", [_ints(-5)]),
    "reverse_sequence_axis_out_of_range": _reverse_sequence(4, 0),
    "reverse_sequence_axis_below_range": _reverse_sequence(-3, 0),
    "reverse_sequence_batches_below_range": _reverse_sequence(1, -4),
    "reverse_sequence_of_one_axis": _reverse_sequence(0, 0),
    "reverse_sequence_of_too_many_lengths": _reverse_sequence(1, 0, 2, 2),
    "reverse_sequence_beyond": _reverse_sequence(1, 0, 5),
    "reverse_sequence_by_floats": _op("REVERSE_SEQUENCE", [np.float32([1])], kind="ReverseSequenceOptions", SeqDim=1),
    "tile_negative": _op("TILE", [_ints(1, 1, -1, 1)]),
    "tile_nothing": _op("TILE", [_ints(1, 0, 1, 1)]),
    "tile_huge": _op("TILE", [_ints(_HUGE, _HUGE, _HUGE, _HUGE)]),
    "tile_too_few_axes": _op("TILE", [_ints(2)]),
    "broadcast_to_lower_rank": _op("BROADCAST_TO", [_ints(4, 4)], (4, 4), version=2),
    "broadcast_to_other_length": _op("BROADCAST_TO", [_ints(1, 4, 4, 8)], (1, 4, 4, 8), version=2),
    "broadcast_to_negative": _op("BROADCAST_TO", [_ints(-1, 4, 4, 4)], version=2),
    "broadcast_to_rank_9": _op("BROADCAST_TO", [_ints(*[1] * 6, 4, 4, 4)], (*[1] * 6, 4, 4, 4), version=2),
    "broadcast_to_huge": _op("BROADCAST_TO", [_ints(_HUGE, _HUGE, 1, 4, 4, 4)], (_HUGE, 4), version=2),
    "slice_begins_beyond": _op("SLICE", [_ints(0, 4, 0, 0), _ints(1, 1, 4, 4)]),
    "slice_begins_below": _op("SLICE", [_ints(0, -1, 0, 0), _ints(1, 1, 4, 4)]),
    "slice_ends_beyond": _op("SLICE", [_ints(0, 2, 0, 0), _ints(1, 3, 4, 4)]),
    "slice_size_below": _op("SLICE", [_ints(0, 0, 0, 0), _ints(1, -2, 4, 4)]),
    "slice_sizes_huge": _op("SLICE", [_ints(0, _HUGE, 0, 0), _ints(1, _HUGE, 4, 4)]),
    "split_axis_out_of_range": _parts("SPLIT", lambda x: [_scalar(4), x], 2, kind="SplitOptions", NumSplits=2),
    "split_does_not_divide": _parts("SPLIT", lambda x: [_scalar(3), x], 3, kind="SplitOptions", NumSplits=3),
    "split_of_other_count": _parts("SPLIT", lambda x: [_scalar(3), x], 2, kind="SplitOptions", NumSplits=4),
    "split_into_nothing": _parts("SPLIT", lambda x: [_scalar(3), x], 2, kind="SplitOptions", NumSplits=0),
    "split_two_axes": _parts("SPLIT", lambda x: [_ints(3, 2), x], 2, kind="SplitOptions", NumSplits=2),
    "split_sizes_of_too_much": _parts(
        "SPLIT_V", lambda x: [x, _ints(2, 3), _scalar(3)], 2, kind="SplitVOptions", NumSplits=2
    ),
    "split_sizes_two_open": _parts(
        "SPLIT_V", lambda x: [x, _ints(-1, -1), _scalar(3)], 2, kind="SplitVOptions", NumSplits=2
    ),
    "split_sizes_huge": _parts(
        "SPLIT_V", lambda x: [x, _ints(_HUGE, _HUGE), _scalar(3)], 2, kind="SplitVOptions", NumSplits=2
    ),
    "split_sizes_negative": _parts(
        "SPLIT_V", lambda x: [x, _ints(6, -2), _scalar(3)], 2, kind="SplitVOptions", NumSplits=2
    ),
    "split_sizes_of_other_count": _parts(
        "SPLIT_V", lambda x: [x, _ints(1, 1, 2), _scalar(3)], 2, kind="SplitVOptions", NumSplits=2
    ),
    "split_part_is_empty": _parts(
        "SPLIT_V", lambda x: [x, _ints(4, 0), _scalar(3)], 2, kind="SplitVOptions", NumSplits=2
    ),
    "unpack_axis_out_of_range": _parts("UNPACK", lambda x: [x], 4, (4, 4, 4), "UnpackOptions", Num=4, Axis=4),
    "unpack_of_other_count": _parts("UNPACK", lambda x: [x], 3, (1, 4, 4), "UnpackOptions", Num=3, Axis=3),
    "pack_axis_out_of_range": _pack(5),
    "pack_axis_below_range": _pack(-6),
    "pack_of_other_count": _on_image(lambda m, x: m.op("PACK", [x, x], (3, *_IMAGE), "PackOptions", ValuesCount=3)),
    "pack_shapes_differ": _op("PACK", [_ROW], (2, *_IMAGE), "PackOptions", ValuesCount=2),
    "expand_axis_out_of_range": _op("EXPAND_DIMS", [_scalar(5)], (1, *_IMAGE)),
    "expand_axis_below_range": _op("EXPAND_DIMS", [_scalar(-6)], (1, *_IMAGE)),
    "expand_two_axes": _op("EXPAND_DIMS", [_ints(0, 1)], (1, *_IMAGE)),
    "squeeze_axis_out_of_range": _op("SQUEEZE", [], (4, 4, 4), "SqueezeOptions", SqueezeDims=[4]),
    "squeeze_long_axis": _op("SQUEEZE", [], (1, 4, 4), "SqueezeOptions", SqueezeDims=[1]),
    "gather_axis_out_of_range": _gather([0], 4),
    "gather_axis_below_range": _gather([0], -5),
    "gather_batch_dims_beyond_axis": _gather([0], 0, 1),
    "gather_batch_dims_below": _gather([0], 2, -3),
    "gather_batch_dims_differ": _gather([0, 1], 2, 1),
    "gather_index_out_of_range": _gather([0, 4], 2),
    "gather_index_negative": _gather([0, -1], 2),
    "gather_float_indices": _op("GATHER", [np.float32([0, 1])], kind="GatherOptions", Axis=1),
    "blocks_without_scales": _blocks(at=-1),
    "blocks_with_scales_nowhere": _blocks(at=99),
    "blocks_with_scales_of_themselves": _blocks(at=2),
    "blocks_with_scales_that_are_computed": _blocks(at=0),
    "blocks_with_zero_points_nowhere": _blocks(zeros=99),
    "blocks_with_zero_points_of_themselves": _blocks(zeros=2),
    "blocks_of_nothing": _blocks(0),
    "blocks_below_nothing": _blocks(-32),
    "blocks_do_not_divide": _blocks(24),
    "blocks_beyond_the_row": _blocks(2**31 - 64),
    "blocks_with_too_few_scales": _blocks(16),
    "blocks_with_scales_of_ints": _blocks(scales=np.ones((8, 2), np.int32)),
    "int4_ends_early": _blocks(stored=100),
    "lookup_of_float_ids": _op("EMBEDDING_LOOKUP", [np.ones((3, 4), np.float32)], (4, 4)),
    "mirror_more_than_there_is": _op(
        "MIRROR_PAD", [_ints(0, 0, 4, 0, 0, 0, 0, 0).reshape(4, 2)], kind="MirrorPadOptions", Mode=0
    ),
    "mirror_to_huge": (
        (2**30 + 1,),
        lambda m, x: m.op("MIRROR_PAD", [x, _ints(2**30, 2**30).reshape(1, 2)], (4,), "MirrorPadOptions"),
    ),
    "mirror_negative": _op(
        "MIRROR_PAD", [_ints(0, 0, -1, 0, 0, 0, 0, 0).reshape(4, 2)], kind="MirrorPadOptions", Mode=1
    ),
    "mirror_too_few_axes": _op("MIRROR_PAD", [_ints(1, 1).reshape(1, 2)], kind="MirrorPadOptions", Mode=1),
    "pad_value_is_two_numbers": _op("PADV2", [_ints(*[0] * 8).reshape(4, 2), np.ones(2, np.float32)]),
    "pad_value_of_ints": _op("PADV2", [_ints(*[0] * 8).reshape(4, 2), np.int32(1)]),
    "space_to_depth_does_not_divide": _op("SPACE_TO_DEPTH", [], kind="SpaceToDepthOptions", BlockSize=3),
    "space_to_depth_block_zero": _op("SPACE_TO_DEPTH", [], kind="SpaceToDepthOptions", BlockSize=0),
    "space_to_depth_block_negative": _op("SPACE_TO_DEPTH", [], kind="SpaceToDepthOptions", BlockSize=-2),
    "space_to_batch_block_zero": _op("SPACE_TO_BATCH_ND", [_ints(0, 2), _ints(0, 0, 0, 0).reshape(2, 2)]),
    "space_to_batch_pads_huge": _op("SPACE_TO_BATCH_ND", [_ints(2, 2), _ints(_HUGE, _HUGE, 0, 0).reshape(2, 2)]),
    "space_to_batch_pads_negative": _op("SPACE_TO_BATCH_ND", [_ints(2, 2), _ints(-2, 0, 0, 0).reshape(2, 2)]),
    "space_to_batch_blocks_huge": _op("SPACE_TO_BATCH_ND", [_ints(_HUGE, _HUGE), _ints(*[0] * 4).reshape(2, 2)]),
    "batch_to_space_batch_does_not_divide": _op(
        "BATCH_TO_SPACE_ND", [_ints(2, 2), _ints(0, 0, 0, 0).reshape(2, 2)], (1, 8, 8, 4)
    ),
    "batch_to_space_crops_everything": _op("BATCH_TO_SPACE_ND", [_ints(1, 1), _ints(2, 2, 0, 0).reshape(2, 2)]),
    "batch_to_space_crops_huge": _op("BATCH_TO_SPACE_ND", [_ints(1, 1), _ints(_HUGE, _HUGE, 0, 0).reshape(2, 2)]),
    "batch_to_space_blocks_huge": _op("BATCH_TO_SPACE_ND", [_ints(65536, 65536), _ints(*[0] * 4).reshape(2, 2)]),
    "nearest_to_nothing": _op("RESIZE_NEAREST_NEIGHBOR", [_ints(0, 4)], kind="ResizeNearestNeighborOptions"),
    "nearest_to_huge": _op("RESIZE_NEAREST_NEIGHBOR", [_ints(_HUGE, _HUGE)], kind="ResizeNearestNeighborOptions"),
    "sum_axis_out_of_range": _op("SUM", [_ints(4)], kind="ReducerOptions", KeepDims=True),
    "reduce_max_axis_below_range": _op("REDUCE_MAX", [_ints(-5)], kind="ReducerOptions", KeepDims=True),
    "reduce_any_of_floats": _op("REDUCE_ANY", [_ints(1)], kind="ReducerOptions", KeepDims=True),
    "arg_max_axis_out_of_range": _op("ARG_MAX", [_scalar(4)], (1, 4, 4), "ArgMaxOptions", OutputType=2),
    "arg_max_of_two_axes": _op("ARG_MAX", [_ints(1, 2)], (1, 4), "ArgMaxOptions", OutputType=2),
    "arg_max_makes_floats": _op("ARG_MAX", [_scalar(1)], (1, 4, 4), "ArgMaxOptions", OutputType=0),
    "cumsum_axis_out_of_range": _op("CUMSUM", [_scalar(4)], kind="CumsumOptions"),
    "cumsum_of_two_axes": _op("CUMSUM", [_ints(1, 2)], kind="CumsumOptions"),
    "one_hot_axis_out_of_range": _one_hot(2, 5),
    "one_hot_depth_zero": _one_hot(-1, 0),
    "one_hot_depth_negative": _one_hot(-1, -3),
    "one_hot_depth_huge": _one_hot(-1, _HUGE),
    "select_by_floats": _op("SELECT", [_ROW, _ROW]),
    "select_shapes_do_not_broadcast": _on_image(
        lambda m, x: m.op("SELECT_V2", [np.array([True] * 3), x, np.ones((5,), np.float32)], _IMAGE)
    ),
    "select_elements_differ": _on_image(
        lambda m, x: m.op("SELECT_V2", [np.array([True] * 4), x, np.ones((4,), np.int32)], _IMAGE)
    ),
    "add_elements_differ": _op("ADD", [np.ones((4,), np.int32)], kind="AddOptions"),
    "add_of_ints_tanh": _of_ints("ADD", np.ones((4,), np.int32), kind="AddOptions", FusedActivationFunction=4),
    "logical_and_of_floats": _op("LOGICAL_AND", [_ROW]),
    "bitwise_xor_of_floats": _op("BITWISE_XOR", [_ROW]),
    "right_shift_of_floats": _op("RIGHT_SHIFT", [_ROW]),
    "right_shift_elements_differ": _of_ints("RIGHT_SHIFT", np.ones((4,), np.int8)),
    "less_of_other_elements": _op("LESS", [np.ones((4,), np.int32)]),
    "cast_to_float64": _on_image(lambda m, x: m.op("CAST", [x], _IMAGE, "CastOptions", output={"dtype": "float64"})),
    "floor_of_ints": _of_ints("FLOOR"),
    "floor_mod_of_int64_by_zero": _of_int64("FLOOR_MOD", np.zeros((), np.int64)),
    "floor_mod_of_int64_by_many": _of_int64("FLOOR_MOD", np.int64([3, 4, 5, 6])),
    "floor_mod_of_int64_by_large": _of_int64("FLOOR_MOD", np.array(32768, np.int64)),
    "add_of_int64_relu": _of_int64("ADD", np.ones((), np.int64), kind="AddOptions", FusedActivationFunction=1),
    "rfft2d_rows": _op("RFFT2D", [_ints(2, 4)], (1, 4, 2, 3), output={"dtype": "complex64"}),
    "rfft2d_length_is_no_power": _op("RFFT2D", [_ints(1, 6)], (1, 4, 1, 4), output={"dtype": "complex64"}),
    "rfft2d_length_zero": _op("RFFT2D", [_ints(1, 0)], (1, 4, 1, 1), output={"dtype": "complex64"}),
    "rfft2d_length_huge": _op("RFFT2D", [_ints(1, _HUGE)], (1, 4, 1, 2**30), output={"dtype": "complex64"}),
    "rfft2d_of_a_vector": _of_ints("RFFT2D", _ints(1, 4)),
    "rfft2d_size_of_three": _op("RFFT2D", [_ints(1, 1, 4)], (1, 4, 1, 3), output={"dtype": "complex64"}),
    "bucketize_boundaries_fall": _op("BUCKETIZE", [], kind="BucketizeOptions", Boundaries=np.float32([1, 0])),
    "bucketize_without_boundaries": _op("BUCKETIZE", [], kind="BucketizeOptions", Boundaries=np.float32([])),
    "segments_of_other_parts": _op("UNSORTED_SEGMENT_SUM", [_ints(0, 1, 0), _scalar(2)], (2, 4, 4, 2)),
    "segments_none": _op("UNSORTED_SEGMENT_SUM", [_ints(-1), _scalar(0)], (0, 4, 4, 2)),
    "segments_of_a_number_below_zero": _op("SEGMENT_SUM", [_ints(-1)], (0, 4, 4, 2)),
    "complex_abs_of_floats": _op("COMPLEX_ABS", []),
    "real_of_floats": _op("REAL", []),
    "reshape_complex_huge": _complex("RESHAPE", [_ints(_HUGE)], (_HUGE,)),
    "reshape_complex_to_scalar": _complex("RESHAPE", [_ints()], ()),
    "squeeze_complex_of_its_last_axis": _complex("SQUEEZE", [], (1, 4, 1), "SqueezeOptions", SqueezeDims=[3]),
    "squeeze_complex_all": _complex("SQUEEZE", [], (4, 3), "SqueezeOptions"),
    "expand_dims_complex_at_the_end": _complex("EXPAND_DIMS", [_scalar(-1)], (1, 4, 1, 3, 1)),
    "add_n_shapes_differ": _op("ADD_N", [np.ones((3, 4), np.float32)]),
}


def make(name: str) -> bytes:
    shape, build = BAD_MODELS[name]
    model = Model()
    model.output(build(model, model.input(shape)))
    return model.bytes()
