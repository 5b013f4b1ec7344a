"""Floats of 16 bits, and operators of ai.onnx that are no products."""

from onnx import TensorProto

from .case import Case, case, floats, one, onnx_case

HALF = (TensorProto.FLOAT16,)
PLANES = (1, 64, 56, 56)


@case("matmul_f16_64x256x256")
def _(random):
    return onnx_case("MatMul", [floats(random, 64, 256, dtype="float16"), floats(random, 256, 256, dtype="float16")], {1}, HALF)


@case("conv_f16_32x32x28")
def _(random):
    return onnx_case("Conv", [floats(random, 1, 32, 28, 28, dtype="float16"), floats(random, 32, 32, 3, 3, dtype="float16")],
                     {1}, HALF, pads=[1] * 4)


@case("add_f16_200704")
def _(random):
    return onnx_case("Add", [floats(random, *PLANES, dtype="float16") for _ in range(2)], outputs=HALF)


@case("softmax_f16_64x1000")
def _(random):
    return onnx_case("Softmax", [floats(random, 64, 1000, dtype="float16")], outputs=HALF)


@case("layer_normalization_f16_64x768")
def _(random):
    scales = [floats(random, 768, dtype="float16") for _ in range(2)]
    return onnx_case("LayerNormalization", [floats(random, 64, 768, dtype="float16"), *scales], {1, 2}, HALF)


@case("group_normalization_64x56x56")
def _(random):
    return onnx_case("GroupNormalization", [floats(random, *PLANES), floats(random, 64), floats(random, 64)], {1, 2}, opset=21,
                     num_groups=32)


@case("grid_sample_64x56x56")
def _(random):
    return onnx_case("GridSample", [floats(random, *PLANES), floats(random, 1, 56, 56, 2)])


@case("fused_conv_64x64x28")
def _(random):
    return Case("FusedConv", [floats(random, 1, 64, 28, 28), floats(random, 64, 64, 3, 3), floats(random, 64)], {1, 2},
                attributes={"activation": "Relu", "pads": [1] * 4})


@case("conv_256x512_508x1")
def _(random):
    return onnx_case("Conv", [floats(random, 1, 256, 512, 1), floats(random, 512, 256, 5, 1)], {1})


@case("dft_64x512")
def _(random):
    return onnx_case("DFT", [floats(random, 64, 512, 1), one(512, "int64"), one(1, "int64")], {1, 2})


@case("dft_4x32768")
def _(random):
    return onnx_case("DFT", [floats(random, 4, 32768, 1), one(32768, "int64"), one(1, "int64")], {1, 2})


@case("stft_16000_400_160")
def _(random):
    return onnx_case("STFT", [floats(random, 1, 16000, 1), one(160, "int64"), floats(random, 400), one(400, "int64")], {1, 2, 3},
                     onesided=1)


@case("deform_conv_32x32x28")
def _(random):
    return onnx_case("DeformConv", [floats(random, 1, 32, 28, 28), floats(random, 32, 32, 3, 3), floats(random, 1, 18, 28, 28)],
                     {1}, pads=[1] * 4)


@case("max_pool_indices_64x56x56")
def _(random):
    return onnx_case("MaxPool", [floats(random, *PLANES)], outputs=(TensorProto.FLOAT, TensorProto.INT64), kernel_shape=[2, 2],
                     strides=[2, 2])


@case("conv_16x16x8x28x28")
def _(random):
    return onnx_case("Conv", [floats(random, 1, 16, 8, 28, 28), floats(random, 16, 16, 3, 3, 3)], {1}, pads=[1] * 6)


@case("max_pool_16x16x56x56")
def _(random):
    return onnx_case("MaxPool", [floats(random, 1, 16, 16, 56, 56)], kernel_shape=[3] * 3, strides=[2] * 3, pads=[1] * 6)


@case("average_pool_16x16x56x56")
def _(random):
    return onnx_case("AveragePool", [floats(random, 1, 16, 16, 56, 56)], kernel_shape=[2] * 3, strides=[2] * 3)


@case("conv_transpose_16x16x8x28x28")
def _(random):
    return onnx_case("ConvTranspose", [floats(random, 1, 16, 8, 28, 28), floats(random, 16, 16, 2, 2, 2)], {1}, strides=[2] * 3)


@case("mixture_of_experts_32x256")
def _(random):
    experts, width, inner = 8, 256, 1024
    return Case("MoE", [floats(random, 32, width), floats(random, 32, experts), floats(random, experts, inner, width),
                        floats(random, experts, inner), floats(random, experts, width, inner), floats(random, experts, width)],
                {2, 3, 4, 5}, attributes={"k": 2, "activation_type": "gelu"})
