"""Tests of the models of single operators: each is valid, and axrun runs it.

Run: python3 tests/perf/operators_test.py AXRUN
What needs numpy and onnx runs in build/venv's Python when that is there, and is skipped otherwise.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
COMMAND = os.path.join(ROOT, "perf", "make_operators")
sys.path.insert(0, os.path.join(ROOT, "perf"))

from comparison import environment  # noqa: E402

HAVE_PACKAGES = all(importlib.util.find_spec(name) for name in ("numpy", "onnx"))
# What has no kernel (perf/README.md, "Single operators").
INTERPRETED = {"deform_conv_32x32x28", "mixture_of_experts_32x256"}
AXRUN = None


@unittest.skipUnless(HAVE_PACKAGES, "needs the Python packages numpy and onnx")
class Operators(unittest.TestCase):
    def test_every_model_runs_on_what_it_is_said_to(self):
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([sys.executable, COMMAND, "--output", folder], check=True, capture_output=True, text=True)
            names = made.stdout.split()
            self.assertEqual(sorted(names), sorted(os.listdir(folder)))
            self.assertLessEqual(INTERPRETED, set(names))
            for name in names:
                with self.subTest(name):
                    model = os.path.join(folder, name)
                    run = subprocess.run([AXRUN, os.path.join(model, "model.onnx"), "--data", os.path.join(model, "test_data_set_0"),
                                          "--runs", "1", "--warmup", "0", "--json", "--profile"],
                                         capture_output=True, text=True, timeout=120)
                    self.assertEqual(run.returncode, 0, run.stderr)
                    kernels = [step["kernel"] for step in json.loads(run.stdout)["kernels"]]
                    self.assertEqual(any(kernel.startswith("interpreter ") for kernel in kernels), name in INTERPRETED, kernels)

    def test_mistakes(self):
        run = subprocess.run([sys.executable, COMMAND, "--only", "nothing"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("no operator nothing", run.stderr)


if __name__ == "__main__":
    environment.use_numpy()
    AXRUN = sys.argv.pop(1)
    unittest.main()
