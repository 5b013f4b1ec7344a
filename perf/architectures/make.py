"""Fills, evaluates, checks and writes one model; says whether what is there is up to date."""

import hashlib
import json
import os
import shutil

from .catalogue import WrongTopology
from .graph import Free

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = "made.json"


def make(graph, folder, stamp="", evaluated=True):
    """Writes folder/model.onnx and folder/test_data_set_0. Returns the model's figures, which folder/made.json keeps.

    Without `evaluated` nothing is checked and no outputs are stored: quick, for variants of a model that was checked.
    Raises CheckFailure or WrongTopology before anything is written, and OSError when `folder` holds something else.
    """
    from . import fill, write  # need numpy and onnx
    weights, inputs = fill.weights_of(graph), fill.inputs_of(graph)
    outputs, figures = _evaluate(graph, weights, inputs) if evaluated else (None, {})
    # Written aside, so that what is interrupted is not taken for a model.
    part = os.path.join(os.path.dirname(folder), "." + os.path.basename(folder) + ".part")
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    path = os.path.join(part, "model.onnx")
    write.write_model(graph, weights, path)
    write.write_values("input", graph.inputs, inputs, os.path.join(part, "test_data_set_0"))
    if evaluated:
        write.write_values("output", graph.outputs, outputs, os.path.join(part, "test_data_set_0"))
    figures.update(trainable=graph.trainable, nodes=len(graph.nodes), bytes=os.path.getsize(path))
    with open(os.path.join(part, RECORD), "w") as file:
        json.dump({"stamp": stamp, "figures": figures}, file)
    if os.path.exists(os.path.join(folder, RECORD)):
        shutil.rmtree(folder)
    os.rename(part, folder)
    return figures


def _evaluate(graph, weights, inputs):
    """Expected outputs by name, and the figures of the checks."""
    from .check import ActivationCheck, check_representable
    from .evaluate import evaluate, multiply_adds
    for name, values in weights.items():
        if values.dtype == "float32":
            check_representable(name, values)
    check, work = ActivationCheck(), []

    def observe(node, arrays, results):
        check(node, results)
        work.append(multiply_adds(node, arrays, results))

    outputs = evaluate(graph, weights, inputs, observe)
    total = sum(work)
    if graph.work and abs(total / 1e9 - graph.work) > 0.0005:
        raise WrongTopology("%s: %.4f * 10^9 multiply-adds, published are %g" % (graph.name, total / 1e9, graph.work))
    return outputs, dict(multiply_adds=total, deviation=_range(check.deviations), sparsity=_range(check.sparsities))


def figures_if_current(folder, stamp):
    """The figures of the model that make() left in `folder` with this stamp, else None."""
    try:
        with open(os.path.join(folder, RECORD)) as file:
            record = json.load(file)
        return record["figures"] if record["stamp"] == stamp else None
    except (OSError, ValueError, KeyError):
        return None


def stamp_of(name, parameters, versions, evaluated=True):
    """Changes with anything that a model's files depend on: the sources here, the parameters, numpy's and onnx's
    versions."""
    digest = hashlib.sha256()
    for source in sorted(os.listdir(HERE)):
        if source.endswith(".py"):
            with open(os.path.join(HERE, source), "rb") as file:
                digest.update(source.encode() + b"\0" + file.read() + b"\0")
    sizes = {key: [size.name, size.sample] if isinstance(size, Free) else size for key, size in parameters.items()}
    digest.update(json.dumps([name, sizes, versions, evaluated], sort_keys=True).encode())
    return digest.hexdigest()


def _range(figures):
    return [min(figures), max(figures)] if figures else None
