"""Cases of SparseAttention, and what ONNX Runtime makes of sequences of unequal lengths.

Its caches have to be updated in place. Its scores lie in one buffer, a part for each head that fits the longest sequence; they
are written where that part begins and read where it would begin if all sequences were as long as the present one. And the
queries of a prompt that are padding write beyond their row. What it answers is then made of other heads' scores, or of memory
that nothing has written. Besides, where there are several queries all sequences are turned by the places of the first one's."""
import numpy as np
from draws import flag


def case(random):
    """A prompt, or some queries after a past; key_total_sequence_lengths may differ."""
    turned = flag(random)
    size = 16 * int(random.integers(1, 3)) if turned else 8 * int(random.integers(1, 4))
    groups, per_group, block, blocks, batch = int(random.integers(1, 3)), int(random.integers(1, 3)), 16, int(random.integers(1, 4)), int(random.integers(1, 3))
    heads, most = groups * per_group, block * blocks
    layouts = int(random.choice([n for n in (1, 2) if heads % n == 0]))
    queries = int(random.integers(2, most + 1)) if flag(random) else int(random.integers(1, 4))
    total = queries if queries == most or flag(random) else int(random.integers(queries, most)) + 1
    lengths = np.full(batch, total, np.int32)
    if flag(random):
        lengths[1:] = random.integers(1 if total == queries else queries, total + 1, batch - 1)
    listed = np.tril(random.integers(0, 2, (layouts, blocks, blocks))) | np.eye(blocks, dtype=int)
    width = int(listed.sum((1, 2)).max())
    rows = np.stack([np.concatenate([[0], np.cumsum(one.sum(1))]) for one in listed]).astype(np.int32)
    columns = np.stack([np.pad(np.nonzero(one)[1], (0, width - one.sum()), constant_values=-1) for one in listed]).astype(np.int32)
    floats = lambda *shape: random.normal(0, 1, shape).astype(np.float32)
    cache = most + int(random.integers(0, 5))
    if flag(random):
        inputs = [floats(batch, queries, (heads + 2 * groups) * size), None, None]
    else:
        inputs = [floats(batch, queries, heads * size), floats(batch, queries, groups * size), floats(batch, queries, groups * size)]
    inputs += [floats(batch, groups, cache, size), floats(batch, groups, cache, size), rows, columns, np.array([total], np.int32), lengths]
    if turned:
        inputs += [floats(most, size // 16 * 8), floats(most, size // 16 * 8)]
    attributes = {"num_heads": heads, "kv_num_heads": groups, "sparse_block_size": block, "do_rotary": turned, "rotary_interleaved": flag(random)}
    if flag(random):
        attributes["scale"] = 0.3
    return {"inputs": inputs, "attributes": attributes, "domain": "com.microsoft", "outputs": 3, "shared": {1: 3, 2: 4}, "size": 1,
            "roundings": 1024, "expected": expected}


def turn(x, places, cosines, sines, interleaved):
    """x [heads, queries, size] by the angles of its places."""
    half = cosines.shape[1]
    first, second = (x[..., 0:2 * half:2], x[..., 1:2 * half:2]) if interleaved else (x[..., :half], x[..., half:2 * half])
    c, s = cosines[places], sines[places]
    pair = first * c - second * s, second * c + first * s
    y = x.copy()
    y[..., :2 * half] = np.stack(pair, -1).reshape(*pair[0].shape[:-1], 2 * half) if interleaved else np.concatenate(pair, -1)
    return y


def expected(case, mistaken):
    """The results in float64, right or with ONNX Runtime's mistake; NaN is what nothing determines."""
    q, k, v, past_key, past_value, rows, columns, total, lengths = (None if x is None else x.astype(np.float64) if x.dtype.kind == "f" else x for x in case["inputs"][:9])
    a = case["attributes"]
    heads, groups, block = a["num_heads"], a["kv_num_heads"], a["sparse_block_size"]
    batch, queries, total = q.shape[0], q.shape[1], int(total[0])
    if k is None:
        size = q.shape[2] // (heads + 2 * groups)
        q, k, v = np.split(q, [heads * size, (heads + groups) * size], 2)
    size = k.shape[2] // groups
    apart = lambda x, count: x.reshape(batch, queries, count, size).transpose(0, 2, 1, 3)
    q, k, v = apart(q, heads), apart(k, groups), apart(v, groups)
    keys, values = past_key.copy(), past_value.copy()
    scale = a.get("scale", 0) or size ** -0.5
    lowest = float(np.finfo(np.float32).min)
    buffer = np.full(batch * heads * queries * total, np.nan)
    result = np.full((batch, queries, heads, size), np.nan)
    before = [0 if total == queries else int(length) - queries for length in lengths]
    for b in range(batch):
        places = before[b] + np.arange(queries)
        if a["do_rotary"]:
            tables = [x.astype(np.float64) for x in case["inputs"][9:11]]
            turns = before[0] + np.arange(queries) if mistaken and queries > 1 else places
            q[b], k[b] = (turn(x, turns, *tables, a["rotary_interleaved"]) for x in (q[b], k[b]))
        keys[b, :, places], values[b, :, places] = k[b].swapaxes(0, 1), v[b].swapaxes(0, 1)
        length = int(lengths[b])
        for h in range(heads):
            start = (b * heads + h) * queries * total
            scores = scale * q[b, h] @ keys[b, h // (heads // groups), :length].T
            buffer[start:start + scores.size] = scores.reshape(-1)
            layout = h % rows.shape[0]
            for place in places:
                causal = place + 1
                if causal > length and not mistaken:
                    break  # padding
                row = buffer[start + (place - before[b]) * length:]
                listed = columns[layout, rows[layout, place // block]:rows[layout, place // block + 1]]
                shown = np.isin(np.arange(causal) // block, listed)
                part = np.where(shown, row[:causal], lowest) if len(row) >= causal else np.full(len(row), np.nan)
                part = np.exp(part - part.max())
                row[:causal] = part / part.sum()
                row[causal:length] = 0
    for b in range(batch):
        length = int(lengths[b])
        for h in range(heads):
            i = b * heads + h
            start = i * queries * (length if mistaken else total)
            weights = buffer[start:start + queries * length].reshape(queries, length).copy()
            if not mistaken:
                weights[max(0, length - before[b]):] = np.nan
            result[b, :, h] = weights @ values[b, h // (heads // groups), :length]
    return [result.reshape(batch, queries, heads * size), keys, values]
