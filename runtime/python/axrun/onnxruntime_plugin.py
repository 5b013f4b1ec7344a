"""axrun as an execution provider of ONNX Runtime. Neither this module nor axrun needs onnxruntime until it is asked for."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ._library import FOLDER
from .errors import Unsupported

EP_NAME = "AxrunExecutionProvider"
OLDEST = (1, 23)


def library_path() -> str:
    """The absolute path of the plugin library, for other languages than Python."""
    path = os.path.join(FOLDER, "libaxrun_onnxruntime.so")
    if not os.path.exists(path):
        raise Unsupported("this package of axrun was built without the ONNX Runtime plugin: %s is missing" % path)
    return path


def register() -> list[Any]:
    """Registers the plugin library with ONNX Runtime, unless it is; gives the devices (OrtEpDevice) that it offers.

    Raises Unsupported where onnxruntime is missing or older than 1.23.
    """
    onnxruntime = _onnxruntime()
    found = _devices(onnxruntime)
    if not found:
        onnxruntime.register_execution_provider_library(EP_NAME, library_path())
        found = _devices(onnxruntime)
    return found


def unregister() -> None:
    """Takes the library out of ONNX Runtime again, if it is there. No session may be using it."""
    onnxruntime = _onnxruntime()
    if _devices(onnxruntime):
        onnxruntime.unregister_execution_provider_library(EP_NAME)


def session_options(base: Any = None, **options: object) -> Any:
    """onnxruntime.SessionOptions (new ones, or `base`) with axrun as execution provider. Options are the plugin's own, such as
    threads=1, budget=30, cache_dir=path, deterministic=True; runtime/onnxruntime_ep/README.md has them all. With
    one that it does not know the plugin refuses the session, and onnxruntime.InferenceSession raises."""
    onnxruntime = _onnxruntime()
    made = onnxruntime.SessionOptions() if base is None else base
    made.add_provider_for_devices(register(), {name: _text(value) for name, value in options.items()})
    return made


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)


def _devices(onnxruntime: Any) -> list[Any]:
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == EP_NAME]


def _onnxruntime() -> Any:
    try:
        onnxruntime = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise Unsupported("onnxruntime is not installed: pip install 'onnxruntime>=%d.%d'" % OLDEST) from error
    version = getattr(onnxruntime, "__version__", "0")
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < OLDEST or not hasattr(onnxruntime, "register_execution_provider_library"):
        raise Unsupported("onnxruntime %s is too old: axrun's plugin needs %d.%d or newer" % ((version,) + OLDEST))
    return onnxruntime
