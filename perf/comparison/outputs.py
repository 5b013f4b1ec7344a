"""Whether a program's outputs are right: they are compared with stored ones, or with those of axrun's reference.

The tolerance for float models is |got - want| <= 1e-4 x max(T, 0.01), where T is the largest finite |want| of the
output. Models that quantise or use 16-bit floats have no one right answer: their error is told, not judged.
"""

import math
import os
import subprocess

from comparison import tensor_file

try:
    import numpy  # for speed: a language model's outputs are millions of numbers
except ImportError:
    numpy = None

TOLERANCE = 1e-4
LEAST_SCALE = 0.01


class Expectation:
    """What a model's outputs should be: a folder of output_K.pb files, and what they are."""

    def __init__(self, folder, source):
        """source: "stored" or "reference"; folder None: nothing to compare with, and source says why."""
        self.folder, self.source = folder, source

    @staticmethod
    def of(data, reference_command, timeout, scratch):
        """The stored outputs in the folder `data`, else what `reference_command` (a list) saves below `scratch`."""
        if data and os.path.exists(os.path.join(data, "output_0.pb")):
            return Expectation(data, "stored")
        folder = os.path.join(scratch, "reference")
        # Served, with nothing asked of it: one run, after which it saves and ends.
        command = reference_command + ["--serve", "--save", folder]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                                  check=False)
        except subprocess.TimeoutExpired:
            return Expectation(None, "axrun's reference did not answer within %g s" % timeout)
        except OSError as error:
            return Expectation(None, "%s: %s" % (command[0], error.strerror))
        if done.returncode:
            return Expectation(None, (done.stderr.strip().splitlines() or ["no message"])[-1])
        return Expectation(folder, "reference")


def check(expectation, folder, judged):
    """Compares what a program saved in `folder` with what it should have.

    Returns {"against": "stored" or "reference", "error": worst error as a multiple of the scale of its output,
    "passed": True, False, or None where it is not judged, "note": what a reader should know}. Where nothing could be
    compared, `against`, `error` and `passed` are None.
    """
    unchecked = {"against": None, "error": None, "passed": None}
    if expectation.folder is None:
        return {**unchecked, "note": "nothing to compare with: " + expectation.source}
    if not os.path.isdir(folder):
        return {**unchecked, "note": "it saved no outputs"}
    return {"against": expectation.source, **compare_folders(expectation.folder, folder, judged)}


def compare_folders(want_folder, got_folder, judged):
    """Compares all output_K.pb of two folders; those that are no tensors of numbers are left out and named."""
    worst, skipped, compared, index = 0.0, [], 0, 0
    while os.path.exists(os.path.join(want_folder, "output_%d.pb" % index)):
        file, index = "output_%d.pb" % index, index + 1
        try:
            want = tensor_file.read(os.path.join(want_folder, file))
        except tensor_file.NotATensor:
            skipped.append(file)
            continue
        try:
            got = tensor_file.read(os.path.join(got_folder, file))
        except (tensor_file.NotATensor, OSError):
            return {"error": None, "passed": False, "note": "%s is missing" % file}
        if got.shape != want.shape:
            return {"error": None, "passed": False, "note": "%s has shape %s, not %s" % (file, got.shape, want.shape)}
        worst = max(worst, error_of(want, got))
        compared += 1
    if not compared:
        return {"error": None, "passed": None, "note": "no output is a tensor of numbers"}
    if math.isinf(worst):
        return {"error": None, "passed": False, "note": "not finite where it should be, or the other way round"}
    passed = worst <= TOLERANCE
    return {"error": worst, "passed": passed if judged else None,
            "note": "not compared: " + ", ".join(skipped) if skipped else ""}


def error_of(want, got):
    """Floats: largest |got - want| / max(T, 0.01); infinite where only one of the two is finite or they differ in sign
    of infinity. Integers: the share of elements that differ, 0 to 1. NaN is right where NaN is expected."""
    if not want.is_float:
        differ = sum(x != y for x, y in zip(want.values, got.values))
        return differ / max(1, len(want.values))
    scale, worst = (_with_numpy if numpy else _without_numpy)(want.values, got.values)
    return worst / max(scale, LEAST_SCALE)


def _with_numpy(want, got):
    want, got = numpy.asarray(want, dtype="float64"), numpy.asarray(got, dtype="float64")
    with numpy.errstate(invalid="ignore"):
        differences = numpy.abs(want - got)
    differences[(want == got) | (numpy.isnan(want) & numpy.isnan(got))] = 0
    worst = float(differences.max(initial=0))
    scale = float(numpy.abs(want[numpy.isfinite(want)]).max(initial=0))
    return scale, math.inf if math.isnan(worst) else worst


def _without_numpy(want, got):
    worst = max(map(_difference, want, got), default=0.0)
    return max((abs(x) for x in want if math.isfinite(x)), default=0.0), worst


def _difference(x, y):
    if x == y or (math.isnan(x) and math.isnan(y)):
        return 0.0
    return abs(x - y) if math.isfinite(x) and math.isfinite(y) else math.inf


def remark(result):
    """A few words for the table; empty when the outputs are right."""
    if result["against"] is None:
        return "unchecked" if result["note"] else ""
    if result["error"] is None:
        return "wrong: " + result["note"] if result["passed"] is False else ""
    if result["passed"] is False:
        return "wrong by %.1e" % result["error"]
    return "differs by %.1e" % result["error"] if result["passed"] is None and result["error"] > TOLERANCE else ""
