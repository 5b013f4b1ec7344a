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

from comparison import gaps  # noqa: E402


def rates(one, every):
    return {"one": one, "all": every}


MACHINE = {"threads": 2, "f32_gflops": rates(100, 200), "int8_gops": rates(400, 800), "levels": [
    {"name": "L1", "bytes": 1000, "private": True, "gbps": rates(200, 400)},
    {"name": "memory", "bytes": None, "private": False, "gbps": rates(10, 15)}]}


def kernel(name, us, flops, size):
    return {"name": name, "op": "Op", "kernel": "k", "shape": "[1]", "proof": None, "us_per_run": us, "flops": flops,
            "bytes": size}


def costs(operations, size):
    return {"operations": operations, "integer_operations": 0, "compulsory_bytes": size}


class Explanation(unittest.TestCase):
    def test_the_limit_that_takes_longer_bounds_a_kernel(self):
        self.assertEqual(gaps.kernel_floor(MACHINE, kernel("a", 9, 2e6, 1000), 1),
                         {"floor_us": 20.0, "bound": "arithmetic"})
        self.assertEqual(gaps.kernel_floor(MACHINE, kernel("a", 9, 0, 1000), 1), {"floor_us": 0.005, "bound": "L1"})
        self.assertEqual(gaps.kernel_floor(MACHINE, kernel("a", 9, 1e3, 100000), 1),
                         {"floor_us": 10.0, "bound": "memory"})

    def test_kernels_come_in_the_order_of_their_gaps(self):
        found = gaps.explain(MACHINE, costs(3e6, 1000),
                             [kernel("near", 21, 2e6, 10), kernel("far", 40, 1e6, 10), kernel("small", 5, 0, 10)], 1)
        self.assertEqual([row["name"] for row in found["kernels"]], ["far", "small", "near"])
        self.assertAlmostEqual(found["time_us"], 66)
        self.assertAlmostEqual(found["floor_us"], 30)
        self.assertAlmostEqual(found["ratio"], 2.2)
        self.assertAlmostEqual(found["kernels"][0]["gap_us"], 30)
        self.assertAlmostEqual(gaps.by_bound(found)["arithmetic"], 31)

    def test_as_few_kernels_are_named_as_make_up_most_of_the_gap(self):
        found = gaps.explain(MACHINE, costs(3e6, 1000),
                             [kernel("half", 25, 1e6, 10), kernel("most", 30, 1e6, 10), kernel("rest", 11, 1e6, 10)], 1)
        self.assertEqual([row["name"] for row in gaps.named(found)], ["most", "half"])

    def test_a_model_near_its_floor_needs_no_explanation(self):
        self.assertEqual(gaps.named(gaps.explain(MACHINE, costs(1e6, 10), [kernel("a", 11, 1e6, 10)], 1)), [])

    def test_a_kernel_below_its_floor_takes_nothing_from_others(self):
        found = gaps.explain(MACHINE, costs(3e6, 10), [kernel("fast", 5, 2e6, 10), kernel("slow", 90, 1e6, 10)], 1)
        self.assertEqual([row["name"] for row in gaps.named(found)], ["slow"])


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

    def test_a_profile_is_what_the_program_prints(self):
        path = self.program("axrun", 'test "$*" = "m.onnx --threads 2 --budget 3 --quiet --profile json" || exit 1\n'
                                     "echo '{\"kernels\": [1]}'")
        self.assertEqual(gaps.profile(path, ["m.onnx"], 2, 3), [1])

    def test_a_failure_is_told_in_the_words_of_the_program(self):
        path = self.program("axrun", "echo first >&2; echo 'm.onnx is damaged' >&2; exit 2")
        with self.assertRaisesRegex(ValueError, "^m.onnx is damaged$"):
            gaps.profile(path, ["m.onnx"], 1, 0)

    def test_mistakes_end_with_1(self):
        for arguments in (["--threads", "0"], ["--programs", self.folder], ["no such model"]):
            done = subprocess.run([os.path.join(PERF, "gaps"), *arguments], capture_output=True, text=True, check=False)
            with self.subTest(arguments=arguments):
                self.assertEqual(done.returncode, 1)
                self.assertIn("gaps: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
