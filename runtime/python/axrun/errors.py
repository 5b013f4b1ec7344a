"""What can go wrong, with the codes of runtime/axrun_c.h (axrun_status): they never change their meaning."""

from __future__ import annotations

import errno


class Error(RuntimeError):
    """Base of all that axrun raises; its text has the model's own names. `code` is an axrun_status. `input`, `node` and `op`:
    the input or the node of the model that it is about, and the node's operator; "" where it is no single one."""
    code: int = 70
    input: str = ""
    node: str = ""
    op: str = ""


class InvalidArgument(Error, ValueError):
    """Bad arguments, a missing file, inputs that do not fit the model."""
    code = 1


class MissingFile(InvalidArgument, FileNotFoundError):
    """There is no file of the model's name; `filename` is that."""

    def __init__(self, text: str, filename: str = "") -> None:
        super().__init__(text)
        self.errno, self.filename = errno.ENOENT, filename

    def __str__(self) -> str:  # OSError's would be made of the number and the name
        return str(self.args[0])


class ModelError(Error):
    """The model is damaged or invalid."""
    code = 2


class Unsupported(Error, NotImplementedError):
    """The model, or the environment, lacks or needs something; all of it is listed."""
    code = 3


class Cancelled(Error):
    """A Cancellation ended the run."""
    code = 4


class DeadlineExceeded(Error, TimeoutError):
    """The run's time was over."""
    code = 5


class InternalError(Error):
    """A mistake of axrun's own."""


_BY_CODE: dict[int, type[Error]] = {kind.code: kind for kind in (InvalidArgument, ModelError, Unsupported, Cancelled, DeadlineExceeded)}


def of(code: int, text: str, input: str = "", node: str = "", op: str = "") -> Error:
    """The exception for a status that is not AXRUN_OK."""
    kind: type[Error] = _BY_CODE.get(code, InternalError)
    error = kind(text)
    error.code = code
    error.input, error.node, error.op = input, node, op
    return error
