#!/usr/bin/env python3
"""Random graphs through the reference tier and through ONNX Runtime: `against_onnxruntime.py FUZZ_GRAPHS [--count N] [--seed S]`.

fuzz_graphs writes the models with every value as a result, their inputs, the reference's results, and how far rounding alone
moves each element; here ONNX Runtime answers them without its graph optimisations. Types, shapes, integers and texts are compared
exactly, floats within what rounding explains. What differs is asked for at the node where it begins: what follows from that is not
compared. Counted are graphs that agree, that ONNX Runtime refuses (by the reason it gives), that axrun or both refuse, that
rounding decides, that end its process, and that differ, by known reasons of known_differences.txt alone or not. Exit 1 where one
differs without a known reason or axrun alone refuses it, 77 where onnxruntime is missing.
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
import traceback

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
    from known_differences import known_differences, reads_of, reason_for
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)


def items_of(sequence):
    """numpy_helper.to_list, which has no empty sequences."""
    if sequence.elem_type == onnx.SequenceProto.SEQUENCE:
        return [items_of(item) for item in sequence.sequence_values]
    return numpy_helper.to_list(sequence) if sequence.elem_type != onnx.SequenceProto.UNDEFINED else []


def read_value(path, kind):
    """An input or output file; None where there is none."""
    if not path.exists():
        return None
    data = path.read_bytes()
    if kind == "sequence_type":
        return items_of(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        optional = onnx.OptionalProto.FromString(data)
        return items_of(optional.sequence_value) if optional.HasField("sequence_value") else numpy_helper.to_optional(optional)
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def holds_maps(value):
    return isinstance(value, dict) or (isinstance(value, list) and any(holds_maps(item) for item in value))


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


def leaves(value):
    """The tensors in a value, those of items one after another."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None else [np.asarray(value)]


def form(value):
    """All of a value but its elements."""
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(form(item) for item in value)
    if value is None:
        return "nothing"
    value = np.asarray(value)
    return "%s %s" % ("text" if value.dtype.kind in "OSU" else value.dtype, list(value.shape))


def as_text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def same(got, want, spread):
    """By elements, of two tensors of one form, whose floats rounding alone moves by `spread`.

    Sums that cancel and approximations of sigmoids are exact to roundings of the largest element.
    """
    if want.dtype.kind in "OSU":
        return np.array([as_text(g) == as_text(w) for g, w in zip(got, want)], bool)
    if want.dtype.kind != "f":
        return got == want
    unit = float(np.finfo(want.dtype).eps)
    g, w = got.astype(np.float64), want.astype(np.float64)
    scale = np.abs(w[np.isfinite(w)]).max(initial=0)
    near = np.abs(g - w) <= 4 * unit * scale + 16 * unit * np.abs(w) + 16 * np.where(np.isfinite(spread), spread, 0)
    return near | (g == w) | (np.isnan(g) & np.isnan(w))


def difference(got, want, rounded):
    """What differs; which elements of a tensor, None where rounding decides all that differ, True where more than elements differ."""
    kind, *numbers = rounded.split(" ")
    if form(got) != form(want):
        return "%s, axrun's is %s" % (form(got), form(want)), None if kind == "decided" else True
    spreads, at, decided = np.array(numbers, np.float64), 0, ""
    for g, w in zip(leaves(got), leaves(want)):
        spread = spreads[at:at + w.size] if kind == "within" else np.full(w.size, np.inf)
        at += w.size
        wrong = ~same(g.reshape(-1), w.reshape(-1), spread)
        if not wrong.any():
            continue
        undecided = wrong & np.isfinite(spread)
        k = np.argmax(undecided if undecided.any() else wrong)
        why = "element %s is %r, axrun's is %r" % (list(map(int, np.unravel_index(k, w.shape))), g.reshape(-1)[k], w.reshape(-1)[k])
        if undecided.any():
            return why, True if isinstance(want, (list, tuple)) else undecided.reshape(w.shape)
        decided = why
    return decided, None


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


def differences(model, data, values, rounded, known):
    """Where ONNX Runtime's `values` begin to differ: (node, what differs, why or None) and, decided by rounding, (node, what, "")."""
    kinds = {value.name: value.type.WhichOneof("value") for value in model.graph.output}
    numbers = {value.name: k for k, value in enumerate(model.graph.output)}
    imports = list(model.opset_import)

    def run(graph, feed):
        return theirs(helper.make_model(graph, opset_imports=imports, ir_version=model.ir_version).SerializeToString(), feed)

    differing = set()
    for node in model.graph.node:
        if differing & set(reads_of(node)):
            differing.update(node.output)
            continue
        for name in node.output:
            got = values.get(name)
            if not name or holds_maps(got):
                continue  # maps are not written
            untyped = "optional_type" if node.op_type == "Optional" else "sequence_type" if isinstance(got, list) else "tensor_type"
            kind = kinds.get(name) or untyped
            want = read_value(data / ("output_%d.pb" % numbers[name]), kind)
            what, where = difference(got, want, rounded[numbers[name]])
            if what:
                differing.add(name)
                yield node, what, "" if where is None else reason_for(node, where, values, known, run)


def compare(folder, counts, findings, refusals, known):
    model = onnx.load(str(folder / "model.onnx"))
    data = folder / "test_data_set_0"
    rounded = (data / "spreads").read_text().split("\n") if (data / "spreads").exists() else ["refused"]
    feed = {value.name: read_value(data / ("input_%d.pb" % k), value.type.WhichOneof("value")) for k, value in enumerate(model.graph.input)}
    got = theirs(model.SerializeToString(), feed)
    refused = rounded[0].startswith("refused")
    if isinstance(got, str):
        counts["refused by both" if refused else "refused by ONNX Runtime"] += 1
        refusals[reason_of(got)] += 1
        return
    if refused:
        counts["refused by axrun"] += 1
        findings.append("%s %s" % (folder.name, rounded[0]))
        return
    values = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    values.update(feed)
    values.update(zip((value.name for value in model.graph.output), got))
    verdict = "the same"
    for node, what, why in differences(model, data, values, rounded, known):
        if why is None:
            findings.append("%s %s '%s': %s" % (folder.name, node.op_type, node.name, what))
            verdict = "different"
        elif verdict != "different":
            verdict = "known: " + why if why else "decided by rounding"
    counts[verdict] += 1


def compare_apart(folder, counts, findings, refusals, known):
    """compare() in a process of its own: ONNX Runtime ends it on some models, and that is counted."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        mine, found, refused = collections.Counter(), [], collections.Counter()
        try:
            compare(folder, mine, found, refused, known)
            with os.fdopen(writer, "w") as answer:
                json.dump([mine, found, refused], answer)
        except BaseException:  # nothing of the parent's may run here
            traceback.print_exc()
            os._exit(1)
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
    parser.add_argument("--written", action="store_true", help="the folder has been written before")
    arguments = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    known = known_differences()
    counts, refusals, findings = collections.Counter(), collections.Counter(), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or temporary
        if not arguments.written:
            subprocess.run([arguments.fuzz_graphs, "--write", folder, "--seed", str(arguments.seed), "--first", str(arguments.first),
                            "--count", str(arguments.count)], check=True)
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
