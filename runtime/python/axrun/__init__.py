"""Runs ONNX models with axrun: numpy arrays in, numpy arrays out, faster while they run.

    import axrun
    with axrun.Session("model.onnx") as session:
        outputs = session.run({"image": image})     # by name
        scores = session(image)                     # in the order of session.inputs

`axrun.register()` makes the same engine an execution provider of ONNX Runtime.
"""

from ._interrupts import answer as _answer_to_interrupts
from ._library import VERSION as __version__
from .errors import (Cancelled, DeadlineExceeded, Error, InternalError, InvalidArgument, MissingFile, ModelError,
                     Unsupported)
from .logs import log_to
from .onnxruntime_plugin import EP_NAME, library_path, register, session_options, unregister
from .operators import Operators
from .reports import Cache, Explanation, Kernel, Metric, Progress, Step, Trial
from .session import Cancellation, Port, Session
from .state import State

_answer_to_interrupts()

__all__ = ["Cache", "Cancellation", "Cancelled", "DeadlineExceeded", "EP_NAME", "Error", "Explanation", "InternalError",
           "InvalidArgument", "Kernel", "Metric", "MissingFile", "ModelError", "Operators", "Port", "Progress", "Session",
           "State", "Step", "Trial", "Unsupported", "__version__", "library_path", "log_to", "register", "session_options", "unregister"]
