"""The models behind the cost curves: one architecture at several sizes, and graphs of a given number of small nodes."""

import fcntl
import hashlib
import math
import os
from dataclasses import dataclass

from architectures import make
from architectures.catalogue import build
from architectures.fills import normal
from architectures.graph import Graph

from comparison.models import ARCHITECTURES, Model

FOLDER = os.path.join(ARCHITECTURES, "curves")
NEEDED = ("numpy", "onnx")  # packages that writing a model takes
BERT_WORDS = 1024  # 3 MB of embeddings, not 94: they cost a run nothing
WIDTH = 16  # of the values in the generated graphs: a node's own work is next to nothing
CHAIN_STEP, LADDER_STEP = 5, 10  # nodes that the generated graphs repeat


@dataclass(frozen=True)
class Curve:
    """One thing measured against one size."""
    title: str
    variable: str  # what x is
    sizes: tuple
    quick_sizes: tuple
    metrics: tuple  # names in curves.METRICS
    graph: object  # x -> Graph


def chain(nodes):
    """Each node takes what the last one made, and a weight of its own."""
    graph, x = _begin("chain", nodes, CHAIN_STEP)
    for step in range(nodes // CHAIN_STEP):
        with graph.scope(step):
            x = graph.add("MatMul", x, graph.parameter("weight", (WIDTH, WIDTH), normal(1 / math.sqrt(WIDTH))))
            x = graph.add("Add", x, graph.parameter("bias", (WIDTH,), normal(0.1)))
            x = graph.add("Relu", x)
            x = graph.add("Mul", x, graph.parameter("scale", (WIDTH,), normal(0.1, 1.0)))
            x = graph.add("Tanh", x)
    graph.output("result", x, (1, WIDTH))
    return graph


def ladder(nodes):
    """Two rails, `a` and `b`, joined by the rungs: most values are used twice, so that order and lifetimes matter."""
    graph, a = _begin("ladder", nodes, LADDER_STEP)
    b = a
    for step in range(nodes // LADDER_STEP):
        with graph.scope(step):
            x = graph.add("MatMul", a, graph.parameter("weight", (WIDTH, WIDTH), normal(1 / math.sqrt(WIDTH))))
            x = graph.add("Tanh", graph.add("Add", x, graph.parameter("bias", (WIDTH,), normal(0.1))))
            y = graph.add("Relu", graph.add("Sub", b, graph.add("Mul", x, b)))
            b = graph.add("Sigmoid", graph.add("Add", y, x))
            # b < 1 and |x| < 1: `a` stays finite however long the ladder is.
            a = graph.add("Add", graph.add("Mul", a, b), x)
    graph.output("left", a, (1, WIDTH))
    graph.output("right", b, (1, WIDTH))
    return graph


def _begin(name, nodes, step):
    if nodes % step or nodes < step:
        raise ValueError("a %s has a multiple of %d nodes, not %d" % (name, step, nodes))
    graph = Graph(name)
    return graph, graph.input("x", (1, WIDTH), normal(1.0))


def _bert(**sizes):
    return lambda x: build("bert_base", vocabulary=BERT_WORDS, **{key: value or x for key, value in sizes.items()})


_RUN = ("time", "peak_rss")
_START = ("session", "start", "peak_rss")
_NODES, _QUICK_NODES = (10, 100, 1000, 5000, 20000), (100, 1000, 5000)

# In _bert, None is what varies.
CURVES = {
    "sequence": Curve("BERT, 2 layers, batch 1", "sequence length", (16, 32, 64, 128, 256, 512), (32, 128), _RUN,
                      _bert(layers=2, sequence=None)),
    "batch": Curve("MobileNet-V2, 224 x 224", "batch", (1, 2, 4, 8, 16), (1, 4), _RUN,
                   lambda x: build("mobilenet_v2", batch=x)),
    "depth": Curve("BERT, sequence 64, batch 1", "layers", (1, 2, 4, 8, 12), (1, 4), _RUN,
                   _bert(layers=None, sequence=64)),
    "chain": Curve("a chain of small nodes", "nodes", _NODES, _QUICK_NODES, _START, chain),
    "ladder": Curve("a ladder of small nodes", "nodes", _NODES, _QUICK_NODES, _START, ladder),
}


def model_of(name, size, folder=FOLDER):
    """The model of curve `name` at x = size, which is made unless it is there; it needs NEEDED. Its inputs are stored
    with it, so that all programs get the same; outputs are not."""
    import numpy
    import onnx
    place = os.path.join(folder, "%s_%d" % (name, size))
    with open(os.path.abspath(__file__), "rb") as file:
        source = hashlib.sha256(file.read()).hexdigest()
    stamp = make.stamp_of("curve " + name, {"size": size, "source": source}, [numpy.__version__, onnx.__version__],
                          evaluated=False)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another one at work here then finds it up to date
        if not make.figures_if_current(place, stamp):
            make.make(CURVES[name].graph(size), place, stamp, evaluated=False)
    return Model("%s_%d" % (name, size), os.path.join(place, "model.onnx"), os.path.join(place, "test_data_set_0"))
