#!/usr/bin/env python3
"""Judges a quantised model layer by layer: whether what differs at its end is a mistake of a kernel or the echo of a rounding.

Usage: quantised_layers.py AXRUN FOLDER [--tier NAME] [--budget S]     (the command, a folder with model.onnx and test_data_set_0)
       quantised_layers.py --onnxruntime [LEVEL] FOLDER                (of optimisation: DISABLE_ALL, ..., ENABLE_ALL)
All results of QuantizeLinear are made outputs. Each is compared with what float64 makes of the program's own results of the layers
before: a right kernel differs next to ties alone. Exit 3 where an element differs that is farther than 0.001 steps from one.
Convolutions are 2-D, of one group or depthwise; sizes are those of the data.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import helper, numpy_helper

NEXT_TO_A_TIE = 1e-3  # steps


def read(path):
    with open(path, "rb") as file:
        return numpy_helper.to_array(onnx.TensorProto.FromString(file.read()))


def attributes_of(node):
    return {one.name: helper.get_attribute_value(one) for one in node.attribute}


def along(parameter, rank, axis):
    """A scale or zero point so that it broadcasts over the tensor."""
    parameter = numpy.asarray(parameter)
    return parameter.reshape(()) if parameter.size == 1 else parameter.reshape([-1 if k == axis else 1 for k in range(rank)])


def convolution(x, weights, bias, given):
    group, strides, pads = given.get("group", 1), given.get("strides", [1, 1]), given.get("pads", [0] * 4)
    if given.get("dilations", [1, 1]) != [1, 1] or given.get("auto_pad", b"NOTSET") != b"NOTSET" or \
            (group != 1 and weights.shape[1] != 1):
        raise NotImplementedError("this convolution")
    x = numpy.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    height, width = ((x.shape[2 + d] - weights.shape[2 + d]) // strides[d] + 1 for d in range(2))
    y = numpy.zeros((x.shape[0], weights.shape[0], height, width))
    for i in range(weights.shape[2]):
        for j in range(weights.shape[3]):
            part = x[:, :, i:i + strides[0] * height:strides[0], j:j + strides[1] * width:strides[1]]
            if group == 1:
                y += numpy.einsum("oc,nchw->nohw", weights[:, :, i, j], part, optimize=True)
            else:
                y += weights[:, 0, i, j].reshape(1, -1, 1, 1) * part
    return y if bias is None else y + bias.reshape(1, -1, 1, 1)


class Evaluation:
    """The model in float64; results of QuantizeLinear are taken from `got` where it has them."""

    def __init__(self, graph, inputs, got):
        self.values = {"": None, **{one.name: numpy_helper.to_array(one) for one in graph.initializer}, **inputs}
        self.got, self.exact, self.quantised = got, {}, {}
        for node in graph.node:
            given = attributes_of(node)
            self.values[node.output[0]] = self.result(node, given, [self.values[name] for name in node.input])

    def result(self, node, given, x):
        op = node.op_type
        if op == "Constant":
            return numpy_helper.to_array(given["value"])
        if op in ("Identity", "Cast") and (op == "Identity" or x[0].dtype.kind in "iu"):
            return x[0]
        if op == "DequantizeLinear":
            scale, zero = (along(one, x[0].ndim, given.get("axis", 1)) for one in (x[1], x[2] if len(x) > 2 else 0))
            return (x[0].astype("i8") - zero.astype("i8")) * scale.astype("f8")
        if op == "QuantizeLinear":
            scale, zero = (along(one, x[0].ndim, given.get("axis", 1)) for one in x[1:3])
            steps, limits = x[0] / scale.astype("f8"), numpy.iinfo(zero.dtype)
            name = node.output[0]
            self.exact[name] = steps
            self.quantised[name] = numpy.clip(numpy.rint(steps) + zero, limits.min, limits.max).astype(zero.dtype)
            return self.got.get(name, self.quantised[name])
        if op == "Conv":
            return convolution(x[0], x[1], x[2] if len(x) > 2 else None, given)
        if op == "Gemm" and given.get("alpha", 1) == given.get("beta", 1) == 1 and not given.get("transA"):
            return x[0] @ (x[1].T if given.get("transB") else x[1]) + (x[2] if len(x) > 2 else 0)
        simple = {"Relu": lambda: numpy.maximum(x[0], 0), "Add": lambda: x[0] + x[1],
                  "GlobalAveragePool": lambda: x[0].mean(axis=(2, 3), keepdims=True),
                  "Flatten": lambda: x[0].reshape(x[0].shape[0], -1)}
        if op not in simple:
            raise NotImplementedError("operator %s" % op)
        return simple[op]()


def run_axrun(axrun, model, data, names, options):
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "model.onnx"), os.path.join(folder, "out")
        onnx.save(model, path)
        inputs = [flag for name, value in data.items() for flag in ("--input", "%s:@%s" % (name, value))]
        subprocess.run([axrun, path, *inputs, "--save", out, "--runs", "1", "--threads", "1", "--no-cache", "--quiet", *options],
                       check=True, stdout=subprocess.DEVNULL)
        return [read(os.path.join(out, "output_%d.pb" % k)) for k in range(len(names))]


def run_onnxruntime(level, model, inputs, names):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, "ORT_" + level)
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(names, inputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the axrun command, or a level with --onnxruntime")
    parser.add_argument("folder")
    parser.add_argument("--onnxruntime", action="store_true")
    parser.add_argument("--tier", default="auto")
    parser.add_argument("--budget", default="0")
    given = parser.parse_args()
    model = onnx.load(os.path.join(given.folder, "model.onnx"))
    data = os.path.join(given.folder, "test_data_set_0")
    fixed = {one.name for one in model.graph.initializer}
    wanted = [one.name for one in model.graph.input if one.name not in fixed]
    files = {name: os.path.join(data, "input_%d.pb" % k) for k, name in enumerate(wanted)}
    inputs = {name: read(path) for name, path in files.items()}
    layers = [node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear"]
    names = [one.name for one in model.graph.output] + layers
    for name in layers:
        model.graph.output.append(onnx.ValueInfoProto(name=name))
    if given.onnxruntime:
        results = run_onnxruntime(given.program, model, inputs, names)
    else:
        results = run_axrun(given.program, model, files, names, ["--tier", given.tier, "--budget", given.budget])
    got = dict(zip(names, results))
    own = Evaluation(model.graph, inputs, {name: got[name] for name in layers})
    elements = differing = wrong = 0
    for name in layers:
        elements += got[name].size
        at = got[name] != own.quantised[name]
        if not at.any():
            continue
        off = numpy.abs(got[name].astype("i8") - own.quantised[name])[at].max()
        steps = own.exact[name][at]
        far = numpy.abs(numpy.abs(steps - numpy.floor(steps)) - 0.5)
        differing, wrong = differing + at.sum(), wrong + (far > NEXT_TO_A_TIE).sum()
        print("%s: %d of %d differ from float64, by up to %d; up to %.1e steps from a tie" %
              (name, at.sum(), at.size, off, far.max()))
    for k, name in enumerate(names[:len(names) - len(layers)]):
        want = read(os.path.join(data, "output_%d.pb" % k)).astype("f8")
        off = numpy.abs(got[name] - want)
        print("%s: %d of %d differ from the stored ones, by up to %.1e of the largest" %
              (name, (off > 1e-6 * numpy.abs(want).max()).sum(), off.size, off.max() / numpy.abs(want).max()))
    print("%d of %d quantised elements differ, %d of them wrong" % (differing, elements, wrong))
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
