"""Ctrl-C while the library runs a model in the main thread.

Python's signal handlers run between bytecodes of the main thread, and a run is none. The library asks a function now and then
(axrun_set_poll), and resuming the generator below is what runs the handlers: inside its `try`, whatever they raise. A function
of Python's would be entered before any `try` of its own, and ctypes loses what a callback raises.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from . import _library

_raised: list[BaseException] = []  # by a handler, while a run asked
_poll: Any = None  # what the library calls: has to live as long as it may


def _handlers_run() -> Iterator[int]:
    """Yields 0 until a handler has raised something, then 1, once."""
    try:
        while True:
            yield 0
    except GeneratorExit:
        return
    except BaseException as error:  # KeyboardInterrupt, or what a handler of the program's own raises
        _raised.append(error)
    yield 1


def answer() -> None:
    """From now on runs of this thread run signal handlers, if it is the main one: no other may."""
    global _poll
    if _poll is None and threading.current_thread() is threading.main_thread():
        _set_poll()


def _set_poll() -> None:
    global _poll
    poll = _library.PollFunction(_handlers_run().__next__)
    _library.check(_library.library.axrun_set_poll(poll, None))
    _poll = poll


def raise_pending() -> None:
    """Raises what a handler has raised during the run of this thread that has just been cancelled, if it has."""
    if _raised and threading.current_thread() is threading.main_thread():
        error = _raised.pop()
        _set_poll()
        raise error
