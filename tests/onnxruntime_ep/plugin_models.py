"""Small models for the tests of the ONNX Runtime plugin. Needs onnx and numpy."""

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper


def info(name, shape, kind=T.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, constants=(), opsets=(("", 18),), ir_version=9):
    """The bytes of a model; constants are (name, array)."""
    graph = helper.make_graph(nodes, "graph", inputs, outputs,
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in opsets], ir_version=ir_version)
    onnx.checker.check_model(made) if all(domain == "" for domain, _ in opsets) else None
    return made.SerializeToString()


def perceptron(seed=1, sizes=(16, 32, 8)):
    """relu(x a) b with a free batch, and what it computes."""
    random = np.random.default_rng(seed)
    a = random.standard_normal(sizes[:2]).astype("f4")
    b = random.standard_normal(sizes[1:]).astype("f4")
    made = model([helper.make_node("MatMul", ["x", "a"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
                  helper.make_node("MatMul", ["r", "b"], ["y"])],
                 [info("x", ["batch", sizes[0]])], [info("y", ["batch", sizes[2]])], [("a", a), ("b", b)])
    return made, lambda x: np.maximum(x @ a, 0) @ b


def inputs_of(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")
