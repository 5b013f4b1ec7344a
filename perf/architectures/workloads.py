"""Small pieces of language models that other systems are measured on, one by one.

Prism (arXiv 2604.15272) is evaluated on five, in half precision on a GPU; here they are of f32, with the scale, the mask
and softmax's subtraction of the maximum that it leaves out. Morello (arXiv 2505.01637) ships a vector times weights that
are stored as bfloat16.
"""

import math

from .fills import causal_additive, normal, scale
from .graph import ELEMENT_TYPES, Graph
from .layers import linear, probabilities

EPSILON = 1e-5
KEY_GAIN, VALUE_GAIN = 0.8, 3.0  # averaging over the keys shrinks what it adds up


def rms_norm_linear(rows=8, size=1024):
    graph, x = _layer(rows, size)
    return _finished(graph, linear(graph, _rms_norm(graph, x, size), size, size, bias=False), rows, size)


def rms_norm_mlp(rows=8, size=1024):
    graph, x = _layer(rows, size)
    x = _rms_norm(graph, x, size)
    up, gate = _two_products(graph, x, size)
    return _finished(graph, graph.add("Mul", gate, up), rows, size)


def swiglu(rows=8, size=1024):
    graph, x = _layer(rows, size)
    up, gate = _two_products(graph, x, size)
    gate = graph.add("Mul", gate, graph.add("Sigmoid", gate))
    return _finished(graph, graph.add("Mul", gate, up), rows, size)


def attention(batch=2, heads=8, queries=1, keys=1024, size=128, norm=False):
    """Over a cache of keys and values; the last query sees all of them."""
    graph = Graph("attention")
    query = graph.input("query", (batch, heads, queries, size), normal(1.0))
    key = graph.input("key", (batch, heads, keys, size), normal(KEY_GAIN))
    value = graph.input("value", (batch, heads, keys, size), normal(VALUE_GAIN))
    mask = graph.input("mask", (1, 1, queries, keys), causal_additive)
    if norm:
        query = _rms_norm(graph, query, size)
    scores = graph.add("MatMul", query, graph.add("Transpose", key, perm=[0, 1, 3, 2]))
    scores = graph.add("Div", scores, graph.scalar(math.sqrt(size)))
    with graph.aside():
        scores = graph.add("Add", scores, mask)
    graph.output("output", graph.add("MatMul", probabilities(graph, scores), value), (batch, heads, queries, size))
    return graph


def query_norm_attention(batch=2, heads=8, queries=1, keys=1024, size=128):
    return attention(batch, heads, queries, keys, size, norm=True)


def narrow_vector(inputs=2048, outputs=16384):
    """A vector times weights that are stored as bfloat16; all arithmetic is of f32."""
    graph = Graph("narrow_vector")
    x = graph.input("x", (1, inputs), normal(1.0))
    weight = graph.parameter("weight", (inputs, outputs), normal(1 / math.sqrt(inputs)), dtype="bfloat16")
    with graph.aside():
        wide = graph.add("Cast", weight, to=ELEMENT_TYPES["float32"])
    graph.output("output", graph.add("MatMul", x, wide), (1, outputs))
    return graph


def _layer(rows, size):
    graph = Graph("layer")
    return graph, graph.input("x", (rows, size), normal(1.0))


def _finished(graph, result, rows, size):
    graph.output("output", result, (rows, size))
    return graph


def _two_products(graph, x, size):
    found = []
    for name in ("up_proj", "gate_proj"):
        with graph.scope(name):
            found.append(linear(graph, x, size, size, bias=False))
    return found


def _rms_norm(graph, x, size):
    with graph.scope("norm"):
        with graph.aside():
            square = graph.add("ReduceMean", graph.add("Pow", x, graph.scalar(2.0)), axes=[-1], keepdims=1)
            root = graph.add("Sqrt", graph.add("Add", square, graph.scalar(EPSILON)))
        return graph.add("Mul", graph.add("Div", x, root), graph.parameter("weight", (size,), scale))
