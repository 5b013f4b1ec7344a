"""Values of a graph's weights and inputs, from a fixed seed.

Each tensor has its own random stream, named after it: the same weight is the same in every variant of an architecture.
"""

import zlib

import numpy

from .graph import sample

SEED = 20240501


def weights_of(graph):
    """All initializers, arrays by name."""
    return {name: _fill(item.fill, item.seed, item.shape, item.dtype) for name, item in graph.initializers.items()}


def inputs_of(graph):
    """The data set's inputs, arrays by name."""
    return {port.name: _fill(port.fill, port.name, tuple(map(sample, port.shape)), port.dtype)
            for port in graph.inputs}


def _fill(fill, seed, shape, dtype):
    generator = numpy.random.Generator(numpy.random.PCG64([SEED, zlib.crc32(seed.encode())]))
    if dtype == "bfloat16":
        return _rounded_to_bfloat16(_fill(fill, seed, shape, "float32"))
    values = numpy.ascontiguousarray(fill(generator, shape), dtype)
    return values.reshape(shape)  # ascontiguousarray makes scalars one-dimensional


def _rounded_to_bfloat16(values):
    """The nearest f32 whose lower 16 bits are zero; of two, the even one. For finite values."""
    bits = values.view(numpy.uint32)
    bits = bits + 0x7FFF + ((bits >> 16) & 1)
    return (bits & numpy.uint32(0xFFFF0000)).view(numpy.float32)
