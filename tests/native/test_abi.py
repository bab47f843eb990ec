"""The layout that the delegate believes TFLite's structs have, against a running interpreter."""

from __future__ import annotations

import ctypes
import json

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from flatbuffers import flexbuffers

from host_tools.base import child_process
from host_tools.build import bazel
from tests.model_builder import Blocks, Model
from tests.native.runtime_probe import Probe, View, floats, make_int_array, node_and_registration, tensor
from tests.vectors.composites import composite
from tests.vectors.dilate import stablehlo_pad
from tests.vectors.reduce_window import Windows
from tests.vectors.scatter import scatter_op

_LABEL = "//tests/native:abi_layout"


@pytest.fixture(scope="module")
def layout():
    """{struct: {"sizeof": bytes, field: [offset, bytes]}} as the C++ compiler sees it."""
    program = bazel.build([_LABEL])[_LABEL][0]
    return json.loads(child_process.run([program], timeout_s=20).stdout)


def open_with(model: Model, probe: Probe) -> Interpreter:
    try:
        return Interpreter(
            model_content=model.bytes(),
            experimental_delegates=[probe],
            experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        )
    finally:
        if probe.errors:
            raise probe.errors[0]


def look(layout, model: Model, prepare) -> None:
    """Opens the model with a probe whose Prepare is `prepare(context)`; its assertions become the test's."""
    calls = []

    def counted(context: View) -> None:
        calls.append(1)
        prepare(context)

    open_with(model, Probe(layout, counted))
    assert calls


def params_of_only_node(layout, model: Model, kind: str, expected: dict) -> None:
    def prepare(context: View) -> None:
        node, _ = node_and_registration(context, context_nodes(context)[-1])
        params = node.behind("builtin_data", kind)
        assert {field: params.read(field) for field in expected} == expected

    look(layout, model, prepare)


def context_nodes(context: View) -> list[int]:
    plan = ctypes.c_void_p()
    assert context.call("GetExecutionPlan", ctypes.pointer(plan)) == 0
    size = ctypes.c_int32.from_address(plan.value).value
    return list((ctypes.c_int32 * size).from_address(plan.value + 4))


def one(shape, build) -> Model:
    model = Model()
    model.output(build(model, model.input(shape)))
    return model


def scatters() -> Model:
    def build(m: Model, x):
        values = [x, m.input((2, 1), "int32"), m.input((2, 5))]
        return scatter_op(m, values, windows=(1,), inserted=(0,), operand=(0,), along=1, subgraph=7)

    return one((6, 5), build)


W = np.ones((5, 3, 2, 4), np.float32)
B = np.zeros(5, np.float32)
SAME, VALID, RELU, RELU6 = 1, 2, 1, 3
BRANCHES = {"ThenSubgraphIndex": 7, "ElseSubgraphIndex": 8}
LOOP = {"CondSubgraphIndex": 7, "BodySubgraphIndex": 8}


def test_tensors_are_where_we_think(layout):
    model = Model()
    x = model.input((1, 6, 7, 4), name="picture", signature=(1, -1, 7, 4))
    weights = model.const(W, name="weights")
    model.output(model.conv2d(x, weights, B))
    q = model.input((2, 3), "int8", name="small", scale=0.25, zero_point=-7)
    model.output(model.reshape(q, (6,)))

    def prepare(context: View) -> None:
        assert context.tensors_size >= len(model.values)
        for value in model.values:
            found = tensor(context, value.index)
            assert found.text("name") == value.name
            assert tuple(found.ints("dims")) == value.shape
            assert found.type == {"float32": 1, "int32": 2, "int8": 9}[value.dtype]
            assert found.bytes == np.prod(value.shape) * np.dtype(value.dtype).itemsize
            assert found.allocation_type == (1 if value.data is not None else 2)
            assert (found.is_variable, found.delegate, found.buffer_handle) == (0, 0, -1)
            assert not found.sparsity
        assert tensor(context, x.index).ints("dims_signature") == [1, -1, 7, 4]
        assert np.array_equal(floats(tensor(context, weights.index)), W.ravel())
        small = tensor(context, q.index).inside("params", "TfLiteQuantizationParams")
        assert (small.read("scale", ctypes.c_float), small.zero_point) == (0.25, -7)
        assert tensor(context, q.index).inside("quantization", "TfLiteQuantization").type == 1

    look(layout, model, prepare)


