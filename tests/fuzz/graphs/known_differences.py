"""Why a node's results may differ from ONNX Runtime's: known_differences.txt and the conditions that its lines name.

A condition looks at one node and its operands (arrays; None for one that is left out or a sequence) and says whether the results
may differ, or which of their elements (by an array that broadcasts to them). Where the operator's results are to be the same it
must not hold: it would hide a mistake.
"""
import pathlib
from fractions import Fraction

import numpy as np
import onnx
from onnx import helper, numpy_helper


def attribute(node, name, otherwise=None):
    return next((helper.get_attribute_value(one) for one in node.attribute if one.name == name), otherwise)


def is_float(operand):
    return operand is not None and operand.dtype.kind == "f"


def has_nan(node, operands):
    return any(is_float(operand) and np.isnan(operand).any() for operand in operands)


def has_nan_in_row(node, operands):
    kept = attribute(node, "keepdims", 1) != 0
    return is_float(operands[0]) and np.isnan(operands[0]).any(axis=attribute(node, "axis", 0), keepdims=kept)


def has_nan_in_reduced(node, operands):
    axes = attribute(node, "axes", operands[1].tolist() if len(operands) > 1 else [])
    kept = attribute(node, "keepdims", 1) != 0
    return is_float(operands[0]) and np.isnan(operands[0]).any(axis=tuple(axes) or None, keepdims=kept)


def is_of_equal_numbers(node, operands):
    axes = tuple(attribute(node, "axes", [0, 2, 3]))
    return is_float(operands[0]) and np.ptp(operands[0], axis=axes, keepdims=True) == 0


def has_base_values_or_several_votes(node, operands):
    leaves = list(zip(attribute(node, "target_treeids"), attribute(node, "target_nodeids")))
    return bool(attribute(node, "base_values")) or (attribute(node, "n_targets") == 1 and len(set(leaves)) < len(leaves))


def has_near_rows(node, operands):
    a, b = (operand.astype(np.float64) for operand in operands)
    squares = (a * a).sum(1)[:, None] + (b * b).sum(1)[None]
    return bool((((a[:, None] - b[None]) ** 2).sum(2) <= squares / 32).any())


def is_singular(node, operands):
    a = operands[0].astype(np.float64)
    sizes = np.sqrt((a * a).sum(-1)).prod(-1)
    return bool((~(np.abs(np.linalg.det(a)) > 1e-6 * sizes)).any())


def is_behind_first_text(node, operands):
    shape = operands[0].shape
    behind = np.ones(shape[attribute(node, "axis", 0) % len(shape) + 1:], bool)
    behind.reshape(-1)[:1] = False
    return operands[0].dtype.kind == "O" and behind


def is_imputed_in_three_dimensions(node, operands):
    kind = "float" if is_float(operands[0]) else "int64"
    several = len(attribute(node, "imputed_value_%ss" % kind, [])) > 1
    replaced = attribute(node, "replaced_value_" + kind, 0)
    return several and operands[0].ndim > 2 and ((operands[0] == replaced) | (operands[0] != operands[0]))


def is_outside_the_integers(node, operands):
    to = helper.tensor_dtype_to_np_dtype(attribute(node, "to")) if node.op_type == "Cast" else operands[1].dtype
    if to.kind not in "iu" or not is_float(operands[0]):
        return False
    limits = np.iinfo(to)
    whole = np.trunc(operands[0].astype(np.float64))
    return ~((whole >= float(limits.min)) & (whole < float(limits.max) + 1))


def is_empty_sequence(node, operands):
    if len(operands) <= 4 or operands[4] is None:
        return False
    return (operands[4] <= 0).reshape((-1, 1, 1) if attribute(node, "layout", 0) else (-1, 1))


def is_nearest_to_two(node, operands):
    """Where coordinates are computed as (2 i + 1) in / out / 2 - 1 / 2 (half_pixel and its kin) or i in / out (asymmetric)."""
    if attribute(node, "mode", b"nearest") != b"nearest" or len(operands) < 4:
        return False
    whole = attribute(node, "nearest_mode", b"round_prefer_floor") in (b"floor", b"ceil")
    edge = Fraction(0) if whole else Fraction(1, 2)
    half = Fraction(0) if attribute(node, "coordinate_transformation_mode", b"half_pixel") == b"asymmetric" else Fraction(1, 2)
    pairs = [(size, extent) for size, extent in zip(operands[0].shape, map(int, operands[3])) if size != extent]
    return any(((i + half) * size / extent - half - edge).denominator == 1 for size, extent in pairs for i in range(extent))


def is_smaller_than_stride(node, operands):
    kernel, rank = operands[1].shape[2:], operands[1].ndim - 2
    dilations, strides = attribute(node, "dilations", [1] * rank), attribute(node, "strides", [1] * rank)
    smaller = any((k - 1) * d + 1 < s for k, d, s in zip(kernel, dilations, strides))
    return attribute(node, "auto_pad", b"").startswith(b"SAME") and smaller


def is_end_of_odd_head(node, operands):
    size = operands[0].shape[-1]
    return operands[0].ndim == 4 and size % 2 == 1 and np.arange(size) == size - 1


def has_bias_beside_scales(node, operands):
    return len(operands) > 4 and operands[4] is not None and operands[1].ndim > 2 and operands[2].size > 1


def has_votes_for_both_classes(node, operands):
    labels = len(attribute(node, "classlabels_int64s", []) or attribute(node, "classlabels_strings", []))
    return labels == 2 and len(set(attribute(node, "class_ids"))) == 2 and np.ones(len(operands[0]), bool)


