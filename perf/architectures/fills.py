"""How weights, tables and inputs are filled: functions of a random generator and a shape.

A function here that takes parameters returns such a fill.
"""

try:
    import numpy
except ImportError:  # graphs are built and counted without it
    numpy = None


def normal(deviation, mean=0.0):
    """Normally distributed f32 values."""
    def fill(generator, shape):
        values = generator.standard_normal(shape, dtype=numpy.float32)
        values *= numpy.float32(deviation)
        values += numpy.float32(mean)
        return values
    return fill


def normal_parts(deviations):
    """Normal values whose last axis has equal parts, each with its deviation."""
    def fill(generator, shape):
        values = normal(1.0)(generator, shape)
        values *= numpy.repeat(numpy.float32(deviations), shape[-1] // len(deviations))
        return values
    return fill


def normal_from(deviation, mean, count):
    """Normal values, around `mean` the first `count` of each row and around zero the others."""
    def fill(generator, shape):
        values = normal(deviation)(generator, shape)
        values[..., :count] += numpy.float32(mean)
        return values
    return fill


def normal_transposed(deviation):
    """The transpose of what normal(deviation) fills with the same generator."""
    return lambda generator, shape: normal(deviation)(generator, shape[::-1]).T


def scale(generator, shape):
    """A normalization's scale after training: around one."""
    return normal(0.1, 1.0)(generator, shape)


def variance(generator, shape):
    """A batch normalization's running variance: positive, around one."""
    return generator.uniform(0.5, 1.5, shape)


def indices(count):
    """Valid indices into a table of `count` rows."""
    return lambda generator, shape: generator.integers(0, count, shape)


def positions(first):
    """Each row counts from `first`."""
    return lambda generator, shape: numpy.broadcast_to(numpy.arange(first, first + shape[-1]), shape)


def padded(generator, shape):
    """An attention mask: rows end in a sixteenth of padding."""
    mask = numpy.ones(shape)
    mask[..., shape[-1] - shape[-1] // 16:] = 0
    return mask


def halves(generator, shape):
    """Zero in the first half of each row, one in the second: the segments of a pair of sentences."""
    return numpy.broadcast_to(numpy.arange(shape[-1]) >= shape[-1] // 2, shape)


def causal(generator, shape):
    """True where a query may see a key; the last query sees all keys."""
    queries, keys = shape[-2:]
    return numpy.tri(queries, keys, keys - queries, dtype=bool).reshape(shape)


def causal_additive(generator, shape):
    """What a masked attention adds to its scores: zero, or the lowest f32."""
    return numpy.where(causal(generator, shape), 0.0, LOWEST)


def inverse_frequencies(base):
    """Those of rotary embedding: base^(-i/n)."""
    return lambda generator, shape: base ** (-numpy.arange(shape[-2]) / shape[-2]).reshape(shape)


# The lowest finite f32, which masks a score.
LOWEST = -3.4028234663852886e38
