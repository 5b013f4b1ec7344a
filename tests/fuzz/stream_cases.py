"""Cases of operators of com.microsoft on streams, requests, experts and words; made as differential_cases.py says."""
import numpy as np
from draws import flag, pick
from microsoft_cases import case, floats, size


def of_a_type(random, given):
    """Now and then in f16: sums in f32 that are rounded once."""
    if random.integers(3) == 0:
        given.update(inputs=[x if x is None or x.dtype != np.float32 else x.astype(np.float16) for x in given["inputs"]], roundings=4)
    return given


def engram_gate(random):
    batch, length, streams, width = size(random, 3), size(random, 4), size(random, 3), size(random, 9)
    shape, both = (batch, length, streams, width), flag(random)
    inputs = [floats(random, *shape), floats(random, *shape), floats(random, batch, length, width), floats(random, streams, width),
              floats(random, streams, width), floats(random, streams, width) if both or flag(random) else None]
    return of_a_type(random, case("EngramGate", inputs, {"epsilon": pick(random, [1e-5, 1e-2])}, 1 + both, roundings=1024))


def streams_of(random):
    outer, count, width, flat = [size(random) for _ in range(random.integers(0, 3))], size(random, 4), size(random, 6), flag(random)
    x = floats(random, *outer, *([count * width] if flat else [count, width]))
    return x, outer, count, width, {"num_branches": count} if flat else {}


def pre_mix(random):
    x, outer, count, width, attributes = streams_of(random)
    gates = [[count], [count, 1], [count, width]] + ([[count * width]] if attributes else [])
    if flag(random):
        attributes["reduction_scale"] = 0.5
    return of_a_type(random, case("HyperConnectionPreMix", [x, floats(random, *outer, *pick(random, gates))], attributes))


def post_mix(random):
    x, outer, count, width, attributes = streams_of(random)
    gate = floats(random, *outer, *pick(random, [[count], [count, 1], [count, width]]))
    return of_a_type(random, case("HyperConnectionPostMix", [x, floats(random, *outer, width), gate, floats(random, *outer, count, count) if flag(random) else None], attributes))


def group_router(random):
    """Logits differ by much more than roundings, and biases by less: scores have no ties."""
    groups, per_group, full = size(random, 4), size(random, 5), random.integers(4) == 0
    groups = 1 if full else groups
    experts, outer = groups * per_group, [size(random) for _ in range(random.integers(1, 3))]
    rows = int(np.prod(outer))
    logits = random.permuted(np.tile((np.arange(experts) - experts / 2) / 4, (rows, 1)), axis=1).reshape(*outer, experts).astype(np.float32)
    open_groups = int(random.integers(1, groups + 1))
    attributes = {"top_k": int(random.integers(1, open_groups * per_group + 1)), "n_group": groups, "topk_group": open_groups, "group_topk": size(random, 6)}
    if flag(random):
        attributes["router_sentinel"] = -100.0
    inputs = [logits, floats(random, experts) / 32]
    if full and flag(random):
        width = 256 * size(random, 2)
        inputs = [floats(random, rows, width), inputs[1], floats(random, experts, width) / 8]
    return case("MoEGroupRouter", inputs, attributes, 3 if full else 1, **({"absent_outputs": [0]} if full else {}))


def offsets_of(random, requests, most):
    return np.concatenate([[0], np.cumsum(random.integers(1, most + 1, requests))]).astype(np.int32)


def packed_convolution(random):
    requests, channels, kernel, dilation = size(random), size(random, 5), size(random), size(random, 3) if flag(random) else 1
    offsets = offsets_of(random, requests, 7)
    inputs = [floats(random, offsets[-1], channels), floats(random, channels, 1, kernel), offsets, floats(random, channels) if flag(random) else None,
              floats(random, requests, channels, (kernel - 1) * dilation)]
    attributes, capacity = {"activation": pick(random, ["none", "silu", "swish"]), "dilation": dilation}, int(random.integers(0, 9))
    if capacity:
        inputs.append(random.integers(-2, 10, requests).astype(np.int32))
        attributes["state_update_capacity"] = capacity
    return of_a_type(random, case("VarlenCausalConvWithState", inputs, attributes, 2 + (capacity > 0)))


