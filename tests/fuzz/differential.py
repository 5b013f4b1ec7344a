#!/usr/bin/env python3
"""Random nodes through axrun and through ONNX Runtime: `differential.py AXRUN [--bounds CASE_BOUNDS] [--seed N] [--count N] [--only OP]`.

Every case is one node with random attributes, shapes, types and values, drawn from the seed and its own number, so that
`--seed N --case K` repeats one. Cases are run in batches of independent nodes. Compared are types, shapes and elements:
integers exactly, floats by a few roundings of their type at the size of the sum that was computed. Besides, ours have to lie
within what a running error analysis of the operator derives at these inputs (the program case_bounds; it follows all but
scatters and opaque operators), or, where the order of sums is open, within the bound of any order (`any_order` of a case); where
theirs do not, they are counted: coarser approximations. Searches that find other
sequences are counted as ties where both answers are those of a search that orders candidates of the same score in some way
(beam_search_outcomes.py); rounding decides it. A known mistake of theirs is one that a model of their computation makes, too,
where ours is what the same model answers without it (sparse_attention_cases.py). What ONNX Runtime refuses is counted and left
out; what axrun refuses or answers otherwise is listed, by operator. Exit 1 where something is listed, 77 where onnxruntime is
missing.
"""
import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from differential_cases import GENERATORS
    from onnx import helper, numpy_helper
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)

OPSET = 21
BATCH = 64


def draw(seed, number, only):
    """Case `number`: operator, attributes, inputs (arrays, or None), outputs, and which inputs are constants."""
    random = np.random.default_rng([seed, number])
    names = sorted(only or GENERATORS)
    name = names[random.integers(len(names))]
    case = GENERATORS[name](random)
    case.setdefault("op", name)
    case["number"] = number
    return case


def model_of(cases):
    """The model, what it is fed with, and which outputs lie where inputs do."""
    shared = {}
    nodes, inputs, outputs, constants, feed = [], [], [], [], {}
    for case in cases:
        names = []
        for k, value in enumerate(case["inputs"]):
            if value is None:
                names.append("")
                continue
            name = "c%d_i%d" % (case["number"], k)
            names.append(name)
            if k in case.get("constants", ()):
                constants.append(numpy_helper.from_array(value, name))
            else:
                inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
                feed[name] = value
        results = ["" if k in case.get("absent_outputs", ()) else "c%d_o%d" % (case["number"], k) for k in range(case.get("outputs", 1))]
        for k, name in enumerate(results):
            typed = case.get("types", {}).get(k)
            if name:
                outputs.append(onnx.ValueInfoProto(name=name) if typed is None else helper.make_tensor_value_info(name, typed, None))
        shared |= {results[k]: names[source] for k, source in case.get("shared", {}).items()}
        nodes.append(helper.make_node(case["op"], names, results, name="c%d" % case["number"], domain=case.get("domain", ""), **case.get("attributes", {})))
    graph = helper.make_graph(nodes, "cases", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)], ir_version=10), feed, shared


def run_bound(session, feed, shared):
    """With results in the memory of their inputs, which kernels that update caches want."""
    binding = session.io_binding()
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value.copy()) for name, value in feed.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for output in session.get_outputs():
        if output.name in shared:
            binding.bind_ortvalue_output(output.name, values[shared[output.name]])
        else:
            binding.bind_output(output.name)
    session.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()


