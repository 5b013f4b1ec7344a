"""Tests of the explanation of gaps, on a made-up machine and a made-up profile.

Run: python3 tests/perf/gaps_test.py
"""

import os
import stat
import subprocess
import sys
import tempfile
import unittest

PERF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf")
sys.path.insert(0, PERF)

from comparison import gaps, gaps_text  # noqa: E402
from comparison.models import Model  # noqa: E402


def rates(one, every):
    return {"one": one, "all": every}


MACHINE = {"threads": 2, "f32_gflops": rates(100, 200), "int8_gops": rates(400, 800), "levels": [
    {"name": "L1", "bytes": 1000, "private": True, "gbps": rates(200, 400)},
    {"name": "memory", "bytes": None, "private": False, "gbps": rates(10, 15)}]}


def costs(operations, size):
    return {"operations": operations, "integer_operations": 0, "compulsory_bytes": size}


def work(chain=0, **ports):
    """Counts of a kernel whose ports take so many microseconds."""
    us = {name: ports.get(name, 0) for name in ("arithmetic", "memory", "apart", "scalar")}
    return {"multiply_adds": 60, "operations": 30, "functions": 10, "scalar_operations": 70, "lanes": 1600,
            "filled_lanes": 1600, "loads": 5, "stores": 5, "apart_lanes": 40, "bytes_loaded": 3000, "bytes_stored": 1000,
            "moved_bytes": 0, "phases": 1, "us": {**us, "chain": chain}}


def step(name, us, limit, **members):
    return {"node": name, "ops": "Op", "kernel": "k [proved]", "result": "[1]", "evidence": "proved", "us": us,
            "limit_us": limit, "limit_by": "arithmetic", "calls": 1, "work": None, "kernels": [], **members}


def said(*steps):
    return {"steps": list(steps), "latency_ms": 0.1, "optimiser": {"seconds": 2.0, "finished": True, "tried": 3, "left": 0}}


def explain(operations, *steps):
    return gaps.explain(MACHINE, costs(operations, 10), said(*steps), 1)


class Explanation(unittest.TestCase):
    def test_kernels_come_in_the_order_of_their_gaps(self):
        found = explain(3e6, step("near", 21, 20), step("far", 40, 10), step("small", 5, None))
        self.assertEqual([row["node"] for row in found["kernels"]], ["far", "small", "near"])
        self.assertAlmostEqual(found["time_us"], 66)
        self.assertAlmostEqual(found["floor_us"], 30)
        self.assertAlmostEqual(found["ratio"], 2.2)
        self.assertAlmostEqual(found["between_us"], 0)
        self.assertAlmostEqual(found["kernels"][0]["gap_us"], 30)
        self.assertAlmostEqual(found["latency_us"], 100)

    def test_as_few_kernels_are_named_as_make_up_most_of_the_gap(self):
        found = explain(3e6, step("half", 25, 10), step("most", 30, 10), step("rest", 11, 10))
        self.assertEqual([row["node"] for row in gaps.named(found)], ["most", "half"])

    def test_a_model_near_its_floor_needs_no_explanation(self):
        self.assertEqual(gaps.named(explain(1e6, step("a", 11, 10))), [])

    def test_a_kernel_below_its_floor_takes_nothing_from_others(self):
        found = explain(3e6, step("fast", 5, 20), step("slow", 90, 10))
        self.assertEqual([row["node"] for row in gaps.named(found)], ["slow"])
        self.assertEqual(found["kernels"][-1]["gap_us"], 0)

    def test_gaps_add_up_by_cause(self):
        found = explain(3e6, step("a", 90, 10, work=work(chain=80)), step("b", 50, 10, evidence=""),
                        step("c", 30, 10, work=work(chain=30)), step("d", 0.5, 0.5))
        self.assertEqual(gaps.by_cause(found), {"chain": 100, "fallback": 40, "near": 0})


