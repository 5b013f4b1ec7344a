"""Cases of Tokenizer, MurmurHash3, MaxpoolWithMask, RegexFullMatch and StringNormalizer; made as differential_cases.py says."""
import itertools
import unicodedata

import numpy as np
from draws import flag, pick

LETTERS = ["a", "b", "c", " ", ",", "A", "1", "_", "\n", "\u00e9", "\u65e5", "\U0001f600"]


def size(random, most=4):
    return int(random.integers(1, most + 1))


def text(random, most=12):
    return "".join(pick(random, LETTERS) for _ in range(random.integers(0, most + 1)))


def pattern(random, depth=3):
    """Any regular expression; of characters where no depth is left."""
    kind = int(random.integers(0, 9)) if depth else 0
    inner = lambda: pattern(random, depth - 1)
    if kind < 2:
        return pick(random, ["a", "b", " ", ",", "\u00e9", "\u65e5", ".", "[ab]", "[^a]", "\\s", "\\w", "\\W", "\\d", "[[:alpha:]]", "[a-c ]", "\\p{L}", "\\PN", "[\\p{Han}a]"])
    if kind < 4:
        return inner() + inner()
    if kind < 5:
        return "(%s|%s)" % (inner(), inner())
    if kind < 7:
        return "(?:%s)%s" % (inner(), pick(random, ["*", "+", "?", "*?", "+?", "{2}", "{1,2}", "{2,}"]))
    return pick(random, ["^%s", "%s$", "\\b%s", "%s\\b", "(?i)%s", "\\B%s", "(?m)^%s", "%s(?m)$"]) % inner()


def tokenizer(random):
    attributes = {"mark": flag(random), "pad_value": pick(random, ["#", "", "pad"]), "mincharnum": pick(random, [1, 1, 2, 3])}
    kind = pick(random, ["characters", "separators", "tokens"])
    if kind == "characters":
        attributes |= {"separators": [""], "mincharnum": 1} if flag(random) else {"tokenexp": ".", "mincharnum": 1}
    elif kind == "separators":
        plain = flag(random)
        attributes["separators"] = [pick(random, [" ", ",", "ab", "\u65e5"]) if plain else pattern(random) for _ in range(size(random, 3))]
    else:
        attributes["tokenexp"] = pattern(random)
    if attributes.get("tokenexp") == "." or attributes.get("separators") == [""]:
        attributes["mincharnum"] = 1
    shape = [int(random.integers(0, 4)) for _ in range(random.integers(1, 3))]
    words = np.array([text(random) for _ in range(int(np.prod(shape)))] + [None], object)[:-1].reshape(shape)
    return {"op": "Tokenizer", "inputs": [words], "attributes": attributes, "domain": "com.microsoft"}


def full_match(random):
    words = np.array([text(random, 6) for _ in range(size(random, 8))], object)
    return {"op": "RegexFullMatch", "inputs": [words], "attributes": {"pattern": pattern(random)}}


def letter(random):
    """Of any alphabet; no surrogates, and nothing younger than Unicode 12, which C libraries may not know."""
    while True:
        point = int(random.integers(32, pick(random, [128, 0x600, 0x2000, 0xFFFF, 0x1E944])))
        known = unicodedata.category(chr(point)) not in ("Cn", "Cs", "Co") and not 0xD800 <= point < 0xE000
        if known and not 0x2C2F <= point <= 0x2C5F and not 0xA7C0 <= point <= 0xA7DC:
            return chr(point)


def normalizer(random):
    words = ["".join(letter(random) for _ in range(random.integers(1, 5))) for _ in range(size(random, 8))]
    attributes = {"case_change_action": pick(random, ["LOWER", "UPPER", "NONE"]), "is_case_sensitive": flag(random), "locale": "C.UTF-8"}
    if flag(random):
        attributes["stopwords"] = [getattr(pick(random, words), pick(random, ["lower", "upper", "title"]))() for _ in range(size(random, 3))]
    shape = pick(random, [[len(words)], [1, len(words)]])
    return {"op": "StringNormalizer", "inputs": [np.array(words, object).reshape(shape)], "attributes": attributes}


