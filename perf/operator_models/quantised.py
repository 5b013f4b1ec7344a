"""What quantisers write."""

import numpy
from onnx import TensorProto

from .case import Case, case, floats, octets, one, whole

ROWS, WIDTH = 32, 768


@case("dynamic_quantize_matmul_32x768x768")
def _(random):
    return Case("DynamicQuantizeMatMul", [floats(random, ROWS, WIDTH), octets(random, WIDTH, WIDTH), one(.01), one(128, "uint8")],
                {1, 2, 3})


@case("matmul_integer_to_float_32x768x768")
def _(random):
    return Case("MatMulIntegerToFloat", [octets(random, ROWS, WIDTH), octets(random, WIDTH, WIDTH), one(.01), one(.02),
                                         one(120, "uint8"), one(128, "uint8")], {1, 2, 3, 4, 5})


@case("quantised_gemm_32x768x768")
def _(random):
    return Case("QGemm", [octets(random, ROWS, WIDTH), one(.01), one(120, "uint8"), octets(random, WIDTH, WIDTH), one(.01),
                          one(128, "uint8"), None, one(.5), one(128, "uint8")], {1, 2, 3, 4, 5, 7, 8}, (TensorProto.UINT8,))


@case("quantised_attention_64x768")
def _(random):
    return Case("QAttention", [octets(random, 1, 64, WIDTH), octets(random, WIDTH, 3 * WIDTH), floats(random, 3 * WIDTH),
                               one(.01), one(.01), None, one(128, "uint8"), one(128, "uint8")], {1, 2, 3, 4, 6, 7},
                attributes={"num_heads": 12})


@case("dynamic_quantize_lstm_20x256")
def _(random):
    """Small weights: with large ones states are decided by which way they round."""
    weights = [whole(random, -127, 128, 1, 256, 1024, dtype="int8") for _ in range(2)]
    scale, zero = numpy.full(1, 3e-4, "float32"), numpy.zeros(1, "int8")
    return Case("DynamicQuantizeLSTM", [floats(random, 20, 1, 256), *weights, floats(random, 1, 2048), None, None, None, None,
                                        scale, zero, scale, zero], {1, 2, 3, 8, 9, 10, 11}, attributes={"hidden_size": 256})


@case("quantised_concat_2x64x56x56")
def _(random):
    part = [octets(random, 1, 64, 56, 56), one(.02), one(120, "uint8")]
    return Case("QLinearConcat", [one(.03), one(128, "uint8"), *part, octets(random, 1, 64, 56, 56), one(.03), one(128, "uint8")],
                {0, 1, 3, 4, 6, 7}, (TensorProto.UINT8,), attributes={"axis": 1})


@case("quantised_average_pool_64x56x56")
def _(random):
    return Case("QLinearAveragePool", [octets(random, 1, 64, 56, 56), one(.02), one(120, "uint8"), one(.02), one(120, "uint8")],
                {1, 2, 3, 4}, (TensorProto.UINT8,), attributes={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4})


@case("byte_max_pool_56x56x64")
def _(random):
    return Case("NhwcMaxPool", [octets(random, 1, 56, 56, 64)], (), (TensorProto.UINT8,),
                attributes={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4})
