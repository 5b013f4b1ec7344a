#!/usr/bin/env python3
"""Runs onnxruntime_ep_stress with the ONNX Runtime of this Python. Usage: run_stress.py PROGRAM PLUGIN [ARGUMENTS...]

Exits with 77 (CTest: skipped) where its package has no library that other programs can load.
"""

import glob
import importlib.util
import os
import sys


def main():
    package = importlib.util.find_spec("onnxruntime")
    folder = os.path.join(os.path.dirname(package.origin), "capi") if package else ""
    found = sorted(glob.glob(os.path.join(folder, "libonnxruntime.so*")))
    if not found:
        print("skipped: no libonnxruntime.so in '%s'" % folder)
        sys.exit(77)
    program, plugin = sys.argv[1:3]
    os.execv(program, [program, found[-1], plugin] + sys.argv[3:])


if __name__ == "__main__":
    main()
