"""Small models of an encoder and a decoder for BeamSearch (as T5, or as Whisper) and WhisperBeamSearch: one layer of two heads over random
embeddings."""
import beam_search_outcomes
import numpy as np
from draws import flag
from generation_models import pick_penalty
from onnx import TensorProto, helper, numpy_helper

HEADS = 2
F, I = TensorProto.FLOAT, TensorProto.INT32


class Body:
    """Nodes of one body, by functions that return the names of their results."""

    def __init__(self, weights):
        self.nodes, self.constants = [], {}
        self.weights = weights

    def node(self, op, inputs, name=None, **attributes):
        name = name or "n%d" % len(self.nodes)
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def constant(self, value):
        value = np.asarray(value)
        name = "c%d" % len(self.constants)
        self.constants[name] = value
        return name

    def weight(self, name):
        self.constants[name] = self.weights[name]
        return name

    def project(self, x, weight, name=None):
        """[b, s, d] to heads [b, h, s, d / h]."""
        size = self.weights[weight].shape[1] // HEADS
        y = self.node("MatMul", [x, self.weight(weight)])
        y = self.node("Reshape", [y, self.constant(np.array([0, 0, HEADS, size], np.int64))])
        return self.node("Transpose", [y], name, perm=[0, 2, 1, 3])

    def placed(self, x, past):
        """[b, s, d], every token scaled by its place: sums over the same tokens in another order would tie but for rounding."""
        size = lambda of, axis: self.node("Gather", [self.node("Shape", [of]), self.constant(np.array(axis, np.int64))])
        integer = lambda value: self.constant(np.array(value, np.int64))
        first = size(past, 2) if past else integer(0)
        places = self.node("Range", [first, self.node("Add", [first, size(x, 1)]), integer(1)])
        turns = self.node("Mul", [self.node("Cast", [places], to=F), self.constant(np.array(0.7, np.float32))])
        factors = self.node("Add", [self.node("Sin", [turns]), self.constant(np.array(1.5, np.float32))])
        return self.node("Mul", [x, self.node("Unsqueeze", [factors, self.constant(np.array([1], np.int64))])])

    def attend(self, q, k, v, mask=None):
        scores = self.node("MatMul", [q, self.node("Transpose", [k], perm=[0, 1, 3, 2])])
        if mask:
            hidden = self.node("Sub", [self.constant(np.array(1, np.float32)), self.node("Cast", [mask], to=F)])
            away = self.node("Mul", [hidden, self.constant(np.array(-1e4, np.float32))])
            scores = self.node("Add", [scores, self.node("Unsqueeze", [away, self.constant(np.array([1, 2], np.int64))])])
        y = self.node("Transpose", [self.node("MatMul", [self.node("Softmax", [scores], axis=-1), v])], perm=[0, 2, 1, 3])
        return self.node("Reshape", [y, self.constant(np.array([0, 0, -1], np.int64))])

    def logits(self, x, own, cross, mask):
        mixed = self.node("Add", [self.attend(self.project(x, "own_q"), *own), self.attend(self.project(x, "cross_q"), *cross, mask)])
        return self.node("MatMul", [mixed, self.weight("back")], "logits")

    def graph(self, name, inputs, outputs):
        values = lambda those: [helper.make_tensor_value_info(*value) for value in those]
        return helper.make_graph(self.nodes, name, values(inputs), values(outputs), [numpy_helper.from_array(v, k) for k, v in self.constants.items()])


def states(kind, past, length, size):
    return [("%s_%s_%s_0" % (past, part, kind), F, ["b", HEADS, length, size]) for part in ("key", "value")]


