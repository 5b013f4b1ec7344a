"""What can go wrong, with the codes of runtime/axrun_c.h (axrun_status): they never change their meaning."""


class Error(RuntimeError):
    """Base of all that axrun raises; its text has the model's own names. `code` is an axrun_status. `input`, `node` and `op`:
    the input or the node of the model that it is about, and the node's operator; "" where it is no single one."""
    code = 70
    input = node = op = ""


class InvalidArgument(Error, ValueError):
    """Bad arguments, a missing file, inputs that do not fit the model."""
    code = 1


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


_BY_CODE = {kind.code: kind for kind in (InvalidArgument, ModelError, Unsupported, Cancelled, DeadlineExceeded)}


def of(code, text, input="", node="", op=""):
    """The exception for a status that is not AXRUN_OK."""
    error = _BY_CODE.get(code, InternalError)(text)
    error.code = code
    error.input, error.node, error.op = input, node, op
    return error
