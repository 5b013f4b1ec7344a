"""Tests of perf/onnxruntime_plugin with host programs that are scripts.

Run: python3 tests/perf/onnxruntime_plugin_test.py
"""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from compare_test import PERF, RIGHT, FakeHosts as CompareHosts, tensor  # noqa: E402

# ort_host: the plugin runs in one time, the runtime's own provider in another one, and what stands in for the plugin in a
# third; FAILS is what of these refuses models.
FAKE_HOST = """#!%s -IS
import json, os, sys
KIND, TIMES_US, FAILS, OUTPUT = %r, %r, %r, %r
library = sys.argv[sys.argv.index("--plugin") + 1] if "--plugin" in sys.argv else ""
kind = KIND or ("idle" if library.endswith("libidle_provider.so") else "plugin" if library else "plain")
if kind == FAILS:
    sys.exit("fake: a mistake of " + kind)
print(json.dumps(dict(engine="fake", version="1", load_ms=1, session_ms=1, first_ms=1, start_to_first_ms=2)), flush=True)
for line in sys.stdin:
    if line == "quit\\n":
        break
    if line == "settle\\n":
        print("{}", flush=True)
        continue
    print(json.dumps(dict(times_us=[TIMES_US[kind]] * int(line.split()[1]))), flush=True)
if "--save" in sys.argv:
    folder = sys.argv[sys.argv.index("--save") + 1]
    os.makedirs(folder)
    with open(os.path.join(folder, "output_0.pb"), "wb") as file:
        file.write(OUTPUT)
"""


class Plugin(CompareHosts):
    def measure(self, fails="", output=RIGHT, *flags, idle=False):
        """Exit code, JSON (None where there is none) and text. idle: the library that computes nothing is built."""
        times = {"plugin": 330.0, "alone": 300.0, "plain": 660.0, "idle": 20.0}
        for program, kind in (("ort_host", ""), ("axrun_bench", "alone")):
            path = os.path.join(self.folder, program)
            with open(path, "w", encoding="utf-8") as file:
                file.write(FAKE_HOST % (sys.executable, kind, times, fails, output))
            os.chmod(path, 0o755)
        library, out = os.path.join(self.folder, "library.so"), os.path.join(self.folder, "out.json")
        for path in [library] + [os.path.join(self.folder, "libidle_provider.so")] * idle:
            with open(path, "wb"):
                pass
        command = [sys.executable, os.path.join(PERF, "onnxruntime_plugin"), "--programs", self.folder, "--plugin", library,
                   "--models", os.path.join(self.folder, "models"), "--threads", "1", "--seconds", "0.04", "--launches",
                   "2", "--fill", "0", "--json", out, *flags]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "ORT_LIBRARY": library},
                              check=False)
        self.assertNotIn("Traceback", done.stderr)
        result = None
        if os.path.exists(out):
            with open(out, encoding="utf-8") as file:
                result = json.load(file)
        return done.returncode, result, done.stdout

    def test_the_plugin_is_compared_with_both(self):
        code, result, _ = self.measure()
        self.assertEqual(code, 0)
        row = result["rows"][0]
        self.assertAlmostEqual(row["alone"]["median"], 1.1, delta=0.01)
        self.assertAlmostEqual(row["plain"]["median"], 0.5, delta=0.01)
        self.assertEqual(row["remark"], "")
        self.assertNotIn("way", row)

    def test_the_plugin_is_compared_with_axrun_and_the_way_together(self):
        code, result, _ = self.measure(idle=True)
        self.assertEqual(code, 0)
        self.assertAlmostEqual(result["rows"][0]["way"]["median"], 330 / 320, delta=0.01)
        self.assertAlmostEqual(result["rows"][0]["alone"]["median"], 1.1, delta=0.01)

    def test_where_a_model_needs_its_results_to_go_on_the_way_is_not_measured(self):
        code, result, out = self.measure("idle", idle=True)
        self.assertEqual(code, 0)
        self.assertNotIn("way", result["rows"][0])
        self.assertIn("a provider that computes nothing fails: exit 1: fake: a mistake of idle", out)

    def test_the_gate_holds_the_plugin_to_axrun_alone(self):
        code, _, out = self.measure("", RIGHT, "--gate")
        self.assertEqual(code, 6)
        self.assertIn("missed: alone, threads 1: 1.100 is above 1.05", out)

    def test_where_the_runtimes_own_provider_fails_the_plugin_is_measured_all_the_same(self):
        code, result, out = self.measure("plain")
        self.assertEqual(code, 0)
        row = result["rows"][0]
        self.assertAlmostEqual(row["alone"]["median"], 1.1, delta=0.01)
        self.assertNotIn("plain", row)
        self.assertEqual(list(result["geometric_means"]["1"]), ["alone"])
        self.assertIn("ONNX Runtime's own provider fails: exit 1: fake: a mistake of plain", out)

    def test_which_host_failed_is_said(self):
        for kind, name in (("plugin", "ONNX Runtime with the plugin"), ("alone", "axrun alone")):
            code, _, out = self.measure(kind)
            self.assertEqual(code, 1)
            self.assertIn("not measured: %s: exit 1: fake: a mistake of %s" % (name, kind), out)

    def test_wrong_outputs_of_the_plugin_are_told(self):
        _, result, _ = self.measure("plain", tensor(1.0, -2.0, 0.75))
        self.assertTrue(result["rows"][0]["remark"].startswith("wrong by 1.2e-01; ONNX Runtime's own provider fails"))


if __name__ == "__main__":
    unittest.main()
