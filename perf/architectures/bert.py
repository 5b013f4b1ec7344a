"""BERT-base, uncased, with its pooler (Devlin et al. 2018), as the Transformers library has it.

Attention in single operators with an additive mask; Gelu by Erf.
"""

import math

from .fills import LOWEST, halves, indices, normal, padded
from .graph import Free, Graph, require, sample
from .layers import (classifier, layer_normalization, length_of, linear, merge_heads, probabilities, split_heads, to_float)

EPSILON = 1e-12
POSITIONS = 512


def bert(batch=1, sequence=128, layers=12, hidden=768, heads=12, vocabulary=30522, classes=0):
    """The last 16th of each sequence is padding. classes: of a classifier on the pooler, whose output is then the only one."""
    require(hidden % heads == 0, "hidden=%d is not a multiple of heads=%d" % (hidden, heads))
    require(sample(sequence) <= POSITIONS, "sequence=%s: there are %d positions" % (sequence, POSITIONS))
    graph = Graph("bert")
    ids = graph.input("input_ids", (batch, sequence), indices(vocabulary), "int64")
    mask = graph.input("attention_mask", (batch, sequence), padded, "int64")
    types = graph.input("token_type_ids", (batch, sequence), halves, "int64")
    with graph.scope("embeddings"):
        x = _embed(graph, ids, types, sequence, hidden, vocabulary)
    with graph.aside():
        mask = to_float(graph, graph.add("Unsqueeze", mask, graph.ints(1, 2)))
        mask = graph.add("Mul", graph.add("Sub", graph.scalar(1.0), mask), graph.scalar(LOWEST))
    for layer in range(layers):
        with graph.scope("encoder.layer.%d" % layer):
            x = _layer(graph, x, mask, hidden, heads)
    if not classes:
        graph.output("last_hidden_state", x, (batch, sequence, hidden))
        x = "last_hidden_state"
    with graph.scope("pooler"):
        # Scalar index: the axis goes away.
        first = graph.add("Gather", x, graph.int(0), axis=1)
        pooled = graph.add("Tanh", classifier(graph, first, hidden, hidden))
    if not classes:
        graph.output("pooler_output", pooled, (batch, hidden))
        return graph
    with graph.scope("classifier"):
        graph.output("logits", classifier(graph, pooled, hidden, classes), (batch, classes))
    return graph


def _embed(graph, ids, types, sequence, hidden, vocabulary):
    words = graph.add("Gather", graph.parameter("word_embeddings", (vocabulary, hidden), normal(0.5)), ids)
    segments = graph.add("Gather", graph.parameter("token_type_embeddings", (2, hidden), normal(0.5)), types)
    table = graph.parameter("position_embeddings", (POSITIONS, hidden), normal(0.5))
    if isinstance(sequence, Free):
        positions = graph.add("Slice", graph.ints(*range(POSITIONS)), graph.ints(0), length_of(graph, ids, 1))
    else:
        positions = graph.ints(*range(sequence))
    x = graph.add("Add", graph.add("Add", words, segments), graph.add("Gather", table, positions))
    return layer_normalization(graph, x, hidden, EPSILON)


def _layer(graph, x, mask, hidden, heads):
    with graph.scope("attention"):
        y = _attention(graph, x, mask, hidden, heads)
        with graph.scope("output.dense"):
            y = linear(graph, y, hidden, hidden)
        with graph.scope("output.LayerNorm"):
            x = layer_normalization(graph, graph.add("Add", y, x), hidden, EPSILON)
    with graph.scope("intermediate"):
        y = _gelu(graph, linear(graph, x, hidden, 4 * hidden, gain=1.5))
    with graph.scope("output.dense"):
        y = linear(graph, y, 4 * hidden, hidden)
    with graph.scope("output.LayerNorm"):
        return layer_normalization(graph, graph.add("Add", y, x), hidden, EPSILON)


def _attention(graph, x, mask, hidden, heads):
    width = hidden // heads
    with graph.scope("query"):
        query = split_heads(graph, linear(graph, x, hidden, hidden, gain=0.8), heads, width)
    with graph.scope("key"):
        key = split_heads(graph, linear(graph, x, hidden, hidden, gain=0.8), heads, width, (0, 2, 3, 1))
    with graph.scope("value"):
        # Averaging over the sequence shrinks what it adds up.
        value = split_heads(graph, linear(graph, x, hidden, hidden, gain=3.0), heads, width)
    scores = graph.add("Div", graph.add("MatMul", query, key), graph.scalar(math.sqrt(width)))
    with graph.aside():
        scores = graph.add("Add", scores, mask)
    return merge_heads(graph, graph.add("MatMul", probabilities(graph, scores), value), heads, width)


def _gelu(graph, x):
    y = graph.add("Erf", graph.add("Div", x, graph.scalar(math.sqrt(2))))
    y = graph.add("Mul", x, graph.add("Add", y, graph.scalar(1.0)))
    return graph.add("Mul", y, graph.scalar(0.5))
