"""Decoder blocks of the Llama kind (Touvron et al. 2023), as the Transformers library has them.

RMSNorm, rotary embedding, grouped-query attention with a cache of keys and values, gated MLP with SiLU; no biases. In
and out go hidden states: a model's embedding and output head are left out.

With a rank, every projection has an adapter beside it that was not merged, as QLoRA (Dettmers et al. 2023) trains them.
"""

import math

from .fills import inverse_frequencies, normal, positions, scale
from .graph import Graph, require, sample
from .layers import adapter, linear, mask_future, merge_heads, probabilities, split_heads, to_float

EPSILON = 1e-5
POSITIONS = 2048
ROTARY_BASE = 10000.0
KEY_GAIN, VALUE_GAIN = 0.8, 3.0
ADAPTER_ALPHA = 16


def llama(batch=1, sequence=128, past=0, layers=1, hidden=2048, heads=32, key_heads=8, mlp=5632, rank=0):
    """sequence: tokens that go in. past: positions whose keys and values go in; 0 for none. rank: of adapters; 0 for none."""
    require(hidden % heads == 0, "hidden=%d is not a multiple of heads=%d" % (hidden, heads))
    require(hidden // heads % 2 == 0, "hidden / heads = %d is not even" % (hidden // heads))
    require(heads % key_heads == 0, "heads=%d is not a multiple of key_heads=%d" % (heads, key_heads))
    require(sample(past + sequence) <= POSITIONS, "past + sequence: there are %d positions" % POSITIONS)
    graph = Graph("llama")
    width = hidden // heads
    x = graph.input("hidden_states", (batch, sequence, hidden), normal(1.0))
    places = graph.input("position_ids", (batch, sequence), positions(sample(past)), "int64")
    shape = (batch, key_heads, past, width)
    # Of the scales that the projections below give them.
    cache = [(graph.input("past_key_%d" % layer, shape, normal(KEY_GAIN)),
              graph.input("past_value_%d" % layer, shape, normal(VALUE_GAIN)))
             for layer in range(layers if past else 0)]
    lengths = (sequence, past + sequence)
    rotation = _rotation(graph, places, width)
    present = []
    for layer in range(layers):
        with graph.scope("layers.%d" % layer):
            with graph.scope("input_layernorm"):
                y = _rms_norm(graph, x, hidden)
            with graph.scope("self_attn"):
                y, key, value = _attention(graph, y, cache[layer] if past else None, rotation, lengths,
                                           (heads, key_heads, width), rank)
            x = graph.add("Add", x, y)
            with graph.scope("post_attention_layernorm"):
                y = _rms_norm(graph, x, hidden)
            with graph.scope("mlp"):
                x = graph.add("Add", x, _gated_mlp(graph, y, hidden, mlp, rank))
        present += [("present_key_%d" % layer, key), ("present_value_%d" % layer, value)]
    graph.output("last_hidden_state", x, (batch, sequence, hidden))
    for name, value in present:
        graph.output(name, value, (batch, key_heads, past + sequence, width))
    return graph


def _rotation(graph, places, width):
    """Cosine and sine of the angles, [batch, 1, sequence, width]."""
    with graph.scope("rotary_emb"), graph.aside():
        table = graph.table("inv_freq", (1, width // 2, 1), "float32", inverse_frequencies(ROTARY_BASE))
        rows = to_float(graph, graph.add("Unsqueeze", places, graph.ints(1)))
        angles = graph.add("Transpose", graph.add("MatMul", table, rows), perm=[0, 2, 1])
        angles = graph.add("Concat", angles, angles, axis=-1)
        return [graph.add("Unsqueeze", graph.add(function, angles), graph.ints(1)) for function in ("Cos", "Sin")]


def _rotate(graph, x, rotation, width):
    halves = [graph.add("Slice", x, graph.ints(begin), graph.ints(begin + width // 2), graph.ints(3))
              for begin in (0, width // 2)]
    turned = graph.add("Concat", graph.add("Neg", halves[1]), halves[0], axis=-1)
    return graph.add("Add", graph.add("Mul", x, rotation[0]), graph.add("Mul", turned, rotation[1]))


def _attention(graph, x, past, rotation, lengths, sizes, rank):
    heads, key_heads, width = sizes
    hidden = heads * width
    with graph.scope("q_proj"):
        query = split_heads(graph, _projection(graph, x, hidden, hidden, KEY_GAIN, rank), heads, width)
    with graph.scope("k_proj"):
        key = _projection(graph, x, hidden, key_heads * width, KEY_GAIN, rank)
        key = split_heads(graph, key, key_heads, width)
    with graph.scope("v_proj"):
        # Averaging over the sequence shrinks what it adds up.
        value = _projection(graph, x, hidden, key_heads * width, VALUE_GAIN, rank)
        value = split_heads(graph, value, key_heads, width)
    query, key = _rotate(graph, query, rotation, width), _rotate(graph, key, rotation, width)
    if past:
        key = graph.add("Concat", past[0], key, axis=2)
        value = graph.add("Concat", past[1], value, axis=2)
    all_keys = _repeat_heads(graph, key, sizes)
    scores = graph.add("MatMul", query, graph.add("Transpose", all_keys, perm=[0, 1, 3, 2]))
    scores = graph.add("Div", scores, graph.scalar(math.sqrt(width)))
    if lengths[0] != 1:
        scores = mask_future(graph, scores, query, key, lengths, POSITIONS, additive=True)
    y = graph.add("MatMul", probabilities(graph, scores), _repeat_heads(graph, value, sizes))
    with graph.scope("o_proj"):
        return _projection(graph, merge_heads(graph, y, heads, width), hidden, hidden, 1.0, rank), key, value


def _projection(graph, x, inputs, outputs, gain, rank):
    y = linear(graph, x, inputs, outputs, gain, bias=False)
    return graph.add("Add", y, adapter(graph, x, inputs, outputs, rank, ADAPTER_ALPHA)) if rank else y


def _repeat_heads(graph, x, sizes):
    """Each key head serves heads / key_heads query heads."""
    heads, key_heads, width = sizes
    if heads == key_heads:
        return x
    x = graph.add("Unsqueeze", x, graph.ints(2))
    x = graph.add("Expand", x, graph.ints(1, 1, heads // key_heads, 1, 1))
    return graph.add("Reshape", x, graph.ints(0, heads, -1, width))


def _rms_norm(graph, x, hidden):
    with graph.aside():
        square = graph.add("ReduceMean", graph.add("Pow", x, graph.scalar(2.0)), axes=[-1], keepdims=1)
        root = graph.add("Sqrt", graph.add("Add", square, graph.scalar(EPSILON)))
        factor = graph.add("Div", graph.scalar(1.0), root)
    return graph.add("Mul", graph.parameter("weight", (hidden,), scale), graph.add("Mul", x, factor))


def _gated_mlp(graph, x, hidden, mlp, rank):
    with graph.scope("gate_proj"):
        gate = _projection(graph, x, hidden, mlp, 1.5, rank)
    with graph.scope("up_proj"):
        up = _projection(graph, x, hidden, mlp, 1.5, rank)
    y = graph.add("Mul", graph.add("Mul", gate, graph.add("Sigmoid", gate)), up)
    with graph.scope("down_proj"):
        return _projection(graph, y, mlp, hidden, 0.5, rank)
