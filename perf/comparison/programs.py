"""Which programs are measured, and how each is started."""

import os
from dataclasses import dataclass

from comparison import environment

# Where the built host programs are.
FOLDER = os.path.join(os.path.dirname(environment.DEFAULT_FOLDER), "release", "perf")

SUBJECT = "axrun"
AGAIN = "axrun again"  # the subject as its own peer
ONNX_RUNTIME, OPENVINO = "onnxruntime", "openvino"

# Name -> (host program, the variable that tells it where the peer's library is, the packages that have it).
_PEERS = {ONNX_RUNTIME: ("ort_host", "ORT_LIBRARY", "onnxruntime"),
          OPENVINO: ("openvino_host", "OPENVINO_LIBRARY", "openvino")}
KNOWN = tuple(_PEERS)


@dataclass
class Host:
    """How a program is started; perf/README.md describes what it must do."""
    command: list
    environment: dict
    settles: bool = False  # it works in the background after its start; rounds wait for the end of that
    first_seconds: float = 0  # it cannot be asked whether it does: of runs before those that are measured


def optimising(host, seconds, cache=None, numeric_class=None):
    """axrun's host, its optimiser at work for so long in every launch before runs are timed; with a cache, every launch goes
    on from where the one before it stopped. numeric_class: strict, reassoc (the standard) or bilinear."""
    kept = ["--cache", os.path.abspath(cache)] if cache else []
    allowed = ["--fp", numeric_class] if numeric_class else []
    return Host(host.command + ["--budget", "%g" % seconds] + kept + allowed, host.environment, settles=True)


def is_program(path):
    """Whether the file is there and may be executed."""
    return os.path.isfile(path) and os.access(path, os.X_OK)


def find(folder, subject, given, without):
    """The programs to measure and the peers left out: ({name: Host}, {name: reason}); the subject comes first.

    folder: where the built host programs are. subject: axrun's, or a program in its place. given: {name: program},
    which come in the place of the peers known here or after them. without: names not to measure.
    """
    hosts = {SUBJECT: Host([os.path.abspath(subject)], dict(os.environ))}
    wanted = {name: peer for name, peer in _PEERS.items() if name not in given and name not in without}
    left_out = {name: "%s is not built" % program for name, (program, _, _) in wanted.items()
                if not is_program(os.path.join(folder, program))}
    wanted = {name: peer for name, peer in wanted.items() if name not in left_out}
    libraries = _libraries(wanted)
    for name, (program, variable, _) in wanted.items():
        if libraries[name]:
            path = os.path.abspath(os.path.join(folder, program))
            hosts[name] = Host([path], {**os.environ, variable: os.path.abspath(libraries[name])})
        else:
            left_out[name] = "it could not be installed, and %s names no library" % variable
    for name, path in given.items():
        if name not in without:
            hosts[name] = Host([os.path.abspath(path)], dict(os.environ))
    return hosts, left_out


def _libraries(peers):
    """{name: path or None}: what the peer's variable names, else what the virtual environment has."""
    said = {name: os.environ.get(variable) for name, (_, variable, _) in peers.items()}
    unsaid = [package for name, (_, _, package) in peers.items() if not said[name]]
    installed = environment.prepare(packages=unsaid) if unsaid else None
    return {name: said[name] or getattr(installed, package) for name, (_, _, package) in peers.items()}
