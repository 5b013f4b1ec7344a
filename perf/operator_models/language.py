"""What language models consist of: weights in blocks, grouped attention, rotary embeddings."""

import numpy
from onnx import TensorProto

from .case import Case, case, floats, octets, one, onnx_case, whole


def product_of_blocks(random, rows, columns, depth, bits=4, block=32, zeros=False):
    blocks = depth // block
    scales = numpy.abs(floats(random, columns * blocks)) / 20
    given = octets(random, columns * (blocks * bits // 8)) if zeros else None
    return Case("MatMulNBits", [floats(random, rows, depth), octets(random, columns, blocks, block * bits // 8), scales, given],
                {1, 2, 3}, attributes={"K": depth, "N": columns, "bits": bits, "block_size": block})


@case("matmul_4_bits_1x2048x2048")
def _(random):
    return product_of_blocks(random, 1, 2048, 2048)


@case("matmul_4_bits_zeros_1x2048x2048")
def _(random):
    return product_of_blocks(random, 1, 2048, 2048, zeros=True)


@case("matmul_4_bits_1x8192x2048")
def _(random):
    return product_of_blocks(random, 1, 8192, 2048)


@case("matmul_4_bits_32x2048x2048")
def _(random):
    return product_of_blocks(random, 32, 2048, 2048)


@case("matmul_8_bits_1x1024x1024")
def _(random):
    return product_of_blocks(random, 1, 1024, 1024, bits=8)


def grouped_attention(random, queries, past, heads=16, key_heads=4, size=64, longest=4096):
    total = past + queries
    states = [floats(random, 1, key_heads, past, size) for _ in range(2)]
    added = [floats(random, 1, queries, key_heads * size) for _ in range(2)]
    caches = [floats(random, longest, size // 2) for _ in range(2)]
    return Case("GroupQueryAttention",
                [floats(random, 1, queries, heads * size), *added, *states, one([total - 1], "int32"), one(total, "int32"),
                 *caches], {6, 7, 8}, (TensorProto.FLOAT,) * 3,
                attributes={"num_heads": heads, "kv_num_heads": key_heads, "do_rotary": 1})


@case("group_query_attention_1_after_127")
def _(random):
    return grouped_attention(random, 1, 127)


@case("group_query_attention_1_after_1023")
def _(random):
    return grouped_attention(random, 1, 1023)


@case("group_query_attention_64")
def _(random):
    return grouped_attention(random, 64, 0)


@case("attention_12_heads_64x64")
def _(random):
    return onnx_case("Attention", [floats(random, 1, 12, 64, 64) for _ in range(3)], opset=23)


@case("rotary_embedding_64x768")
def _(random):
    positions = numpy.arange(64, dtype="int64").reshape(1, 64)
    return Case("RotaryEmbedding", [floats(random, 1, 64, 768), positions, floats(random, 512, 32), floats(random, 512, 32)],
                {2, 3}, attributes={"num_heads": 12})


@case("gather_4_bits_64x1024")
def _(random):
    return Case("GatherBlockQuantized", [octets(random, 32000, 512), whole(random, 0, 32000, 1, 64),
                                         numpy.abs(floats(random, 32000, 32))], {0, 2},
                attributes={"bits": 4, "block_size": 32, "gather_axis": 0, "quantize_axis": 1})
