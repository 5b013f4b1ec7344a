"""What BeamSearch and WhisperBeamSearch of encoder_decoder_models.py may answer: every search that differs only in how candidates
of the same score are ordered. Which of them a program finds follows from how it rounds; an early choice may leave the beams
with other sequences, of other scores, at the end."""
import itertools

import numpy as np
import onnxruntime
from onnx import helper

LOWEST = np.finfo(np.float32).min
TOLERANCE = 1e-5  # of scores that are taken as the same, by their size
MOST_TIED = 5     # whose orders are all tried


def session(body):
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def near(a, b):
    return abs(a - b) <= TOLERANCE * max(1, abs(a))


class Search:
    """Of one prompt of a case."""

    def __init__(self, case, prompt):
        inputs, attributes = case["inputs"] + [None] * 15, case["attributes"]
        number = lambda k, otherwise: otherwise if inputs[k] is None else inputs[k].item()
        self.whisper = attributes["model_type"] == 2
        self.longest, self.least, self.beams, self.returned = (int(number(k, 0)) for k in (1, 2, 3, 4))
        self.length_penalty, self.penalty, self.temperature = number(5, 1), np.float32(number(6, 1)), np.float32(number(14, 1))
        self.timed = number(11, 0) == 1 and attributes
        self.mask, self.prefix = inputs[7], None if inputs[8] is None else inputs[8][prompt]
        self.eos, self.ngram, self.early = attributes["eos_token_id"], attributes["no_repeat_ngram_size"], attributes["early_stopping"]
        self.encoder, self.decoder = session(attributes["encoder"]), session(attributes["decoder"])
        self.given = self.first_inputs(inputs[0][prompt:prompt + 1], inputs[9], prompt, attributes["pad_token_id"])
        self.start = [int(t) for t in inputs[10][prompt]] if self.whisper and inputs[10] is not None else [attributes["decoder_start_token_id"]]
        self.outcomes = []

    def first_inputs(self, ids, attention, prompt, padding):
        if self.whisper:
            return [ids]
        if attention is not None:
            return [ids, attention[prompt:prompt + 1]]
        return [ids, np.maximum.accumulate(ids != padding, 1).astype(np.int32)]  # what follows the first token counts

    def run(self):
        """All outcomes: pairs of a score and its tokens, the best first."""
        inputs = [i.name for i in self.encoder.get_inputs()]
        starts = "decoder_input_ids" in inputs
        results = self.encoder.run(None, dict(zip(inputs, self.given + [np.array([self.start], np.int32)] * starts)))
        rows = lambda x: np.repeat(x, self.beams, 0)
        sequences, totals = [self.start] * self.beams, np.array([0] + [-1e9] * (self.beams - 1), np.float32)
        states = (len(results) - 2 * starts) // (2 if starts else 1)
        reads = lambda name: any(i.name == name for i in self.decoder.get_inputs())
        self.fixed = [rows(self.given[0])] if reads("encoder_input_ids") else []
        self.fixed += [rows(x) for x in self.given[1:]] + ([rows(results[1])] if reads("encoder_hidden_states") else [])
        self.cross = [rows(x) for x in results[-states:]]
        if starts:
            self.go_on(sequences, totals, rows(results[0][:, -1]), [rows(x) for x in results[2:2 + states]], [])
        else:
            self.decode(sequences, totals, [x[:, :, :0] for x in self.cross], [])
        return self.outcomes

    def decode(self, sequences, totals, own, finished):
        inputs = self.decoder.get_inputs()
        ids = np.array(sequences, np.int32)
        ids = ids[:, -1:] if inputs[0].shape[1] == 1 else ids
        values = [ids] + self.fixed + list(own) + self.cross
        logits, *own = self.decoder.run(None, {i.name: v for i, v in zip(inputs, values)})
        self.go_on(sequences, totals, logits[:, -1], own, finished)

    def scores(self, sequences, totals, logits):
        x = logits.astype(np.float64)
        x = (x - x.max(1, keepdims=True) - np.log(np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True))).astype(np.float32)
        length = len(sequences[0])
        for row, sequence in zip(x, sequences):
            for token in set(sequence) if self.penalty != 1 else ():
                row[token] = row[token] * self.penalty if row[token] < 0 else row[token] / self.penalty
            for k in range(length - self.ngram + 1) if self.ngram else ():
                if sequence[k:k + self.ngram - 1] == sequence[length - self.ngram + 1:]:
                    row[sequence[k + self.ngram - 1]] = LOWEST
            if self.mask is not None:
                row[self.mask == 0] = LOWEST
            if self.prefix is not None and length == len(self.start):
                row[self.prefix == 0] = LOWEST
            if length < self.least:
                row[self.eos] = LOWEST
        x /= self.temperature
        for row, sequence in zip(x, sequences) if self.timed else ():
            self.keep_times(row, sequence)
        return (x + totals[:, None]).reshape(-1)

    def keep_times(self, row, sequence):
        """Whisper's rules of timestamps."""
        name = lambda text: self.timed[text + "_token_id"]
        first, stamps = name("beginning_timestamp"), [t for t in sequence if t >= name("beginning_timestamp")]
        begun = next((k + 1 for k, t in enumerate(sequence) if t >= first), len(sequence))
        row[[name("no_timestamps"), name("start_of_lm")]] = LOWEST
        if len(sequence) > begun:
            row[[name("decoder_start"), name("translate"), name("transcribe")]] = LOWEST
        last, before = sequence[-1] >= first, len(sequence) <= begun or sequence[-2] >= first
        if last:
            row[slice(first, None) if before else slice(0, self.eos)] = LOWEST
        if stamps:
            row[first:stamps[-1] + (0 if last and not before else 1)] = LOWEST
        if len(sequence) == begun:
            row[first + 51:] = LOWEST
        times = row[first:][row[first:] > LOWEST].astype(np.float64)
        if len(times) and np.log(np.exp(times - times.max()).sum()) + times.max() > row[:first].max():
            row[:first] = LOWEST

    def orders(self, scores):
        """The first 2 * beams candidates, in every order that those of the same score might have."""
        wanted, width = 2 * self.beams, len(scores)
        order = sorted(range(width), key=lambda k: (-scores[k], k))
        groups = []
        for k in order:
            # What was forbidden, and beams that have not begun, tie exactly.
            tied = groups and scores[k] > -1e8 and near(scores[groups[-1][-1]], scores[k])
            if tied:
                groups[-1].append(k)
            elif sum(map(len, groups)) < wanted:
                groups.append([k])
            else:
                break
        if any(len(group) > MOST_TIED for group in groups):
            raise ValueError("too many candidates of the same score")
        for choice in itertools.product(*(itertools.permutations(group) for group in groups)):
            yield list(itertools.chain(*choice))[:wanted]

    def go_on(self, sequences, totals, logits, own, finished):
        scores, length = self.scores(sequences, totals, logits), len(sequences[0])
        size, seen = logits.shape[1], set()
        for order in self.orders(scores):
            next_ones, ended = [], list(finished)
            for k, candidate in enumerate(order):
                if len(next_ones) == self.beams:
                    break
                if candidate % size != self.eos:
                    next_ones.append(candidate)
                elif k < self.beams:
                    ended.append((scores[candidate] / np.float32(length) ** np.float32(self.length_penalty), sequences[candidate // size]))
            # The rows that are read do not depend on the order of those that go on.
            key = (tuple(sorted(next_ones)), len(ended))
            if key in seen or len(next_ones) < self.beams:
                continue
            seen.add(key)
            ended.sort(key=lambda pair: -pair[0])
            after = [sequences[k // size] + [k % size] for k in next_ones]
            totals_after = scores[next_ones]
            best = scores.max() / np.float32(length) ** np.float32(self.length_penalty)
            if len(ended) >= self.beams and (self.early or ended[self.beams - 1][0] >= best):
                self.outcomes.append(ended)
            elif length + 1 == self.longest:
                whole = [(t / np.float32(length + 1) ** np.float32(self.length_penalty), s) for t, s in zip(totals_after, after)]
                self.outcomes.append(sorted(ended + whole, key=lambda pair: -pair[0]))
            else:
                self.decode(after, totals_after, [x[[k // size for k in next_ones]] for x in own], ended)


def is_outcome(case, sequences, scores):
    """Whether every prompt's sequences and scores are those of a search that orders ties in some way."""
    def fits(outcome, tokens, values):
        left = list(outcome)
        for k, (row, value) in enumerate(zip(tokens, values)):
            padded = lambda s: s + [case["attributes"]["pad_token_id"]] * (len(row) - len(s))
            same = [pair for pair in left if near(pair[0], value) and padded(pair[1]) == row]
            if not same or not near(outcome[k][0], value):
                return False
            left.remove(same[0])
        return True
    try:
        return all(any(fits(outcome, tokens, values) for outcome in Search(case, prompt).run())
                   for prompt, (tokens, values) in enumerate(zip(sequences.tolist(), scores.tolist())))
    except ValueError:
        return False
