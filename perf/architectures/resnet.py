"""ResNet-50 (He et al. 2015) as torchvision has it: the 3x3 convolution of a bottleneck carries the stride.

Batch normalizations are folded into the convolutions.
"""

from .fills import normal
from .graph import Graph
from .layers import classifier, convolution

EXPANSION = 4


def resnet(batch=1, image=224, blocks=(3, 4, 6, 3), width=64, classes=1000):
    """blocks: bottlenecks of each stage. width: channels inside those of the first stage; each stage doubles them."""
    graph = Graph("resnet")
    x = graph.input("image", (batch, 3, image, image), normal(1.0))
    with graph.scope("conv1"):
        x = graph.add("Relu", convolution(graph, x, (3, width), 7, 2, 3, gain=1.0, normalized=True))
    x = graph.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = width
    for stage, count in enumerate(blocks):
        for block in range(count):
            with graph.scope("layer%d.%d" % (stage + 1, block)):
                stride = 2 if stage > 0 and block == 0 else 1
                x = _bottleneck(graph, x, (channels, width << stage), stride)
            channels = EXPANSION * width << stage
    x = graph.add("Flatten", graph.add("GlobalAveragePool", x), axis=1)
    with graph.scope("fc"):
        logits = classifier(graph, x, channels, classes)
    graph.output("logits", logits, (batch, classes))
    return graph


def _bottleneck(graph, x, channels, stride):
    inputs, width = channels
    outputs = EXPANSION * width
    with graph.scope("conv1"):
        y = graph.add("Relu", convolution(graph, x, (inputs, width), 1, normalized=True))
    with graph.scope("conv2"):
        y = graph.add("Relu", convolution(graph, y, (width, width), 3, stride, 1, normalized=True))
    with graph.scope("conv3"):
        # Below the shortcut's scale, and its mean below zero: sums stay bounded and a part of them negative.
        y = convolution(graph, y, (width, outputs), 1, gain=0.5, bias=normal(0.1, -0.1), normalized=True)
    if inputs != outputs or stride != 1:
        with graph.scope("downsample"):
            x = convolution(graph, x, (inputs, outputs), 1, stride, gain=1.0, normalized=True)
    return graph.add("Relu", graph.add("Add", y, x))
