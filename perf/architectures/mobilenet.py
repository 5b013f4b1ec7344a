"""MobileNet-V2 (Sandler et al. 2018) as torchvision has it; batch normalizations are folded into the convolutions."""

from .fills import normal
from .graph import Graph
from .layers import AFTER_RELU, classifier, convolution

# Expansion, output channels, blocks, stride of the first block.
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def mobilenet_v2(batch=1, image=224, repeats=1, classes=1000):
    """repeats: multiplies the number of blocks of each stage."""
    graph = Graph("mobilenet_v2")
    x = graph.input("image", (batch, 3, image, image), normal(1.0))
    with graph.scope("features.0"):
        x = _relu6(graph, convolution(graph, x, (3, 32), 3, 2, 1, gain=1.0, normalized=True))
    channels, index = 32, 1
    for expansion, outputs, blocks, stride in STAGES:
        for block in range(blocks * repeats):
            with graph.scope("features.%d" % index):
                x = _inverted_residual(graph, x, (channels, outputs), expansion, 1 if block else stride)
            channels, index = outputs, index + 1
    with graph.scope("features.%d" % index):
        x = _relu6(graph, convolution(graph, x, (channels, 1280), 1, gain=1.0, normalized=True))
    x = graph.add("Flatten", graph.add("GlobalAveragePool", x), axis=1)
    with graph.scope("classifier.1"):
        logits = classifier(graph, x, 1280, classes)
    graph.output("logits", logits, (batch, classes))
    return graph


def _relu6(graph, x):
    return graph.add("Clip", x, graph.scalar(0.0), graph.scalar(6.0))


def _inverted_residual(graph, x, channels, expansion, stride):
    inputs, outputs = channels
    hidden, y = inputs * expansion, x
    if expansion != 1:
        with graph.scope("expand"):
            y = _relu6(graph, convolution(graph, y, (inputs, hidden), 1, gain=1.0, normalized=True))
    with graph.scope("depthwise"):
        y = _relu6(graph, convolution(graph, y, (hidden, hidden), 3, stride, 1, hidden, AFTER_RELU, normalized=True))
    adds = stride == 1 and inputs == outputs
    with graph.scope("project"):
        # Where the shortcut is added, the branch stays below its scale; no activation follows.
        y = convolution(graph, y, (hidden, outputs), 1, gain=0.7 if adds else AFTER_RELU, normalized=True)
    return graph.add("Add", x, y) if adds else y
