"""The virtual environment of the measurements: the peers' wheels and what the scripts in perf/ import.

    python3 perf/comparison/environment.py                 # makes or completes build/venv, prints its paths as JSON
    python3 perf/comparison/environment.py onednn_devel    # only these of PINNED; onednn_devel takes 2 GB
"""

import contextlib
import glob
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field

# Pinned: figures of different days are compared.
PINNED = {"numpy": "2.4.6", "onnx": "1.23.2", "onnxruntime": "1.32.0", "openvino": "2026.4.1", "matplotlib": "3.11.2",
          "apache_tvm": "0.27.0.post1", "onednn": "2026.1.0", "onednn_devel": "2026.1.0"}

DEFAULT_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                              "build", "venv")


@dataclass
class Environment:
    """What there is. Paths are None where there is nothing; `missing` says why, by package name."""
    folder: str
    python: str = None  # its interpreter: it imports all packages that are not in `missing`
    onnxruntime: str = None  # libonnxruntime.so.*
    openvino: str = None  # libopenvino_c.so.*; the libraries it needs lie in the same folder
    missing: dict = field(default_factory=dict)


def prepare(packages, folder=DEFAULT_FOLDER):
    """Installs those of `packages` that the environment lacks or has of another version; asks no network otherwise.

    A package that can't be installed is left out with a sentence on stderr: its peer is then not measured.
    """
    environment = Environment(folder)
    wanted = [name for name in packages if _installed_version(folder, name) != PINNED[name]]
    if wanted:
        _install(folder, wanted)
    python = os.path.join(folder, "bin", "python")
    environment.python = python if os.path.exists(python) else None
    for name in packages:
        found = _installed_version(folder, name)
        if found != PINNED[name]:
            environment.missing[name] = "%s %s could not be installed%s" % (
                name, PINNED[name], " (%s is there)" % found if found else "")
            _say(environment.missing[name] + ": done without")
    if "onnxruntime" not in environment.missing:
        environment.onnxruntime = _library(folder, "onnxruntime", "capi", "libonnxruntime.so*")
    if "openvino" not in environment.missing:
        environment.openvino = _library(folder, "openvino", "libs", "libopenvino_c.so*")
    return environment


def go_on_with(packages, program):
    """Goes on with `program` in build/venv's Python, made where it must be, when this one lacks one of `packages`."""
    if all(importlib.util.find_spec(name) for name in packages):
        return
    there = prepare(packages=packages)
    if there.missing or not there.python or os.environ.get("AXRUN_PERF_VENV"):
        sys.exit("%s: needs the Python packages %s" % (os.path.basename(program), " and ".join(packages)))
    os.environ["AXRUN_PERF_VENV"] = "1"  # ends the loop if that one lacks them too
    os.execv(there.python, [there.python, os.path.abspath(program), *sys.argv[1:]])


def use_numpy():
    """Goes on in build/venv where this interpreter has no NumPy and that one is there: it compares outputs faster."""
    python = os.path.join(DEFAULT_FOLDER, "bin", "python")
    if (not importlib.util.find_spec("numpy") and os.path.exists(python)
            and os.path.realpath(sys.prefix) != os.path.realpath(DEFAULT_FOLDER)):
        os.execv(python, [python, *sys.argv])


def _install(folder, names):
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(os.path.join(folder, "bin", "pip")) and not _succeeds([sys.executable, "-m", "venv", folder]):
        _say("can't make %s: is the package python3-venv installed?" % folder)
        return
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    requirements = ["%s==%s" % (name, PINNED[name]) for name in names]
    _say("installing %s into %s" % (", ".join(requirements), folder))
    # Together first, so that versions of what they share are chosen once; a package without a wheel spoils only itself.
    if not _succeeds(pip + requirements) and len(names) > 1:
        for requirement in requirements:
            _succeeds(pip + [requirement])


def _packages(folder):
    """The environment's site-packages; its Python need not be the one that runs this."""
    found = glob.glob(os.path.join(glob.escape(folder), "lib", "python3*", "site-packages"))
    return found[0] if found else os.path.join(folder, "lib")


def _installed_version(folder, name):
    found = glob.glob(os.path.join(glob.escape(_packages(folder)), name + "-*.dist-info"))
    return os.path.basename(found[0])[len(name) + 1:-len(".dist-info")] if found else None


def _library(folder, *pattern):
    found = sorted(glob.glob(os.path.join(glob.escape(_packages(folder)), *pattern)))
    return os.path.abspath(found[0]) if found else None


def _succeeds(command):
    with contextlib.suppress(OSError):
        return subprocess.run(command, stdout=sys.stderr, check=False).returncode == 0
    return False


def _say(text):
    print(text, file=sys.stderr)


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(PINNED)
    if unknown:
        sys.exit("environment: %s is none of %s" % (unknown.pop(), ", ".join(PINNED)))
    print(json.dumps(vars(prepare(tuple(sys.argv[1:] or PINNED))), indent=1))
