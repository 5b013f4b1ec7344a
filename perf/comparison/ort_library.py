"""Where ONNX Runtime's library is; the first use installs it into a virtual environment of the build folder."""

import glob
import os
import subprocess
import sys

# Pinned: figures of different days are compared.
VERSION = "1.31.1"


def find_or_install(folder):
    """Path of libonnxruntime.so below the virtual environment `folder`."""
    python = os.path.join(folder, "bin", "python")
    if _installed_version(folder) != VERSION:
        print("installing onnxruntime %s into %s" % (VERSION, folder), file=sys.stderr)
        if not os.path.exists(os.path.join(folder, "bin", "pip")):
            _command([sys.executable, "-m", "venv", folder], "is the package python3-venv installed?")
        _command([python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "onnxruntime==" + VERSION],
                 "no such wheel for this Python, or no network?")
    libraries = glob.glob(os.path.join(_packages(folder), "onnxruntime", "capi", "libonnxruntime.so*"))
    if not libraries:
        sys.exit("compare_ort: the onnxruntime wheel in %s has no libonnxruntime.so" % folder)
    return libraries[0]


def _packages(folder):
    return os.path.join(folder, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")


def _installed_version(folder):
    found = glob.glob(os.path.join(_packages(folder), "onnxruntime-*.dist-info"))
    return os.path.basename(found[0])[len("onnxruntime-"):-len(".dist-info")] if found else None


def _command(command, hint):
    try:
        subprocess.run(command, check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit("compare_ort: %s failed (%s); %s" % (" ".join(command), error, hint))
