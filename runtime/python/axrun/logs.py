"""What happens in the library, told to Python's logging."""

from __future__ import annotations

import atexit
import logging
import threading
from typing import Any, Union

from . import _library
from .errors import InvalidArgument

# axrun_log_level -> logging's. The library tells what happens up to the one it was given.
_LEVELS = {1: logging.ERROR, 2: logging.WARNING, 3: logging.INFO, 4: logging.DEBUG}

_lock = threading.Lock()
_function: Any = None  # what the library calls: has to live as long as it may


def log_to(logger: Union[str, logging.Logger, None], level: int = logging.INFO) -> None:
    """From now on a logger (its name, or a logging.Logger) is told what happens in all sessions of this process, up to
    a level of logging's: lines "event=model_loaded ms=12.5 ...", as runtime/README.md lists them. None: nobody is.
    Not to be called from a handler of that logger."""
    global _function
    told = logging.getLogger(logger) if isinstance(logger, str) else logger
    up_to = max((own for own, theirs in _LEVELS.items() if theirs >= level), default=0) if told is not None else 0
    if told is not None and up_to == 0:
        raise InvalidArgument("there is no level of %r: logging.ERROR is the highest" % level)

    def tell(_: object, own: int, line: bytes) -> None:
        try:
            assert told is not None
            told.log(_LEVELS.get(own, logging.DEBUG), "%s", line.decode("utf8", "replace").partition(" ")[2])
        except Exception:  # it has nowhere to go but into the library
            logging.getLogger(__name__).debug("a log line was lost", exc_info=True)

    function = _library.LogFunction(tell) if told is not None else _library.LogFunction()
    with _lock:
        _library.check(_library.library.axrun_set_log(up_to, function, None))
        _function = function  # the one before is not called any more


# Its threads must find an interpreter, as long as they may log.
atexit.register(log_to, None)
