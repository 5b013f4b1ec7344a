"""Runs ONNX models with axrun: numpy arrays in, numpy arrays out, faster while they run.

    import axrun
    with axrun.Session("model.onnx") as session:
        outputs = session.run({"image": image})     # by name
        scores = session(image)                     # in the order of session.inputs

`axrun.register()` makes the same engine an execution provider of ONNX Runtime.
"""

from ._library import VERSION as __version__
from .errors import (Cancelled, DeadlineExceeded, Error, InternalError, InvalidArgument, ModelError, Unsupported)
from .logs import log_to
from .onnxruntime_plugin import EP_NAME, library_path, register, session_options, unregister
from .operators import Operators
from .reports import Explanation, Kernel, Metric, Progress, Step, Trial
from .session import Cancellation, Port, Session

__all__ = ["Cancellation", "Cancelled", "DeadlineExceeded", "EP_NAME", "Error", "Explanation", "InternalError",
           "InvalidArgument", "Kernel", "Metric", "ModelError", "Operators", "Port", "Progress", "Session", "Step", "Trial", "Unsupported",
           "__version__", "library_path", "log_to", "register", "session_options", "unregister"]
