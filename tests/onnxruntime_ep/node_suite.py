#!/usr/bin/env python3
"""ONNX's suite through ONNX Runtime with the plugin: node_suite.py PLUGIN [--suite FOLDER] [--case TEXT] [--report FILE]

The cases are those of the installed `onnx`, or of FOLDER (Debian has one in /usr/share/libonnx-testdata/data). An answer is
right within the case's own tolerance, or four roundings of its type. A case that fails where the plugin claimed a node
counts, unless ONNX Runtime alone fails with the same words: then it takes no such model, or gives Python no such value.
Exit 0 when none counts.
"""

import argparse
import collections
import ctypes
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")  # cases are of the opset that is being made
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "onnx_suite")]
from newest_suite import write_suite
from plugin import Plugin, import_onnxruntime

ort, onnx, np = import_onnxruntime()
from onnx import numpy_helper

RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
READERS = {"tensor_type": (onnx.TensorProto, numpy_helper.to_array),
           "sequence_type": (onnx.SequenceProto, numpy_helper.to_list),
           "optional_type": (onnx.OptionalProto, numpy_helper.to_optional)}
# Of Debian's suite: stored answers that are not what their own model says (tests/onnx_suite/suite_case.cpp has the reasons).
CONTRADICTORY = {"test_cast_FLOAT_to_BFLOAT16", "test_castlike_BFLOAT16_to_FLOAT", "test_castlike_BFLOAT16_to_FLOAT_expanded",
                 "test_castlike_FLOAT_to_BFLOAT16", "test_castlike_FLOAT_to_BFLOAT16_expanded", "test_adam_multiple"}
PACKAGED = "/usr/share/libonnx-testdata/"


# Several in a byte: Python hands them over one in each.
PACKED = {getattr(onnx.TensorProto, name, None) for name in ("INT4", "UINT4", "FLOAT4E2M1", "INT2", "UINT2")}


class Unreadable(Exception):
    """A value that Python and ONNX Runtime do not exchange."""


def values_in(folder, prefix, ports):
    """What is stored, by the numbers of the ports; None where nothing is."""
    values = []
    for k, port in enumerate(ports):
        path = folder / ("%s_%d.pb" % (prefix, k))
        kind = port.type.WhichOneof("value")
        if not path.exists() or not path.stat().st_size:
            values.append(None)
            continue
        if kind not in READERS:
            raise Unreadable(kind)
        proto, read = READERS[kind]
        message = proto()
        message.ParseFromString(path.read_bytes())
        values.append(read(message))
    return values


def fed(value, port):
    """As ONNX Runtime takes it: it has types that NumPy has not."""
    kind = port.type.WhichOneof("value")
    if value is None or kind != "tensor_type" or value.dtype.kind == "O":
        return value
    wanted = port.type.tensor_type.elem_type
    if wanted in PACKED:
        raise Unreadable("packed elements")
    if value.dtype.isbuiltin == 1:
        return value
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(value, wanted)


def reals(array):
    return np.asarray(array).astype("f8") if array.dtype.kind != "c" else np.asarray(array).view("f8")


def difference(got, want, relative, absolute):
    """Why they differ; None where they agree."""
    if want is None:
        return None
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return "another sequence"
        found = (difference(g, w, relative, absolute) for g, w in zip(got, want))
        return next((why for why in found if why), None)
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind == "u" and want.dtype.isbuiltin != 1 and got.dtype.itemsize == want.dtype.itemsize:
        got = got.view(want.dtype)
    if got.shape != want.shape:
        return "shape %s, expected %s" % (got.shape, want.shape)
    if want.dtype.kind in "OSU":
        return None if (got.astype(str) == want.astype(str)).all() else "strings differ"
    if want.dtype.kind in "iub":
        return None if (got == want).all() else "integers differ"
    unit = np.finfo(want.dtype).eps / 2 if want.dtype.isbuiltin == 1 else 2.0 ** -8  # bfloat16's
    got, want = reals(got), reals(want)
    with np.errstate(invalid="ignore"):
        near = (got == want) | (np.isnan(got) & np.isnan(want)) | (
            np.isfinite(want) & (np.abs(got - want) <= absolute + relative * np.abs(want)))
        rounded = np.abs(got - want) <= 4 * unit * np.abs(want).max(initial=0)
    if near.all() or (near | rounded).all():
        return None
    worst = int(np.argmax(~near.ravel()))
    return "element %d is %r, expected %r" % (worst, got.ravel()[worst], want.ravel()[worst])


def is_random(model):
    return any(node.op_type in RANDOM or node.op_type == "Dropout" and len(node.input) > 2 for node in model.graph.node)


