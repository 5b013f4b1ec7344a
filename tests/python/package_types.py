"""What type checkers make of the package: mypy --strict. Usage: package_types.py WHEEL ROOT MODEL.

Takes mypy where it is installed, else gets it from a package index; skipped where there is neither.
"""

import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import axrun

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = tempfile.TemporaryDirectory(prefix="axrun_mypy_")


def mypy_command():
    """The command, and the environment that it needs; None where mypy cannot be had."""
    if importlib.util.find_spec("mypy"):
        return [sys.executable, "-m", "mypy"], {}
    if shutil.which("mypy"):
        return ["mypy"], {}
    packages = os.path.join(FOLDER.name, "packages")
    got = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "0",
                          "--timeout", "10", "--target", packages, "mypy"], capture_output=True, timeout=300)
    return ([sys.executable, "-m", "mypy"], {"PYTHONPATH": packages}) if got.returncode == 0 else None


def names_in(text):
    """Those of a type, whatever mypy's version writes around them: Optional[int] is int | None."""
    for long, short in (("builtins.", ""), ("typing.", ""), ("Tuple", "tuple"), ("Optional", "None"), ("Union", ""),
                        ("tuple[Any, ...], numpy.dtype", "Any, numpy.dtype")):
        text = text.replace(long, short)
    return sorted(re.findall(r"[\w.]+", text.replace("...", "")))


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)


@unittest.skipUnless(found := mypy_command(), "no mypy: neither installed, nor to be had from a package index")
class Types(unittest.TestCase):
    def mypy(self, *arguments):
        command, environment = found
        done = subprocess.run([*command, "--strict", "--no-error-summary", "--cache-dir", os.path.join(FOLDER.name, "cache"),
                               "--python-executable", sys.executable, *arguments], capture_output=True, text=True, timeout=300,
                              env={**os.environ, **environment}, cwd=FOLDER.name)
        self.assertNotEqual(done.returncode, 2, done.stderr + done.stdout)
        return done.stdout

    def test_the_package(self):
        self.assertEqual(self.mypy("--package", "axrun"), "")

    def test_a_program(self):
        path = os.path.join(HERE, "typed_program.py")
        with open(path, encoding="utf8") as file:
            comments = {number: names_in(line.rpartition("  # ")[2]) for number, line in enumerate(file, 1) if "  # " in line}
        said = {}
        for line in self.mypy(path).splitlines():
            match = re.fullmatch(r".*typed_program\.py:(\d+): (?:note: Revealed type is \"(.*)\"|(error): .*|note: .*)", line)
            self.assertTrue(match, line)
            if match[2] or match[3]:
                said[int(match[1])] = names_in(match[2] or match[3])
        self.assertEqual(said, comments)
        self.assertGreater(len(comments), 15)


class Signatures(unittest.TestCase):
    def test_what_completion_shows(self):
        self.assertEqual(list(inspect.signature(axrun.Session.run).parameters),
                         ["self", "names_or_feed", "feed", "state", "out", "timeout", "cancellation"])
        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(axrun.__file__), "py.typed")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