def murmur_hash(random):
    shape = [int(random.integers(0, 4)) for _ in range(random.integers(0, 4))]
    dtype = pick(random, [np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64, object])
    if dtype is object:
        values = np.array([text(random) for _ in range(int(np.prod(shape)))] + [None], object)[:-1].reshape(shape)
    else:
        values = random.integers(0, 256, [*shape, np.dtype(dtype).itemsize]).astype(np.uint8).view(dtype).reshape(shape)
        if flag(random):
            values = random.integers(0, 9, shape).astype(dtype)
    return {"op": "MurmurHash3", "inputs": [values], "attributes": {"seed": int(random.integers(0, 2 ** 32)), "positive": flag(random)},
            "domain": "com.microsoft"}


def masked_pooling(random):
    rank = size(random, 3)
    kernel = [int(n) for n in random.integers(1, 4, rank)]
    # Of windows that do not fit there is none; ONNX Runtime rounds their number towards zero and has one.
    spatial = [k + int(random.integers(0, 4)) for k in kernel]
    channels = [size(random, 3), size(random, 3)]
    x = random.normal(0, 1, channels + spatial).astype(np.float32)
    if flag(random):
        x[random.random(x.shape) < 0.1] = pick(random, [np.nan, -np.inf, np.inf])
    mask = (random.random([*pick(random, [[1, 1], [1, channels[1]], channels, [2, 1]]), *spatial]) < 0.7).astype(np.int32)
    attributes = {"kernel_shape": kernel}
    if flag(random):
        attributes["strides"] = [int(n) for n in random.integers(1, 4, rank)]
    if flag(random):
        attributes["pads"] = [int(random.integers(0, k)) for k in kernel * 2]
    elif flag(random):
        attributes["auto_pad"] = pick(random, ["SAME_UPPER", "SAME_LOWER", "VALID"])
    return {"op": "MaxpoolWithMask", "inputs": [x, mask], "attributes": attributes, "domain": "com.microsoft", "expected": expected_pooling}


def expected_pooling(case, mistaken):
    """ONNX Runtime 1.32 begins to read the mask of a channel a few elements into the mask, not at a channel of it. Of a kernel that is
    smaller than the strides it has a padding below zero."""
    x, mask = case["inputs"]
    a, spatial = case["attributes"], x.shape[2:]
    rank, elements = len(spatial), int(np.prod(spatial))
    kernel, strides = a["kernel_shape"], a.get("strides", [1] * rank)
    pads = a.get("pads", [0] * 2 * rank)
    counts = [(n + pads[d] + pads[rank + d] - kernel[d]) // strides[d] + 1 for d, n in enumerate(spatial)]
    if a.get("auto_pad", "").startswith("SAME"):
        counts = [-(-n // s) for n, s in zip(spatial, strides)]
        totals = [max(-s if mistaken else 0, (c - 1) * s + k - n) for c, s, k, n in zip(counts, strides, kernel, spatial)]
        pads = [int((t + (a["auto_pad"] == "SAME_LOWER")) / 2) for t in totals]
    result = np.full((*x.shape[:2], *counts), np.finfo(np.float32).min)
    masks = mask.shape[0] * mask.shape[1]
    for channel in range(x.shape[0] * x.shape[1]):
        own = x[channel // x.shape[1], channel % x.shape[1]]
        start = channel * elements % masks if mistaken else channel % masks * elements
        shown = mask.reshape(-1)[start:start + elements].reshape(spatial)
        for place in itertools.product(*(range(n) for n in counts)):
            low = [p * s - q for p, s, q in zip(place, strides, pads)]
            ranges = [range(max(n, 0), min(n + k, m)) for n, k, m in zip(low, kernel, spatial)]
            for outer in itertools.product(*ranges[:-1]):
                for last in ranges[-1]:
                    at = (*outer, last)
                    if shown[at] == 0 and (rank == 1 or any(at)):
                        break
                    if own[at] > result[(channel // x.shape[1], channel % x.shape[1], *place)]:
                        result[(channel // x.shape[1], channel % x.shape[1], *place)] = own[at]
    return [result]


GENERATORS = {"MaxpoolWithMask": masked_pooling, "MurmurHash3": murmur_hash, "RegexFullMatch": full_match, "StringNormalizer": normalizer, "Tokenizer": tokenizer}
