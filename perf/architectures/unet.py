"""U-Net (Ronneberger et al. 2015) with padding and batch normalization, folded into the convolutions.

The size is that of the brain segmentation model on PyTorch Hub: 256x256, 32 channels at the top. The original's 64
would be four times the work (48 billion multiply-adds), too long a run to be timed often.
"""

import math

from .fills import normal
from .graph import Graph, require
from .layers import AFTER_RELU, convolution


def unet(batch=1, image=256, channels=3, width=32, depth=4, classes=1):
    """depth: poolings. image: a multiple of 2^depth. classes: sigmoid maps that come out."""
    require(image % 2 ** depth == 0, "image=%d is not a multiple of %d" % (image, 2 ** depth))
    graph = Graph("unet")
    x = graph.input("image", (batch, channels, image, image), normal(1.0))
    inputs, gain, skips = channels, 1.0, []
    for level in range(depth):
        outputs = width << level
        with graph.scope("encoder%d" % (level + 1)):
            x = _two_convolutions(graph, x, inputs, outputs, gain)
        skips.append(x)
        x = graph.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0])
        inputs, gain = outputs, 1.0  # the largest of four is greater than each
    with graph.scope("bottleneck"):
        x = _two_convolutions(graph, x, inputs, width << depth, gain)
    for level in reversed(range(depth)):
        outputs = width << level
        with graph.scope("upconv%d" % (level + 1)):
            x = _double(graph, x, 2 * outputs, outputs)
        x = graph.add("Concat", x, skips[level], axis=1)
        with graph.scope("decoder%d" % (level + 1)):
            x = _two_convolutions(graph, x, 2 * outputs, outputs, gain=1.0)
    with graph.scope("conv"):
        x = graph.add("Sigmoid", convolution(graph, x, (width, classes), 1, gain=3.0))
    graph.output("mask", x, (batch, classes, image, image))
    return graph


def _two_convolutions(graph, x, inputs, outputs, gain):
    with graph.scope("conv1"):
        x = graph.add("Relu", convolution(graph, x, (inputs, outputs), 3, 1, 1, gain=gain, normalized=True))
    with graph.scope("conv2"):
        return graph.add("Relu", convolution(graph, x, (outputs, outputs), 3, 1, 1, gain=AFTER_RELU, normalized=True))


def _double(graph, x, inputs, outputs):
    """Transposed convolution to twice the height and width; its windows do not overlap."""
    weight = graph.parameter("weight", (inputs, outputs, 2, 2), normal(AFTER_RELU / math.sqrt(inputs)))
    bias = graph.parameter("bias", (outputs,), normal(0.1))
    return graph.add("ConvTranspose", x, weight, bias, kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0],
                     dilations=[1, 1], group=1)
