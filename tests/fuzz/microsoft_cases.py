"""Cases of operators of com.microsoft that stand around linear attention and decoding; made as differential_cases.py says."""
import numpy as np
from draws import flag, pick


def floats(random, *shape):
    return random.normal(0, 1, shape).astype(np.float32)


def size(random, most=4):
    return int(random.integers(1, most + 1))


def case(op, inputs, attributes=None, outputs=1, **more):
    return {"op": op, "inputs": inputs, "attributes": attributes or {}, "outputs": outputs, "domain": "com.microsoft", "size": 1,
            "roundings": 256, "sums": True, **more}


def causal_convolution(random):
    batch, channels, length, kernel = size(random), size(random), size(random, 6), int(random.integers(1, 5))
    dilation, last = (size(random, 3) if flag(random) else 1), flag(random)
    order = (lambda *dims: (dims[0], dims[2], dims[1])) if last else (lambda *dims: dims)
    past = floats(random, *order(batch, channels, (kernel - 1) * dilation)) if flag(random) else None
    return case("CausalConvWithState", [floats(random, *order(batch, channels, length)), floats(random, channels, 1, kernel),
                floats(random, channels) if flag(random) else None, past],
                {"dilation": dilation, "channels_last": last, "activation": pick(random, ["none", "silu", "swish"])}, 2)


def linear_attention(random):
    batch, length, d_k, d_v, few, times = size(random, 3), size(random, 6), size(random), size(random), size(random, 2), size(random, 3)
    q_heads, heads = (few * times, few) if flag(random) else (few, few * times)
    rule = pick(random, ["linear", "gated", "delta", "gated_delta"])
    decay = -np.abs(floats(random, batch, length, heads * (d_k if flag(random) else 1))) if "gated" in rule else None
    beta = random.random((batch, length, pick(random, [1, heads]))).astype(np.float32) if "delta" in rule else None
    key = floats(random, batch, length, heads, d_k)
    key = (key / np.sqrt((key * key).sum(-1, keepdims=True))).reshape(batch, length, -1)
    attributes = {"q_num_heads": q_heads, "kv_num_heads": heads, "update_rule": rule}
    if flag(random):
        attributes["scale"] = 0.5
    return case("LinearAttention", [floats(random, batch, length, q_heads * d_k), key, floats(random, batch, length, heads * d_v),
                floats(random, batch, heads, d_k, d_v) if flag(random) else None, decay, beta], attributes, 2)


def linear_attention_gate(random):
    shape, both = [size(random), size(random), size(random)], flag(random)
    return case("LinearAttentionGate", [floats(random, *shape) * 4, floats(random, shape[2]), -np.abs(floats(random, shape[2])),
                floats(random, *shape) if both else None], outputs=1 + both)


def gated_rms_norm(random):
    outer, groups, channels = [size(random) for _ in range(random.integers(1, 3))], size(random, 3), size(random, 6)
    x = floats(random, *outer, groups * channels)
    return case("GatedRMSNorm", [x, floats(random, channels), floats(random, *x.shape)],
                {"activation": pick(random, ["silu", "swish", "sigmoid"]), "epsilon": 1e-3})


def branchwise_rms_norm(random):
    outer, branches, width, flat = [size(random) for _ in range(random.integers(1, 3))], size(random, 3), size(random, 6), flag(random)
    x = floats(random, *outer, *([branches * width] if flat else [branches, width]))
    scale = pick(random, [None, [width], [branches, width], [branches * width]])
    return case("BranchwiseRMSNorm", [x, None if scale is None else floats(random, *scale)],
                {"epsilon": 1e-3, **({"num_branches": branches} if flat else {})})


def gated_add(random):
    shape = [size(random) for _ in range(random.integers(1, 4))]
    return case("GatedAdd", [floats(random, *shape), floats(random, *shape), floats(random, *shape[:-1], 1)])


