"""What differential.py draws: for each operator a function from a random generator to a case.

A case has `inputs`, and may have `attributes`, `outputs` (their number), `constants` (which inputs are part of the model),
and how floats are compared: `sums` (at the size of the largest element), `size` (at least), `roundings`; `steps` by how much
integers may differ; `judged` is False where the derived bound is not asked: Resize's weights are numbers that f32 does not
have, and the analysis takes them as they are. `shared` are outputs that lie where inputs do, `types` of those that nothing says,
`absent_outputs` such as have no name. `may_answer`, `expected` and
`any_order` are asked where the answers differ or leave their bounds: differential.py says what for."""
import decoding_cases
import encoder_decoder_models
import generation_models
import microsoft_cases
import numpy as np
import recurrent_bounds
import sparse_attention_cases
import stream_cases
import text_cases
from draws import FLOATS, INTEGERS, SIGNED, axis_of, broadcast_pair, flag, pick, shape_of, values, window_attributes
from quantised_cases import dynamic_quantize_lstm, mixture_of_experts, nhwc_max_pool


def unary(types, least=0, **compared):
    def make(random):
        return {"inputs": [values(random, shape_of(random, least), pick(random, types))], **compared}
    return make


def with_attributes(types, draw_attributes, **compared):
    def make(random):
        return {"inputs": [values(random, shape_of(random), pick(random, types))], "attributes": draw_attributes(random), **compared}
    return make


def binary(types, special=True, positive=False):
    def make(random):
        dtype = pick(random, types)
        a, b = (values(random, shape, dtype, special) for shape in broadcast_pair(random))
        if positive:
            b = np.where(b == 0, np.ones_like(b), b)
        return {"inputs": [a, b]}
    return make


def mod(random):
    case = binary(INTEGERS + FLOATS, special=False, positive=True)(random)
    case["attributes"] = {"fmod": 1 if case["inputs"][0].dtype.kind == "f" else flag(random)}
    return case


def bit_shift(random):
    dtype = pick(random, [np.uint8, np.uint16, np.uint32, np.uint64])
    a, b = broadcast_pair(random)
    amount = random.integers(0, np.iinfo(dtype).bits, b).astype(dtype)
    return {"inputs": [values(random, a, dtype), np.asarray(amount, dtype)], "attributes": {"direction": pick(random, ["LEFT", "RIGHT"])}}


def cast(random):
    source, target = pick(random, INTEGERS + FLOATS + [bool, np.float16]), pick(random, INTEGERS + FLOATS + [bool, np.float16])
    x = values(random, shape_of(random), source, special=np.dtype(source).kind != "f")
    if np.dtype(source).kind == "f" and np.dtype(target).kind == "u":
        x = np.abs(x)
    import onnx
    return {"inputs": [x], "attributes": {"to": int(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(target)))}, "roundings": 1}


def clip(random):
    dtype = pick(random, FLOATS + SIGNED)
    bounds = [values(random, [], dtype, False) if flag(random) else None for _ in range(2)]
    # With infinities ONNX Runtime takes the largest number as the bound that is left out.
    return {"inputs": [values(random, shape_of(random), dtype, special=False)] + bounds}


def where(random):
    dtype = pick(random, INTEGERS + FLOATS)
    a, b = broadcast_pair(random)
    return {"inputs": [values(random, a, bool), values(random, b, dtype), values(random, [], dtype)]}


def reduction(types, **compared):
    """Without NaN, which ONNX leaves open for maxima, and without sums that overflow."""
    def make(random):
        shape = shape_of(random, empty=False, most=3)
        inputs = [values(random, shape, pick(random, types), special=False)]
        if flag(random) and shape:
            axes = random.permutation(len(shape))[:random.integers(1, len(shape) + 1)]
            inputs.append(np.array([a - len(shape) * flag(random) for a in axes], np.int64))
        noop = flag(random) if len(inputs) == 1 else 0
        return {"inputs": inputs, "attributes": {"keepdims": flag(random), "noop_with_empty_axes": noop}, "constants": [1],
                "sums": True, **compared}
    return make


