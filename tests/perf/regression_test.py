"""Tests of the comparison of two builds, with host programs that are scripts with canned times.

Run: python3 tests/perf/regression_test.py
"""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from compare_test import PERF, RIGHT, FakeHosts as CompareHosts, tensor  # noqa: E402

from comparison import regression  # noqa: E402


class TwoBuilds(unittest.TestCase):
    setUp, add_model, host = CompareHosts.setUp, CompareHosts.add_model, CompareHosts.host

    def regression(self, here, base, *flags):
        out = os.path.join(self.folder, "out.json")
        command = [sys.executable, os.path.join(PERF, "regression"), base, "--subject", here, "--models",
                   os.path.join(self.folder, "models"), "--threads", "1", "--seconds", "0.2", "--json", out, *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertNotIn("Traceback", done.stderr)
        result = None
        if os.path.exists(out):
            with open(out) as file:
                result = json.load(file)
        return done.returncode, result, done.stdout + done.stderr

    def test_the_same_build_is_no_slowdown(self):
        code, result, out = self.regression(self.host("a", 300.0), self.host("b", 300.0))
        self.assertEqual(code, 0, out)
        self.assertEqual(result["confirmed"], [])
        self.assertIn("no slowdown", out)

    def test_a_slower_build_is_found_and_confirmed(self):
        code, result, out = self.regression(self.host("a", 360.0), self.host("b", 300.0))
        self.assertEqual(code, 6, out)
        self.assertEqual([(item["model"], item["what"]) for item in result["confirmed"]], [("tiny", "time")])
        self.assertAlmostEqual(result["confirmed"][0]["ratio"], 1.2, delta=0.02)
        self.assertIn("slower: tiny", out)

    def test_a_faster_build_passes(self):
        self.assertEqual(self.regression(self.host("a", 250.0), self.host("b", 300.0))[0], 0)

    def test_a_model_that_no_longer_runs_is_a_slowdown(self):
        code, _, out = self.regression(self.host("a", 300.0, "refuse"), self.host("b", 300.0))
        self.assertEqual(code, 6, out)
        self.assertIn("not supported", out)

    def test_a_wrong_answer_is_a_slowdown(self):
        wrong = self.host("a", 200.0, output=tensor(1.0, -2.0, 0.75))
        code, _, out = self.regression(wrong, self.host("b", 300.0, output=RIGHT))
        self.assertEqual(code, 6, out)
        self.assertIn("outputs are wrong", out)

    def test_a_base_that_is_nothing_is_a_mistake(self):
        code, _, out = self.regression(self.host("a", 300.0), "no-such-revision")
        self.assertEqual(code, 1)
        self.assertIn("neither a checkout", out)


class Overall(unittest.TestCase):
    @staticmethod
    def row(ratio):
        return {"ratios": {regression.BASE: {"time": {"median": ratio}}}}

    def test_interval_holds_the_mean(self):
        centre, low, high = regression.overall([self.row(x) for x in (1.0, 1.1, 1.21)])
        self.assertAlmostEqual(centre, 1.1)
        self.assertLess(low, 1.1)
        self.assertGreater(high, 1.1)

    def test_one_row_has_no_interval(self):
        self.assertIsNone(regression.overall([self.row(1.0)]))


if __name__ == "__main__":
    unittest.main()
