"""A stack of LSTM layers (Hochreiter and Schmidhuber 1997) as PyTorch's is exported: the sequence comes first."""

import math

from .fills import normal
from .graph import Graph

GAIN = 1.5  # gates weaken what they let through


def lstm(batch=1, sequence=64, layers=2, inputs=512, hidden=512):
    graph = Graph("lstm")
    x = graph.input("input", (sequence, batch, inputs), normal(1.0))
    states = [graph.input(name, (layers, batch, hidden), normal(0.5)) for name in ("h0", "c0")]
    last = []
    for layer in range(layers):
        with graph.scope("lstm.%d" % layer):
            x, *state = _layer(graph, x, states, layer, inputs if layer == 0 else hidden, hidden)
        last.append(state)
    graph.output("output", x, (sequence, batch, hidden))
    for name, values in zip(("hn", "cn"), zip(*last)):
        graph.output(name, graph.add("Concat", *values, axis=0), (layers, batch, hidden))
    return graph


def _layer(graph, x, states, layer, inputs, hidden):
    """The layer's output and its last hidden and cell state."""
    begins = [graph.add("Slice", state, graph.ints(layer), graph.ints(layer + 1), graph.ints(0)) for state in states]
    weight = graph.parameter("weight_ih", (1, 4 * hidden, inputs), normal(GAIN / math.sqrt(inputs)))
    recurrence = graph.parameter("weight_hh", (1, 4 * hidden, hidden), normal(GAIN / math.sqrt(hidden)))
    bias = graph.parameter("bias", (1, 8 * hidden), normal(0.1))
    y, h, c = graph.add("LSTM", x, weight, recurrence, bias, "", *begins, outputs=3, hidden_size=hidden)
    return graph.add("Squeeze", y, graph.ints(1)), h, c
