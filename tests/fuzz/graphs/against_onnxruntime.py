#!/usr/bin/env python3
"""Random graphs through the reference tier and through ONNX Runtime: `against_onnxruntime.py FUZZ_GRAPHS [--count N] [--seed S]`.

fuzz_graphs writes the models, their inputs, the reference's results, and how far rounding alone moves each result; here ONNX
Runtime answers them without its graph optimisations. Types, shapes, integers and texts are compared exactly, floats within what
rounding explains. Counted are graphs that agree, that ONNX Runtime refuses (by the reason it gives), that axrun refuses, that
rounding decides, that end its process, and that differ, by a known reason of known_differences.txt or not. Exit 1 where one differs without a known
reason, 77 where onnxruntime is missing.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import numpy_helper
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)


def read_value(path, value):
    """An input or output file, as the kind of the graph's port says; None where there is none."""
    if not path.exists():
        return None
    data = path.read_bytes()
    if value.type.WhichOneof("value") == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if value.type.WhichOneof("value") == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def theirs(model, feed):
    """ONNX Runtime's results, or its message."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return session.run(None, feed)
    except Exception as error:  # its exceptions have no common base class
        return str(error)


def as_text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def difference(got, want, spread):
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return "another kind or length of sequence"
        return next(filter(None, (difference(g, w, spread) for g, w in zip(got, want))), "")
    if got is None or want is None:
        return "" if got is None and want is None else "nothing and something"
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return "shape %s, axrun's is %s" % (list(got.shape), list(want.shape))
    if want.dtype.kind in "OSU":
        same = [as_text(g) == as_text(w) for g, w in zip(got.reshape(-1), want.reshape(-1))]
        return "" if all(same) else "texts"
    if got.dtype != want.dtype:
        return "type %s, axrun's is %s" % (got.dtype, want.dtype)
    if want.dtype.kind not in "f":
        wrong = np.argwhere(got != want)
    else:
        unit = float(np.finfo(want.dtype).eps)
        g, w = got.astype(np.float64), want.astype(np.float64)
        scale = np.abs(w[np.isfinite(w)]).max(initial=0)
        near = np.abs(g - w) <= 64 * unit * scale + 64 * spread
        wrong = np.argwhere(~(near | (g == w) | (np.isnan(g) & np.isnan(w))))
    if not len(wrong):
        return ""
    at = tuple(wrong[0])
    return "element %s is %r, axrun's is %r" % (list(map(int, at)), got[at], want[at])


def reason_of(message):
    """What a refusal is about, without names and numbers."""
    found = re.search(r"NOT_IMPLEMENTED[^\n]*?(?:for|implementation)[^\n]*?([A-Z]\w+)\(\d+\)", message)
    if found:
        return "not implemented there: " + found.group(1)
    for part, name in [("Type Error", "type error"), ("ShapeInferenceError", "its shape inference"), ("TypeInferenceError", "its type inference"),
                       ("is not a registered function/op", "unknown operator"), ("INVALID_ARGUMENT", "invalid argument"), ("RUNTIME_EXCEPTION", "error of a run")]:
        if part in message:
            return name
    return message.split("\n")[0][:60]


def compare(folder, counts, findings, refusals, known):
    model = onnx.load(str(folder / "model.onnx"))
    data = folder / "test_data_set_0"
    lines = (data / "spreads").read_text().split("\n") if (data / "spreads").exists() else ["refused"]
    if lines[0].startswith("refused"):
        counts["refused by axrun"] += 1
        return
    feed = {value.name: read_value(data / ("input_%d.pb" % k), value) for k, value in enumerate(model.graph.input)}
    got = theirs(model.SerializeToString(), feed)
    if isinstance(got, str):
        counts["refused by ONNX Runtime"] += 1
        refusals[reason_of(got)] += 1
        return
    for k, value in enumerate(model.graph.output):
        kind, spread = lines[k].split(" ")
        if value.type.WhichOneof("value") is None and not isinstance(got[k], np.ndarray):
            continue  # maps are not written
        why = difference(got[k], read_value(data / ("output_%d.pb" % k), value), float(spread))
        if not why:
            continue
        if kind == "decided":
            counts["decided by rounding"] += 1
            return
        ops = [node.op_type for node in model.graph.node]
        excuse = next((text for op, text in known if op in ops), None)
        if excuse:
            counts["known: " + excuse] += 1
            return
        counts["different"] += 1
        findings.append("%s output %d (%s): %s; %s" % (folder.name, k, value.name, why, ", ".join(ops)))
        return
    counts["the same"] += 1


def compare_apart(folder, counts, findings, refusals, known):
    """compare() in a process of its own: ONNX Runtime ends it on some models, and that is counted."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        mine, found, refused = collections.Counter(), [], collections.Counter()
        compare(folder, mine, found, refused, known)
        with os.fdopen(writer, "w") as answer:
            json.dump([mine, found, refused], answer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        counts["ends ONNX Runtime's process"] += 1
        refusals["signal %d" % os.WTERMSIG(status)] += 1
        print("  ends ONNX Runtime's process: " + folder.name)
    elif os.WEXITSTATUS(status) != 0:
        sys.exit("comparing %s failed" % folder.name)
    else:
        for total, part in zip((counts, findings, refusals), json.loads(text)):
            (total.extend if total is findings else total.update)(part)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fuzz_graphs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--folder", help="keeps what is written")
    arguments = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    known = [line.split(": ", 1) for line in (pathlib.Path(__file__).parent / "known_differences.txt").read_text().splitlines() if ": " in line]
    counts, refusals, findings = collections.Counter(), collections.Counter(), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or temporary
        subprocess.run([arguments.fuzz_graphs, "--write", folder, "--seed", str(arguments.seed), "--first", str(arguments.first), "--count",
                        str(arguments.count)], check=True)
        for case in sorted(pathlib.Path(folder).iterdir()):
            compare_apart(case, counts, findings, refusals, known)
    print("seed %d, graphs %d to %d: %s" % (arguments.seed, arguments.first, arguments.first + arguments.count, dict(counts)))
    print("refused by ONNX Runtime: %s" % dict(refusals.most_common(12)))
    for finding in findings:
        print("  " + finding)
    return 1 if findings else 0


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
