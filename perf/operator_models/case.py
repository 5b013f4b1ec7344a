"""One operator with its inputs, as a model and a data set."""

import os
from dataclasses import dataclass, field

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSETS = {"": 24, "com.microsoft": 1}
IR_VERSION = 10
CASES = {}  # name -> function of a random generator that gives a Case


@dataclass
class Case:
    """inputs: arrays by position, None where there is none; constants: positions of those that the model holds."""
    operator: str
    inputs: list
    constants: set = field(default_factory=set)
    outputs: tuple = (TensorProto.FLOAT,)
    domain: str = "com.microsoft"
    opset: int = 0
    attributes: dict = field(default_factory=dict)


def case(name):
    """Decorates a function that draws a case."""
    def add(draw):
        CASES[name] = draw
        return draw
    return add


def onnx_case(operator, inputs, constants=(), outputs=(TensorProto.FLOAT,), opset=20, **attributes):
    """A case of an operator of ai.onnx."""
    return Case(operator, inputs, set(constants), outputs, "", opset, attributes)


def write(name, drawn, folder):
    """folder/model.onnx and folder/test_data_set_0/input_K.pb."""
    names, declared, weights, given = [], [], [], []
    for position, values in enumerate(drawn.inputs):
        if values is None:
            names.append("")
            continue
        names.append("input_%d" % position)
        if position in drawn.constants:
            weights.append(numpy_helper.from_array(values, names[-1]))
        else:
            element = helper.np_dtype_to_tensor_dtype(values.dtype)
            declared.append(helper.make_tensor_value_info(names[-1], element, values.shape))
            given.append(numpy_helper.from_array(values, names[-1]))
    results = [helper.make_tensor_value_info("output_%d" % k, element, None) for k, element in enumerate(drawn.outputs)]
    node = helper.make_node(drawn.operator, names, [result.name for result in results], domain=drawn.domain,
                            **drawn.attributes)
    opsets = {**OPSETS, **({"": drawn.opset} if drawn.opset else {})}
    model = helper.make_model(helper.make_graph([node], name, declared, results, weights), ir_version=IR_VERSION,
                              opset_imports=[helper.make_opsetid(domain, version) for domain, version in opsets.items()],
                              producer_name="axrun-operators")
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for position, tensor in enumerate(given):
        with open(os.path.join(data, "input_%d.pb" % position), "wb") as file:
            file.write(tensor.SerializeToString())


def floats(random, *shape, dtype="float32"):
    return (random.standard_normal(shape) / 4).astype(dtype)


def whole(random, low, high, *shape, dtype="int64"):
    return random.integers(low, high, shape).astype(dtype)


def octets(random, *shape):
    return whole(random, 0, 256, *shape, dtype="uint8")


def one(value, dtype="float32"):
    return numpy.array(value, dtype)
