"""What kind of numbers a model computes with, read from its file without any package.

Format: ModelProto in the ONNX specification's onnx.proto. Weights are passed over, not read.
"""

import mmap

from comparison import wire

_FLOAT16, _BFLOAT16 = 10, 16

# Field numbers: of ModelProto, GraphProto, NodeProto, AttributeProto, TensorProto and FunctionProto.
_GRAPH, _FUNCTIONS = 7, 25
_NODE, _INITIALIZER = 1, 5
_OPERATOR, _ATTRIBUTE = 4, 5
_TENSOR, _SUBGRAPH, _SUBGRAPHS = 5, 6, 11
_DATA_TYPE = 2
_FUNCTION_NODE = 7


def is_plain_float32(path):
    """Whether it neither quantises nor holds 16-bit floats; True too for a file that is no model."""
    operators, types = set(), set()
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            with memoryview(mapped) as content:
                _visit_model(content, operators, types)
    except ValueError:  # Damaged, or an empty file, which can't be mapped
        return True
    return not types & {_FLOAT16, _BFLOAT16} and not any(map(_quantises, operators))


def _quantises(operator):
    return "quantize" in operator.lower() or operator.startswith("QLinear") or operator.endswith(("Integer", "NBits"))


def _visit_model(content, operators, types):
    for number, kind, value in wire.fields(content):
        if kind == wire.LENGTH and number == _GRAPH:
            _visit_graph(value, operators, types)
        elif kind == wire.LENGTH and number == _FUNCTIONS:
            for inner, inner_kind, node in wire.fields(value):
                if inner_kind == wire.LENGTH and inner == _FUNCTION_NODE:
                    _visit_node(node, operators, types)


def _visit_graph(content, operators, types):
    for number, kind, value in wire.fields(content):
        if kind == wire.LENGTH and number == _NODE:
            _visit_node(value, operators, types)
        elif kind == wire.LENGTH and number == _INITIALIZER:
            _visit_tensor(value, types)


def _visit_node(content, operators, types):
    for number, kind, value in wire.fields(content):
        if kind == wire.LENGTH and number == _OPERATOR:
            operators.add(bytes(value).decode("utf8", "replace"))
        elif kind == wire.LENGTH and number == _ATTRIBUTE:
            for inner, inner_kind, part in wire.fields(value):
                if inner_kind == wire.LENGTH and inner in (_SUBGRAPH, _SUBGRAPHS):
                    _visit_graph(part, operators, types)
                elif inner_kind == wire.LENGTH and inner == _TENSOR:
                    _visit_tensor(part, types)


def _visit_tensor(content, types):
    types.update(value for number, kind, value in wire.fields(content) if number == _DATA_TYPE and kind == wire.VARINT)
