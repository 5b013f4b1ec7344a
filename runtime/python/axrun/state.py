"""Values that runs hand on to later ones: axrun.State."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import c_char_p
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _arrays, _library
from ._library import Handle, check, library
from .errors import InvalidArgument


class State:
    """The values of one sequence of runs, made by Session.new_state: caches of keys and values, the memory of recurrent
    models. One run at a time; different states may run at once."""

    def __init__(self, handle: Handle, feeds: Mapping[str, str], codes: Mapping[str, int], capacity: int) -> None:
        self._handle = handle
        self._feeds = dict(feeds)
        self._codes = dict(codes)  # axrun_type of each input
        self._capacity = capacity

    @classmethod
    def _of(cls, session: Handle, feeds: Mapping[str, str], codes: Mapping[str, int], capacity: int) -> State:
        outputs = (c_char_p * len(feeds))(*[name.encode() for name in feeds])
        inputs = (c_char_p * len(feeds))(*[name.encode() for name in feeds.values()])
        handle = _library.create(library.axrun_state_create, library.axrun_state_free, session, outputs, inputs, len(feeds),
                                 capacity)
        return cls(handle, feeds, codes, capacity)

    @property
    def feeds(self) -> dict[str, str]:
        """Names of outputs, and of the inputs that they are in the next run."""
        return dict(self._feeds)

    @property
    def capacity(self) -> int:
        """Positions that values which grow may have."""
        return self._capacity

    @property
    def length(self) -> int:
        """Positions that they have."""
        length = ctypes.c_int64()
        check(library.axrun_state_length(self._handle, ctypes.byref(length)))
        return length.value

    def reset(self) -> None:
        """As it was when it was new: values that grow are empty, others zero."""
        check(library.axrun_state_reset(self._handle))

    def fork(self) -> State:
        """A state with the same values, which goes on by itself: for beams, and for prompts that are shared. Copies nothing
        until one of the two writes what the other has."""
        handle = _library.create(library.axrun_state_fork, library.axrun_state_free, self._handle)
        return State(handle, self._feeds, self._codes, self._capacity)

    def set(self, name: str, value: Any) -> None:
        """Gives an input of the state a value, which is copied."""
        code = self._code(name)
        array = _arrays.array_of(value, code, name)
        tensor, alive = _arrays.tensor_of(array, code)
        check(library.axrun_state_set(self._handle, name.encode(), ctypes.byref(tensor)))
        del alive

    def get(self, name: str) -> Optional[npt.NDArray[Any]]:
        """A copy of what the input will be in the next run; None where a run has yet to tell its sizes."""
        self._code(name)
        tensor = _library.Tensor()
        check(library.axrun_state_get(self._handle, name.encode(), ctypes.byref(tensor)))
        return None if tensor.type == 0 else np.array(_arrays.array_over(tensor, None, self._handle))

    def __repr__(self) -> str:
        return "<axrun.State of %d values, capacity %d>" % (len(self._feeds), self._capacity)

    def _code(self, name: str) -> int:
        if name not in self._codes:
            raise InvalidArgument("the state has no input '%s': %s" % (name, ", ".join(map(repr, self._codes))))
        return self._codes[name]
