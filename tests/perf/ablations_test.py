"""Tests of the figures of perf/ablations and perf/progress, on made-up measurements.

Run: python3 tests/perf/ablations_test.py
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PERF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf")
sys.path.insert(0, PERF)

from comparison import ablations, progress  # noqa: E402


def row(fusion, layouts):
    ratio = lambda median: {"median": median, "low": median - 0.1, "high": median + 0.1, "verdict": "slower"}
    return {"model": "m", "full_us": 10.0, "ratios": {"fusion": ratio(fusion), "layouts": ratio(layouts)},
            "optimiser": {"full": {"left": [0, 3], "seconds": [4, 5], "finished": [True, False]}}}


class Ablations(unittest.TestCase):
    PARTS = ["fusion", "layouts"]

    def test_a_part_is_left_out_in_its_own_program_only(self):
        os.environ["AXRUN_ABLATE"] = "schedules"
        try:
            hosts = ablations.hosts("program", 5, self.PARTS)
        finally:
            del os.environ["AXRUN_ABLATE"]
        self.assertEqual(list(hosts), ["full"] + self.PARTS)
        self.assertEqual([host.environment.get("AXRUN_ABLATE") for host in hosts.values()], [None] + self.PARTS)
        self.assertTrue(all(host.settles for host in hosts.values()))

    def test_means_are_geometric_and_failures_are_left_out(self):
        failed = row(1, 4)
        failed["ratios"]["fusion"] = {"error": "exit 1"}
        summary = ablations.summarise([row(0.5, 1), row(2, 1), failed, {"model": "x", "error": "none"}], self.PARTS)
        self.assertEqual(summary["fusion"]["models"], 2)
        self.assertAlmostEqual(summary["fusion"]["ratio"], 1)
        self.assertAlmostEqual(summary["layouts"]["ratio"], 4 ** (1 / 3))
        self.assertIn("failed", ablations.line(failed, self.PARTS))
        self.assertIn("5 s, not finished, 3 left", ablations.line(failed, self.PARTS))

    def test_of_one_part_the_gain_is_shown_and_of_algebra_the_rules(self):
        report = {"algebra": {"outcome": "rewritten", "windows": [{"rules": [{"name": "b"}, {"name": "a"}]},
                                                                  {"rules": [{"name": "a"}]}]}}
        none = {"algebra": {"outcome": "as the model: not faster in the model", "windows": [{"rules": [{"name": "a"}]}]}}
        changed, same, early = ({**row(1, 1), "ratios": {"algebra": {"median": 0.8, "low": 0.5, "high": 1.0}},
                                 "algebra": [ablations.algebra_of(one) for one in launches]}
                                for launches in ([report, none], [none, none], [{}, {}]))
        parts = ["algebra"]
        self.assertIn("gain by algebra", ablations.header(parts))
        self.assertIn("+25.0% [+0.0%, +100.0%]", ablations.line(changed, parts))
        self.assertIn("rewritten in 1 of 2: 2 windows by a, b", ablations.line(changed, parts))
        self.assertIn("not faster in the model", ablations.line(same, parts))
        self.assertIn("not reached in the time", ablations.line(early, parts))
        summary = ablations.summarise([changed, same, early], parts)
        self.assertEqual(summary["algebra"]["rewritten"], 1)
        last = ablations.last_line(summary, parts)
        self.assertIn("+25.0%", last)
        self.assertIn("changed the plans of 1", last)
        self.assertNotIn("gain", ablations.header(self.PARTS))

    def test_models_share_the_time_that_is_left(self):
        self.assertEqual(ablations.budget_of(30, None, 5, 2, 5), 30)
        self.assertEqual(ablations.budget_of(30, 1e6, 5, 2, 5), 30)
        self.assertAlmostEqual(ablations.budget_of(30, 1000, 10, 2, 5), 0.7 * 10)
        self.assertEqual(ablations.budget_of(30, 0, 10, 2, 5), ablations.LEAST_SECONDS)

    def test_what_was_written_is_found_again_but_failures(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ablations.json")
            self.assertEqual(ablations.earlier(path), [])
            ablations.write([row(0.5, 1), {"model": "x", "error": "exit 2"}], {}, {}, path)
            self.assertEqual(ablations.earlier(path), [row(0.5, 1)])
            self.assertEqual(os.listdir(folder), ["ablations.json"])
            with open(path, "w") as file:
                file.write('{"kind": "progress"}')
            with self.assertRaisesRegex(ValueError, "holds no ablations"):
                ablations.earlier(path)

    def test_a_run_goes_on_with_the_models_that_are_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ablations.json")
            for name, size in (("m", 10), ("new", 20)):
                os.makedirs(os.path.join(folder, "models", name))
                with open(os.path.join(folder, "models", name, "model.onnx"), "wb") as file:
                    file.write(bytes(size))
            program = os.path.join(folder, "axrun_bench")
            with open(program, "w") as file:
                file.write("#!/bin/sh\necho no model >&2\nexit 2\n")
            os.chmod(program, 0o755)
            ablations.write([row(0.5, 1)], {}, {}, path)
            command = [sys.executable, os.path.join(PERF, "ablations"), "--programs", folder, "--all", "--models",
                       os.path.join(folder, "models"), "--json", path, "--resume", "--minutes", "1"]
            done = subprocess.run(command + ["--without", "fusion", "--without", "layouts"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path) as file:
                found = json.load(file)["models"]
            self.assertEqual([one["model"] for one in found], ["m", "new"])
            self.assertEqual(found[0], row(0.5, 1))
            self.assertIn("no model", found[1]["error"])
            done = subprocess.run(command + ["--without", "schedules"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("no figures without schedules", done.stderr)

    def test_contradictions_are_mistakes(self):
        for flags in (["--resume"], ["--all", "m"], ["--minutes", "0"]):
            done = subprocess.run([os.path.join(PERF, "ablations"), *flags], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)

    def test_an_unknown_part_is_a_mistake(self):
        done = subprocess.run([os.path.join(PERF, "ablations"), "--without", "everything"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("everything", done.stderr)


class Progress(unittest.TestCase):
    def samples(self, latency):
        return [(second + part / 10, latency(second)) for second in range(60) for part in range(10)]

    def test_the_second_from_which_on_the_speed_is_there(self):
        final, since = progress.reached(progress.curve(self.samples(lambda s: 20 if s < 12 else 10.5 if s < 30 else 10)))
        self.assertAlmostEqual(final, 10)
        self.assertAlmostEqual(since, 12, delta=1)

    def test_a_single_slow_second_is_no_step_back_and_a_slow_stretch_is(self):
        final, since = progress.reached(progress.curve(self.samples(lambda s: 20 if s < 5 or s == 40 else 10)))
        self.assertAlmostEqual(since, 5, delta=1)
        final, since = progress.reached(progress.curve(self.samples(lambda s: 20 if s < 5 or 20 <= s < 25 else 10)))
        self.assertAlmostEqual(since, 25, delta=1)
        self.assertAlmostEqual(final, 10)

    def test_when_it_is_first_there_and_how_often_it_is_not_since(self):
        points = progress.curve(self.samples(lambda s: 20 if s < 10 or 20 <= s < 30 else 10))
        first, slower = progress.first_reached(points, 10)
        self.assertAlmostEqual(first, 10, delta=1)
        self.assertAlmostEqual(slower, 0.2, delta=0.03)
        self.assertEqual(progress.first_reached(points, 5), (None, 1.0))

    def test_where_the_end_is_slow_it_is_not_reached(self):
        points = [(second + 0.5, 10.0, 5) for second in range(57)] + [(second + 0.5, 30.0, 5) for second in (57, 58, 59)]
        self.assertIsNone(progress.reached(points)[1])


if __name__ == "__main__":
    unittest.main()