def array_of(value):
    """An OrtValue's elements; bits, as integers, where Python has no such type."""
    try:
        return value.numpy()
    except RuntimeError:
        elements = int(np.prod(value.shape()))
        width = value.tensor_size_in_bytes() // max(elements, 1)
        if width * elements != value.tensor_size_in_bytes() or width not in (1, 2):
            raise Unreadable("packed elements") from None
        bits = ctypes.string_at(value.data_ptr(), width * elements) if elements else b""
        return np.frombuffer(bits, "u%d" % width).reshape(value.shape())


def results_of(session, feeds):
    values = [value for value in feeds.values() if isinstance(value, ort.OrtValue)]
    if not values:
        try:
            return session.run(None, feeds)
        except RuntimeError as error:
            if "No corresponding Numpy type" not in str(error):
                raise
    made = {name: value if isinstance(value, ort.OrtValue) else ort.OrtValue.ortvalue_from_numpy(value)
            for name, value in feeds.items()}
    return [array_of(value) for value in session.run_with_ort_values(None, made)]


def answers_differ(session, folder, model):
    """The first disagreement with what is stored, or None."""
    relative, absolute = 1e-3, 1e-7
    if (folder / "tolerance").exists():
        relative, absolute = map(float, (folder / "tolerance").read_text().split())
    for data in sorted(folder.glob("test_data_set_*")):
        given = values_in(data, "input", model.graph.input)
        feeds = {port.name: fed(value, port) for port, value in zip(model.graph.input, given) if value is not None}
        results = results_of(session, feeds)
        if is_random(model):
            continue
        for k, want in enumerate(values_in(data, "output", model.graph.output)):
            why = difference(results[k], want, relative, absolute)
            if why:
                return "output %d: %s" % (k, why)
    return None


def outcome_of(plugin, folder):
    """(outcome, nodes claimed, of, why)."""
    if str(folder).startswith(PACKAGED) and folder.name in CONTRADICTORY:
        return "contradictory", 0, 0, ""
    path = str(folder / "model.onnx")
    model = onnx.load(path)
    claims = [(0, len(model.graph.node), 0)]

    def attempt(make):
        try:
            return answers_differ(make(), folder, model)
        except Unreadable as error:
            return Unreadable(*error.args)
        except Exception as error:  # whatever ONNX Runtime throws
            return "fails: " + str(error).split("\n")[0]

    def with_plugin():
        session, claims[:] = plugin.session_and_claims(path, optimize="off")
        return session

    why = attempt(with_plugin)
    claimed, of = (claims[-1][:2] if claims else (0, 0))
    if isinstance(why, Unreadable):
        return "not for Python", claimed, of, str(why)
    if why is None:
        kind = "random" if is_random(model) else "passed"
        return (kind if claimed else kind + " by ONNX Runtime"), claimed, of, ""
    alone = attempt(lambda: ort.InferenceSession(path, providers=["CPUExecutionProvider"]))
    if not claimed or why == alone:
        return ("not for this ONNX Runtime" if alone else "FAILED"), claimed, of, why
    return "FAILED", claimed, of, "%s (ONNX Runtime alone: %s)" % (why, alone or "right")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugin")
    parser.add_argument("--suite", type=pathlib.Path)
    parser.add_argument("--case", default="")
    parser.add_argument("--report")
    given = parser.parse_args()
    ort.set_default_logger_severity(4)
    counts, lines = collections.Counter(), []
    nodes = [0, 0]
    with tempfile.TemporaryDirectory() as scratch, Plugin(given.plugin) as plugin:
        suite = given.suite or pathlib.Path(scratch) / "suite"
        if not suite.exists():
            write_suite(suite)
        for path in sorted(suite.rglob("model.onnx")):
            if given.case not in path.parent.name:
                continue
            outcome, claimed, of, why = outcome_of(plugin, path.parent)
            counts[outcome] += 1
            if outcome in ("passed", "random"):
                nodes[0] += claimed
                nodes[1] += of
            lines.append("%s\t%s\t%d of %d\t%s" % (outcome, path.parent.name, claimed, of, why))
            if outcome == "FAILED":
                print(lines[-1], flush=True)
    print("ONNX Runtime %s, %d cases: %s; %d of %d nodes claimed in those that pass with claims" % (
        ort.__version__, len(lines), ", ".join("%d %s" % (n, name) for name, n in counts.most_common()), *nodes))
    if given.report:
        with open(given.report, "w", encoding="utf8") as file:
            file.write("\n".join(lines) + "\n")
    return 1 if counts["FAILED"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
