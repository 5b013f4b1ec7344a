"""Standard architectures, made here: true topologies and sizes, random weights, expected outputs computed in float64.

catalogue.py lists them, one file each describes them, graph.py and layers.py hold what they are written with. make.py
fills, evaluates (evaluate.py), checks (check.py) and writes one. Graphs can be built and their parameters counted with
the standard library alone; the rest needs numpy, and writing needs onnx.
"""