def is_below_unsigned(node, operands):
    x, bias, limit = operands[0], attribute(node, "bias", 0), attribute(node, "lambd", 0.5)
    real = x.astype(np.float64)
    return x.dtype.kind == "u" and np.where(real < -limit, real + bias, real - bias) < 0


CONDITIONS = {
    "scalar": lambda node, operands: operands[0].ndim == 0,
    "equal numbers": is_of_equal_numbers,
    "base values or several votes": has_base_values_or_several_votes,
    "empty axes": lambda node, operands: len(operands) > 1 and operands[1].size == 0,
    "empty sequence": is_empty_sequence,
    "empty set": lambda node, operands: operands[0].size == 0,
    "dilated to the same size": lambda node, operands: attribute(node, "auto_pad", b"").startswith(b"SAME") and max(attribute(node, "dilations", [1])) > 1,
    "empty text": lambda node, operands: operands[0] == "",
    "unsorted": lambda node, operands: attribute(node, "sorted", 1) == 0,
    "near rows": has_near_rows,
    "singular matrix": is_singular,
    "behind the first text": is_behind_first_text,
    "imputed in three dimensions": is_imputed_in_three_dimensions,
    "outside the integers": is_outside_the_integers,
    "nearest to two": is_nearest_to_two,
    "kernel smaller than the stride": is_smaller_than_stride,
    "end of an odd head": is_end_of_odd_head,
    "bias beside scales of columns": has_bias_beside_scales,
    "votes for both of two classes": has_votes_for_both_classes,
    "below 0 in an unsigned type": is_below_unsigned,
    "NaN": has_nan,
    "NaN in the last row": lambda node, operands: is_float(operands[0]) and np.isnan(operands[0]).any(axis=-1, keepdims=True),
    "NaN in what is reduced": has_nan_in_reduced,
    "NaN in the row": has_nan_in_row,
}

# What these let differ is no element of a result that is as large as it has to be.
OF_SIZES = [CONDITIONS[name] for name in ("scalar", "empty axes")]


def known_differences():
    """By operators: conditions, each with its reason."""
    known = {}
    for line in pathlib.Path(__file__).with_suffix(".txt").read_text().splitlines()[2:]:
        head, why = line.split("]: ", 1)
        op, condition = head.split(" [", 1)
        known.setdefault(op, []).append((CONDITIONS[condition], why))
    return known


def reads_of(node):
    """What a node reads, and what its bodies do of what is outside."""
    names = list(node.input)
    for one in node.attribute:
        if one.type == onnx.AttributeProto.GRAPH:
            made = {name for inner in one.g.node for name in inner.output} | {value.name for value in [*one.g.input, *one.g.initializer]}
            names += [name for inner in one.g.node for name in reads_of(inner) if name not in made]
    return [name for name in names if name]


def first_trip(node, values):
    """A body that the node runs and what the first trip hands its inputs."""
    bodies = {one.name: one.g for one in node.attribute if one.type == onnx.AttributeProto.GRAPH}
    given = [values.get(name) for name in node.input]
    if node.op_type == "If":
        return bodies["then_branch" if given[0].item() else "else_branch"], []
    if node.op_type == "Loop":
        return bodies["body"], [np.array(0), np.array(True), *given[2:]]
    if node.op_type == "Scan":
        states = len(given) - attribute(node, "num_scan_inputs")
        return bodies["body"], given[:states] + [rows[0] for rows in given[states:]]
    return bodies["body"], [value[0] if isinstance(value, list) else value for value in given]


def inside_of_body(node, values, run):
    """The nodes of the body's first trip that can be run alone, and what ONNX Runtime's `run(graph, feed)` computes there."""
    body, arguments = first_trip(node, values)
    constants = {one.name: numpy_helper.to_array(one) for one in body.initializer}
    feed = dict(zip((value.name for value in body.input), arguments))
    local = {name for inner in body.node for name in inner.output} | set(feed) | set(constants)
    feed.update({name: values.get(name) for inner in body.node for name in reads_of(inner) if name not in local})
    feed = {name: value for name, value in feed.items() if isinstance(value, (np.ndarray, np.generic))}
    nodes, known = [], set(feed) | set(constants)
    for inner in body.node:
        if known >= set(reads_of(inner)):
            nodes.append(inner)
            known.update(inner.output)
    made = [name for inner in nodes for name in inner.output if name]
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in feed.items()]
    results = run(helper.make_graph(nodes, "body", inputs, [onnx.ValueInfoProto(name=name) for name in made], body.initializer), feed)
    return ([], {}) if isinstance(results, str) else (nodes, {**values, **constants, **feed, **dict(zip(made, results))})


def explains(may_differ, where):
    if where is True:
        return may_differ.any()
    fits = may_differ.ndim <= where.ndim and all(d in (1, w) for d, w in zip(may_differ.shape[::-1], where.shape[::-1]))
    return fits and (may_differ | ~where).all()


def reason_for(node, where, values, known, run):
    """Why elements `where` (True: all of a result) of the node differ from ONNX Runtime's, or None.

    `values` are ONNX Runtime's of what the node reads. In a body, where elements begin to differ is not known.
    """
    operands = [values[name] if isinstance(values.get(name), np.ndarray) else None for name in node.input]
    for condition, why in known.get(node.op_type, []):
        if condition in OF_SIZES and where is not True:
            continue
        if explains(np.asarray(condition(node, operands)), where):
            return "%s: %s" % (node.op_type, why)
    if node.op_type not in ("If", "Loop", "Scan", "SequenceMap"):
        return None
    nodes, inside = inside_of_body(node, values, run)
    return next(filter(None, (reason_for(inner, True, inside, known, run) for inner in nodes)), None)
