"""Operators that models may use besides axrun's own: axrun.Operators."""

from __future__ import annotations

import os
from ctypes import byref
from typing import Union

from . import _library
from ._library import OperatorInfo, check, library
from .errors import InvalidArgument


class Operators:
    """A set of operators, for Session(operators=...).

        operators = axrun.Operators()
        operators.add("com.example", "Swish", '''
            program Swish(x: f32[n, c]) -> (y) {
              y: f32[n, c] = map (i: n, j: c) { x[i, j] / (1:f32 + exp(-1:f32 * x[i, j])) }
            }''')
        operators.load("./my_operators.so")

    A text is a tensor expression, which axrun fuses and optimises like its own operators; its named sizes are those of the
    inputs. Operators with functions are written in C (axrun_operators.h) and loaded.
    """

    def __init__(self) -> None:
        self._handle = _library.create(library.axrun_operators_create, library.axrun_operators_free)

    def add(self, domain: str, name: str, text: str, *, since: int = 1) -> Operators:
        """The operator `name` of the domain, from its opset version `since` on. Returns the set. Raises InvalidArgument for
        what is no text, and for operators that axrun or the set has."""
        for what, value in (("domain", domain), ("name", name), ("text", text)):
            if not isinstance(value, str):
                raise InvalidArgument("the operator's %s is %s, not a string" % (what, type(value).__name__))
        made = OperatorInfo(domain=domain.encode(), name=name.encode(), since=since, text=text.encode())
        check(library.axrun_operators_add(self._handle, byref(made)))
        return self

    def load(self, path: Union[str, os.PathLike[str]]) -> Operators:
        """Those of a shared library that exports axrun_add_operators, which stays loaded. Returns the set."""
        check(library.axrun_operators_load(self._handle, os.fsencode(path)))
        return self
