"""Protobuf's wire format: https://protobuf.dev/programming-guides/encoding/"""

VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5


class Damaged(ValueError):
    """The bytes are no protobuf message."""


def fields(content):
    """(field number, wire type, value) of every field of a message: integers for VARINT, else parts of `content`, which
    is `bytes` or a memoryview of bytes. Raises Damaged."""
    at, end = 0, len(content)
    while at < end:
        key, at = _varint(content, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = _varint(content, at)
        elif kind in (EIGHT_BYTES, FOUR_BYTES, LENGTH):
            size, at = _varint(content, at) if kind == LENGTH else (8 if kind == EIGHT_BYTES else 4, at)
            if at + size > end:
                raise Damaged("a field passes the end")
            value, at = content[at:at + size], at + size
        else:
            raise Damaged("wire type %d" % kind)
        yield number, kind, value


def varints(content):
    """The integers of a packed field."""
    values, at = [], 0
    while at < len(content):
        value, at = _varint(content, at)
        values.append(value)
    return values


def _varint(content, at):
    value = shift = 0
    while at < len(content):
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
    raise Damaged("a number passes the end")
