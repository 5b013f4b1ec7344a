"""Cases of experts and of operators on bytes of com.microsoft; made as differential_cases.py says."""
import numpy as np
from draws import flag, pick, values, window_attributes


def mixture_of_experts(bits):
    """Logits differ, so that no expert is as good as another; bits: 0 for weights of floats. With weights of few bits ONNX Runtime
    normalises whatever the attribute says."""
    def make(random):
        rows, experts, blocks = (int(n) for n in random.integers(1, 5, 3))
        size = int(random.integers(1, 9)) if not bits else 32 * blocks
        inner = int(random.integers(1, 9)) if not bits else 32 * int(random.integers(1, 3))
        activation = pick(random, ["relu", "gelu", "silu", "identity", "swiglu"] if not bits else ["silu", "swiglu"])
        fused = 2 if activation == "swiglu" else 1
        attributes = {"k": int(random.integers(1, experts + 1)), "activation_type": activation, "normalize_routing_weights": 1 if bits else flag(random)}
        if fused == 2:
            attributes.update(swiglu_fusion=1, activation_alpha=1.5, activation_beta=float(flag(random)))
            if flag(random):
                attributes["swiglu_limit"] = 1.0
        x = values(random, [rows, size] if flag(random) else [1, rows, size], np.float32, False)
        logits = random.permuted(np.tile(np.arange(experts) / 4, (rows, 1)), axis=1).astype(np.float32)
        if not bits:
            floats = lambda *shape: values(random, list(shape), np.float32, False)
            inputs = [x, logits, floats(experts, fused * inner, size), floats(experts, fused * inner), floats(experts, size, inner),
                      floats(experts, size)]
            if flag(random):
                inputs[3] = inputs[5] = None
        else:
            attributes["expert_weight_bits"] = bits
            def layer(columns, depth):
                data = random.integers(0, 256, (experts, columns, depth * bits // 8)).astype(np.uint8)
                return [data, (random.random((experts, columns)) / 2 ** bits).astype(np.float32), None]
            inputs = [x, logits] + layer(fused * inner, size) + layer(size, inner)
        return {"inputs": inputs, "attributes": attributes, "domain": "com.microsoft", "op": "QMoE" if bits else "MoE", "sums": True,
                "size": 16, "roundings": 256}
    return make


def nhwc_max_pool(random):
    dims = int(random.integers(1, 4))
    kernel, attributes = window_attributes(random, dims)
    # With strides larger than the window SAME would pad by less than nothing: their MaxPool refuses it, this one begins
    # inside of the image, ours pads by nothing.
    if attributes.get("auto_pad", "").startswith("SAME"):
        attributes["strides"] = [min(pair) for pair in zip(kernel, attributes["strides"])]
    shape = [int(random.integers(1, 3))] + [int(n) for n in random.integers(5, 9, dims)] + [int(random.integers(1, 4))]
    return {"inputs": [values(random, shape, pick(random, [np.int8, np.uint8]))], "attributes": {**attributes, "kernel_shape": kernel},
            "domain": "com.microsoft"}


def dynamic_quantize_lstm(random):
    """Weights of 7 bits: with signed ones of 8 ONNX Runtime's sums saturate at 16 bits where the processor has no better
    instruction. Per column it takes no zero point but 0."""
    steps, batch, width, hidden = (int(n) for n in random.integers(1, 5, 4))
    direction = pick(random, ["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    kind = pick(random, [np.int8, np.uint8])
    info = np.iinfo(kind)
    columns = [d, 4 * hidden] if flag(random) else [d]
    own_zero = np.array(len(columns) == 1, kind)
    def quantised(depth):
        return [random.integers(info.min // 2, info.max // 2 + 1, (d, depth, 4 * hidden)).astype(kind),
                (random.random(columns) / 64).astype(np.float32), random.integers(info.max // 8 + 1, size=columns).astype(kind) * own_zero]
    w, w_scale, w_zero = quantised(width)
    r, r_scale, r_zero = quantised(hidden)
    inputs = [values(random, [steps, batch, width], np.float32, False), w, r]
    inputs.append(values(random, [d, 8 * hidden], np.float32, False) if flag(random) else None)
    inputs += [None] + [values(random, [d, batch, hidden], np.float32, False) if flag(random) else None for _ in range(2)]
    inputs += [None, w_scale, w_zero, r_scale, r_zero]
    return {"inputs": inputs, "attributes": {"hidden_size": hidden, "direction": direction}, "constants": [1, 2, 8, 9, 10, 11], "outputs": 3,
            "size": 1, "roundings": 256, "domain": "com.microsoft"}
