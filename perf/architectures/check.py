"""Whether a model's activations are like those of a trained one.

Dead, denormal or exploding activations falsify timing: zeros can be skipped, denormals are slow. Checked on every
tensor of the float64 evaluation.
"""

import numpy

DEVIATION = (0.1, 10.0)
SPARSITY = (0.2, 0.8)
SMALLEST_NORMAL = float(numpy.finfo(numpy.float32).tiny)
LARGEST = float(numpy.finfo(numpy.float32).max)


class CheckFailure(Exception):
    """Names the tensor and its figure."""


class ActivationCheck:
    """Call it with each node and its outputs; it raises CheckFailure.

    All must be finite and not denormal as f32. Activations must have a standard deviation within DEVIATION, and zeros
    must be a share within SPARSITY of what a ReLU puts out (ReLU6 too, which is a Clip).
    """

    def __init__(self):
        self.deviations, self.sparsities = [], []

    def __call__(self, node, results):
        for name, values in zip(node.outputs, results):
            if values.dtype != numpy.float64:
                continue
            check_representable(name, values)
            if node.is_activation:
                self.deviations.append(_check(name, "standard deviation", float(values.std()), DEVIATION))
            if node.operator in ("Relu", "Clip"):
                zeros = 1.0 - numpy.count_nonzero(values) / values.size
                self.sparsities.append(_check(name, "share of zeros", zeros, SPARSITY))


def check_representable(name, values):
    """Finite and not denormal in f32."""
    if not numpy.isfinite(values).all():
        raise CheckFailure("%s: %d elements are not finite" % (name, numpy.count_nonzero(~numpy.isfinite(values))))
    sizes = numpy.abs(values)
    if sizes.max(initial=0.0) > LARGEST:
        raise CheckFailure("%s: largest magnitude %g does not fit f32" % (name, sizes.max()))
    denormal = numpy.count_nonzero(sizes < SMALLEST_NORMAL) - (sizes.size - numpy.count_nonzero(sizes))
    if denormal:
        raise CheckFailure("%s: %d elements are denormal in f32" % (name, denormal))


def _check(name, quantity, figure, limits):
    if not limits[0] <= figure <= limits[1]:
        raise CheckFailure("%s: %s %.4g is not within %g to %g" % (name, quantity, figure, *limits))
    return figure