def multimodal_rotary(random):
    batch, length, heads, sections = size(random, 3), size(random), size(random, 3), [int(n) for n in random.integers(1, 4, 3)]
    half, most, layout = sum(sections), 12, flag(random)
    if layout:  # as models have it: no section beyond the third part
        sections = [sections[0], sections[0], sections[0]]
        half = sum(sections)
    x = floats(random, batch, heads, length, 2 * half) if flag(random) else floats(random, batch, length, heads * 2 * half)
    return case("MRotaryEmbedding", [x, random.integers(0, most, (3, batch, length)), floats(random, most, half), floats(random, most, half)],
                {"mrope_section": sections, "mrope_layout": layout, "interleaved": flag(random), "num_heads": heads})


def unfold(random):
    shape = [size(random, 6) for _ in range(random.integers(1, 4))]
    dim = int(random.integers(-len(shape), len(shape)))
    dtype = pick(random, [np.float32, np.int64, np.uint8, np.float64])
    return case("UnfoldTensor", [random.integers(0, 99, shape).astype(dtype)],
                {"dim": dim, "size": int(random.integers(1, shape[dim] + 1)), "step": size(random, 3)})


def time_warping(random):
    shape = [size(random, 7), size(random, 7)]
    costs = random.integers(0, 5, shape).astype(np.float32) if flag(random) else floats(random, *shape)
    return case("DynamicTimeWarping", [costs.reshape([1] * flag(random) + shape)])


def n_gram_block(random):
    batch, length, words = size(random), int(random.integers(1, 9)), int(random.integers(1, 5))
    return case("NGramRepeatBlock", [random.integers(0, words, (batch, length)), floats(random, batch, words)], {"ngram_size": size(random)})


def inverse(random):
    n = size(random, 5)
    x = floats(random, *[size(random, 3) for _ in range(random.integers(0, 3))], n, n) + 4 * np.eye(n, dtype=np.float32)
    return case("Inverse", [x.astype(pick(random, [np.float32, np.float64]))], roundings=4096)


def unique(random):
    return case("Unique", [random.integers(0, 5, size(random, 9)).astype(np.float32)], outputs=3)


def matmul_integer_16(random):
    m, k, n = size(random), size(random, 9), size(random)
    batch = [size(random, 3) for _ in range(random.integers(0, 3))]
    draw = lambda *shape: random.integers(-32768, 32768, shape).astype(np.int16)
    return case("MatMulInteger16", [draw(*batch, m, k), draw(*(batch if flag(random) else []), k, n)])


def transposed_convolution(random):
    group = size(random, 2)
    channels, filters, kernel = group * size(random, 2), size(random, 3), [int(n) for n in random.integers(1, 4, 2)]
    pads = np.array([int(random.integers(0, k)) for k in kernel * 2], np.int64)
    x = floats(random, size(random, 2), channels, size(random, 5), size(random, 5))
    return case("ConvTransposeWithDynamicPads", [x, floats(random, channels, filters, *kernel), pads, floats(random, filters * group) if flag(random) else None],
                {"group": group, "strides": [int(n) for n in random.integers(1, 3, 2)], "kernel_shape": kernel, "dilations": [1, 1]})


def quantised_embedding(random):
    batch, length, width, words = size(random, 3), size(random, 5), size(random, 8), size(random, 9)
    kind, segments = pick(random, [np.uint8, np.int8]), flag(random)
    info = np.iinfo(kind)
    table = lambda *shape: random.integers(info.min, info.max + 1, shape).astype(kind)
    ids = lambda most: random.integers(0, most, (batch, length)).astype(np.int32)
    number = lambda: np.array(0.01 + random.random() / 16, np.float32)
    zero = lambda: np.array(random.integers(info.min, info.max + 1)).astype(kind)
    mask = (np.arange(length) < random.integers(1, length + 1, (batch, 1))).astype(np.int32) if flag(random) else None
    return case("QEmbedLayerNormalization", [ids(words), ids(2) if segments else None, table(words, width), table(length, width),
                table(2, width) if segments else None, table(width), table(width), mask, number(), number(), number() if segments else None, number(), number(),
                zero(), zero(), zero() if segments else None, zero(), zero()], {"epsilon": 1e-3}, 2, roundings=4096)


