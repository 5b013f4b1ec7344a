"""Runs a graph in float64, node after node: the expected outputs, and every tensor on the way to them.

Independent of every runtime that is compared: it shares no code with them, and accumulates in more than twice their
precision.
"""

from collections import Counter

import numpy

from .operators import OPERATORS


def evaluate(graph, weights, inputs, observe=lambda node, arrays, results: None):
    """The graph's outputs by name. weights, inputs: arrays by name; f32 ones are computed with as f64.

    `observe` sees each node with the arrays that went in and came out.
    """
    kept = dict(inputs)
    uses = Counter(name for node in graph.nodes for name in node.inputs)
    uses.update(port.name for port in graph.outputs)
    for node in graph.nodes:
        arrays = [_wide(weights[name] if name in weights else kept[name]) if name else None for name in node.inputs]
        results = OPERATORS[node.operator](node.attributes, *arrays)
        results = results if isinstance(results, tuple) else (results,)
        assert len(results) == len(node.outputs), node.name
        observe(node, arrays, results)
        kept.update(zip(node.outputs, results))
        for name in node.inputs:
            uses[name] -= 1
            if not uses[name]:
                kept.pop(name, None)
    return {port.name: kept[port.name] for port in graph.outputs}


def multiply_adds(node, arrays, results):
    """Those of the node's products; activations and normalizations count nothing."""
    if node.operator == "Conv":
        return results[0].size * arrays[1][0].size
    if node.operator == "ConvTranspose":
        return arrays[0].size * arrays[1][0].size
    if node.operator in ("Gemm", "MatMul"):
        return results[0].size * arrays[0].shape[-1]
    if node.operator == "LSTM":
        return arrays[0].shape[0] * arrays[0].shape[1] * (arrays[1].size + arrays[2].size)
    return 0


def _wide(array):
    return array.astype(numpy.float64) if array.dtype == numpy.float32 else array
