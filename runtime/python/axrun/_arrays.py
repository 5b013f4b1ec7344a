"""Between numpy arrays and axrun's tensors, without copies where memory allows it."""

from __future__ import annotations

import ctypes
import importlib
from ctypes import POINTER, c_char_p, c_int64, c_size_t
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _library
from ._library import STRING, Handle, Tensor
from .errors import InvalidArgument

try:
    ml_dtypes: Any = importlib.import_module("ml_dtypes")
except ImportError:
    ml_dtypes = None

Array = npt.NDArray[Any]

# axrun_type -> its name, numpy's type for its bytes, and ml_dtypes' name for it where numpy has none.
_TYPES: dict[int, tuple[str, Any, Optional[str]]] = {
    1: ("float16", np.float16, None),
    2: ("bfloat16", np.uint16, "bfloat16"),
    3: ("float32", np.float32, None),
    4: ("float64", np.float64, None),
    5: ("float8_e4m3fn", np.uint8, "float8_e4m3fn"),
    6: ("float8_e4m3fnuz", np.uint8, "float8_e4m3fnuz"),
    7: ("float8_e5m2", np.uint8, "float8_e5m2"),
    8: ("float8_e5m2fnuz", np.uint8, "float8_e5m2fnuz"),
    9: ("int4", np.int8, None),
    10: ("int8", np.int8, None),
    11: ("int16", np.int16, None),
    12: ("int32", np.int32, None),
    13: ("int64", np.int64, None),
    14: ("uint4", np.uint8, None),
    15: ("uint8", np.uint8, None),
    16: ("uint16", np.uint16, None),
    17: ("uint32", np.uint32, None),
    18: ("uint64", np.uint64, None),
    19: ("bool", np.bool_, None),
    STRING: ("string", np.object_, None),
    21: ("float8_e8m0", np.uint8, "float8_e8m0fnu"),
    22: ("float4_e2m1", np.uint8, "float4_e2m1fn"),
    23: ("float6_e2m3", np.uint8, "float6_e2m3fn"),
    24: ("float6_e3m2", np.uint8, "float6_e3m2fn"),
    25: ("int2", np.int8, None),
    26: ("uint2", np.uint8, None),
}
_BITS: dict[int, np.dtype[Any]] = {code: np.dtype(bits) for code, (_, bits, _) in _TYPES.items()}
_DTYPES = dict(_BITS)
if ml_dtypes is not None:
    for _code, (_, _, _extra) in _TYPES.items():
        if _extra is not None and hasattr(ml_dtypes, _extra):
            _DTYPES[_code] = np.dtype(getattr(ml_dtypes, _extra))
# Types whose bytes could be another type's are told by the model, not by the array.
_OF_DTYPE = {dtype: code for code, dtype in reversed(_DTYPES.items())}
for _code in (10, 15, 16, 19):
    _OF_DTYPE[_BITS[_code]] = _code
_FEW_BITS = {9: (-8, 7), 14: (0, 15), 25: (-2, 1), 26: (0, 3)}
_PLAIN = {code: dtype for code, dtype in _DTYPES.items() if code not in _FEW_BITS and code != STRING}


def type_name(code: int) -> str:
    """ONNX's name of an axrun_type, "undefined" where the model does not say."""
    return _TYPES[code][0] if code in _TYPES else "undefined"


def dtype_of(code: int) -> Optional[np.dtype[Any]]:
    """The dtype of arrays of this axrun_type; None where the model does not say. 16-bit and 8-bit floats that numpy lacks
    are ml_dtypes', or unsigned integers with their bits where that package is missing."""
    return _DTYPES.get(code)


def array_of(value: Any, code: int, name: str) -> Array:
    """The value as an array that can be bound to input `name` of axrun_type `code`: native, contiguous, of its type.

    Arrays (whatever has __array__ or __dlpack__) have to be of the input's type. Other objects, lists and numbers, are
    converted: floats are rounded to the nearest value, what is beyond the type's range or would be another integer is
    refused. Raises InvalidArgument.
    """
    if type(value) is np.ndarray and code in _PLAIN and value.dtype == _PLAIN[code] and value.flags.carray:
        return value  # what follows would give the same
    if code == STRING or (code not in _TYPES and _is_text(value)):
        return _strings_of(value, name)
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        array = np.asarray(value)
    elif hasattr(value, "__dlpack__"):
        array = np.from_dlpack(value)
    else:
        array = _converted(value, code, name)
    if code in _FEW_BITS and array.dtype != _BITS[code] and array.dtype.name == type_name(code):
        array = array.astype(_BITS[code])
    if code in _TYPES and array.dtype not in (_DTYPES[code], _BITS[code]) and array.dtype.newbyteorder("=") != _DTYPES[code]:
        raise InvalidArgument("input '%s' is %s, not %s" % (name, type_name(code), array.dtype))
    if code in _FEW_BITS and array.size and not (_FEW_BITS[code][0] <= array.min() and array.max() <= _FEW_BITS[code][1]):
        raise InvalidArgument("input '%s' is %s: its values are %d to %d" % ((name, type_name(code)) + _FEW_BITS[code]))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = array.copy(order="C")  # ascontiguousarray would make one dimension of none
    return array


