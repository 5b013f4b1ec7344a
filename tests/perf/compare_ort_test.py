"""Tests of the comparison with host programs that are scripts with canned times.

Run: python3 tests/perf/compare_ort_test.py
"""

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

PERF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf")
sys.path.insert(0, PERF)

from comparison import estimate, report  # noqa: E402
from comparison.host_process import HostFailure, HostProcess  # noqa: E402

# A host whose runs take RUN_US, give or take a percent; FAILURE picks a way to misbehave.
FAKE_HOST = """#!%s
import json, random, sys
RUN_US, FAILURE = %r, %r
if FAILURE == "refuse":
    sys.exit("fake: the model is not supported")
if FAILURE == "silent":
    sys.stdin.readline()
print(json.dumps(dict(engine="fake", version="1", load_ms=1, session_ms=1, first_ms=1, start_to_first_ms=2)), flush=True)
generator = random.Random(7)
for line in sys.stdin:
    if line == "quit\\n":
        break
    if FAILURE == "die":
        sys.exit("fake: died in a run")
    count = int(line.split()[1])
    times = [RUN_US * generator.uniform(0.99, 1.01) for _ in range(count - (FAILURE == "short"))]
    print(json.dumps(dict(times_us=times)), flush=True)
"""


class FakeHosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.makedirs(os.path.join(self.folder, "models", "tiny"))
        open(os.path.join(self.folder, "models", "tiny", "model.onnx"), "wb").close()

    def host(self, name, run_us, failure=""):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(FAKE_HOST % (sys.executable, run_us, failure))
        os.chmod(path, 0o755)
        return path

    def compare(self, a, b, *flags):
        out = os.path.join(self.folder, "out.json")
        command = [sys.executable, os.path.join(PERF, "compare_ort"), "--a", a, "--b", b, "--library", "unused",
                   "--models", os.path.join(self.folder, "models"), "--threads", "1", "--seconds", "0.2",
                   "--launches", "4", "--timeout", "10", "--json", out, *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertNotIn("Traceback", done.stderr)
        with open(out) as file:
            return done.returncode, json.load(file), done.stdout

    def test_same_program_is_not_distinguishable(self):
        _, result, _ = self.compare("unused", self.host("b", 300.0), "--same")
        self.assertEqual(result["rows"][0]["ratio"]["verdict"], "not distinguishable")

    def test_slower_program_is_found_and_its_ratio_is_right(self):
        code, result, _ = self.compare(self.host("a", 450.0), self.host("b", 300.0))
        row = result["rows"][0]
        self.assertEqual(code, 0)
        self.assertEqual(row["ratio"]["verdict"], "slower")
        self.assertAlmostEqual(row["ratio"]["median"], 1.5, delta=0.02)
        self.assertLessEqual(row["ratio"]["low"], 1.5)
        self.assertGreaterEqual(row["ratio"]["high"], 1.49)
        self.assertAlmostEqual(result["summary"]["by_threads"]["1"]["time_ratio"], 1.5, delta=0.02)

    def test_gate_fails_on_a_model_over_its_limit(self):
        code, result, out = self.compare(self.host("a", 1500.0), self.host("b", 300.0), "--gate")
        self.assertEqual(code, 6)
        self.assertEqual(result["summary"]["over_limit"], [{"model": "tiny", "threads": 1}])
        self.assertIn("OVER LIMIT", out)

    def test_short_runs_are_not_flagged(self):
        _, result, _ = self.compare(self.host("a", 15.0), self.host("b", 3.0))
        self.assertEqual(result["summary"]["over_limit"], [])

    def test_model_that_one_host_refuses_is_listed_and_the_other_measured(self):
        for failure in ("refuse", "die", "short"):
            with self.subTest(failure):
                _, result, out = self.compare(self.host("a", 300.0), self.host("b", 300.0, failure))
                row = result["rows"][0]
                self.assertNotIn("ratio", row)
                self.assertAlmostEqual(row["a"]["p50_us"], 300.0, delta=3)
                self.assertEqual([item["host"] for item in result["summary"]["cannot_run"]], ["b"])
                self.assertIn("can't run tiny", out)

    def test_gate_fails_when_only_the_program_under_test_refuses(self):
        code, _, _ = self.compare(self.host("a", 300.0, "refuse"), self.host("b", 300.0), "--gate")
        self.assertEqual(code, 6)

    def test_reason_of_a_failure_is_what_the_host_said(self):
        with self.assertRaisesRegex(HostFailure, "exit 1: fake: the model is not supported"):
            HostProcess([self.host("a", 1.0, "refuse")], dict(os.environ), 10)

    def test_a_host_that_does_not_answer_is_given_up(self):
        with self.assertRaisesRegex(HostFailure, "no answer within"):
            HostProcess([self.host("a", 1.0, "silent")], dict(os.environ), 0.2)


class Estimates(unittest.TestCase):
    def test_intervals_cover_the_truth_about_as_often_as_they_say(self):
        """Launches that differ by 5% and rounds by 2%: at most a tenth of the intervals may miss a ratio of 1."""
        generator = random.Random(20240611)
        for launches in (3, 5):
            missed = 0
            for seed in range(100):
                groups = []
                for _ in range(launches):
                    launch = generator.gauss(0, 0.05)
                    groups.append([math.exp(launch + generator.gauss(0, 0.02)) for _ in range(8)])
                missed += estimate.ratio_estimate(groups, seed)["verdict"] != "not distinguishable"
            self.assertLessEqual(missed, 10, "of 100 with %d launches" % launches)

    def test_percentile_interpolates(self):
        self.assertEqual(estimate.percentile([1, 2, 3, 4], 0.5), 2.5)
        self.assertEqual(estimate.percentile([7], 0.99), 7)

    def test_geometric_mean(self):
        self.assertAlmostEqual(estimate.geometric_mean([0.5, 2, 8]), 2)

    def test_limit_needs_both_the_ratio_and_the_time(self):
        row = lambda ratio, time: {"ratio": {"median": ratio}, "a": {"p50_us": time}}
        self.assertFalse(report.over_limit(row(3.9, 1000)))
        self.assertFalse(report.over_limit(row(9.0, 19)))
        self.assertTrue(report.over_limit(row(4.1, 21)))


if __name__ == "__main__":
    unittest.main()