def arg_reduction(random):
    shape = shape_of(random, 1, empty=False)
    x = values(random, shape, pick(random, FLOATS + [np.int32]), special=False)
    return {"inputs": [x], "attributes": {"axis": axis_of(random, len(shape)), "keepdims": flag(random), "select_last_index": flag(random)}}


def top_k(random):
    shape = shape_of(random, 1, empty=False)
    axis = axis_of(random, len(shape))
    k = int(random.integers(0, shape[axis] + 1))
    x = values(random, shape, pick(random, FLOATS + [np.int64, np.int32]), special=False)
    return {"inputs": [x, np.array([k], np.int64)], "attributes": {"axis": axis, "largest": flag(random), "sorted": 1}, "outputs": 2,
            "constants": [1]}


def cumulative(random):
    shape = shape_of(random, 1)
    return {"inputs": [values(random, shape, pick(random, FLOATS + [np.int32, np.int64]), False),
                       np.array(axis_of(random, len(shape)), np.int64)],
            "attributes": {"exclusive": flag(random), "reverse": flag(random)}, "sums": True}


def along_axis(types, **compared):
    def make(random):
        shape = shape_of(random, 1)
        return {"inputs": [values(random, shape, pick(random, types), False)], "attributes": {"axis": axis_of(random, len(shape))},
                **compared}
    return make


def gather(random):
    shape = shape_of(random, 1, empty=False)
    axis = axis_of(random, len(shape))
    indices = random.integers(-shape[axis], shape[axis], shape_of(random, 0, 2))
    return {"inputs": [values(random, shape, pick(random, INTEGERS + FLOATS + [bool])), np.asarray(indices, pick(random, [np.int32, np.int64]))],
            "attributes": {"axis": axis}}


def gather_elements(random):
    shape = shape_of(random, 1, empty=False)
    axis = axis_of(random, len(shape))
    outer = [n if k == axis % len(shape) else int(random.integers(1, n + 1)) for k, n in enumerate(shape)]
    outer[axis] = int(random.integers(1, 5))
    return {"inputs": [values(random, shape, pick(random, INTEGERS + FLOATS)), random.integers(-shape[axis], shape[axis], outer)],
            "attributes": {"axis": axis}}


def gather_nd(random):
    shape = shape_of(random, 1, empty=False)
    last = int(random.integers(1, len(shape) + 1))
    rows = shape_of(random, 0, 2, empty=False)
    indices = np.stack([random.integers(-n, n, rows) for n in shape[:last]], -1) if last else None
    return {"inputs": [values(random, shape, pick(random, INTEGERS + FLOATS)), np.asarray(indices, np.int64)]}


def scatter_elements(random):
    shape = shape_of(random, 1, empty=False)
    axis = axis_of(random, len(shape))
    outer = [int(random.integers(1, n + 1)) for n in shape]
    reduced = pick(random, ["none", "add", "mul", "min", "max"])
    dtype = pick(random, FLOATS + [np.int32, np.int64])
    if reduced == "none":  # no index twice: the order would decide
        base = np.argsort(random.random(shape), axis)
        indices = base[tuple(slice(0, n) for n in outer)]
    else:
        indices = random.integers(-shape[axis], shape[axis], outer)
    return {"inputs": [values(random, shape, dtype, False), np.asarray(indices, np.int64), values(random, outer, dtype, False)],
            "attributes": {"axis": axis, "reduction": reduced}, "sums": True}


def slicing(random):
    shape = shape_of(random, 1)
    axes = random.permutation(len(shape))[:random.integers(1, len(shape) + 1)]
    n = len(axes)
    steps = random.choice([-3, -2, -1, 1, 1, 2, 3], n)
    bounds = [random.integers(-8, 9, n), random.integers(-8, 9, n)]
    if random.integers(4) == 0:
        bounds[1] = np.where(steps > 0, np.iinfo(np.int64).max, np.iinfo(np.int64).min)
    constants = [1, 2, 3, 4] if flag(random) else []
    return {"inputs": [values(random, shape, pick(random, INTEGERS + FLOATS)), *(b.astype(np.int64) for b in bounds),
                       axes.astype(np.int64), steps.astype(np.int64)], "constants": constants}


