"""Small ONNX models as bytes, written without any package: protobuf's wire format over the fields of onnx.proto."""

FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64, BFLOAT16 = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16)
FLOAT8E4M3FN, UINT4, INT4 = 17, 21, 22


def _varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return _varint(field << 3) + _varint(value & 0xFFFFFFFFFFFFFFFF)


def part(field, content):
    content = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _shape(dims):
    return b"".join(part(1, part(2, dim) if isinstance(dim, str) else number(1, dim)) for dim in dims)


def tensor_type(element, dims):
    """TypeProto of a tensor; dims: integers, and names of open sizes; None: rank unknown."""
    return part(1, number(1, element) + (b"" if dims is None else part(2, _shape(dims))))


def sequence_type(element):
    return part(4, part(1, tensor_type(element, None)))


def optional_type(element, dims):
    return part(9, part(1, tensor_type(element, dims)))


def attribute(name, value):
    """AttributeProto of an integer, a list of integers, a text, or a tensor (bytes: its TensorProto)."""
    if isinstance(value, int):
        return part(1, name) + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return part(1, name) + part(4, value) + number(20, 3)
    if isinstance(value, bytes):
        return part(1, name) + part(5, value) + number(20, 4)
    return part(1, name) + b"".join(number(8, one) for one in value) + number(20, 7)


def strings_attribute(name, values):
    return part(1, name) + b"".join(part(9, value) for value in values) + number(20, 8)


def tensor(element, dims, raw, name=""):
    """TensorProto; raw: the elements, little endian."""
    return b"".join(number(1, dim) for dim in dims) + number(2, element) + part(8, name) + part(9, raw)


def node(operator, inputs, outputs, *attributes, domain=""):
    return (b"".join(part(1, name) for name in inputs) + b"".join(part(2, name) for name in outputs) +
            part(3, "node_" + outputs[0]) + part(4, operator) + b"".join(part(5, one) for one in attributes) +
            part(7, domain))


def graph(nodes, inputs, outputs, initializers=()):
    """GraphProto; inputs and outputs: {name: TypeProto}."""
    def ports(field, types):
        return b"".join(part(field, part(1, name) + part(2, kind)) for name, kind in types.items())
    return (b"".join(part(1, one) for one in nodes) + part(2, "graph") + b"".join(part(5, one) for one in initializers) +
            ports(11, inputs) + ports(12, outputs))


def model(nodes, inputs, outputs, initializers=(), opset=21):
    """ModelProto with ai.onnx, ai.onnx.ml, and com.example at 1."""
    domains = {"": opset, "ai.onnx.ml": 3, "com.example": 1}
    return (number(1, 10) + part(7, graph(nodes, inputs, outputs, initializers)) +
            b"".join(part(8, part(1, name) + number(2, version)) for name, version in domains.items()))


def one_operator(operator, inputs, output, *attributes):
    """A model of one operator; inputs: types, named a, b, c; output: a type, named y."""
    names = dict(zip("abc", inputs))
    return model([node(operator, names, ["y"], *attributes)], names, {"y": output})


def decoder():
    """y = sums over all that was given; present = past with x behind it, along axis 2 of [1, 2, past, 3]."""
    shapes = {"x": (1, 2, "fresh", 3), "past": (1, 2, "past", 3), "y": (1, 2, 1, 3), "present": (1, 2, "all", 3)}
    types = {name: tensor_type(FLOAT, shape) for name, shape in shapes.items()}
    nodes = [node("Concat", ["past", "x"], ["present"], attribute("axis", 2)), node("ReduceSum", ["present", "axes"], ["y"])]
    axes = tensor(INT64, [1], (2).to_bytes(8, "little"), "axes")
    return model(nodes, {name: types[name] for name in ("x", "past")}, {name: types[name] for name in ("y", "present")}, [axes])