def hash_parts(random, wraps):
    """Offsets may wrap only where requests are packed."""
    dtype, order, heads, words = pick(random, [np.int32, np.int64]), int(random.integers(2, 6)), size(random, 3), pick(random, [3, 2 ** 31 - 1])
    draw = lambda *shape: random.integers(-words, words, shape).astype(dtype) if flag(random) else random.integers(0, 3, shape).astype(dtype)
    info, outputs = np.iinfo(dtype), (order - 1) * heads
    multipliers = random.integers(info.min, info.max, order + size(random, 2) - 1, dtype) if flag(random) else random.integers(0, 99, order).astype(dtype)
    sizes = random.integers(1, pick(random, [100, info.max]), outputs).astype(dtype)
    attributes = {"max_ngram_size": order, "n_head_per_ngram": heads, "pad_id": int(random.integers(-3, 3)), "reset_on_eos": flag(random)}
    offsets = random.integers(info.min, info.max, outputs, dtype) if wraps else np.array([random.integers(0, info.max - n, endpoint=True) for n in sizes], dtype)
    offsets = offsets if flag(random) else None
    end = np.array(random.integers(0, 3), dtype) if flag(random) else None
    return draw, order - 1, [multipliers, sizes], [offsets, end], attributes


def ngram_hash(random):
    draw, history, tables, options, attributes = hash_parts(random, False)
    batch, length = size(random, 3), int(random.integers(1, 9))
    inputs = [draw(batch, length), *tables, draw(batch, history) if flag(random) else None, *options,
              random.integers(0, 2, (batch, length)).astype(np.int32) if flag(random) else None]
    return case("NGramHashMapping", inputs, attributes, 1 + flag(random))


def packed_ngram_hash(random):
    draw, history, tables, options, attributes = hash_parts(random, True)
    requests = size(random)
    offsets = offsets_of(random, requests, 6)
    segments = random.integers(0, 2, offsets[-1]).astype(np.int32) if flag(random) else None
    before = random.integers(0, 2, (requests, history)).astype(np.int32) if segments is not None and flag(random) else None
    inputs = [draw(offsets[-1]), *tables, offsets, draw(requests, history) if flag(random) else None, *options, segments, before]
    capacity = int(random.integers(0, 9)) if segments is not None else 0
    if capacity:
        inputs.append(random.integers(-2, 8, requests).astype(np.int32))
        attributes["state_update_capacity"] = capacity
    return case("VarlenNGramHashMapping", inputs, attributes, 4 if capacity else 3 if segments is not None else 1 + flag(random))


# Of GGML's formats: elements and bytes of a block, and where the halves of its scales lie; none: the elements are floats.
FORMATS = {0: (1, 4, None), 1: (1, 2, None), 30: (1, 2, None), 2: (32, 18, [0]), 6: (32, 22, [0]), 8: (32, 34, [0]), 13: (256, 176, [0, 2]),
           14: (256, 210, [208]), 20: (32, 18, [0]), 23: (256, 136, [0]), 42: (64, 18, [0]),
           16: (256, 66, [0]), 17: (256, 74, [0]), 18: (256, 98, [0]), 22: (256, 82, [0])}


