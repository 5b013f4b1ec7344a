"""LSTM, GRU and RNN with what f32 may do to them whatever the order is in which a gate's products and biases are added; the
derived bound of case_bounds follows the order of the definition, whose roundings may cancel."""
import numpy as np

UNIT = 2.0 ** -24
FUNCTION = 4 * UNIT  # of sigmoid and tanh, relative


class Near:
    """A value, and how far a computation in f32 may be from it."""

    def __init__(self, value, error=0.0):
        self.value, self.error = np.asarray(value, np.float64), np.asarray(error, np.float64) + np.zeros_like(value, np.float64)

    def __add__(self, other):
        return Near(self.value + other.value, self.error + other.error + UNIT * np.abs(self.value + other.value))

    def __mul__(self, other):
        product = self.value * other.value
        error = np.abs(self.value) * other.error + np.abs(other.value) * self.error + self.error * other.error
        return Near(product, error + UNIT * np.abs(product))

    def through(self, function, slope):
        y = function(self.value)
        return Near(y, slope(y) * self.error + self.error ** 2 + FUNCTION * np.abs(y))

    def sigmoid(self):
        return self.through(lambda x: 1 / (1 + np.exp(-x)), lambda y: y * (1 - y))

    def tanh(self):
        return self.through(np.tanh, lambda y: 1 - y * y)

    def rest(self):
        return Near(1 - self.value, self.error + UNIT)


def gate(w, x, r, h, *biases):
    """Products and biases of a gate, added in any order; x and the biases are exact."""
    value = w @ x + r @ h.value + sum(biases)
    size = np.abs(w) @ np.abs(x) + np.abs(r) @ (np.abs(h.value) + h.error) + sum(map(np.abs, biases))
    terms = len(x) + len(h.value) + len(biases) + 1
    return Near(value, np.abs(r) @ h.error + 1.01 * terms * UNIT * size)


def step(op, w, r, wb, rb, x, h, c, linear):
    n = len(h.value)
    part = lambda k: slice(k * n, (k + 1) * n)
    own = lambda k, state: gate(w[part(k)], x, r[part(k)], state, wb[part(k)], rb[part(k)])
    if op == "RNN":
        return own(0, h).tanh(), c
    if op == "LSTM":
        i, o, f = (own(k, h).sigmoid() for k in range(3))
        c = f * c + i * own(3, h).tanh()
        return o * c.tanh(), c
    z, reset = own(0, h).sigmoid(), own(1, h).sigmoid()
    if linear:
        inner = gate(np.zeros((n, 0)), np.zeros(0), r[part(2)], h, rb[part(2)])
        outer = gate(w[part(2)], x, np.zeros((n, 0)), Near(np.zeros(0)), wb[part(2)])
        turned = reset * inner
        candidate = turned + outer
        candidate.error = candidate.error + 2 * UNIT * (np.abs(turned.value) + np.abs(outer.value) + np.abs(wb[part(2)]))
    else:
        candidate = own(2, reset * h)
    return z.rest() * candidate.tanh() + z * h, c


def is_within(case, outputs):
    """Whether all elements are as near as f32 comes."""
    x, w, r, b, lengths = (None if v is None else v.astype(np.float64) for v in case["inputs"])
    steps, batch, directions, hidden = x.shape[0], x.shape[1], w.shape[0], case["attributes"]["hidden_size"]
    y, last, cell = outputs[0], outputs[1], outputs[2] if len(outputs) > 2 else None
    right = lambda got, want: bool((np.abs(got.astype(np.float64) - want.value) <= want.error).all())
    for d in range(directions):
        biases = np.zeros(2 * w.shape[1]) if b is None else b[d]
        for k in range(batch):
            length = steps if lengths is None else int(lengths[k])
            backwards = case["attributes"]["direction"] == "reverse" or d == 1
            h, c = Near(np.zeros(hidden)), Near(np.zeros(hidden))
            for t in reversed(range(length)) if backwards else range(length):
                h, c = step(case["op"], w[d], r[d], *np.split(biases, 2), x[t, k], h, c, case["attributes"].get("linear_before_reset"))
                if not right(y[t, d, k], h):
                    return False
            if not right(last[d, k], h) or cell is not None and not right(cell[d, k], c):
                return False
    return True