def theirs(model, feed, shared):
    """ONNX Runtime's results, or None where it refuses."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return run_bound(session, feed, shared) if shared else session.run(None, feed)
    except Exception:  # its exceptions have no common base class
        return None


def ours(axrun, model, feed, folder):
    """axrun's results, or its message."""
    folder = pathlib.Path(folder)
    for old in folder.iterdir():
        old.unlink()
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for k, value in enumerate(model.graph.input):
        (folder / ("input_%d.pb" % k)).write_bytes(numpy_helper.from_array(feed[value.name]).SerializeToString())
    environment = {**os.environ, "AXRUN_OPTIMIZE": "0", "AXRUN_CACHE": "off"}
    command = [axrun, str(folder / "model.onnx"), "--data", str(folder), "--save", str(folder), "--runs", "1", "--warmup", "0",
               "--threads", "1", "--quiet"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        return "exit %d: %s" % (done.returncode, done.stderr.strip().replace("\n", " | ")[:300])
    return [numpy_helper.to_array(onnx.load_tensor(str(folder / ("output_%d.pb" % k)))) for k in range(len(model.graph.output))]


def derived_bounds(program, folder, count):
    """By output: the least and the greatest right results, flat, or None."""
    if program is None:
        return [None] * count
    subprocess.run([program, folder], check=True, timeout=600)
    bounds = []
    for k in range(count):
        file = pathlib.Path(folder) / ("bound_%d" % k)
        bounds.append(np.fromfile(file).reshape(2, -1) if file.exists() else None)
    return bounds


def outside(who, values, bound):
    """The first element that is not within its bound, as text."""
    values = values.astype(np.float64).reshape(-1)
    low, high = bound
    anything = np.isinf(low) & np.isinf(high) & (low < high)
    right = anything | ((values >= low) & (values <= high)) | (np.isnan(values) & np.isnan(low))
    wrong = np.flatnonzero(~right)
    if not len(wrong):
        return ""
    at = wrong[0]
    return "%s wrong at %d of %d, first [%d]: %r is not in [%r, %r]" % (who, len(wrong), values.size, at, values[at], low[at], high[at])


def difference(got, want, case):
    if got.dtype != want.dtype or got.shape != want.shape:
        return "%s %s, expected %s %s" % (got.dtype, got.shape, want.dtype, want.shape)
    if want.size == 0:
        return ""
    if "written" in case:
        got = case["written"](got)
        want = want[tuple(slice(n) for n in got.shape)]
    if want.dtype.kind not in "fc":
        wrong = np.argwhere(got != want)
        if case.get("steps") and want.dtype.kind in "iu":
            wrong = np.argwhere(np.abs(got.astype(np.int64) - want.astype(np.int64)) > case["steps"])
    else:
        unit = float(np.finfo(want.dtype).eps)
        g, w = got.astype(np.float64), want.astype(np.float64)
        finite = np.isfinite(w)
        size = np.abs(w[finite]).max() if case.get("sums") and finite.any() else np.abs(np.where(finite, w, 0))
        near = np.abs(g - w) <= case.get("roundings", 8) * unit * np.maximum(size, case.get("size", 0)) + np.finfo(want.dtype).tiny
        wrong = np.argwhere(~(np.where(finite, near, (g == w) | (np.isnan(g) & np.isnan(w)))))
    if len(wrong) == 0:
        return ""
    at = tuple(wrong[0])
    return "%d of %d differ, %s is %r, theirs %r" % (len(wrong), want.size, list(map(int, at)), got[at], want[at])


def departure(values, case, mistaken):
    """From what is determined of the expected results."""
    for got, want in zip(values, case["expected"](case, mistaken)):
        got = np.where(np.isnan(want), 0, got).astype(got.dtype)
        why = difference(got, np.nan_to_num(want, nan=0, posinf=np.inf, neginf=-np.inf).astype(got.dtype), case)
        if why:
            return why
    return ""


def text_of(case):
    shapes = ", ".join("-" if v is None else "%s%s" % (v.dtype, list(v.shape)) for v in case["inputs"])
    return "case %d %s(%s) %s" % (case["number"], case["op"], shapes, case.get("attributes", {}))


def compare(axrun, bounds, cases, folder, counts, findings):
    model, feed, shared = model_of(cases)
    want = theirs(model, feed, shared)
    got = ours(axrun, model, feed, folder) if want is not None else None
    if len(cases) > 1 and (want is None or isinstance(got, str)):
        middle = len(cases) // 2
        compare(axrun, bounds, cases[:middle], folder, counts, findings)
        compare(axrun, bounds, cases[middle:], folder, counts, findings)
        return
    if want is None:
        counts["refused by ONNX Runtime"] += len(cases)
        return
    if isinstance(got, str):
        counts["refused by axrun"] += 1
        findings[cases[0]["op"]].append("%s: %s" % (text_of(cases[0]), got))
        return
    derived = derived_bounds(bounds, folder, len(want))
    first = 0
    for case in cases:
        last = first + case.get("outputs", 1) - len(case.get("absent_outputs", ()))
        pairs = [(np.asarray(g), np.asarray(w), bound) for g, w, bound in zip(got[first:last], want[first:last], derived[first:last])]
        why = next(filter(None, (difference(g, w, case) for g, w, _ in pairs)), "")
        if why and "may_answer" in case and all(case["may_answer"](case, *side) for side in list(zip(*pairs))[:2]):
            counts["a tie"] += 1
            why = ""
        if why and "expected" in case:
            mine, other = ([pair[side] for pair in pairs] for side in range(2))
            why = departure(mine, case, False)
            if not why and not departure(other, case, True):
                counts["a known mistake of theirs, " + case["op"]] += 1
            elif not why:
                why = "theirs is neither right nor wrong in the known way: " + departure(other, case, True)
        bounded = [pair for pair in pairs if case.get("judged", True) and pair[2] is not None and "written" not in case and pair[2].shape[1] == pair[0].size]
        counts["judged by a derived bound"] += bool(bounded)
        beyond = next(filter(None, (outside("ours", g, bound) for g, _, bound in bounded)), "")
        if beyond and not why and "any_order" in case and case["any_order"](case, [g for g, _, _ in pairs]):
            counts["within the bound of sums in any order, " + case["op"]] += 1
            beyond = ""
        why = why or beyond
        if not why and any(outside("theirs", w, bound) for _, w, bound in bounded):
            counts["theirs outside, " + case["op"]] += 1
        first = last
        counts["different" if why else "equal"] += 1
        if why:
            findings[case["op"]].append("%s: %s" % (text_of(case), why))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axrun")
    parser.add_argument("--bounds", metavar="CASE_BOUNDS", help="the program that derives bounds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--case", type=int, help="this case alone")
    parser.add_argument("--only", action="append", help="this operator; may be repeated")
    arguments = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    numbers = range(arguments.first, arguments.first + arguments.count)
    if arguments.case is not None:
        numbers = range(arguments.case, arguments.case + 1)
    counts, findings = collections.Counter(), collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for first in range(numbers.start, numbers.stop, BATCH):
            cases = [draw(arguments.seed, k, arguments.only) for k in range(first, min(first + BATCH, numbers.stop))]
            compare(arguments.axrun, arguments.bounds, cases, folder, counts, findings)
    print("seed %d, cases %d to %d: %s" % (arguments.seed, numbers.start, numbers.stop - 1, dict(counts)))
    for op in sorted(findings):
        print("%s: %d" % (op, len(findings[op])))
        for finding in findings[op][:5]:
            print("  " + finding)
    return 1 if findings else 0


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