def matmul_n_bits(random):
    bits, block = pick(random, [4, 8]), pick(random, [16, 32])
    depth, columns, rows = int(random.integers(1, 80)), size(random, 6), size(random)
    blocks = -(-depth // block)
    packed = random.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)
    zeros = random.integers(0, 256, columns * -(-blocks * bits // 8)).astype(np.uint8) if flag(random) else None
    order = random.permutation(np.arange(blocks * block) // block)[:depth].clip(0, blocks - 1).astype(np.int32)
    inputs = [floats(random, rows, depth), packed, floats(random, columns * blocks) / 16, zeros, order if flag(random) and bits == 4 else None]
    return case("MatMulNBits", inputs, {"K": depth, "N": columns, "bits": bits, "block_size": block}, constants=[1, 2, 3, 4], roundings=1024,
                expected=expected_product, any_order=is_near_product)


def weights_of(case, mistaken=False):
    """The matrix of a MatMulNBits, [columns, depth]; where blocks are listed row by row ONNX Runtime does not read the zero points."""
    _, packed, scales, zeros, order = case["inputs"]
    depth, columns, bits, block = (case["attributes"][name] for name in ("K", "N", "bits", "block_size"))
    fields = lambda of, count: np.stack([of >> k & (1 << bits) - 1 for k in range(0, 8, bits)], -1).reshape(columns, -1)[:, :count].astype(np.float64)
    own = np.arange(depth) // block if order is None else order
    zero = np.full((columns, depth), 1 << bits - 1)
    if zeros is not None and not (mistaken and order is not None):
        zero = fields(zeros.reshape(columns, -1), None)[:, own]
    return (fields(packed, depth) - zero) * scales.reshape(columns, -1)[:, own]


def expected_product(case, mistaken):
    return [case["inputs"][0].astype(np.float64) @ weights_of(case, mistaken).T]


def is_near_product(case, outputs):
    """Sums of fields first, scales afterwards, as kernels do: whatever the order, a term meets at most depth + 2 roundings."""
    x, weights = case["inputs"][0].astype(np.float64), weights_of(case)
    room = 1.01 * (x.shape[1] + 2) * 2.0 ** -24 * (np.abs(x) @ np.abs(weights).T)
    return bool((np.abs(outputs[0].astype(np.float64) - x @ weights.T) <= room).all())


def crop_and_resize(random):
    batch, height, width, regions = size(random, 3), size(random, 8), size(random, 8), size(random, 5)
    corners = random.uniform(-0.3, 1.3, (regions, 4)) if flag(random) else random.integers(0, 5, (regions, 4)) / 4
    attributes = {"mode": pick(random, ["bilinear", "nearest"])}
    if flag(random):
        attributes["extrapolation_value"] = 7.5
    return case("CropAndResize", [floats(random, batch, size(random, 3), height, width), corners.astype(np.float32),
                random.integers(0, batch, regions).astype(np.int32), random.integers(1, 7, 2).astype(np.int32)], attributes)


GENERATORS = {"CropAndResize": crop_and_resize, "CausalConvWithState": causal_convolution, "LinearAttention": linear_attention, "LinearAttentionGate": linear_attention_gate,
              "GatedRMSNorm": gated_rms_norm, "BranchwiseRMSNorm": branchwise_rms_norm, "GatedAdd": gated_add, "MRotaryEmbedding": multimodal_rotary,
              "UnfoldTensor": unfold, "DynamicTimeWarping": time_warping, "NGramRepeatBlock": n_gram_block, "Inverse": inverse, "Unique of com.microsoft": unique,
              "MatMulInteger16": matmul_integer_16, "ConvTransposeWithDynamicPads": transposed_convolution, "QEmbedLayerNormalization": quantised_embedding,
              "MatMulNBits": matmul_n_bits}