def encoder(weights, whisper, with_start):
    vocabulary, width = weights["table"].shape
    body = Body(weights)
    if whisper:
        turned = body.node("Transpose", ["encoder_input_ids"], perm=[0, 2, 1])
        hidden = body.node("MatMul", [turned, body.weight("features")], "encoder_hidden_states")
        inputs = [("encoder_input_ids", F, ["b", weights["features"].shape[0], "s"])]
    else:
        hidden = body.node("Gather", [body.weight("table"), "encoder_input_ids"], "encoder_hidden_states")
        inputs = [("encoder_input_ids", I, ["b", "s"]), ("encoder_attention_mask", I, ["b", "s"])]
    cross = [body.project(hidden, "cross_" + k[0], "present_%s_cross_0" % k) for k in ("key", "value")]
    outputs = states("cross", "present", "s", width // HEADS)
    if not with_start:
        return body.graph("encoder", inputs, outputs)
    inputs.append(("decoder_input_ids", I, ["b", "l" if whisper else 1]))
    x = body.node("Gather", [body.weight("table"), "decoder_input_ids"])
    own = [body.project(x, "own_" + k[0], "present_%s_self_0" % k) for k in ("key", "value")]
    body.logits(x, own, cross, None if whisper else "encoder_attention_mask")
    outputs = [("logits", F, ["b", "l" if whisper else 1, vocabulary]), ("encoder_hidden_states", F, ["b", "s", width])] + states("self", "present", "l", width // HEADS) + outputs
    return body.graph("encoder", inputs, outputs)


def decoder(weights, whisper, hidden, all_tokens, encoder_ids=False):
    """encoder_ids: it reads the encoder's tokens, too, as a decoder does that may point at them."""
    vocabulary, width = weights["table"].shape
    size = width // HEADS
    body = Body(weights)
    x = body.placed(body.node("Gather", [body.weight("table"), "input_ids"]), None if all_tokens else "past_key_self_0")
    if all_tokens:
        mean = body.node("ReduceMean", [x, body.constant(np.array([1], np.int64))], keepdims=1)
        x = body.node("Add", [mean, body.node("Gather", [x, body.constant(np.array([-1], np.int64))], axis=1)])
    if encoder_ids:
        pointed = body.node("ReduceMean", [body.node("Gather", [body.weight("table"), "encoder_input_ids"]), body.constant(np.array([1], np.int64))], keepdims=1)
        x = body.node("Add", [x, pointed])
    own = []
    for k in ("key", "value"):
        own.append(body.node("Concat", ["past_%s_self_0" % k, body.project(x, "own_" + k[0])], "present_%s_self_0" % k, axis=2))
    body.logits(x, own, ["past_key_cross_0", "past_value_cross_0"], None if whisper else "encoder_attention_mask")
    inputs = [("input_ids", I, ["b", "l" if all_tokens else 1])]
    if encoder_ids:
        inputs.append(("encoder_input_ids", I, ["b", "s"]))
    if not whisper:
        inputs.append(("encoder_attention_mask", I, ["b", "s"]))
    if hidden:
        inputs.append(("encoder_hidden_states", F, ["b", "s", width]))
    inputs += states("self", "past", "p", size) + states("cross", "past", "s", size)
    outputs = [("logits", F, ["b", 1, vocabulary])] + states("self", "present", "t", size)
    return body.graph("decoder", inputs, outputs)


def case(random, op):
    """A case of differential.py: BeamSearch of model_type 1 or 2, or WhisperBeamSearch."""
    own_inputs = op == "WhisperBeamSearch"
    whisper = own_inputs or flag(random)
    vocabulary, width = int(random.integers(8, 20)), HEADS * int(random.integers(1, 4))
    batch, length, beams = int(random.integers(1, 4)), int(random.integers(2, 6)), int(random.integers(1, 5))
    normal = lambda *shape, scale=1.0: random.normal(0, scale, shape).astype(np.float32)
    weights = {"table": normal(vocabulary, width), "back": normal(width, vocabulary, scale=2), "features": normal(3, width)}
    weights |= {"%s_%s" % (kind, part): normal(width, width) for kind in ("own", "cross") for part in "qkv"}
    # A decoder that reads no token anew has nothing to begin with but the encoder's; one that reads hidden states gets them from there.
    with_start = whisper or flag(random)
    start = int(random.integers(0, vocabulary))
    attributes = {"eos_token_id": int(random.integers(1, vocabulary)), "pad_token_id": 0, "model_type": 2 if whisper else 1,
                  "decoder_start_token_id": start, "no_repeat_ngram_size": int(random.integers(0, 4)),
                  "early_stopping": flag(random) if batch == 1 else 1,
                  "encoder": encoder(weights, whisper, with_start), "decoder": decoder(weights, whisper, with_start and flag(random), flag(random), not whisper and flag(random))}
    first = int(random.integers(1, 4)) if whisper and flag(random) else 0
    longest = max(first, 1) + int(random.integers(2, 9))
    if whisper:
        ids = normal(batch, 3, length)
    else:
        ids = random.integers(0, vocabulary, (batch, length)).astype(np.int32)
        for row in range(batch):
            ids[row, :random.integers(length)] = 0
    number = lambda value, dtype: np.array([value], dtype)
    mask = random.integers(0, 4, vocabulary).clip(0, 1).astype(np.int32)
    prefix = random.integers(0, 4, (batch, vocabulary)).clip(0, 1).astype(np.int32)
    attention = random.integers(0, 2, (batch, length)).astype(np.int32)
    attention[:, -1] = 1  # where nothing counts, what is left after adding -1e4 is rounded to 1e-3
    inputs = [ids, number(longest, np.int32), number(int(random.integers(0, longest)), np.int32), number(beams, np.int32),
              number(int(random.integers(1, beams + 1)), np.int32), number(float(random.choice([0.5, 1, 2])), np.float32),
              number(pick_penalty(random), np.float32), mask if flag(random) else None, prefix if flag(random) else None,
              attention if not whisper and flag(random) else None]
    if whisper:
        timed = own_inputs and flag(random)
        if timed:  # the last tokens are timestamps
            beginning = int(random.integers(vocabulary // 2, vocabulary))
            others = random.permutation(np.arange(1, beginning))[:4]
            attributes |= {"eos_token_id": int(random.integers(1, beginning)), "beginning_timestamp_token_id": beginning}
            attributes |= dict(zip(("no_timestamps_token_id", "start_of_lm_token_id", "translate_token_id", "transcribe_token_id"), map(int, others)))
        inputs += [random.integers(1, vocabulary, (batch, first)).astype(np.int32) if first else None, np.array([timed], np.int32) if flag(random) or timed else None]
        if own_inputs:
            inputs += [None, None, number(float(random.choice([0.5, 1, 3])), np.float32) if flag(random) else None]
    return {"op": op, "inputs": inputs, "attributes": attributes, "domain": "com.microsoft", "outputs": 2, "may_answer": beam_search_outcomes.is_outcome, "roundings": 512, "size": 1}