# Strings of fixed size, bytes, objects, strings of any size (numpy 2's StringDType).
_TEXT_KINDS = "USOT"


def _is_text(value: Any) -> bool:
    return np.asarray(value).dtype.kind in _TEXT_KINDS


def _strings_of(value: Any, name: str) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in _TEXT_KINDS and array.size > 0:
        raise InvalidArgument("input '%s' is string, not %s" % (name, array.dtype))
    made = np.empty(array.shape, np.object_)
    for index, text in enumerate(array.ravel().tolist()):
        if not isinstance(text, (str, bytes)):
            raise InvalidArgument("input '%s' is string, not %s" % (name, type(text).__name__))
        made.flat[index] = text.encode("utf8", "surrogateescape") if isinstance(text, str) else text
    return made


def _converted(value: Any, code: int, name: str) -> Array:
    try:
        array = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise InvalidArgument("input '%s': %s" % (name, error)) from error
    dtype = dtype_of(code)
    if dtype is None or array.dtype == dtype:
        return array
    if array.size == 0:
        return array.astype(dtype)
    if array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and code not in range(1, 9)):
        raise InvalidArgument("input '%s' is %s, not %s" % (name, type_name(code), array.dtype))
    with np.errstate(all="ignore"):
        made = array.astype(dtype)
        if array.dtype.kind == "f":
            kept = bool(np.array_equal(np.isfinite(made.astype(array.dtype)), np.isfinite(array)))
        else:
            kept = bool(np.array_equal(made.astype(array.dtype), array))
    if dtype == _BITS.get(code) and code in (2, 5, 6, 7, 8):
        raise InvalidArgument("input '%s' is %s: without ml_dtypes, give its bits as an array of %s" % (
            name, type_name(code), dtype))
    if not kept:
        raise InvalidArgument("input '%s' is %s: a value given does not fit" % (name, type_name(code)))
    return made


def tensor_of(array: Array, code: int) -> tuple[Tensor, object]:
    """The tensor over an array made by array_of, and what has to live while it is read."""
    if code not in _TYPES:
        known = STRING if array.dtype == np.object_ else _OF_DTYPE.get(array.dtype)
        if known is None:
            raise InvalidArgument("arrays of %s have no counterpart in ONNX" % array.dtype)
        code = known
    dims = (c_int64 * array.ndim)(*array.shape)
    if code != STRING:
        address = array.__array_interface__["data"][0]  # much faster than array.ctypes
        return Tensor(code, array.ndim, dims, address, array.nbytes), (array, dims)
    for text in array.ravel().tolist():
        if b"\0" in text:
            raise InvalidArgument("strings inside of sequences cannot hold null characters")
    pointers = (c_char_p * array.size)(*array.ravel().tolist())
    data = ctypes.cast(pointers, ctypes.c_void_p)
    return Tensor(STRING, array.ndim, dims, data, ctypes.sizeof(pointers)), (array, dims, pointers)


def bind_strings(request: Handle, index: int, array: Array) -> None:
    texts = array.ravel().tolist()
    dims = (c_int64 * array.ndim)(*array.shape)
    sizes = (c_size_t * len(texts))(*map(len, texts))
    pointers = (c_char_p * len(texts))(*texts)
    _library.check(_library.library.axrun_bind_input_strings(request, index, dims, array.ndim, pointers, sizes))


class _Memory:
    """Memory of a request as numpy asks for it; arrays over it keep the request."""

    def __init__(self, owner: object, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._owner = owner
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": (address, False)}


def array_over(tensor: Tensor, string_sizes: Any, owner: Handle) -> Array:
    """The array over a tensor that `owner` holds; strings are copied."""
    shape: tuple[int, ...] = tuple(tensor.dims[:tensor.rank])
    if tensor.type == STRING:
        array: Array = np.empty(shape, np.object_)
        pointers = ctypes.cast(tensor.data, POINTER(ctypes.c_void_p))
        for k in range(array.size):
            array.flat[k] = ctypes.string_at(pointers[k], string_sizes[k]).decode("utf8", "surrogateescape")
        return array
    if 0 in shape or not tensor.data:
        return np.empty(shape, _DTYPES[tensor.type])
    array = np.asarray(_Memory(owner, tensor.data, shape, _BITS[tensor.type]))
    return array if _DTYPES[tensor.type] == _BITS[tensor.type] else array.view(_DTYPES[tensor.type])
