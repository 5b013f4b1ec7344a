"""GPT-2 small (Radford et al. 2019) with its output head, as the Transformers library has it.

The attention's keys and values of all positions come out, for the next step. The head shares the token embedding's
values; the exporter stores its transpose once more.

With a rank, every joint projection of queries, keys and values has an adapter beside it that was not merged (LoRA, Hu et
al. 2021): a product down to that rank and one up again, scaled, as the PEFT library leaves them.
"""

import math

from .fills import indices, normal, normal_parts, normal_transposed, positions
from .graph import Free, Graph, require, sample
from .layers import adapter, layer_normalization, mask_future, merge_heads, probabilities, split_heads

EPSILON = 1e-5
POSITIONS = 1024
EMBEDDING_DEVIATION = 0.14
KEY_GAIN, VALUE_GAIN = 0.8, 3.0
ADAPTER_ALPHA = 32  # as in the PEFT library's examples


def gpt2(batch=1, sequence=128, past=0, layers=12, hidden=768, heads=12, vocabulary=50257, rank=0,
         next_only=False):
    """sequence: tokens that go in. past: positions whose keys and values go in; 0 for none. rank: of adapters; 0 for none.
    next_only: of the logits only those of the next token come out."""
    require(hidden % heads == 0, "hidden=%d is not a multiple of heads=%d" % (hidden, heads))
    require(sample(past + sequence) <= POSITIONS, "past + sequence: there are %d positions" % POSITIONS)
    graph = Graph("gpt2")
    ids = graph.input("input_ids", (batch, sequence), indices(vocabulary), "int64")
    places = graph.input("position_ids", (batch, sequence), positions(sample(past)), "int64")
    cache_shape = (batch, heads, past, hidden // heads)
    cache = [_past_inputs(graph, layer, cache_shape) for layer in range(layers if past else 0)]
    with graph.scope("transformer"):
        embedding = graph.parameter("wte.weight", (vocabulary, hidden), normal(EMBEDDING_DEVIATION))
        table = graph.parameter("wpe.weight", (POSITIONS, hidden), normal(EMBEDDING_DEVIATION))
        x = graph.add("Add", graph.add("Gather", embedding, ids), graph.add("Gather", table, places))
        present = []
        for layer in range(layers):
            with graph.scope("h.%d" % layer):
                x, key, value = _block(graph, x, cache[layer] if past else None, (batch, sequence, past), hidden, heads,
                                       rank)
            present += [("present_key_%d" % layer, key), ("present_value_%d" % layer, value)]
        with graph.scope("ln_f"):
            x = layer_normalization(graph, x, hidden, EPSILON)
    head = graph.parameter("lm_head.weight", (hidden, vocabulary), normal_transposed(EMBEDDING_DEVIATION),
                           trainable=False, values_of=embedding)
    logits = graph.add("MatMul", x, head)
    if next_only:
        graph.output("next_logits", graph.add("Gather", logits, graph.int(-1), axis=1), (batch, vocabulary))
    else:
        graph.output("logits", logits, (batch, sequence, vocabulary))
    for name, value in present:
        graph.output(name, value, (batch, heads, past + sequence, hidden // heads))
    return graph


def _past_inputs(graph, layer, shape):
    """Keys and values of the scales that the projections below give them."""
    return (graph.input("past_key_%d" % layer, shape, normal(KEY_GAIN)),
            graph.input("past_value_%d" % layer, shape, normal(VALUE_GAIN)))


def _block(graph, x, past, sizes, hidden, heads, rank):
    with graph.scope("ln_1"):
        y = layer_normalization(graph, x, hidden, EPSILON)
    with graph.scope("attn"):
        y, key, value = _attention(graph, y, past, sizes, hidden, heads, rank)
    x = graph.add("Add", y, x)
    with graph.scope("ln_2"):
        y = layer_normalization(graph, x, hidden, EPSILON)
    with graph.scope("mlp.c_fc"):
        y = _gelu(graph, _projection(graph, y, hidden, 4 * hidden, sizes, (1.5,)))
    with graph.scope("mlp.c_proj"):
        y = _projection(graph, y, 4 * hidden, hidden, sizes, (0.5,))
    return graph.add("Add", x, y), key, value


def _attention(graph, x, past, sizes, hidden, heads, rank):
    batch, sequence, past_length = sizes
    width = hidden // heads
    with graph.scope("c_attn"):
        # Larger values: averaging over the sequence shrinks them.
        joint = _projection(graph, x, hidden, 3 * hidden, sizes, (KEY_GAIN, KEY_GAIN, VALUE_GAIN))
        if rank:
            joint = graph.add("Add", joint, adapter(graph, x, hidden, 3 * hidden, rank, ADAPTER_ALPHA))
    query, key, value = graph.add("Split", joint, graph.ints(hidden, hidden, hidden), outputs=3, axis=2)
    query, key = split_heads(graph, query, heads, width), split_heads(graph, key, heads, width)
    value = split_heads(graph, value, heads, width)
    if past:
        key = graph.add("Concat", past[0], key, axis=2)
        value = graph.add("Concat", past[1], value, axis=2)
    scores = graph.add("MatMul", query, graph.add("Transpose", key, perm=[0, 1, 3, 2]))
    scores = graph.add("Div", scores, graph.scalar(math.sqrt(width)))
    scores = mask_future(graph, scores, query, key, (sequence, past_length + sequence), POSITIONS)
    y = merge_heads(graph, graph.add("MatMul", probabilities(graph, scores), value), heads, width)
    with graph.scope("c_proj"):
        return _projection(graph, y, hidden, hidden, sizes, (0.5,)), key, value


def _projection(graph, x, inputs, outputs, sizes, gains):
    """The library's Conv1D: a Gemm on the rows of all sequences. One gain for each of as many parts of the output."""
    batch, sequence, _ = sizes
    weight = graph.parameter("weight", (inputs, outputs), normal_parts([gain / math.sqrt(inputs) for gain in gains]))
    bias = graph.parameter("bias", (outputs,), normal(0.1))
    y = graph.add("Gemm", graph.add("Reshape", x, graph.ints(-1, inputs)), weight, bias)
    if isinstance(batch, Free) and isinstance(sequence, Free):
        leading = graph.add("Slice", graph.add("Shape", x), graph.ints(0), graph.ints(2))
        return graph.add("Reshape", y, graph.add("Concat", leading, graph.ints(outputs), axis=0))
    return graph.add("Reshape", y, graph.ints(*(-1 if isinstance(size, Free) else size for size in (batch, sequence)),
                                              outputs))


def _gelu(graph, x):
    """The approximation by tanh that GPT-2 uses."""
    with graph.aside():
        cube = graph.add("Pow", x, graph.scalar(3.0))
    y = graph.add("Add", x, graph.add("Mul", cube, graph.scalar(0.044715)))
    y = graph.add("Tanh", graph.add("Mul", y, graph.scalar(math.sqrt(2 / math.pi))))
    return graph.add("Mul", graph.add("Mul", x, graph.scalar(0.5)), graph.add("Add", y, graph.scalar(1.0)))
