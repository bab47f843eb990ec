"""Decoders with random weights are written as litert-torch's exports are: the same ops in the same order."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import tflite

from host_tools.base import settings
from host_tools.base.errors import Misuse
from host_tools.request import decoder_sizes, decoders, make_decoder, model_tree

_SMALL = "layers=2,hidden=256,vocabulary=512,heads=4,prefill=16"
EXPORTS = {
    "hfqwen3_tiny_dynamic_wi8_afp32": f"qwen3-0.6b,{_SMALL},width=128,kv_heads=2,head_size=32,positions=64",
    "smollm_tiny_q4_block32_ekv128": f"smollm2-135m,{_SMALL},width=256,kv_heads=2,positions=128,weights=int4",
    "gemma3_tiny_f32_ekv64": f"gemma3-270m,{_SMALL},width=128,head_size=32,positions=64,weights=f32",
}


def sizes_of(name: str) -> decoder_sizes.Sizes:
    found = decoder_sizes.chosen(EXPORTS[name])
    return replace(found, local=2) if found.local else found  # of two layers one is global


def ops_of(content: bytes) -> list[list[str]]:
    """Of each subgraph: ops with their versions, options, shapes and types."""
    model = tflite.Model.GetRootAs(content, 0)
    return [_nodes(model, model.Subgraphs(i)) for i in range(model.SubgraphsLength())]


def _nodes(model: tflite.Model, graph: tflite.SubGraph) -> list[str]:
    def told(index: int) -> str:
        tensor = graph.Tensors(index)
        shape = [tensor.Shape(i) for i in range(tensor.ShapeLength())]
        grid = tensor.Quantization()
        return f"{tensor.Type()}{shape}{grid.DetailsType() if grid else 0}"

    found = []
    for at in range(graph.OperatorsLength()):
        node = graph.Operators(at)
        code = model.OperatorCodes(node.OpcodeIndex())
        ends = [
            [told(i) if i >= 0 else "-" for i in end.tolist()] for end in (node.InputsAsNumpy(), node.OutputsAsNumpy())
        ]
        kinds = node.BuiltinOptionsType(), node.BuiltinOptions2Type()
        found.append(f"{code.BuiltinCode()} v{code.Version()} {kinds} {ends}")
    return found


@pytest.mark.parametrize("name", EXPORTS)
def test_the_ops_are_those_of_the_export(tmp_path, name):
    files = [file for folder in settings.read().models_dirs for file in folder.rglob(f"{name}.tflite")]
    if not files:
        pytest.skip(f"{name} is not in a folder of QUADRA_MODELS_DIR")
    export = files[0].read_bytes()
    make_decoder.write(sizes_of(name), tmp_path / "made.tflite")
    made = (tmp_path / "made.tflite").read_bytes()
    for ours, theirs in zip(ops_of(made), ops_of(export), strict=True):
        assert ours == theirs
    read, expected = (decoders.read(content, name) for content in (made, export))
    assert read == expected
    for tree in map(model_tree.unpack, (made, export)):
        composites = [op.builtinOptions2 for op in tree.subgraphs[1].operators if model_tree.calls(op)]
        assert {one.name for one in composites} <= {b"odml.rms_norm", b"odml.scaled_dot_product_attention"}
    attributes = [
        {
            bytes(bytearray(op.builtinOptions2.compositeAttributes))
            for op in tree.subgraphs[1].operators
            if model_tree.calls(op)
        }
        for tree in map(model_tree.unpack, (made, export))
    ]
    assert attributes[0] == attributes[1]


def test_float16_weights_become_floats_by_one_node_each(tmp_path):
    """As AI Edge Quantizer's float casting writes them; all else is the float32 file."""

    def graphs(weights: str) -> list[tuple[list[str], int]]:
        path = tmp_path / f"{weights}.tflite"
        make_decoder.write(decoder_sizes.chosen(f"smollm2-135m,{_SMALL},width=256,kv_heads=2,weights={weights}"), path)
        model = tflite.Model.GetRootAs(path.read_bytes(), 0)
        found = []
        for graph in (model.Subgraphs(i) for i in range(2)):
            codes = [model.OperatorCodes(graph.Operators(i).OpcodeIndex()) for i in range(graph.OperatorsLength())]
            types = [graph.Tensors(i).Type() for i in range(graph.TensorsLength())]
            found.append(([code.BuiltinCode() for code in codes], types.count(tflite.TensorType.FLOAT16)))
        return found

    dequantize = tflite.BuiltinOperator.DEQUANTIZE
    for (halfs, stored), (floats, none) in zip(graphs("f16"), graphs("f32"), strict=True):
        assert halfs.count(dequantize) == stored > 0 == none
        assert [code for code in halfs if code != dequantize] == floats