def pad(random):
    shape = shape_of(random, 1, empty=False)
    mode = pick(random, ["constant", "reflect", "edge", "wrap"])
    most = [4 if mode in ("constant", "edge") else max(n - 1, 0) for n in shape] * 2
    pads = np.array([random.integers(0, m + 1) for m in most], np.int64)
    dtype = pick(random, FLOATS + [np.int32])
    inputs = [values(random, shape, dtype), pads]
    if mode == "constant" and flag(random):
        inputs.append(values(random, [], dtype))
    return {"inputs": inputs, "attributes": {"mode": mode}, "constants": [1]}


def concat(random):
    shape = shape_of(random, 1)
    axis = axis_of(random, len(shape))
    dtype = pick(random, INTEGERS + FLOATS + [bool])
    inputs = []
    for _ in range(random.integers(1, 5)):
        own = list(shape)
        own[axis] = int(random.integers(0, 4))
        inputs.append(values(random, own, dtype))
    return {"inputs": inputs, "attributes": {"axis": axis}}


def split(random):
    shape = shape_of(random, 1, empty=False)
    axis = axis_of(random, len(shape))
    count = int(random.integers(1, 4))
    shape[axis] = int(random.integers(count, 9))
    attributes = {"axis": axis}
    inputs = [values(random, shape, pick(random, INTEGERS + FLOATS))]
    if flag(random):
        cuts = np.sort(random.integers(0, shape[axis] + 1, count - 1))
        inputs.append(np.diff(np.concatenate([[0], cuts, [shape[axis]]])).astype(np.int64))
    else:
        attributes["num_outputs"] = count
    return {"inputs": inputs, "attributes": attributes, "outputs": count, "constants": [1]}


def transpose(random):
    shape = shape_of(random, 1)
    return {"inputs": [values(random, shape, pick(random, INTEGERS + FLOATS))],
            "attributes": {"perm": [int(p) for p in random.permutation(len(shape))]}}


def expand(random):
    a, b = broadcast_pair(random)
    return {"inputs": [values(random, a, pick(random, INTEGERS + FLOATS)), np.array(b, np.int64)], "constants": [1] if flag(random) else []}


def tile(random):
    shape = shape_of(random, 1)
    return {"inputs": [values(random, shape, pick(random, [np.float32, np.int32, np.int64])), random.integers(0, 4, len(shape)).astype(np.int64)]}


def one_hot(random):
    indices = random.integers(-7, 8, shape_of(random, 1, 2)).astype(np.int64)
    dtype = pick(random, [np.float32, np.int64])
    return {"inputs": [indices, np.array(random.integers(1, 7), np.int64), values(random, [2], dtype, False)],
            "attributes": {"axis": int(random.integers(-indices.ndim - 1, indices.ndim + 1))}, "constants": [1]}


def trilu(random):
    shape = shape_of(random, 2)
    return {"inputs": [values(random, shape, pick(random, FLOATS + [np.int64])), np.array(random.integers(-5, 6), np.int64)],
            "attributes": {"upper": flag(random)}}


