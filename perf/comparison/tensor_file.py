"""Reads ONNX's tensor files (a serialised TensorProto, as in `test_data_set_0/output_0.pb`) without any package.

Format: TensorProto in the ONNX specification's onnx.proto, over protobuf's wire format.
"""

import array
import math
import struct
from dataclasses import dataclass

from comparison import wire

FLOAT16, BFLOAT16 = 10, 16
FLOATS = {1: "f", FLOAT16: "", 11: "d", BFLOAT16: ""}  # element type -> the code that the module `array` has for it
INTEGERS = {2: "B", 3: "b", 4: "H", 5: "h", 6: "i", 7: "q", 9: "B", 12: "I", 13: "Q"}

# Field numbers of TensorProto.
_DIMS, _TYPE, _FLOAT_DATA, _INT32_DATA, _INT64_DATA, _NAME, _RAW = 1, 2, 4, 5, 7, 8, 9
_DOUBLE_DATA, _UINT64_DATA = 10, 11


class NotATensor(ValueError):
    """The file is damaged, no tensor, or of an element type that is not read here; the text says which."""


@dataclass
class Tensor:
    """A dense tensor; `values` is a sequence of its elements as Python numbers, in row-major order."""
    name: str
    shape: list
    type: int  # TensorProto.DataType
    values: object  # a list, or an array.array for speed

    @property
    def is_float(self):
        """Whether the elements are floating-point numbers; else they are integers or booleans (0 and 1)."""
        return self.type in FLOATS


def read(path):
    """The tensor in a file; raises NotATensor, or OSError when it can't be read."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        return _parse(content)
    except (wire.Damaged, struct.error, UnicodeDecodeError) as error:
        raise NotATensor("%s is damaged" % path) from error
    except NotATensor as error:
        raise NotATensor("%s: %s" % (path, error)) from error


def _parse(content):
    shape, element_type, name, raw, data = [], 0, "", None, []
    for number, kind, value in wire.fields(content):
        if number == _TYPE and kind == wire.VARINT:
            element_type = value
        elif number == _NAME and kind == wire.LENGTH:
            name = value.decode()
        elif number == _RAW and kind == wire.LENGTH:
            raw = value
        elif number in (_FLOAT_DATA, _DOUBLE_DATA) and kind != wire.VARINT:
            code, size = ("f", 4) if number == _FLOAT_DATA else ("d", 8)
            data += struct.unpack("<%d%s" % (len(value) // size, code), value)
        elif number in (_DIMS, _INT32_DATA, _INT64_DATA, _UINT64_DATA) and kind in (wire.VARINT, wire.LENGTH):
            numbers = wire.varints(value) if kind == wire.LENGTH else [value]
            if number == _DIMS:
                shape += map(_signed, numbers)
            else:
                data += numbers
    if element_type not in FLOATS and element_type not in INTEGERS:
        raise NotATensor("element type %d is not compared" % element_type)
    values = _from_raw(raw, element_type) if raw is not None else _from_fields(data, element_type)
    if len(values) != math.prod(shape):
        raise NotATensor("%d values for shape %s" % (len(values), shape))
    return Tensor(name, shape, element_type, values)


def _from_raw(raw, element_type):
    if element_type == BFLOAT16:
        return [_bfloat16(x) for (x,) in struct.iter_unpack("<H", raw)]
    if element_type == FLOAT16:
        return [x for (x,) in struct.iter_unpack("<e", raw)]
    values = array.array(FLOATS.get(element_type) or INTEGERS[element_type])
    try:
        values.frombytes(raw)  # little endian, as every machine that axrun runs on
    except ValueError as error:
        raise NotATensor("the values are cut short") from error
    return values


def _from_fields(data, element_type):
    """Values of the typed fields: 16-bit floats are stored there as their bits, negative integers in 64 bits."""
    if element_type == FLOAT16:
        return [struct.unpack("<e", struct.pack("<H", x & 0xFFFF))[0] for x in data]
    if element_type == BFLOAT16:
        return [_bfloat16(x & 0xFFFF) for x in data]
    return data if element_type in FLOATS or element_type == 13 else [_signed(x) for x in data]


def _bfloat16(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def _signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value
