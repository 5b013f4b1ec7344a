#!/usr/bin/env python3
"""Runs models with stored outputs through ONNX Runtime with the plugin, and says which nodes it claimed.

Usage: check_models.py PLUGIN MODELS [--only NAME] [--threads N] [--runs N] [--option KEY=VALUE ...] [--plain]
MODELS holds folders NAME/model.onnx with NAME/test_data_set_K/{input,output}_I.pb. --plain judges ONNX Runtime's own provider
instead. Exit 0 when all agree. Float models: |got - want| <= 1e-4 * max(top, 0.01), top the largest finite |want|; quantised ones
(by their names): at most 0.5% of the elements beyond 5% of top, none beyond 10%, at most 5% of integers different.
"""

import argparse
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from plugin import Plugin, import_onnxruntime

ORT, ONNX, NUMPY = import_onnxruntime()
REFUSED = {"starry_night_fp16_real_badshape"}
QUANTISED = re.compile(r"qdq|qlinear|int8|int4|u8|u16|dynamic|_q$")


def read_tensor(path):
    """(name, array) of a TensorProto file; None for anything else."""
    tensor = ONNX.TensorProto()
    try:
        with open(path, "rb") as file:
            tensor.ParseFromString(file.read())
        return tensor.name, ONNX.numpy_helper.to_array(tensor)
    except Exception:  # sequences, maps
        return None


def difference(want, got, quantised):
    """The first disagreement in words, or None."""
    got = NUMPY.asarray(got)
    if want.shape != got.shape:
        return "shape %s, expected %s" % (got.shape, want.shape)
    if want.dtype != got.dtype and want.dtype.kind != "O":
        return "type %s, expected %s" % (got.dtype, want.dtype)
    if want.dtype.kind not in "fV":
        bad = int((want != got).sum())
        allowed = 0.05 * want.size if quantised else 0
        return "%d of %d elements differ" % (bad, want.size) if bad > allowed else None
    want, got = want.astype("f8").ravel(), got.astype("f8").ravel()
    finite = NUMPY.abs(want[NUMPY.isfinite(want)])
    top = finite.max() if finite.size else 0.0
    near, far = (0.05 * top, 0.10 * top) if quantised else (1e-4 * max(top, 0.01),) * 2
    same = (want == got) | (NUMPY.isnan(want) & NUMPY.isnan(got))
    with NUMPY.errstate(invalid="ignore"):
        error = NUMPY.where(same, 0.0, NUMPY.abs(want - got))
    error = NUMPY.where(NUMPY.isnan(error), NUMPY.inf, error)
    if (error > far).any():
        k = int(error.argmax())
        return "element %d is %r, expected %r (tolerance %.3g)" % (k, got[k], want[k], far)
    if (error > near).sum() > 0.005 * want.size:
        return "%d of %d elements beyond %.3g" % ((error > near).sum(), want.size, near)
    return None


def feeds_of(session, folder):
    """Inputs by name: the K-th file is the K-th input unless a name inside decides."""
    names = [port.name for port in session.get_inputs()]
    feeds = {}
    for k in range(len(names)):
        path = os.path.join(folder, "input_%d.pb" % k)
        if not os.path.exists(path):
            continue
        name, value = read_tensor(path)
        feeds[name if name in names else names[k]] = value
    return feeds


def judge(session, folder, name, runs):
    """The first disagreement with the stored outputs of one data set, or None."""
    feeds = feeds_of(session, folder)
    for _ in range(runs):
        results = session.run(None, feeds)
    for k, result in enumerate(results):
        path = os.path.join(folder, "output_%d.pb" % k)
        stored = read_tensor(path) if os.path.exists(path) else None
        if stored is None or isinstance(result, (list, dict)):
            continue
        why = difference(stored[1], result, QUANTISED.search(name))
        if why:
            return "output %d: %s" % (k, why)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plugin")
    parser.add_argument("models")
    parser.add_argument("--only")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--plain", action="store_true")
    given = parser.parse_args()
    options = dict(option.split("=", 1) for option in given.option)
    failed = tried = 0
    with Plugin(given.plugin) as plugin:
        for name in sorted(os.listdir(given.models)):
            model = os.path.join(given.models, name, "model.onnx")
            if not os.path.exists(model) or (given.only and given.only != name):
                continue
            tried += 1
            start = time.time()
            claims, why, session = [], None, None
            try:
                if given.plain:
                    session = ORT.InferenceSession(model, providers=["CPUExecutionProvider"])
                else:
                    session, claims = plugin.session_and_claims(model, given.threads, **options)
                sets = sorted(d for d in os.listdir(os.path.dirname(model)) if d.startswith("test_data_set_"))
                for data in sets:
                    why = why or judge(session, os.path.join(os.path.dirname(model), data), name, given.runs)
            except Exception as error:  # whatever ONNX Runtime throws
                why = str(error).split("\n")[0][:300]
            del session
            if name in REFUSED:
                why = None if why else "it should be refused"
            failed += why is not None
            claimed = "; ".join("%d of %d nodes in %d" % row for row in claims)
            print("%-4s %-40s %6.2f s  %-28s %s" % ("FAIL" if why else "ok", name, time.time() - start, claimed, why or ""),
                  flush=True)
    print("ONNX Runtime %s: %d models, %d failed" % (ORT.__version__, tried, failed))
    return 1 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