def test_scales_of_blocks_are_where_we_think(layout):
    model = Model()
    x, scales = model.input((1, 64)), model.const(np.ones((8, 2), np.float16))
    w = model.const_narrow(np.ones((8, 64)), "int4", blocks=Blocks(scales.index, 32))
    v = model.const_narrow(np.ones((8, 63)), "int2", scale=0.5)
    model.output(model.op("FULLY_CONNECTED", [x, w, None], (1, 8), "FullyConnectedOptions", 12))

    def prepare(context: View) -> None:
        found = tensor(context, w.index)
        assert (found.type, found.bytes) == (18, 8 * 32)
        quantization = found.inside("quantization", "TfLiteQuantization")
        assert quantization.type == 2
        blocks = quantization.behind("params", "TfLiteBlockwiseQuantization")
        assert (blocks.scale, blocks.zero_point, blocks.blocksize) == (scales.index, -1, 32)
        assert (tensor(context, v.index).type, tensor(context, v.index).bytes) == (20, 8 * 63 // 4)

    look(layout, model, prepare)


def test_sparsity_is_where_we_think(layout):
    dense = np.zeros((4, 6), np.float32)
    dense[1, 2:4], dense[3, 0:2] = (1, 2), (3, 4)
    model = Model()
    x = model.input((4, 6))
    model.output(model.add(x, model.const_sparse(dense, block={1: 2})))
    index = next(value.index for value in model.values if value.sparse)

    def prepare(context: View) -> None:
        found = tensor(context, index)
        assert floats(found).tolist() == [1, 2, 3, 4]
        sparsity = found.behind("sparsity", "TfLiteSparsity")
        assert sparsity.ints("traversal_order") == [0, 1, 2]
        assert sparsity.ints("block_map") == [1]
        assert sparsity.dim_metadata_size == 3
        size = layout["TfLiteDimensionMetadata"]["sizeof"]
        rows, columns, block = (
            View(layout, "TfLiteDimensionMetadata", sparsity.dim_metadata + i * size) for i in range(3)
        )
        assert (rows.format, rows.dense_size, block.format, block.dense_size) == (0, 4, 0, 2)
        assert (columns.format, columns.ints("array_segments"), columns.ints("array_indices")) == (
            1,
            [0, 0, 1, 1, 2],
            [1, 0],
        )

    look(layout, model, prepare)


def test_nodes_and_registrations_are_where_we_think(layout):
    model = Model()
    x = model.input((1, 4, 4, 4))
    model.output(model.transpose_conv_bias(model.conv2d(x, W[:4], B[:4]), np.ones((2, 2, 2, 4), np.float32), B[:2]))

    def prepare(context: View) -> None:
        conv, registration = node_and_registration(context, 0)
        assert (registration.builtin_code, registration.version) == (3, 1)
        assert conv.ints("inputs") == list(model.nodes[0].inputs)
        assert conv.ints("outputs") == list(model.nodes[0].outputs)
        assert conv.custom_initial_data == 0
        custom, registration = node_and_registration(context, 1)
        assert registration.text("custom_name") == "Convolution2DTransposeBias"
        assert custom.custom_initial_data_size == 12
        params = custom.behind("custom_initial_data", "TfLiteTransposeConvParams")
        assert (params.padding, params.stride_width, params.stride_height) == (SAME, 2, 2)
        raise InterruptedError("no kernel serves the custom op: the interpreter must not go on")

    with pytest.raises(InterruptedError):
        open_with(model, Probe(layout, prepare))


@pytest.mark.parametrize(
    ("kind", "model", "expected"),
    [
        (
            "TfLiteConvParams",
            one(
                (1, 9, 9, 4),
                lambda m, x: m.conv2d(x, W, B, stride=(1, 1), dilation=(2, 3), padding="VALID", activation="RELU6"),
            ),
            {
                "padding": VALID,
                "stride_width": 1,
                "stride_height": 1,
                "dilation_width_factor": 3,
                "dilation_height_factor": 2,
                "activation": RELU6,
            },
        ),
        (
            "TfLiteConvParams",
            one((1, 9, 9, 4), lambda m, x: m.conv2d(x, W, B, stride=(2, 3))),
            {"padding": SAME, "stride_width": 3, "stride_height": 2, "dilation_width_factor": 1, "activation": 0},
        ),
        (
            "TfLiteDepthwiseConvParams",
            one(
                (1, 9, 9, 2),
                lambda m, x: m.depthwise_conv2d(
                    x, np.ones((1, 3, 3, 6), np.float32), np.zeros(6, np.float32), stride=(2, 3), activation="RELU"
                ),
            ),
            {
                "padding": SAME,
                "stride_width": 3,
                "stride_height": 2,
                "depth_multiplier": 3,
                "activation": RELU,
                "dilation_width_factor": 1,
                "dilation_height_factor": 1,
            },
        ),
        (
            "TfLiteTransposeConvParams",
            one((1, 4, 4, 4), lambda m, x: m.transpose_conv(x, W, B, stride=(2, 3), padding="VALID")),
            {"padding": VALID, "stride_width": 3, "stride_height": 2},
        ),
        (
            "TfLiteConv3DParams",
            one(
                (1, 9, 9, 9, 2),
                lambda m, x: m.op(
                    "CONV_3D",
                    [x, np.ones((2, 2, 2, 2, 3), np.float32)],
                    (1, 2, 3, 5, 3),
                    "Conv3DOptions",
                    Padding=1,
                    StrideD=4,
                    StrideH=3,
                    StrideW=2,
                    FusedActivationFunction=1,
                ),
            ),
            {
                "padding": VALID,
                "stride_width": 2,
                "stride_height": 3,
                "stride_depth": 4,
                "dilation_width_factor": 1,
                "dilation_height_factor": 1,
                "dilation_depth_factor": 1,
                "activation": RELU,
            },
        ),
        (
            "TfLitePoolParams",
            one((1, 9, 9, 4), lambda m, x: m.max_pool2d(x, (4, 5), stride=(2, 3), padding="VALID", activation="RELU")),
            {
                "padding": VALID,
                "stride_width": 3,
                "stride_height": 2,
                "filter_width": 5,
                "filter_height": 4,
                "activation": RELU,
            },
        ),
        (
            "TfLiteFullyConnectedParams",
            one((2, 3, 4), lambda m, x: m.fully_connected(x, W[:, 0, 0], B, activation="RELU", keep_num_dims=True)),
            {"activation": RELU, "weights_format": 0, "keep_num_dims": 1},
        ),
        ("TfLiteAddParams", one((3,), lambda m, x: m.add(x, x, activation="RELU6")), {"activation": RELU6}),
        ("TfLiteMulParams", one((3,), lambda m, x: m.mul(x, x, activation="RELU")), {"activation": RELU}),
        ("TfLiteConcatenationParams", one((2, 3), lambda m, x: m.concatenation(x, x, axis=-2)), {"axis": -2}),
        (
            "TfLiteResizeBilinearParams",
            one((1, 2, 2, 1), lambda m, x: m.resize_bilinear(x, (4, 4), align_corners=True)),
            {"align_corners": 1, "half_pixel_centers": 0},
        ),
        (
            "TfLiteResizeBilinearParams",
            one((1, 2, 2, 1), lambda m, x: m.resize_bilinear(x, (4, 4), half_pixel_centers=True)),
            {"align_corners": 0, "half_pixel_centers": 1},
        ),
        ("TfLiteReducerParams", one((2, 3), lambda m, x: m.mean(x, (1,), keep_dims=True)), {"keep_dims": 1}),
        (
            "TfLiteStridedSliceParams",
            one(
                (2, 3, 4, 5),
                lambda m, x: m.strided_slice(
                    x, [0] * 4, [1] * 4, [1] * 4, begin_mask=1, end_mask=2, shrink_axis_mask=8
                ),
            ),
            {"begin_mask": 1, "end_mask": 2, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 8},
        ),
        (
            "TfLiteStridedSliceParams",
            one(
                (2, 3, 4), lambda m, x: m.strided_slice(x, [0] * 4, [1] * 4, [1] * 4, ellipsis_mask=4, new_axis_mask=1)
            ),
            {"ellipsis_mask": 4, "new_axis_mask": 1},
        ),
        ("TfLiteDepthToSpaceParams", one((1, 2, 2, 9), lambda m, x: m.depth_to_space(x, 3)), {"block_size": 3}),
        (
            "TfLiteIfParams",
            one((3,), lambda m, x: m.op("IF", [np.array([True]), x], x.shape, "IfOptions", **BRANCHES)),
            {"then_subgraph_index": 7, "else_subgraph_index": 8},
        ),
        (
            "TfLiteWhileParams",
            one((3,), lambda m, x: m.op("WHILE", [x], x.shape, "WhileOptions", **LOOP)),
            {"cond_subgraph_index": 7, "body_subgraph_index": 8},
        ),
        (
            "TfLiteStablehloScatterParams",
            scatters(),
            {
                "num_update_window_dims": 1,
                "num_inserted_window_dims": 1,
                "num_scatter_dims_to_operand_dims": 1,
                "index_vector_dim": 1,
                "update_computation_subgraph_index": 7,
            },
        ),
        (
            "TfLiteStablehloPadParams",
            one((5,), lambda m, x: stablehlo_pad(m, x, [(4, 2, 3)])),
            {"edge_padding_low": 4, "edge_padding_high": 2, "interior_padding": 3},
        ),
        (
            "TfLiteStablehloReduceWindowParams",
            one((1, 6, 5, 3), lambda m, x: Windows(x.shape, {1: 3, 2: 2}).node(m, x, np.array(0, np.float32), 7)),
            {"body_subgraph_index": 7},
        ),
        (
            "TfLiteStablehloCompositeParams",
            one((1, 2, 2, 9), lambda m, x: composite(m, [x], x.shape, 7)),
            {
                "subgraph_index": 7,
                "version": 1,
                "attributes_size": len(flexbuffers.Dumps({"epsilon": float(np.float32(1e-6))})),
            },
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_params_are_where_we_think(layout, kind, model, expected):
    params_of_only_node(layout, model, kind, expected)


def test_softmax_beta_is_where_we_think(layout):
    def prepare(context: View) -> None:
        node, _ = node_and_registration(context, 0)
        assert node.behind("builtin_data", "TfLiteSoftmaxParams").read("beta", ctypes.c_float) == 0.5

    look(layout, one((2, 3), lambda m, x: m.softmax(x, beta=0.5)), prepare)


def test_delegate_kernel_is_made_run_and_freed(layout):
    """Partition preview, replacement by a registration passed by value, init, prepare, invoke and free."""
    model = Model()
    a, b = model.input((2, 3)), model.input((2, 3))
    model.output(model.mul(model.add(a, b), b))
    seen = []

    def prepare(context: View) -> None:
        nodes = make_int_array(context_nodes(context))
        partitions, count = ctypes.c_void_p(), ctypes.c_int()
        assert (
            context.call(
                "PreviewDelegatePartitioning", ctypes.pointer(nodes), ctypes.pointer(partitions), ctypes.pointer(count)
            )
            == 0
        )
        preview = View(layout, "TfLiteDelegateParams", partitions.value)
        assert (count.value, preview.ints("nodes_to_replace")) == (1, [0, 1])
        assert preview.ints("input_tensors") == [a.index, b.index]
        registration = probe.registration(
            init=probe.callback(init, ctypes.c_void_p, 3),
            free=probe.callback(free, None, 2),
            prepare=probe.callback(probe.guarded(prepare_node), ctypes.c_int, 2),
            invoke=probe.callback(probe.guarded(invoke_node), ctypes.c_int, 2),
        )
        assert (
            context.call(
                "ReplaceNodeSubsetsWithDelegateKernels",
                registration,
                ctypes.pointer(nodes),
                ctypes.c_void_p(probe.address),
            )
            == 0
        )

    def init(_context, params, length):
        found = View(layout, "TfLiteDelegateParams", params)
        seen.append(
            (
                "init",
                length or 0,
                found.delegate == probe.address,
                found.ints("nodes_to_replace"),
                found.ints("input_tensors"),
                found.ints("output_tensors"),
            )
        )
        return 0x1234560

    def prepare_node(context, node):
        seen.append(("prepare", View(layout, "TfLiteNode", node).user_data))

    def invoke_node(context, node):
        node = View(layout, "TfLiteNode", node)
        x, y = (floats(tensor(context, i)) for i in node.ints("inputs"))
        floats(tensor(context, node.ints("outputs")[0]))[:] = (x + y) * y

    def free(_context, user_data):
        seen.append(("free", user_data))

    probe = Probe(layout, prepare)
    interpreter = open_with(model, probe)
    interpreter.allocate_tensors()
    one_array, two_array = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 2, np.float32)
    interpreter.set_tensor(a.index, one_array)
    interpreter.set_tensor(b.index, two_array)
    interpreter.invoke()
    assert np.array_equal(interpreter.get_tensor(model.outputs[0].index), (one_array + 2) * 2)
    del interpreter
    assert not probe.errors, probe.errors
    assert seen[0] == ("init", 0, True, [0, 1], [a.index, b.index], [model.outputs[0].index])
    assert {entry[0] for entry in seen} == {"init", "prepare", "free"}
    assert all(entry[1] == 0x1234560 for entry in seen[1:])


def test_output_can_be_resized_by_delegate(layout):
    """ResizeTensor takes ownership of an array that comes from malloc."""
    model = one((2, 3), lambda m, x: m.unary("RELU", x))
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]

    def prepare(context: View) -> None:
        output = tensor(context, model.outputs[0].index)
        shape = libc.malloc(16)
        (ctypes.c_int32 * 3).from_address(shape)[:] = [2, 4, 5]
        assert context.call("ResizeTensor", ctypes.c_void_p(output.address), ctypes.c_void_p(shape)) == 0
        assert output.ints("dims") == [4, 5]

    look(layout, model, prepare)