def test_equal_seeds_give_equal_files(tmp_path):
    sizes = sizes_of("smollm_tiny_q4_block32_ekv128")
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path, seed in zip(paths, (1, 1, 2)):
        make_decoder.write(sizes, path, seed)
    a, b, c = (path.read_bytes() for path in paths)
    assert a == b != c and len(a) == len(c)


def test_weights_keep_the_deviation_of_rows(tmp_path):
    """So that numbers neither grow nor vanish over many layers, whatever the weights are stored as."""
    for weights in decoder_sizes.WEIGHTS:
        make_decoder.write(
            decoder_sizes.chosen(f"smollm2-135m,{_SMALL},width=256,kv_heads=2,weights={weights}"), tmp_path / "m"
        )
        tree = model_tree.unpack((tmp_path / "m").read_bytes())
        graph = tree.subgraphs[0]
        tensor = next(one for one in graph.tensors if b"gate_proj" in one.name and b"scales" not in one.name)
        raw = np.frombuffer(tree.buffers[tensor.buffer].data, np.uint8)
        if weights in ("f32", "f16"):
            values = raw.view({"f32": np.float32, "f16": np.float16}[weights]).astype(np.float32)
        elif weights == "int8":
            values = raw.view(np.int8) * np.float32(tensor.quantization.scale[0])
        else:
            scales = np.frombuffer(
                tree.buffers[graph.tensors[tensor.quantization.details.scales].buffer].data, np.float16
            )
            low, high = raw & 15, raw >> 4
            values = (np.stack([low, high], 1).reshape(-1).astype(np.int8) ^ 8) - 8.0
            values = values.reshape(-1, 32) * scales[:, None].astype(np.float32)
        assert np.std(values) == pytest.approx(256**-0.5, rel=0.15)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("llama", "'llama' is not one of qwen3-0.6b"),
        ("qwen3-0.6b,depth=2", "there is no size 'depth'"),
        ("qwen3-0.6b,layers=0", "layers=0 is no count"),
        ("qwen3-0.6b,weights=int2", "weights=int2 is not one of f32, f16, int8, int4"),
        ("qwen3-0.6b,kv_heads=3", "16 heads cannot share 3 of keys"),
        ("qwen3-0.6b,head_size=127", "is odd"),
        ("qwen3-0.6b,prefill=16+2000", "fewer than a prefill"),
        ("smollm2-135m,weights=int4,block=64,hidden=1500", "blocks of 64 do not divide rows"),
        ("smollm2-135m,positions=100000", "is a constant"),
        ("gemma3-270m,kv_heads=2", "one head of keys, not 2"),
    ],
)
def test_sizes_that_cannot_be_are_said(words, said):
    with pytest.raises(Misuse, match=re.escape(said)):
        decoder_sizes.chosen(words)


def test_presets_have_the_parameters_that_their_names_say():
    counts = {name: sizes.parameters / 1e6 for name, sizes in decoder_sizes.PRESETS.items()}
    assert counts == pytest.approx({"qwen3-0.6b": 596, "smollm2-135m": 134.5, "gemma3-270m": 268}, rel=0.01)


def test_constants_of_no_numbers_stay_constants_in_a_file_that_is_written_anew(tmp_path):
    """The shape of a scalar: an interpreter knows no size behind a RESHAPE to one that is computed."""
    make_decoder.write(sizes_of("smollm_tiny_q4_block32_ekv128"), tmp_path / "made.tflite")
    content = model_tree.pack(model_tree.unpack((tmp_path / "made.tflite").read_bytes()))
    model = tflite.Model.GetRootAs(content, 0)
    graph = model.Subgraphs(0)
    empty = [
        i for i in range(graph.TensorsLength()) if graph.Tensors(i).ShapeLength() and not graph.Tensors(i).Shape(0)
    ]
    assert len(empty) == 1 and not model.Buffers(graph.Tensors(empty[0]).Buffer()).DataIsNone()
