"""Random shapes, values and attributes for the cases of differential.py."""
import numpy as np

FLOATS = [np.float32, np.float64]
SIGNED = [np.int8, np.int16, np.int32, np.int64]
INTEGERS = SIGNED + [np.uint8, np.uint16, np.uint32, np.uint64]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan]


def pick(random, choices):
    return choices[random.integers(len(choices))]


def flag(random):
    return int(random.integers(2))


def shape_of(random, least=0, most=4, size=5, empty=True):
    shape = [int(random.integers(1, size + 1)) for _ in range(random.integers(least, most + 1))]
    if empty and shape and random.integers(20) == 0:
        shape[random.integers(len(shape))] = 0
    return shape


def values(random, shape, dtype, special=True):
    """Small numbers with many ties; now and then what is special to the type."""
    dtype = np.dtype(dtype)
    if dtype == bool:
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f":
        x = random.normal(0, 2, shape)
        if random.integers(3) == 0:
            x = np.round(x * 2) / 2
        if special and random.integers(4) == 0:
            x = np.where(random.random(shape) < 0.2, random.choice(SPECIAL, shape), x)
        return np.asarray(x).astype(dtype)
    info = np.iinfo(dtype)
    low = -10 if info.min < 0 else 0
    x = random.integers(low, 11, shape).astype(dtype)
    if special and random.integers(4) == 0:
        x = np.where(random.random(shape) < 0.2, random.choice(np.array([info.min, info.max], dtype), shape), x)
    return np.asarray(x).astype(dtype)


def broadcast_pair(random):
    whole = shape_of(random)
    def side():
        shape = [1 if random.integers(4) == 0 else n for n in whole]
        return shape[random.integers(len(shape) + 1):] if shape and random.integers(3) == 0 else shape
    return side(), side()


def axis_of(random, rank):
    return int(random.integers(-rank, rank))


def window_attributes(random, dims):
    kernel = [int(n) for n in random.integers(1, 4, dims)]
    attributes = {"strides": [int(n) for n in random.integers(1, 4, dims)], "dilations": [int(n) for n in random.integers(1, 3, dims)]}
    kind = pick(random, ["pads", "SAME_UPPER", "SAME_LOWER", "VALID", "none"])
    if kind == "pads":
        attributes["pads"] = [int(random.integers(0, k)) for k in kernel * 2]
    elif kind != "none":
        attributes["auto_pad"] = kind
        if kind.startswith("SAME"):
            attributes["dilations"] = [1] * dims
    return kernel, attributes
