"""Cases of attention to states that a buffer holds, and of GatedDeltaNet; made as differential_cases.py says.

Where beams share states (cache_indirection), ONNX Runtime 1.32 takes the bias of a beam's batch for that of its row; where that bias
is one for all heads it reads it elsewhere, perhaps beyond its end, which is not drawn. Without beams a buffer that holds nothing yet is
taken for a full one, and is written beyond its end: such cases are not drawn, nor are buffers of MultiHeadAttention without beams, which
are always taken for full ones."""
import numpy as np
from draws import flag, pick
from onnx import TensorProto


def floats(random, *shape):
    return random.normal(0, 1, shape).astype(np.float32)


def size(random, most=4):
    return int(random.integers(1, most + 1))


def buffered_attention(op):
    def make(random):
        decoder = op == "DecoderMaskedMultiHeadAttention"
        kind = pick(random, ["buffer", "beams", "cross"]) if decoder else "beams"
        beams = size(random, 3) if kind == "beams" else 1
        rows, heads, width = beams * size(random, 3), size(random, 3), size(random, 5)
        places = int(random.integers(2, 9))
        past = int(random.integers(0 if decoder and beams > 1 else 1, places))
        total = places if kind == "cross" else past + 1
        states = [floats(random, rows, heads, places, width) for _ in range(2)]
        if kind != "cross" and flag(random):
            for x in states:
                x[:, :, past:] = np.nan
        query = floats(random, rows, 1, heads * width)
        own = states if kind == "cross" else [floats(random, *query.shape) for _ in range(2)]
        bias = floats(random, 3 * heads * width) if flag(random) and kind != "cross" else None
        mask = None
        if flag(random):
            mask = random.integers(0, 2, (rows, total)).astype(np.int32)
            mask[:, random.integers(total)] = 1
        added = None
        if flag(random) and kind != "cross":
            several = pick(random, [1, rows])
            added = floats(random, several, heads if several > 1 and kind == "beams" else pick(random, [1, heads]), 1, total)
        made_by = None
        if kind == "beams":
            made_by = random.integers(0, beams, (rows // beams, beams, places)).astype(np.int32)
            made_by[:, :, past:] = 99
        attributes = {"num_heads": heads}
        if flag(random):
            attributes["scale"] = 0.4
        if flag(random):
            attributes["mask_filter_value"] = -3.0
        length = np.array([past], np.int32)
        outputs = 1 if kind == "cross" else 4
        if decoder:
            if kind == "cross":
                inputs = [query, *own, mask]
            else:
                attributes |= {"past_present_share_buffer": 1, "output_qk": 1}
                inputs = [query, *own, mask, added, *states, length, np.array([beams], np.int32), made_by, bias]
        else:
            inputs = [query, *own, bias, mask, added, *states, length, made_by]
        parts = {"query": query, "own": own, "states": states, "bias": bias, "mask": mask, "added": added, "made_by": made_by, "past": past,
                 "kind": kind, "beams": beams}
        return {"op": op, "inputs": inputs, "attributes": attributes, "outputs": outputs, "domain": "com.microsoft", "size": 1,
                "roundings": 256, "sums": True, "types": {3: TensorProto.FLOAT}, "parts": parts, "expected": expected_attention}
    return make


def expected_attention(case, mistaken):
    """The results in float64, right or with ONNX Runtime's mistake."""
    p, heads = case["parts"], case["attributes"]["num_heads"]
    mistaken &= p["kind"] == "beams"
    rows, past, beams = p["query"].shape[0], p["past"], p["beams"]
    width = p["query"].shape[2] // heads
    scale, hidden = case["attributes"].get("scale", width ** -0.5), case["attributes"].get("mask_filter_value", -10000.0)
    biases = np.zeros((3, heads, width)) if p["bias"] is None else p["bias"].reshape(3, heads, width).astype(np.float64)
    query = p["query"].reshape(rows, heads, width) + biases[0]
    states = [x.astype(np.float64) for x in p["states"]]
    new = [] if p["kind"] == "cross" else [x.reshape(rows, heads, width) + b for x, b in zip(p["own"], biases[1:])]
    output, logits = np.zeros((rows, heads, width)), []
    for r in range(rows):
        for h in range(heads):
            if p["kind"] == "cross":
                keys, values = states[0][r, h], states[1][r, h]
            else:
                makers = [r] * past if p["made_by"] is None else [r // beams * beams + m for m in p["made_by"][r // beams, r % beams, :past]]
                keys, values = (np.array([*(x[m, h, t] for t, m in enumerate(makers)), n[r, h]]) for x, n in zip(states, new))
            row = keys @ query[r, h] * scale
            if p["added"] is not None:
                own = r // beams if mistaken else r
                row = row + p["added"][own % p["added"].shape[0], h % p["added"].shape[1], 0]
            if p["mask"] is not None:
                row = row + np.where(p["mask"][r] > 0, 0, hidden)
            logits.append(row)
            weights = np.exp(row - row.max())
            output[r, h] = weights @ values / weights.sum()
    results = [output.reshape(rows, 1, heads * width)]
    for x, n in zip(states, new):
        present = x.copy()
        present[:, :, past] = n
        results.append(np.where(np.isnan(present), np.nan, present))
    return results + [np.array(logits).reshape(rows, heads, 1, -1)] if new else results


def gated_delta_net(random):
    batch, length, heads, d_k, d_v = size(random, 3), size(random, 5), size(random, 2), size(random, 5), size(random, 4)
    value_heads, form = heads * size(random, 3), pick(random, ["uniform", "batch", "ragged", "packed", "packed batch"])
    rule, capacity = pick(random, ["linear", "gated", "delta", "gated_delta"]), pick(random, [0, 0, 1, 2, 8])
    tokens, lead, starts = batch * length, [batch, length] if "batch" in form else [batch * length], None
    if form == "ragged":
        starts = np.array([0, *sorted(random.integers(0, tokens + 1, batch - 1)), tokens], np.int32)
    normalised = flag(random) or "delta" in rule
    query, key, value = (floats(random, *lead, n, d) for n, d in ((heads, d_k), (heads, d_k), (value_heads, d_v)))
    if normalised and flag(random):
        query, key = query / 256, key / 256
    attributes = {"update_rule": rule, "qk_l2_norm": normalised, "state_update_capacity": capacity}
    decay = beta = slope = bias = None
    if "gated" in rule:
        per_key = flag(random)
        decay = -np.abs(floats(random, *lead, value_heads, *([d_k] if per_key else [])))
        attributes["gate_activation"] = pick(random, ["none", "softplus", "qwen", "sigmoid", "kda"])
        if attributes["gate_activation"] != "none":
            slope = floats(random, value_heads)
            bias = floats(random, *pick(random, [[value_heads], [value_heads, d_k], [value_heads * d_k]] if per_key else [[value_heads]]))
            attributes["gate_lower_bound"] = -2.5
    if "delta" in rule:
        beta = random.random((*lead, value_heads)).astype(np.float32)
        attributes["beta_activation"] = pick(random, ["none", "sigmoid"])
    state = floats(random, batch, value_heads, d_v, d_k) if flag(random) or form in ("uniform", "packed", "packed batch") else None
    if flag(random):
        attributes["scale"] = 0.7
    if "packed" in form:
        query, key, value = np.concatenate([x.reshape(*lead, -1) for x in (query, key, value)], -1), None, None
    # A capture beyond what there is is as much as there is.
    counts = random.integers(0, capacity + 2, batch).astype(np.int32) if capacity else None
    active = np.array([random.integers(0, 2)], np.int32) if capacity and flag(random) else None
    return {"op": "GatedDeltaNet", "inputs": [query, key, value, starts, decay, beta, state, slope, bias, counts, active], "attributes": attributes,
            "outputs": 3 if capacity else 2, "domain": "com.microsoft", "size": 1, "roundings": 1024, "sums": True}


GENERATORS = {"GatedDeltaNet": gated_delta_net, "DecoderMaskedMultiHeadAttention": buffered_attention("DecoderMaskedMultiHeadAttention"),
              "MultiHeadAttention of beams": buffered_attention("MultiHeadAttention")}
