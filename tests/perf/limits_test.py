"""Tests of the direct floor on a made-up machine.

Run: python3 tests/perf/limits_test.py
"""

import os
import stat
import sys
import tempfile
import unittest

PERF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf")
sys.path.insert(0, PERF)

from comparison import limits  # noqa: E402


def rates(one, every):
    return {"one": one, "all": every}


MACHINE = {"threads": 4, "f32_gflops": rates(100, 300), "int8_gops": rates(400, 1200), "levels": [
    {"name": "L1", "bytes": 1000, "private": True, "gbps": rates(200, 800)},
    {"name": "L3", "bytes": 100000, "private": False, "gbps": rates(20, 60)},
    {"name": "memory", "bytes": None, "private": False, "gbps": rates(10, 15)}]}


def costs(operations=0, integer_operations=0, compulsory_bytes=0):
    return {"operations": operations, "integer_operations": integer_operations, "compulsory_bytes": compulsory_bytes}


class Floor(unittest.TestCase):
    def test_operations_bound_a_model_of_few_bytes(self):
        self.assertAlmostEqual(limits.floor_us(MACHINE, costs(2e6, 0, 1000), 1), 20.0)
        self.assertAlmostEqual(limits.floor_us(MACHINE, costs(3e6, 0, 1000), 4), 10.0)

    def test_bytes_bound_a_model_of_few_operations(self):
        self.assertAlmostEqual(limits.floor_us(MACHINE, costs(1, 0, 50000), 1), 2.5)

    def test_integer_operations_take_their_own_time(self):
        self.assertAlmostEqual(limits.floor_us(MACHINE, costs(1e6, 4e6), 1), 20.0)

    def test_bytes_are_read_from_the_smallest_level_that_holds_them(self):
        for size, threads, level in ((1000, 1, "L1"), (1001, 1, "L3"), (4000, 4, "L1"), (4001, 9, "L3"),
                                     (100000, 1, "L3"), (100001, 4, "memory")):
            with self.subTest(size=size, threads=threads):
                self.assertEqual(limits.holding_level(MACHINE, size, threads)["name"], level)
        self.assertAlmostEqual(limits.floor_us(MACHINE, costs(0, 0, 150000), 1), 15.0)

    def test_threads_between_one_and_all_share_what_all_reach(self):
        self.assertAlmostEqual(limits.floor_us(MACHINE, costs(2e6), 2), 10.0)
        self.assertAlmostEqual(limits.floor_us(MACHINE, costs(3e6), 16), 10.0)

    def test_what_was_not_measured_has_no_floor(self):
        self.assertIsNone(limits.floor_us(None, costs(1), 1))
        self.assertIsNone(limits.floor_us(MACHINE, None, 1))


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def program(self, name, script):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + script)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def test_missing_and_failing_programs_give_nothing(self):
        self.assertIsNone(limits.measure_machine(self.folder))
        self.program("model_costs", "exit 2")
        self.assertIsNone(limits.model_costs(self.folder, ["model.onnx"]))
        self.program("machine_limits", "echo no JSON")
        self.assertIsNone(limits.measure_machine(self.folder))

    def test_arguments_reach_the_program(self):
        self.program("model_costs", 'echo "{\\"arguments\\": \\"$*\\"}"')
        self.assertEqual(limits.model_costs(self.folder, ["m.onnx", "--dim", "N=2"]), {"arguments": "m.onnx --dim N=2"})


if __name__ == "__main__":
    unittest.main()
