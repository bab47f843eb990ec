"""A model of one convolution, for questions about kernels that no known model has."""

from ai_edge_litert import schema_py_generated as schema

from host_tools.request import model_tree

_FLOAT_BYTES = 4


def convolution(size: int, channels: int, window: int) -> bytes:
    """The file of a CONV_2D of floats: a source of 1 x size x size x channels, a result of that shape, a window of
    window x window pixels; weights and bias are zeros."""
    pixels = [1, size, size, channels]
    shapes = {"source": pixels, "weights": [channels, window, window, channels], "bias": [channels], "result": pixels}
    stored = {"weights": channels * window * window * channels, "bias": channels}
    model = schema.ModelT(version=3, buffers=[schema.BufferT()], operatorCodes=[schema.OperatorCodeT()])
    model.operatorCodes[0].builtinCode = model.operatorCodes[0].deprecatedBuiltinCode = schema.BuiltinOperator.CONV_2D
    graph = schema.SubGraphT(tensors=[], inputs=[0], outputs=[3], operators=[schema.OperatorT()])
    for name, shape in shapes.items():
        tensor = schema.TensorT(name=name, shape=shape, type=schema.TensorType.FLOAT32)
        if name in stored:
            tensor.buffer = len(model.buffers)
            model.buffers.append(schema.BufferT(data=bytes(_FLOAT_BYTES * stored[name])))
        graph.tensors.append(tensor)
    node = graph.operators[0]
    node.inputs, node.outputs = [0, 1, 2], [3]
    node.builtinOptionsType = schema.BuiltinOptions.Conv2DOptions
    node.builtinOptions = schema.Conv2DOptionsT(padding=schema.Padding.SAME, strideW=1, strideH=1)
    model.subgraphs = [graph]
    return model_tree.pack(model)