def resize(random):
    rank = int(random.integers(2, 5))
    shape = [1] * (rank - 2) + [int(n) for n in random.integers(1, 7, 2)]
    mode = pick(random, ["nearest", "linear", "cubic"])
    attributes = {"mode": mode, "coordinate_transformation_mode":
                  pick(random, ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"])}
    if mode == "nearest":
        attributes["nearest_mode"] = pick(random, ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
        # Which neighbour of a whole coordinate floor and ceil take follows from how its terms were rounded.
        if attributes["coordinate_transformation_mode"] == "half_pixel_symmetric":
            attributes["nearest_mode"] = pick(random, ["round_prefer_floor", "round_prefer_ceil"])
    if mode == "cubic":
        attributes["cubic_coeff_a"] = pick(random, [-0.75, -0.5])
        attributes["exclude_outside"] = flag(random)
    if mode != "nearest" and random.integers(3) == 0 and not attributes.get("exclude_outside"):
        attributes["antialias"] = 1
    x = values(random, shape, np.float32, False)
    # With scales that do not give whole sizes ONNX's own cases align other corners than ONNX Runtime.
    if flag(random) or attributes["coordinate_transformation_mode"] == "align_corners":
        sizes = np.array(shape[:-2] + [int(n) for n in random.integers(1, 10, 2)], np.int64)
        inputs = [x, None, None, sizes]
    else:
        scales = np.array([1.0] * (rank - 2) + list(random.choice([0.5, 0.75, 1, 1.5, 2, 2.5, 3], 2)), np.float32)
        inputs = [x, None, scales]
    # Sums of weighted elements may cancel: all of a case's results can be smaller than what they were summed from.
    return {"inputs": inputs, "attributes": attributes, "constants": [2, 3], "sums": True, "roundings": 32,
            "size": 0 if mode == "nearest" else float(np.abs(x).max(initial=0)), "judged": False}


def conv(random):
    dims = int(random.integers(1, 4))
    kernel, attributes = window_attributes(random, dims)
    group = int(random.integers(1, 4))
    channels, filters = group * int(random.integers(1, 4)), group * int(random.integers(1, 4))
    x = values(random, [int(random.integers(1, 3)), channels] + [int(n) for n in random.integers(5, 9, dims)], np.float32, False)
    inputs = [x, values(random, [filters, channels // group] + kernel, np.float32, False)]
    if flag(random):
        inputs.append(values(random, [filters], np.float32, False))
    return {"inputs": inputs, "attributes": {**attributes, "group": group}, "constants": [1, 2] if flag(random) else [], "sums": True, "size": 8}


def conv_transpose(random):
    dims = int(random.integers(1, 3))
    kernel, attributes = window_attributes(random, dims)
    attributes.pop("auto_pad", None)
    group = int(random.integers(1, 3))
    channels, filters = group * int(random.integers(1, 3)), int(random.integers(1, 4))
    attributes["output_padding"] = [int(random.integers(0, max(s, d))) for s, d in zip(attributes["strides"], attributes["dilations"])]
    x = values(random, [1, channels] + [int(n) for n in random.integers(3, 6, dims)], np.float32, False)
    return {"inputs": [x, values(random, [channels, filters] + kernel, np.float32, False)], "attributes": {**attributes, "group": group},
            "sums": True, "size": 8}


def pool(average):
    def make(random):
        dims = int(random.integers(1, 4))
        kernel, attributes = window_attributes(random, dims)
        attributes["kernel_shape"] = kernel
        if attributes.get("auto_pad", "").startswith("SAME"):  # what a negative padding is, ONNX leaves open
            attributes["strides"] = [min(s, k) for s, k in zip(attributes["strides"], kernel)]
        if attributes.get("auto_pad") is None:
            attributes["ceil_mode"] = flag(random)
        if average:
            attributes["count_include_pad"] = flag(random)
        x = values(random, [1, int(random.integers(1, 4))] + [int(n) for n in random.integers(5, 9, dims)], np.float32, False)
        outputs = 1 if average else 1 + flag(random)
        return {"inputs": [x], "attributes": attributes, "outputs": outputs, "sums": True}
    return make


def matmul(random):
    batch_a, batch_b = broadcast_pair(random)
    m, k, n = (int(v) for v in random.integers(1, 9, 3))
    dtype = pick(random, FLOATS + [np.int32, np.int64])
    return {"inputs": [values(random, batch_a + [m, k], dtype, False), values(random, batch_b + [k, n], dtype, False)],
            "sums": True, "size": 8}


def gemm(random):
    m, k, n = (int(v) for v in random.integers(1, 9, 3))
    turned = flag(random), flag(random)
    inputs = [values(random, [k, m] if turned[0] else [m, k], np.float32, False), values(random, [n, k] if turned[1] else [k, n], np.float32, False)]
    if flag(random):
        inputs.append(values(random, pick(random, [[], [1], [n], [m, 1], [1, n], [m, n]]), np.float32, False))
    return {"inputs": inputs, "attributes": {"transA": turned[0], "transB": turned[1], "alpha": float(random.normal()), "beta": float(random.normal())},
            "sums": True, "size": 16}


def quantize(random):
    shape = shape_of(random, 1, empty=False)
    dtype = pick(random, [np.uint8, np.int8, np.uint16, np.int16])
    axis = axis_of(random, len(shape))
    own = [shape[axis]] if flag(random) else []
    scale = np.asarray(random.choice([0.25, 0.5, 1, 0.1], own), np.float32)
    zero = np.asarray(random.integers(0, 9, own)).astype(dtype)
    return {"inputs": [values(random, shape, np.float32, False), scale, zero], "attributes": {"axis": axis}}


def dequantize(random):
    shape = shape_of(random, 1, empty=False)
    dtype = pick(random, [np.uint8, np.int8, np.uint16, np.int16])
    axis = axis_of(random, len(shape))
    own = [shape[axis]] if flag(random) else []
    return {"inputs": [values(random, shape, dtype), np.asarray(random.random(own), np.float32), np.asarray(random.integers(0, 9, own)).astype(dtype)],
            "attributes": {"axis": axis}}


def normalization(random):
    shape = shape_of(random, 2, empty=False)
    axis = axis_of(random, len(shape))
    inner = shape[axis % len(shape):]
    inputs = [values(random, shape, np.float32, False), values(random, inner, np.float32, False)]
    if flag(random):
        inputs.append(values(random, inner, np.float32, False))
    return {"inputs": inputs, "attributes": {"axis": axis, "epsilon": 1e-2}, "sums": True, "roundings": 64}


def reshape(random):
    shape = shape_of(random, 1, empty=False)
    flat = int(np.prod(shape))
    target = [1, flat] if flag(random) else [-1, shape[-1]]
    return {"inputs": [values(random, shape, pick(random, INTEGERS + FLOATS)), np.array(target, np.int64)]}


def recurrent(gates):
    def make(random):
        steps, batch, width, hidden = (int(n) for n in random.integers(1, 5, 4))
        direction = pick(random, ["forward", "reverse", "bidirectional"])
        d = 2 if direction == "bidirectional" else 1
        inputs = [values(random, [steps, batch, width], np.float32, False), values(random, [d, gates * hidden, width], np.float32, False),
                  values(random, [d, gates * hidden, hidden], np.float32, False)]
        inputs.append(values(random, [d, 2 * gates * hidden], np.float32, False) if flag(random) else None)
        inputs.append(random.integers(1, steps + 1, batch).astype(np.int32) if flag(random) else None)
        attributes = {"hidden_size": hidden, "direction": direction}
        if gates == 3:
            attributes["linear_before_reset"] = flag(random)
        return {"inputs": inputs, "attributes": attributes, "outputs": 3 if gates == 4 else 2, "roundings": 128, "size": 1,
                "any_order": recurrent_bounds.is_within}
    return make


ACTIVATIONS = {"Relu": FLOATS, "Sigmoid": FLOATS, "Tanh": FLOATS, "Softplus": [np.float32], "Softsign": [np.float32], "Elu": [np.float32],
               "Selu": [np.float32], "HardSigmoid": [np.float32], "HardSwish": [np.float32], "Mish": [np.float32], "Exp": FLOATS, "Log": FLOATS,
               "Sqrt": FLOATS, "Erf": [np.float32], "Reciprocal": FLOATS, "Ceil": FLOATS, "Floor": FLOATS, "Round": FLOATS, "Sin": FLOATS,
               "Cos": FLOATS, "Tan": [np.float32], "Atan": [np.float32], "Sinh": [np.float32], "Cosh": [np.float32], "Sign": FLOATS + SIGNED,
               "Abs": FLOATS + SIGNED, "Neg": FLOATS + [np.int8, np.int32, np.int64], "IsNaN": FLOATS, "IsInf": FLOATS, "Not": [bool],
               "BitwiseNot": INTEGERS, "Identity": FLOATS + INTEGERS, "Gelu": FLOATS}
BINARY = {"Add": FLOATS + [np.int32, np.int64], "Sub": FLOATS + [np.int32, np.int64], "Mul": FLOATS + [np.int32, np.int64],
          "Equal": FLOATS + [np.int32, np.int64, bool], "Less": FLOATS + [np.int32, np.int64], "GreaterOrEqual": FLOATS + [np.int32, np.int64],
          "And": [bool], "Xor": [bool], "BitwiseAnd": INTEGERS, "BitwiseXor": INTEGERS, "Max": FLOATS + [np.int32, np.int64],
          "Min": FLOATS + [np.int32, np.int64]}

GENERATORS = {
    **{name: unary(types, roundings=64, size=1e-3) for name, types in ACTIVATIONS.items()},
    # Approximations, or differences near a root, whose error is absolute.
    **{name: unary(ACTIVATIONS[name], roundings=64, size=1) for name in ("Sigmoid", "Softplus", "Mish", "Gelu", "Elu", "Selu", "HardSwish", "Sin", "Cos", "Tan")},
    # Of scalars ONNX says something else than NumPy, and ONNX Runtime does as NumPy.
    "NonZero": unary(FLOATS + [np.int32, np.int64, bool], least=1),
    **{name: binary(types) for name, types in BINARY.items()},
    "Div": binary(FLOATS + [np.int32, np.int64], special=False, positive=True),
    "Mod": mod, "BitShift": bit_shift, "Cast": cast, "Clip": clip, "Where": where,
    "LeakyRelu": with_attributes([np.float32], lambda r: {"alpha": float(r.normal())}),
    "Celu": with_attributes([np.float32], lambda r: {"alpha": 0.5 + float(r.random())}, roundings=64, size=1),
    "ReduceSum": reduction(FLOATS + [np.int32, np.int64], size=8), "ReduceMean": reduction(FLOATS + [np.int32], size=8),
    "ReduceMax": reduction(FLOATS + [np.int32, np.int64, np.int8, np.uint8]), "ReduceMin": reduction(FLOATS + [np.int32, np.int64, np.int8, np.uint8]),
    "ReduceProd": reduction(FLOATS), "ReduceL1": reduction([np.float32]), "ReduceL2": reduction([np.float32]),
    "ReduceSumSquare": reduction([np.float32]), "ReduceLogSumExp": reduction([np.float32], size=1),
    "ArgMax": arg_reduction, "ArgMin": arg_reduction, "TopK": top_k, "CumSum": cumulative,
    "Softmax": along_axis(FLOATS, size=1), "LogSoftmax": along_axis(FLOATS, sums=True, size=1), "Hardmax": along_axis([np.float32]),
    "Flatten": along_axis([np.float32, np.int64]), "Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd,
    "ScatterElements": scatter_elements, "Slice": slicing, "Pad": pad, "Concat": concat, "Split": split, "Transpose": transpose,
    "Expand": expand, "Tile": tile, "OneHot": one_hot, "Trilu": trilu, "Resize": resize, "Conv": conv, "ConvTranspose": conv_transpose,
    "MaxPool": pool(False), "AveragePool": pool(True), "MatMul": matmul, "Gemm": gemm, "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize, "LayerNormalization": normalization, "Reshape": reshape, "LSTM": recurrent(4), "GRU": recurrent(3),
    "RNN": recurrent(1), "MoE": mixture_of_experts(0), "QMoE": lambda r: mixture_of_experts(pick(r, [4, 8]))(r),
    "NhwcMaxPool": nhwc_max_pool, "SparseAttention": sparse_attention_cases.case, **microsoft_cases.GENERATORS, **stream_cases.GENERATORS,
    **decoding_cases.GENERATORS, **text_cases.GENERATORS, "DynamicQuantizeLSTM": dynamic_quantize_lstm,
    "GreedySearch": lambda r: generation_models.case(r, "GreedySearch"), "BeamSearch": lambda r: generation_models.case(r, "BeamSearch"),
    "BeamSearch with an encoder": lambda r: encoder_decoder_models.case(r, "BeamSearch"), "WhisperBeamSearch": lambda r: encoder_decoder_models.case(r, "WhisperBeamSearch"),
}
