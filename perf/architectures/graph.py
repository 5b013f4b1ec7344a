"""A model as plain data: nodes, initializers that are filled later, inputs and outputs.

Building one allocates no weights, so that parameters are counted and topologies compared in no time.
"""

import contextlib
import math
from dataclasses import dataclass

# ONNX's numbers of element types, as Cast's attribute takes them.
ELEMENT_TYPES = {"float32": 1, "int64": 7, "bool": 9}


@dataclass(frozen=True)
class Free:
    """A size that the file leaves open under `name`; `sample` is what the data set uses."""
    name: str
    sample: int

    def __add__(self, other):
        return Free("%s + %s" % (self.name, getattr(other, "name", other)), self.sample + sample(other))

    def __radd__(self, other):
        return Free("%s + %s" % (other, self.name), other + self.sample)


def require(condition, message):
    """Refuses sizes that an architecture can't have, with a ValueError."""
    if not condition:
        raise ValueError(message)


def sample(size):
    return size.sample if isinstance(size, Free) else size


@dataclass
class Node:
    operator: str
    name: str
    inputs: list
    outputs: list
    attributes: dict
    is_activation: bool  # its outputs are what layers compute, not masks, probabilities, angles or row statistics


@dataclass
class Initializer:
    """`fill(generator, shape)` gives the values; `seed` names the random stream, which depends on nothing else.
    `dtype` is NumPy's name, or bfloat16: then the values are f32 that bfloat16 holds, and the file has them as such."""
    shape: tuple
    dtype: str
    fill: object
    seed: str


@dataclass
class Port:
    """An input or output; `fill` makes an input's value for the data set."""
    name: str
    dtype: str
    shape: tuple
    fill: object = None


class Graph:
    """Values are named by strings. `trainable` counts parameters as the architecture's publication does; `work` is the
    published number of 10^9 multiply-adds, where there is one for this graph."""

    def __init__(self, name):
        self.name = name
        self.nodes, self.inputs, self.outputs, self.initializers = [], [], [], {}
        self.trainable, self.work = 0, None
        self._scopes, self._used, self._activation = [], {}, True

    @contextlib.contextmanager
    def scope(self, name):
        """Prefixes the names of nodes and parameters, as a module's path does in exporters."""
        self._scopes.append(str(name))
        yield
        self._scopes.pop()

    @contextlib.contextmanager
    def aside(self):
        """Nodes made in here are no activations: see Node."""
        before, self._activation = self._activation, False
        yield
        self._activation = before

    def add(self, operator, *inputs, outputs=1, **attributes):
        """Appends a node; returns the name of its output, or a list of names where `outputs` is not 1."""
        path = "/".join(self._scopes + [operator])
        self._used[path] = count = self._used.get(path, -1) + 1
        name = "/%s_%d" % (path, count) if count else "/" + path
        names = ["%s_output_%d" % (name, index) for index in range(outputs)]
        self.nodes.append(Node(operator, name, list(inputs), names, attributes, self._activation))
        return names[0] if outputs == 1 else names

    def parameter(self, name, shape, fill, trainable=True, values_of=None, dtype="float32"):
        """A weight. One that shares its values with parameter `values_of` is trained once: pass trainable=False."""
        name = ".".join(self._scopes + [name])
        assert name not in self.initializers, name
        self.initializers[name] = Initializer(tuple(shape), dtype, fill, values_of or name)
        self.trainable += math.prod(shape) if trainable else 0
        return name

    def table(self, name, shape, dtype, fill):
        """A constant tensor that is not trained."""
        self.initializers.setdefault(name, Initializer(tuple(shape), dtype, fill, name))
        return name

    def ints(self, *values):
        """A one-dimensional i64 constant, such as a shape or axes."""
        return self._constant("int64", list(values), (len(values),))

    def int(self, value):
        return self._constant("int64", value, ())

    def scalar(self, value):
        """An f32 constant without axes."""
        return self._constant("float32", value, ())

    def _constant(self, dtype, values, shape):
        name = "constant_%s_%s" % (dtype, "_".join(map(str, values)) if isinstance(values, list) else values)
        name += "" if shape else "_scalar"
        return self.table(name, shape, dtype, lambda generator, shape: values)

    def input(self, name, shape, fill, dtype="float32"):
        self.inputs.append(Port(name, dtype, tuple(shape), fill))
        return name

    def output(self, name, value, shape, dtype="float32"):
        """Makes `value`, the output of a node, an output of the graph under `name`."""
        self.outputs.append(Port(name, dtype, tuple(shape)))
        for node in self.nodes:
            node.inputs = [name if used == value else used for used in node.inputs]
            node.outputs = [name if made == value else made for made in node.outputs]
