#!/usr/bin/env python3
"""Runs a Python program where onnxruntime is: with_onnxruntime.py FOLDER PROGRAM ARGUMENTS...

That is this Python, or the virtual environment FOLDER, or FOLDER made now with onnxruntime, onnx and numpy from the package index
that pip is set up for. Where none of them can be had, says so and exits with 77 (CTest: skipped).
"""

import os
import subprocess
import sys

PACKAGES = ["onnxruntime>=1.23", "onnx", "numpy"]
PROBE = "import onnxruntime, onnx, numpy, sys; sys.exit(tuple(map(int, onnxruntime.__version__.split('.')[:2])) < (1, 23))"


def has_onnxruntime(python):
    try:
        return subprocess.run([python, "-c", PROBE], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def made(folder):
    """The Python of a new virtual environment, or None."""
    python = os.path.join(folder, "bin", "python")
    steps = [[sys.executable, "-m", "venv", folder], [python, "-m", "pip", "install", "-q"] + PACKAGES]
    for step in steps:
        try:
            done = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240)
        except (OSError, subprocess.TimeoutExpired) as error:
            print("skipped: %s" % error)
            return None
        if done.returncode != 0:
            print("skipped: onnxruntime cannot be installed: %s" % (done.stdout.strip().split("\n") or [""])[-1])
            return None
    return python


def main():
    folder, program = sys.argv[1], sys.argv[2:]
    for python in (sys.executable, os.path.join(folder, "bin", "python")):
        if has_onnxruntime(python):
            break
    else:
        python = made(folder)
        if python is None:
            sys.exit(77)
    os.execv(python, [python] + program)


if __name__ == "__main__":
    main()