class Cause(unittest.TestCase):
    def cause(self, us, limit, launch=0.01, **members):
        return gaps.cause(step("a", us, limit, **members), limit, launch)

    def test_what_is_near_its_floor(self):
        self.assertEqual(self.cause(11.0, 10.0)[0], "near")

    def test_so_little_work_that_calls_count(self):
        self.assertEqual(self.cause(0.015, 0.001)[0], "launch")
        self.assertEqual(self.cause(1.0, 0.1, calls=70)[0], "launch")
        self.assertEqual(self.cause(1.0, 0.1, calls=10)[0], "uncounted")

    def test_a_precompiled_kernel_in_the_words_of_the_optimiser(self):
        refused = {"state": "refused", "reason": "no schedule"}
        self.assertEqual(self.cause(10.0, 1.0, evidence="", kernels=[refused]), ("fallback", "refused: no schedule"))
        self.assertEqual(self.cause(10.0, 1.0, evidence="")[1], "the optimiser was not asked for one")

    def test_the_busiest_port_is_the_cause(self):
        for port in ("apart", "scalar"):
            self.assertEqual(self.cause(10.0, 1.0, work=work(**{port: 7, "memory": 3}))[0], port)
        self.assertEqual(self.cause(10.0, 1.0, work=work(chain=7, arithmetic=6))[0], "chain")
        self.assertEqual(self.cause(10.0, 1.0, calls=2, work=work(chain=4))[0], "chain")

    def test_where_nothing_takes_most_of_the_time_it_waits(self):
        cause, evidence = self.cause(10.0, 1.0, work=work(chain=5, memory=4))
        self.assertEqual(cause, "waits")
        self.assertIn("50% of its time (chain)", evidence)
        self.assertEqual(self.cause(10.0, 8.0, work=work(arithmetic=8.5))[0], "waits", "its floor is no cause")

    def test_arithmetic_tells_empty_lanes_from_more_operations(self):
        cause, evidence = self.cause(10.0, 4.0, work=work(arithmetic=8))
        self.assertEqual(cause, "arithmetic")
        self.assertIn("2.0 times the floor, 60% multiply-adds, 10% in functions", evidence)
        cause, evidence = self.cause(10.0, 4.0, work={**work(arithmetic=8), "filled_lanes": 800})
        self.assertEqual(cause, "lanes")
        self.assertIn("50% of the lanes", evidence)

    def test_loads_and_stores_tell_packing_from_computing(self):
        self.assertEqual(self.cause(10.0, 1.0, work=work(memory=8))[0], "loads")
        cause, evidence = self.cause(10.0, 1.0, work={**work(memory=8), "moved_bytes": 3000})
        self.assertEqual(cause, "packing")
        self.assertIn("75% of their bytes", evidence)

    def test_bytes_from_beyond_a_cache_are_a_cause(self):
        beyond = [{"from": "cache 2", "bytes": 9e4, "us": 2}, {"from": "memory", "bytes": 8e4, "us": 9}]
        cause, evidence = self.cause(10.0, 1.0, work={**work(memory=7), "beyond": beyond})
        self.assertEqual(cause, "beyond")
        self.assertIn("80 kB from memory take 90%", evidence)
        self.assertEqual(self.cause(10.0, 1.0, work={**work(memory=7), "beyond": [{**beyond[0], "us": None}]})[0], "loads")

    def test_every_cause_is_described(self):
        self.assertEqual(self.cause(1.0, 0.1)[0], "uncounted")
        self.assertLessEqual({"near", "launch", "fallback", "lanes", "arithmetic", "packing", "loads", "apart", "scalar",
                              "beyond", "chain", "waits", "uncounted"}, set(gaps.CAUSES))


class Text(unittest.TestCase):
    def setUp(self):
        self.found = explain(3e6, step("a", 90, 10, work=work(chain=80)), step("b", 50, 10, evidence=""))

    def test_a_model_in_words(self):
        text = "\n".join(gaps_text.lines("m", self.found, 1))
        self.assertIn("4.67x  chain 67%, fallback 33%", text)
        self.assertIn("66.7% of the gap", text)
        self.assertIn("33.3% in 1 more", text)
        self.found["optimiser"].update(finished=False, left=7)
        self.assertIn("not finished, 7 left", "\n".join(gaps_text.lines("m", self.found, 1)))

    def test_the_table(self):
        near = {"model": "close", **explain(1e6, step("a", 11, 10))}
        text = gaps_text.markdown([{"model": "m", **self.found}, near, {"model": "bad", "error": "damaged"}], 5)
        self.assertIn("| m | 140 | 30 | 4.67 | 0 | chain 67%, fallback 33% | 2 s |", text)
        self.assertIn("| close | 11 | 10 | 1.10 | 0 | near | 2 s |", text)
        self.assertIn("damaged", text)
        self.assertIn("**m**, 4.67 times its floor", text)
        self.assertNotIn("**close**", text)
        for line in text.splitlines():
            self.assertIn(line.count("|") - 1, (-1, 7, 8))


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def program(self, name, script):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + script)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def test_an_explanation_is_what_the_program_prints(self):
        path = self.program("axrun", 'test "$*" = "explain m.onnx --threads 2 --budget 3 --quiet --json" || exit 1\n'
                                     "echo '{\"steps\": [1]}'")
        self.assertEqual(gaps.explanation(path, ["m.onnx"], 2, 3), {"steps": [1]})

    def test_what_is_kept_is_not_measured_again(self):
        path = self.program("axrun", "echo '{\"steps\": [1]}'")
        kept = os.path.join(self.folder, "kept")
        model = Model("m", "m.onnx", None)
        self.assertEqual(gaps.explanation_of(path, model, [], 1, 3, kept), {"steps": [1]})
        os.remove(path)
        self.assertEqual(gaps.explanation_of(path, model, [], 1, 3, kept), {"steps": [1]})
        with self.assertRaises(OSError):
            gaps.explanation_of(path, model, [], 2, 3, kept)

    def test_a_model_without_data_has_the_shapes_of_the_others(self):
        path = self.program("axrun_bench", "echo '{\"inputs\": [{\"name\": \"x\", \"shape\": [1, 3]}, "
                                           "{\"name\": \"s\", \"shape\": []}]}'")
        self.assertEqual(gaps.shapes_of(path, Model("m", "m.onnx", None)), ["--shape", "x:1x3"])
        self.assertEqual(gaps.shapes_of("/no such program", Model("m", "m.onnx", "data")), [])
        path = self.program("axrun_bench", "echo 'm.onnx is damaged' >&2; exit 2")
        with self.assertRaisesRegex(ValueError, "^m.onnx is damaged$"):
            gaps.shapes_of(path, Model("m", "m.onnx", None))

    def test_a_failure_is_told_in_the_words_of_the_program(self):
        path = self.program("axrun", "echo first >&2; echo 'm.onnx is damaged' >&2; exit 2")
        with self.assertRaisesRegex(ValueError, "^m.onnx is damaged$"):
            gaps.explanation(path, ["m.onnx"], 1, 0)

    def test_mistakes_end_with_1(self):
        for arguments in (["--threads", "0"], ["--programs", self.folder], ["no such model"]):
            done = subprocess.run([os.path.join(PERF, "gaps"), *arguments], capture_output=True, text=True, check=False)
            with self.subTest(arguments=arguments):
                self.assertEqual(done.returncode, 1)
                self.assertIn("gaps: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
