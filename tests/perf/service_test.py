"""Tests of perf/service: its figures on made-up windows, the neutral process, and a small measurement where it is built.

Run: [SERVICE_PROGRAMS=build/release] python3 tests/perf/service_test.py
"""

import array
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PERF = os.path.join(HERE, "..", "..", "perf")
sys.path[:0] = [PERF, os.path.join(HERE, "..", "python")]

import models  # noqa: E402
from comparison import service  # noqa: E402

PROGRAMS = os.environ.get("SERVICE_PROGRAMS")
LOAD = os.path.join(PROGRAMS, "perf", "service_load") if PROGRAMS else None


def window(kind, p99, throttled=0, state="working"):
    return {"kind": kind, "p50": p99 / 4, "p99": p99, "p99.9": 2 * p99, "shares": {"thread": 0.5, "helper": 0.25},
            "state": state, "periods": 100, "others": 0.0, "throttled": throttled}


class Figures(unittest.TestCase):
    def rounds(self, ratio, throttled=0):
        return [{service.OPTIMISER: window(service.OPTIMISER, base * ratio, throttled),
                 service.NEUTRAL: window(service.NEUTRAL, base)} for base in (100, 110, 120, 130)]

    def test_ratios_are_of_windows_of_one_round(self):
        summary = service.summarise(self.rounds(1.2), service.OPTIMISER, service.NEUTRAL)
        self.assertAlmostEqual(summary["p99"]["ratio"]["median"], 1.2)
        self.assertAlmostEqual(summary["p99"]["ratio"]["low"], 1.2)
        self.assertEqual(summary["p99"]["ratio"]["verdict"], "slower")
        self.assertEqual(summary["at_work_to_the_end"], 4)

    def test_periods_held_back_are_differences_with_an_interval(self):
        summary = service.summarise(self.rounds(1, throttled=5), service.OPTIMISER, service.NEUTRAL)
        self.assertEqual(summary["throttled"], {service.OPTIMISER: 20, service.NEUTRAL: 0})
        self.assertAlmostEqual(summary["throttled_share"]["difference"]["low"], 0.05)
        mixed = self.rounds(1)
        mixed[0][service.OPTIMISER]["throttled"] = 4
        mixed[1][service.NEUTRAL]["throttled"] = 4
        more = service.summarise(mixed, service.OPTIMISER, service.NEUTRAL)["throttled_share"]["difference"]
        self.assertLess(more["low"], 0)
        self.assertGreater(more["high"], 0)

    def test_percentiles_of_a_window(self):
        told = service.window_of(list(range(10001))[::-1])
        self.assertAlmostEqual(told["p50"], 5000)
        self.assertAlmostEqual(told["p99"], 9900)
        self.assertAlmostEqual(told["p99.9"], 9990)

    def test_requests_have_the_sizes_that_the_model_says(self):
        metadata = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3]},
                               {"name": "n", "datatype": "INT64", "shape": []}]}
        body, length = service.request_for(metadata)
        head = json.loads(body[:length])
        self.assertEqual([one["shape"] for one in head["inputs"]], [[1, 3], []])
        self.assertEqual(len(body) - length, 3 * 4 + 8)
        self.assertRaises(service.ServiceFailure, service.request_for,
                          {"inputs": [{"name": "s", "datatype": "BYTES", "shape": [1]}]})


@unittest.skipUnless(PROGRAMS, "SERVICE_PROGRAMS names no build")
class Programs(unittest.TestCase):
    def test_the_neutral_process_uses_its_share_and_no_more(self):
        process = subprocess.Popen([LOAD, "neutral", "--share", "0.2"], stdin=subprocess.PIPE)
        time.sleep(1.5)
        with open("/proc/%d/schedstat" % process.pid, encoding="ascii") as file:
            used = int(file.read().split()[0]) * 1e-9
        self.assertEqual(os.sched_getscheduler(process.pid), os.SCHED_IDLE)
        process.stdin.close()
        self.assertEqual(process.wait(10), 0)
        self.assertLess(used, 0.2 * 1.5 * 1.3)  # less where others want the processors

    def test_mistakes_are_named(self):
        for arguments in (["load"], ["load", "--prot", "1"], ["neutral", "--share", "2"], ["nothing"]):
            ended = subprocess.run([LOAD] + arguments, capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 1, arguments)
            self.assertTrue(ended.stderr.startswith("service_load: "), ended.stderr)

    def test_nobody_who_answers_is_a_failure(self):
        with tempfile.NamedTemporaryFile() as body:
            ended = subprocess.run([LOAD, "load", "--port", "1", "--path", "/", "--body", body.name, "--requests", "3"],
                                   capture_output=True, text=True, check=True)
        said = json.loads(ended.stdout)
        self.assertEqual((said["failed"], len(said["microseconds"])), (3, 3))
        self.assertTrue(said["failure"])

    def test_a_small_measurement(self):
        self.expect_a_measurement([])

    def test_fixed_kernels(self):
        """The optimiser works on another model; windows without it have one that has nothing to do."""
        wide = models.tensor_type(models.FLOAT, (128, 256))
        weights = array.array("f", [math.sin(k) / 16 for k in range(256 * 256)]).tobytes()
        content = models.model([models.node("MatMul", ["x", "w"], ["a"]), models.node("Softmax", ["a"], ["y"])],
                               {"x": wide}, {"y": wide}, [models.tensor(models.FLOAT, [256, 256], weights, "w")])
        with tempfile.NamedTemporaryFile(suffix=".onnx") as beside:
            beside.write(content)
            beside.flush()
            self.expect_a_measurement(["--beside", beside.name])

    def expect_a_measurement(self, more):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(PROGRAMS, "tests", "demonstration", "demonstration_1.onnx")
            told = os.path.join(folder, "told.json")
            ended = subprocess.run(
                [sys.executable, os.path.join(PERF, "service"), model, "--programs", PROGRAMS, "--rounds", "2",
                 "--requests", "200", "--rate", "200", "--attempts", "1", "--json", told] + more, capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            with open(told, encoding="utf-8") as file:
                row = json.load(file)["models"][0]
        for one in row["windows"]:
            self.assertEqual(set(one), {service.OPTIMISER, service.NEUTRAL})
            self.assertGreater(one[service.OPTIMISER]["p99"], one[service.OPTIMISER]["p50"])
        self.assertGreater(sum(one[service.OPTIMISER]["shares"]["thread"] for one in row["windows"]), 0)
        self.assertEqual(sum(one[service.NEUTRAL]["shares"]["thread"] for one in row["windows"]), 0)


if __name__ == "__main__":
    unittest.main()
