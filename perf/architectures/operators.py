"""What the architectures' operators compute, in float64 NumPy: ONNX's definitions at opset 17, as far as used here.

Each takes the node's attributes and input arrays and returns an array, or a tuple of them. Simple on purpose: these are
the oracle that runtimes are judged by.
"""

import itertools
import math

import numpy

ARRAY_TYPES = {1: numpy.float64, 7: numpy.int64, 9: numpy.bool_}


def _pad(x, pads, value):
    return numpy.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=value)


def _windows(x, attributes, padding=0.0):
    """Yields (i, j, elements): for each place of the window, what lies under it at every position."""
    kernel, strides = attributes["kernel_shape"], attributes["strides"]
    x = _pad(x, attributes.get("pads", [0] * 4), padding)
    # How far the window moves down and to the right.
    down, right = (size - extent + 1 for size, extent in zip(x.shape[2:], kernel))
    for i, j in itertools.product(*map(range, kernel)):
        yield i, j, x[:, :, i:i + down:strides[0], j:j + right:strides[1]]


def convolution(attributes, x, weight, bias=None):
    """Dense or depthwise: the sum over the window's places of products with one matrix, or one number per channel."""
    assert attributes["dilations"] == [1, 1] and attributes["group"] in (1, len(weight))
    total = 0.0 if bias is None else bias[:, None, None]
    for i, j, elements in _windows(x, attributes):
        if attributes["group"] == 1:
            rows = elements.reshape(*elements.shape[:2], -1)
            product = (weight[:, :, i, j] @ rows).reshape(len(x), -1, *elements.shape[2:])
        else:
            product = weight[:, :, i, j][:, :, None] * elements
        total = total + product
    return total


def transposed_convolution(attributes, x, weight, bias):
    """Only windows that do not overlap: each output element has one place of the window."""
    kernel = attributes["kernel_shape"]
    assert kernel == attributes["strides"] and attributes["group"] == 1 and not any(attributes["pads"])
    batch, channels, height, width = x.shape
    result = numpy.empty((batch, weight.shape[1], height * kernel[0], width * kernel[1]))
    for i, j in itertools.product(*map(range, kernel)):
        place = weight[:, :, i, j].T @ x.reshape(batch, channels, -1)
        result[:, :, i::kernel[0], j::kernel[1]] = place.reshape(batch, -1, height, width)
    return result + bias[:, None, None]


def max_pool(attributes, x):
    result = -math.inf
    for _, _, elements in _windows(x, attributes, -math.inf):
        result = numpy.maximum(result, elements)
    return result


def average_pool(attributes, x):
    return sum(elements for _, _, elements in _windows(x, attributes)) / math.prod(attributes["kernel_shape"])


def batch_normalization(attributes, x, weight, bias, mean, variance):
    mean, variance, weight, bias = (row[:, None, None] for row in (mean, variance, weight, bias))
    return (x - mean) / numpy.sqrt(variance + attributes["epsilon"]) * weight + bias


def layer_normalization(attributes, x, weight, bias):
    assert attributes["axis"] == -1
    centred = x - x.mean(-1, keepdims=True)
    deviation = numpy.sqrt(numpy.square(centred).mean(-1, keepdims=True) + attributes["epsilon"])
    return centred / deviation * weight + bias


def softmax(attributes, x):
    powers = numpy.exp(x - x.max(attributes["axis"], keepdims=True))
    return powers / powers.sum(attributes["axis"], keepdims=True)


def gemm(attributes, a, b, bias):
    return a @ (b.T if attributes.get("transB") else b) + bias


def sigmoid(attributes, x):
    """From exp of negative numbers only, which can't overflow."""
    tail = numpy.exp(-numpy.abs(x))
    return numpy.where(x < 0, tail, 1.0) / (1.0 + tail)


def erf(attributes, x):
    return numpy.frompyfunc(math.erf, 1, 1)(x).astype(numpy.float64)


def lstm(attributes, x, weight, recurrence, bias, lengths, hidden, cell):
    """One direction; the gates' order is input, output, forget, cell."""
    assert lengths is None and len(weight) == 1
    size = attributes["hidden_size"]
    offset = bias[0, :4 * size] + bias[0, 4 * size:]
    h, c, rows = hidden[0], cell[0], []
    for step in x @ weight[0].T + offset:
        gates = step + h @ recurrence[0].T
        enter, leave, keep = (sigmoid(None, gates[:, part * size:(part + 1) * size]) for part in range(3))
        c = keep * c + enter * numpy.tanh(gates[:, 3 * size:])
        h = leave * numpy.tanh(c)
        rows.append(h)
    return numpy.stack(rows)[:, None], h[None], c[None]


def reshape(attributes, x, shape):
    """A size of 0 is copied from the input."""
    return x.reshape([x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)])


def cut(attributes, x, starts, ends, axes=(0,)):
    window = [slice(None)] * x.ndim
    for start, end, axis in zip(starts, ends, axes):
        window[axis] = slice(start, end)
    return x[tuple(window)]


def split(attributes, x, sizes):
    return tuple(numpy.split(x, numpy.cumsum(sizes)[:-1], attributes["axis"]))


def flatten(attributes, x):
    return x.reshape(math.prod(x.shape[:attributes["axis"]]), -1)


OPERATORS = {
    "Add": lambda attributes, a, b: a + b,
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Cast": lambda attributes, x: x.astype(ARRAY_TYPES[attributes["to"]]),
    "Clip": lambda attributes, x, low, high: numpy.clip(x, low, high),
    "Concat": lambda attributes, *parts: numpy.concatenate(parts, attributes["axis"]),
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "Cos": lambda attributes, x: numpy.cos(x),
    "Div": lambda attributes, a, b: a / b,
    "Erf": erf,
    "Expand": lambda attributes, x, shape: x * numpy.ones(shape),
    "Flatten": flatten,
    "Gather": lambda attributes, x, places: numpy.take(x, places, attributes.get("axis", 0)),
    "Gemm": gemm,
    "GlobalAveragePool": lambda attributes, x: x.mean((2, 3), keepdims=True),
    "LSTM": lstm,
    "LayerNormalization": layer_normalization,
    "MatMul": lambda attributes, a, b: a @ b,
    "MaxPool": max_pool,
    "Mul": lambda attributes, a, b: a * b,
    "Neg": lambda attributes, x: -x,
    "Pow": lambda attributes, a, b: a ** b,
    "ReduceMean": lambda attributes, x: x.mean(tuple(attributes["axes"]), keepdims=bool(attributes["keepdims"])),
    "Relu": lambda attributes, x: numpy.maximum(x, 0.0),
    "Reshape": reshape,
    "Shape": lambda attributes, x: numpy.array(x.shape, numpy.int64),
    "Sigmoid": sigmoid,
    "Sin": lambda attributes, x: numpy.sin(x),
    "Slice": cut,
    "Softmax": softmax,
    "Split": split,
    "Sqrt": lambda attributes, x: numpy.sqrt(x),
    "Squeeze": lambda attributes, x, axes: numpy.squeeze(x, tuple(axes)),
    "Sub": lambda attributes, a, b: a - b,
    "Tanh": lambda attributes, x: numpy.tanh(x),
    "Transpose": lambda attributes, x: x.transpose(attributes["perm"]),
    "Unsqueeze": lambda attributes, x, axes: numpy.expand_dims(x, tuple(int(axis) for axis in axes)),
    "Where": lambda attributes, condition, a, b: numpy.where(condition, a, b),
}
