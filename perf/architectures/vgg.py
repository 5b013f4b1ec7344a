"""VGG-16 (Simonyan and Zisserman 2014, configuration D) as torchvision has it, without batch normalization."""

from .fills import normal
from .graph import Graph, require
from .layers import AFTER_RELU, classifier, convolution


def vgg(batch=1, image=224, convolutions=(2, 2, 3, 3, 3), width=64, hidden=4096, classes=1000):
    """convolutions: of each stage; a stage ends in pooling and doubles the channels up to 8 * width.

    image: a multiple of 2^stages * 7 (of 32 * 7 for VGG-16), since the classifier takes 7x7 positions.
    """
    cell, rest = divmod(image, 7 << len(convolutions))
    require(cell and not rest, "image=%d is not a multiple of %d" % (image, 7 << len(convolutions)))
    graph = Graph("vgg")
    x = graph.input("image", (batch, 3, image, image), normal(1.0))
    channels, gain, index = 3, 1.0, 0
    for stage, count in enumerate(convolutions):
        outputs = width * min(2 ** stage, 8)
        for _ in range(count):
            with graph.scope("features.%d" % index):
                x = graph.add("Relu", convolution(graph, x, (channels, outputs), 3, 1, 1, gain=gain))
            channels, gain, index = outputs, AFTER_RELU, index + 2
        x = graph.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0])
        gain, index = 1.0, index + 1  # the largest of four is greater than each
    x = graph.add("AveragePool", x, kernel_shape=[cell, cell], strides=[cell, cell])
    x = graph.add("Flatten", x, axis=1)
    width = channels * 49
    for index in (0, 3):
        with graph.scope("classifier.%d" % index):
            x = graph.add("Relu", classifier(graph, x, width, hidden, gain=AFTER_RELU))
        width = hidden
    with graph.scope("classifier.6"):
        logits = classifier(graph, x, hidden, classes)
    graph.output("logits", logits, (batch, classes))
    return graph
