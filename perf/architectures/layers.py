"""Layers that several architectures share, as the PyTorch exporter writes them.

`gain` is the ratio of an output's root mean square to the input's: weights have deviation gain / sqrt(summands). After
a ReLU the mean square of zero-mean values is halved, so sqrt(2) keeps the scale.
"""

import math

from .fills import LOWEST, causal, causal_additive, normal, scale
from .graph import ELEMENT_TYPES, Free

AFTER_RELU = math.sqrt(2)
ADAPTER_GAIN = 0.05


def convolution(graph, x, channels, kernel, stride=1, padding=0, groups=1, gain=AFTER_RELU, bias=normal(0.1),
                normalized=False):
    """2-D convolution, without a bias where that is None; channels = (in, out).

    `normalized`: a batch normalization followed and has been folded into weight and bias, as exporters do. It had two
    parameters per channel and the convolution no bias, so one per channel is counted beside those in the file.
    """
    inputs, outputs = channels
    summands = inputs // groups * kernel * kernel
    weight = graph.parameter("weight", (outputs, inputs // groups, kernel, kernel), normal(gain / math.sqrt(summands)))
    shift = [graph.parameter("bias", (outputs,), bias)] if bias else []
    graph.trainable += outputs if normalized else 0
    return graph.add("Conv", x, weight, *shift, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[padding] * 4,
                     dilations=[1, 1], group=groups)


def classifier(graph, x, inputs, outputs, gain=1.0):
    """A fully connected layer on rows."""
    weight = graph.parameter("weight", (outputs, inputs), normal(gain / math.sqrt(inputs)))
    bias = graph.parameter("bias", (outputs,), normal(0.1))
    return graph.add("Gemm", x, weight, bias, transB=1)


def linear(graph, x, inputs, outputs, gain=1.0, bias=True):
    """A fully connected layer on a tensor of more axes: MatMul with the transposed weight, then the bias."""
    weight = graph.parameter("weight", (inputs, outputs), normal(gain / math.sqrt(inputs)))
    product = graph.add("MatMul", x, weight)
    return graph.add("Add", graph.parameter("bias", (outputs,), normal(0.1)), product) if bias else product


def adapter(graph, x, inputs, outputs, rank, alpha):
    """What is added to a layer's output by an adapter of low rank that was not merged (LoRA, Hu et al. 2021): a product down
    to the rank and one up again, scaled by alpha / rank."""
    down = graph.parameter("lora_A.weight", (inputs, rank), normal(1 / math.sqrt(inputs)))
    up = graph.parameter("lora_B.weight", (rank, outputs), normal(ADAPTER_GAIN / math.sqrt(rank)))
    with graph.aside():
        y = graph.add("MatMul", graph.add("MatMul", x, down), up)
        return graph.add("Mul", y, graph.scalar(alpha / rank))


def layer_normalization(graph, x, width, epsilon):
    weight = graph.parameter("weight", (width,), scale)
    bias = graph.parameter("bias", (width,), normal(0.1))
    return graph.add("LayerNormalization", x, weight, bias, axis=-1, epsilon=epsilon)


def split_heads(graph, x, heads, width, order=(0, 2, 1, 3)):
    """[batch, sequence, heads * width] to [batch, heads, sequence, width], or another order."""
    return graph.add("Transpose", graph.add("Reshape", x, graph.ints(0, 0, heads, width)), perm=list(order))


def merge_heads(graph, x, heads, width):
    """[batch, heads, sequence, width] to [batch, sequence, heads * width]."""
    return graph.add("Reshape", graph.add("Transpose", x, perm=[0, 2, 1, 3]), graph.ints(0, 0, heads * width))


def probabilities(graph, scores):
    with graph.aside():
        return graph.add("Softmax", scores, axis=-1)


def mask_future(graph, scores, query, key, lengths, maximum, additive=False):
    """Masks what a query may not see. lengths = (queries, keys), of which the last are the queries.

    The mask is a constant where both lengths are fixed, else cut out of the table for `maximum` positions. A score is
    replaced by the lowest f32 or, where `additive`, has it added.
    """
    fixed = not any(isinstance(length, Free) for length in lengths)
    with graph.aside():
        if additive and fixed:
            mask = graph.table("causal_mask", (1, 1) + tuple(lengths), "float32", causal_additive)
            return graph.add("Add", scores, mask)
        if fixed:
            mask = graph.table("causal_mask", (1, 1) + tuple(lengths), "bool", causal)
        else:
            table = graph.table("causal_mask", (1, 1, maximum, maximum), "bool", causal)
            queries = length_of(graph, query, 2)
            keys = length_of(graph, key, 2)
            rows = graph.add("Slice", table, graph.add("Sub", keys, queries), keys, graph.ints(2))
            mask = graph.add("Slice", rows, graph.ints(0), keys, graph.ints(3))
        if additive:
            return graph.add("Add", scores, graph.add("Where", mask, graph.scalar(0.0), graph.scalar(LOWEST)))
        return graph.add("Where", mask, scores, graph.scalar(LOWEST))


def length_of(graph, x, axis):
    """The size of an axis, one-dimensional."""
    return graph.add("Gather", graph.add("Shape", x), graph.ints(axis), axis=0)


def to_float(graph, x):
    return graph.add("Cast", x, to=ELEMENT_TYPES["float32"])