def packed_rows(random):
    """All bytes but those of scales, which are no larger than 4, denormal or negative; floats may be anything."""
    number = pick(random, list(FORMATS))
    elements, length, scales = FORMATS[number]
    rows, blocks = size(random, 5), size(random, 3) if elements > 1 else size(random, 9)
    data = random.integers(0, 256, (rows, blocks, length)).astype(np.uint8)
    for place in scales or []:
        data[:, :, place + 1] = data[:, :, place + 1] & 0x80 | random.integers(0, 0x44, (rows, blocks)).astype(np.uint8)
    indices = random.integers(-1, rows + 1, [size(random) for _ in range(random.integers(0, 3))])
    kind = np.int32 if flag(random) else np.int64
    return case("GatherPacked", [data.reshape(rows, -1), np.asarray(indices, kind)], {"packed_type": number, "K": elements * blocks, "output_dtype": pick(random, [1, 1, 10])},
                sums=False, size=0.01, roundings=8)


def word_embedding(random):
    """The first character of every word is there: of words without characters ONNX Runtime writes nothing."""
    words, most, width, filters, length, characters = size(random, 5), size(random, 8), size(random, 5), size(random, 5), size(random), size(random, 6) + 1
    most = max(most, length)
    text = random.integers(0, characters, (words, most))
    if flag(random):  # filled up at its end
        text[np.arange(most) >= random.integers(1, most + 1, (words, 1))] = 0
    text[:, 0] = random.integers(1, characters, words)
    attributes = {"embedding_size": filters, "conv_window_size": length, "char_embedding_size": width} if flag(random) else {}
    return case("WordConvEmbedding", [text.astype(np.int32), floats(random, filters, 1, length, width), floats(random, filters), floats(random, characters, width)], attributes)


def bifurcation(random):
    words, length = size(random, 4), int(random.integers(1, 12))
    source, current = random.integers(0, words, length), random.integers(0, words, size(random, 6))
    place = int(random.integers(0, length + 1))
    predicted = np.append(source[place:], random.integers(0, words))
    if flag(random):
        predicted[random.integers(len(predicted))] = random.integers(0, words)
    least = size(random, 3)
    return case("BifurcationDetector", [source, current, np.array([place], np.int64), predicted if random.integers(4) else None],
                {"min_ngram_size": least, "max_ngram_size": least + int(random.integers(0, 4))}, 2)


def attention_lstm(random):
    steps, batch, width, hidden, places, depth, inner = (int(n) for n in random.integers(1, 5, 7))
    direction = pick(random, ["forward", "reverse", "bidirectional"])
    d, layer = 2 if direction == "bidirectional" else 1, size(random, 5) if flag(random) else 0
    maybe = lambda *shape: floats(random, *shape) if flag(random) else None
    lengths = lambda most: random.integers(1, most + 1, batch).astype(np.int32) if flag(random) else None
    inputs = [floats(random, steps, batch, width), floats(random, d, 4 * hidden, width + (layer or depth)), floats(random, d, 4 * hidden, hidden),
              maybe(d, 8 * hidden), lengths(steps), maybe(d, batch, hidden), maybe(d, batch, hidden), maybe(d, 3 * hidden), floats(random, d, hidden, inner),
              floats(random, d, depth, inner), floats(random, d, inner), floats(random, batch, places, depth), lengths(places),
              floats(random, d, depth + hidden, layer) if layer else None]
    attributes = {"hidden_size": hidden, "direction": direction}
    if flag(random):
        attributes["clip"] = 2.0
    if flag(random):
        attributes["activations"] = ["sigmoid", "tanh", pick(random, ["tanh", "relu", "softsign"])] * d
    if random.integers(4) == 0:
        attributes["input_forget"] = 1
    return case("AttnLSTM", inputs, attributes, 3, roundings=1024)


GENERATORS = {"EngramGate": engram_gate, "HyperConnectionPreMix": pre_mix, "HyperConnectionPostMix": post_mix, "MoEGroupRouter": group_router,
              "VarlenCausalConvWithState": packed_convolution, "NGramHashMapping": ngram_hash, "VarlenNGramHashMapping": packed_ngram_hash,
              "GatherPacked": packed_rows, "WordConvEmbedding": word_embedding, "BifurcationDetector": bifurcation, "AttnLSTM": attention_lstm}
