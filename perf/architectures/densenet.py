"""DenseNet-121 (Huang et al. 2016) as torchvision has it.

A batch normalization that follows a convolution is folded into it; those in front of a layer, which follow a Concat or
a pooling, can't be and stay.
"""

from .fills import normal, normal_from, scale, variance
from .graph import Graph
from .layers import classifier, convolution


def densenet(batch=1, image=224, layers=(6, 12, 24, 16), growth=32, bottleneck=4, classes=1000):
    """layers: of each dense block. bottleneck: channels inside a layer, in multiples of `growth`."""
    graph = Graph("densenet")
    x = graph.input("image", (batch, 3, image, image), normal(1.0))
    channels = 2 * growth
    with graph.scope("features.conv0"):
        x = graph.add("Relu", convolution(graph, x, (3, channels), 7, 2, 3, gain=1.0, normalized=True))
    x = graph.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for block, count in enumerate(layers):
        features = [x]
        # Only what the first pooling gives is positive. A trained model's running means say so.
        mean = normal_from(0.1, 0.0 if block else 1.0, channels)
        for layer in range(count):
            with graph.scope("features.denseblock%d.denselayer%d" % (block + 1, layer + 1)):
                features.append(_dense_layer(graph, features, channels, mean, growth, bottleneck))
            channels += growth
        x = graph.add("Concat", *features, axis=1)
        if block + 1 < len(layers):
            with graph.scope("features.transition%d" % (block + 1)):
                x = _normalize(graph, x, channels, mean)
                x = convolution(graph, x, (channels, channels // 2), 1, bias=None)
                x = graph.add("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
            channels //= 2
    with graph.scope("features.norm5"):
        x = _normalize(graph, x, channels, mean)
    x = graph.add("Flatten", graph.add("GlobalAveragePool", x), axis=1)
    with graph.scope("classifier"):
        logits = classifier(graph, x, channels, classes)
    graph.output("logits", logits, (batch, classes))
    return graph


def _dense_layer(graph, features, channels, mean, growth, bottleneck):
    x = graph.add("Concat", *features, axis=1) if len(features) > 1 else features[0]
    x = _normalize(graph, x, channels, mean)
    with graph.scope("conv1"):
        x = graph.add("Relu", convolution(graph, x, (channels, bottleneck * growth), 1, normalized=True))
    with graph.scope("conv2"):
        x = convolution(graph, x, (bottleneck * growth, growth), 3, 1, 1, bias=None)
    return x


def _normalize(graph, x, channels, mean):
    """Batch normalization and ReLU."""
    with graph.scope("norm"):
        weight = graph.parameter("weight", (channels,), scale)
        bias = graph.parameter("bias", (channels,), normal(0.1))
        mean = graph.parameter("running_mean", (channels,), mean, trainable=False)
        deviation = graph.parameter("running_var", (channels,), variance, trainable=False)
    return graph.add("Relu", graph.add("BatchNormalization", x, weight, bias, mean, deviation, epsilon=1e-5))
