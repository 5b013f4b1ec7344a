"""Small language models for GreedySearch and BeamSearch: one head of attention over random embeddings, with a past."""
import numpy as np
from draws import flag
from onnx import TensorProto, helper, numpy_helper


def decoder(random, vocabulary, size, name):
    """A decoder as ONNX Runtime wants it: ids, positions, mask and past to logits and present."""
    f, i = TensorProto.FLOAT, TensorProto.INT32
    constants = {"table": random.normal(0, 1, (vocabulary, size)).astype(np.float32),
                 "places": random.normal(0, 1, (64, size)).astype(np.float32),
                 "back": random.normal(0, 2, (size, vocabulary)).astype(np.float32),
                 "axes_kv": np.array([0, 2], np.int64), "axes_mask": np.array([1], np.int64), "zero": np.array(0, np.int64),
                 "one": np.array(1, np.float32), "far": np.array(-1e4, np.float32)}
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["words"]), helper.make_node("Gather", ["places", "position_ids"], ["order"]),
             helper.make_node("Add", ["words", "order"], ["x"]), helper.make_node("Unsqueeze", ["x", "axes_kv"], ["k"]),
             helper.make_node("Concat", ["k", "k"], ["kv"], axis=0), helper.make_node("Concat", ["past_0", "kv"], ["present_0"], axis=3),
             helper.make_node("Gather", ["present_0", "zero"], ["keys4"], axis=0), helper.make_node("Squeeze", ["keys4", "axes_mask"], ["keys"]),
             helper.make_node("Transpose", ["keys"], ["keys_t"], perm=[0, 2, 1]), helper.make_node("MatMul", ["x", "keys_t"], ["products"]),
             helper.make_node("Cast", ["attention_mask"], ["mask"], to=f), helper.make_node("Sub", ["one", "mask"], ["hidden"]),
             helper.make_node("Mul", ["hidden", "far"], ["away"]), helper.make_node("Unsqueeze", ["away", "axes_mask"], ["away3"]),
             helper.make_node("Add", ["products", "away3"], ["masked"]), helper.make_node("Softmax", ["masked"], ["weights"], axis=-1),
             helper.make_node("MatMul", ["weights", "keys"], ["mixed"]), helper.make_node("MatMul", ["mixed", "back"], ["logits"])]
    inputs = [helper.make_tensor_value_info("input_ids", i, ["b", "s"]), helper.make_tensor_value_info("position_ids", i, ["b", "s"]),
              helper.make_tensor_value_info("attention_mask", i, ["b", "t"]), helper.make_tensor_value_info("past_0", f, [2, "b", 1, "p", size])]
    outputs = [helper.make_tensor_value_info("logits", f, ["b", "s", vocabulary]),
               helper.make_tensor_value_info("present_0", f, [2, "b", 1, "t", size])]
    return helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(v, k) for k, v in constants.items()])


def case(random, op):
    """A case of differential.py."""
    vocabulary, size, batch, length = int(random.integers(6, 20)), int(random.integers(2, 6)), int(random.integers(1, 4)), int(random.integers(2, 6))
    longest, beams = length + int(random.integers(1, 8)), int(random.integers(1, 4))
    number = lambda value, dtype: np.array([value], dtype)
    attributes = {"eos_token_id": int(random.integers(1, vocabulary)), "pad_token_id": 0, "model_type": 0,
                  "no_repeat_ngram_size": int(random.integers(0, 4)), "decoder": decoder(random, vocabulary, size, "decoder")}
    ids = random.integers(1, vocabulary, (batch, length)).astype(np.int32)
    for row in range(batch):
        ids[row, :random.integers(length)] = 0
    penalty = number(pick_penalty(random), np.float32)
    mask = random.integers(0, 4, vocabulary).clip(0, 1).astype(np.int32)
    inputs = [ids, number(longest, np.int32), number(int(random.integers(0, longest)), np.int32)]
    if op == "GreedySearch":
        inputs += [penalty, mask if flag(random) else None]
        # Where all sequences have ended ONNX Runtime leaves the rest of its result as it found it.
        def written(result):
            ended = [k for k in range(length, longest) if (result[:, k:] == 0).all()]
            return result[:, :ended[0] + 1] if ended else result
        return {"op": op, "inputs": inputs, "attributes": attributes, "domain": "com.microsoft", "written": written}
    # Whether later prompts can still improve ONNX Runtime reads from another prompt's scores.
    attributes["early_stopping"] = flag(random) if batch == 1 else 1
    inputs += [number(beams, np.int32), number(int(random.integers(1, beams + 1)), np.int32), number(float(random.choice([0.5, 1, 2])), np.float32),
               penalty, mask if flag(random) else None]
    return {"op": op, "inputs": inputs, "attributes": attributes, "domain": "com.microsoft", "outputs": 1 + flag(random), "roundings": 512, "size": 1}


def pick_penalty(random):
    return float(random.choice([1, 1.2, 2]))
