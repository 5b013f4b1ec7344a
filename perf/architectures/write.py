"""Files: a graph as ONNX with its weights inside, and a data set in ONNX's own layout."""

import os

import numpy
import onnx
from onnx import helper, numpy_helper

from .graph import Free

OPSET = 17
IR_VERSION = 8


def write_model(graph, weights, path):
    body = helper.make_graph(
        [helper.make_node(node.operator, node.inputs, node.outputs, node.name, **node.attributes)
         for node in graph.nodes],
        graph.name, [_declare(port) for port in graph.inputs], [_declare(port) for port in graph.outputs])
    for name, values in weights.items():
        if graph.initializers[name].dtype == "bfloat16":
            halves = (values.view(numpy.uint32) >> 16).astype(numpy.uint16)
            body.initializer.append(
                helper.make_tensor(name, onnx.TensorProto.BFLOAT16, values.shape, halves.tobytes(), raw=True))
            continue
        body.initializer.append(numpy_helper.from_array(values, name))
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
                              producer_name="axrun-architectures")
    onnx.save(model, path)


def write_values(kind, ports, arrays, folder):
    """folder/KIND_K.pb for each port; arrays by name, f64 ones are rounded to f32."""
    os.makedirs(folder, exist_ok=True)
    for index, port in enumerate(ports):
        values = arrays[port.name].astype(port.dtype)
        with open(os.path.join(folder, "%s_%d.pb" % (kind, index)), "wb") as file:
            file.write(numpy_helper.from_array(values, port.name).SerializeToString())


def _declare(port):
    element = helper.np_dtype_to_tensor_dtype(numpy.dtype(port.dtype))
    shape = [size.name if isinstance(size, Free) else size for size in port.shape]
    return helper.make_tensor_value_info(port.name, element, shape)
