"""libaxrun as ctypes sees it: the declarations of runtime/axrun_c.h and runtime/axrun_operators.h, which are their manuals.

ctypes releases the interpreter's lock while a function runs. axrun_last_error belongs to the calling thread.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p

from typing import Any

from . import errors

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")

TENSOR, SEQUENCE, OPTIONAL, MAP = range(4)  # axrun_kind
STRING = 20  # of axrun_type


class Tensor(Structure):
    _fields_ = [("type", c_int), ("rank", c_size_t), ("dims", POINTER(c_int64)), ("data", c_void_p), ("bytes", c_size_t)]


class PortInfo(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int), ("type", c_int), ("rank", c_int), ("dims", POINTER(c_int64)),
                ("dim_names", POINTER(c_char_p))]


class OptimizerInfo(Structure):
    _fields_ = [("state", c_char_p), ("reason", c_char_p), ("tried", c_int64), ("left", c_int64), ("steps", c_int),
                ("swapped", c_int)]


class CacheInfo(Structure):
    _fields_ = [("folder", c_char_p), ("trouble", c_char_p), ("found", c_int), ("writable", c_int)]


class Value(Structure):
    _fields_ = [("kind", c_int), ("count", c_size_t), ("tensor", Tensor), ("string_sizes", POINTER(c_size_t))]


class MetricInfo(Structure):
    _fields_ = [("name", c_char_p), ("help", c_char_p), ("counter", c_int), ("label_count", c_size_t),
                ("label_names", POINTER(c_char_p)), ("label_values", POINTER(c_char_p)), ("value", c_double)]


class OperatorInfo(Structure):
    _fields_ = [("domain", c_char_p), ("name", c_char_p), ("since", c_int), ("revision", c_char_p), ("text", c_char_p),
                ("define", c_void_p), ("compute", c_void_p), ("context", c_void_p), ("release", c_void_p)]


PollFunction = ctypes.CFUNCTYPE(c_int)  # its argument is never looked at
LogFunction = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
MetricSink = ctypes.CFUNCTYPE(None, c_void_p, POINTER(MetricInfo))

# Functions that return a status, by their arguments; handles are c_void_p.
_CHECKED: dict[str, list[Any]] = {
    "axrun_set_log": [c_int, LogFunction, c_void_p],
    "axrun_options_create": [POINTER(c_void_p)],
    "axrun_options_set_threads": [c_void_p, c_int],
    "axrun_options_set_tier": [c_void_p, c_int],
    "axrun_options_set_shape": [c_void_p, c_char_p, POINTER(c_int64), c_size_t],
    "axrun_options_set_dim": [c_void_p, c_char_p, c_int64],
    "axrun_options_set_memory_limit": [c_void_p, c_int64],
    "axrun_options_set_cache": [c_void_p, c_char_p],
    "axrun_options_set_optimize": [c_void_p, c_int],
    "axrun_options_set_optimizer_threads": [c_void_p, c_int],
    "axrun_options_set_optimizer_priority": [c_void_p, c_int],
    "axrun_options_set_optimizer_share": [c_void_p, c_double],
    "axrun_options_set_deterministic": [c_void_p, c_int],
    "axrun_options_set_fp": [c_void_p, c_int],
    "axrun_options_set_operators": [c_void_p, c_void_p],
    "axrun_operators_create": [POINTER(c_void_p)],
    "axrun_operators_add": [c_void_p, POINTER(OperatorInfo)],
    "axrun_operators_load": [c_void_p, c_char_p],
    "axrun_session_load": [c_char_p, c_void_p, POINTER(c_void_p)],
    "axrun_session_load_memory": [c_void_p, c_size_t, c_char_p, c_void_p, POINTER(c_void_p)],
    "axrun_input_info": [c_void_p, c_size_t, POINTER(PortInfo)],
    "axrun_output_info": [c_void_p, c_size_t, POINTER(PortInfo)],
    "axrun_optimizer_status": [c_void_p, POINTER(OptimizerInfo)],
    "axrun_cache_status": [c_void_p, POINTER(CacheInfo)],
    "axrun_optimizer_freeze": [c_void_p],
    "axrun_optimizer_wait": [c_void_p, c_double, POINTER(c_int)],
    "axrun_session_metrics": [c_void_p, MetricSink, c_void_p],
    "axrun_request_create": [c_void_p, POINTER(c_void_p)],
    "axrun_bind_input": [c_void_p, c_size_t, POINTER(Tensor)],
    "axrun_bind_input_strings": [c_void_p, c_size_t, POINTER(c_int64), c_size_t, POINTER(c_char_p), POINTER(c_size_t)],
    "axrun_bind_input_parts": [c_void_p, c_size_t, c_int, POINTER(Tensor), c_size_t],
    "axrun_bind_output": [c_void_p, c_size_t, POINTER(Tensor)],
    "axrun_run": [c_void_p],
    "axrun_state_create": [c_void_p, POINTER(c_char_p), POINTER(c_char_p), c_size_t, c_int64, POINTER(c_void_p)],
    "axrun_state_fork": [c_void_p, POINTER(c_void_p)],
    "axrun_state_reset": [c_void_p],
    "axrun_state_length": [c_void_p, POINTER(c_int64)],
    "axrun_state_set": [c_void_p, c_char_p, POINTER(Tensor)],
    "axrun_state_get": [c_void_p, c_char_p, POINTER(Tensor)],
    "axrun_use_state": [c_void_p, c_void_p],
    "axrun_set_poll": [PollFunction, c_void_p],
    "axrun_set_timeout": [c_void_p, c_double],
    "axrun_explain": [c_void_p, c_int, POINTER(c_void_p)],
    "axrun_get_output_value": [c_void_p, c_size_t, POINTER(c_size_t), c_size_t, POINTER(Value)],
}
# The others: arguments and result.
_PLAIN: dict[str, tuple[list[Any], Any]] = {
    "axrun_version": ([], c_char_p),
    "axrun_last_error": ([], c_char_p),
    "axrun_last_error_input": ([], c_char_p),
    "axrun_last_error_node": ([], c_char_p),
    "axrun_last_error_op": ([], c_char_p),
    "axrun_options_free": ([c_void_p], None),
    "axrun_operators_free": ([c_void_p], None),
    "axrun_session_free": ([c_void_p], None),
    "axrun_request_free": ([c_void_p], None),
    "axrun_state_free": ([c_void_p], None),
    "axrun_cancel": ([c_void_p], None),
    "axrun_text_free": ([c_void_p], None),
    "axrun_input_count": ([c_void_p], c_size_t),
    "axrun_output_count": ([c_void_p], c_size_t),
}


def _load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(os.path.join(FOLDER, "libaxrun.so.0"))
    except OSError as error:
        raise ImportError("axrun's library cannot be loaded: %s" % error) from error
    for name, arguments in _CHECKED.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, c_int
    for name, (arguments, result) in _PLAIN.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
    return library


library = _load()
VERSION: str = library.axrun_version().decode()


def check(status: int) -> None:
    """Raises the exception of a call that failed in this thread."""
    if status != 0:
        raise errors.of(status, *(text().decode("utf8", "replace") for text in (
            library.axrun_last_error, library.axrun_last_error_input, library.axrun_last_error_node,
            library.axrun_last_error_op)))


class Handle:
    """A handle of the library's, freed with the last reference to this; `keeps` is what has to live as long."""

    def __init__(self, pointer: c_void_p, free: Any, keeps: object = None) -> None:
        # Held here: at the interpreter's exit, modules may be emptied before the last object is gone.
        self._as_parameter_ = self.pointer = pointer
        self._free = free
        self._keeps = keeps

    def __del__(self) -> None:
        self._free(self.pointer)

    def __reduce__(self) -> Any:
        raise TypeError("what holds a handle of axrun's library can neither be copied nor pickled")


def create(function: Any, free: Any, *arguments: object, keeps: object = None) -> Handle:
    """The handle that a function stores through its last argument."""
    pointer = c_void_p()
    check(function(*arguments, ctypes.byref(pointer)))
    return Handle(pointer, free, keeps)
