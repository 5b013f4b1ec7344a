#!/usr/bin/env python3
"""The Python package as its users get it. Usage: package_test.py FOLDER_OF_THE_WHEEL ROOT MODEL [TEST...]

Installs the wheel into a fresh virtual environment, without a network, and runs the programs package_TEST.py of this folder
there (all of TESTS unless told, with the arguments WHEEL ROOT MODEL). The environment is made from this interpreter, or from
Debian's where this one has no numpy. MODEL is the demonstration model.
"""

import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = ("wheel", "arrays", "sessions", "states", "types", "examples")


def has_numpy(python):
    return subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def install(python, wheel, folder):
    """The interpreter of an environment that has the wheel, and what else `python` has."""
    subprocess.run([python, "-m", "venv", "--system-site-packages", folder], check=True)
    made = os.path.join(folder, "bin", "python")
    # Of an interpreter that belongs to an environment itself, the new one would get only the base's packages.
    packages = output(made, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    numpy = output(python, "-c", "import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))")
    with open(os.path.join(packages, "packages_of_the_parent.pth"), "w", encoding="utf8") as file:
        file.write(numpy + "\n")
    subprocess.run([made, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check",
                    wheel], check=True)
    return made


def main():
    wheels, root, model = sys.argv[1:4]
    candidates = [sys.executable, "/usr/bin/python3"]
    python = next((one for one in candidates if os.path.exists(one) and has_numpy(one)), None)
    if python is None:
        sys.exit("package_test: no numpy in %s; scripts/install_packages installs Debian's" % " or ".join(candidates))
    [wheel] = glob.glob(os.path.join(glob.escape(wheels), "axrun-*.whl"))
    with tempfile.TemporaryDirectory(prefix="axrun_python_") as folder:
        made = install(python, wheel, os.path.join(folder, "environment"))
        # The package brings its libraries: what a build or a user has set must not be needed.
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME")}
        environment.update(AXRUN_CACHE="off", PYTHONPATH=HERE, PYTHONDONTWRITEBYTECODE="1")
        given = [os.path.abspath(path) for path in (wheel, root, model)]
        for test in sys.argv[4:] or TESTS:
            print("%s of %s" % (test, python), flush=True)
            subprocess.run([made, "-W", "error", os.path.join(HERE, "package_%s.py" % test), *given], env=environment,
                           check=True, cwd=folder)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit("package_test: %s" % error)
