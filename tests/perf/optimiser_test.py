"""Tests of perf/optimiser with host programs that are scripts, and of axrun_bench where BENCH_PROGRAM names it.

Run: python3 tests/perf/optimiser_test.py
"""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from compare_test import PERF, RIGHT, FakeHosts as CompareHosts, field, tensor  # noqa: E402

from comparison import models, optimiser, optimiser_text  # noqa: E402
from comparison.host_process import HostFailure, HostProcess  # noqa: E402


def kernel(state, ops="Relu", steps=1, share=0.1, reason="", proof_s=0.0, gate_s=0.0):
    """As axrun tells of a kernel; with times where there was a proof, or a test."""
    return {"ops": ops, "state": state, "steps": steps, "share": share, "reason": reason, "proof_s": proof_s,
            "gate_s": gate_s, "proof": "proved" if proof_s else "", "gate": "tested" if gate_s else ""}


def report(*kernels, swapped=0, left=0):
    """As a launch tells what its optimiser came to."""
    return {"state": "frozen", "reason": "", "seconds": 1.0, "swapped": swapped, "left": left,
            "steps": sum(one["steps"] for one in kernels), "code_bytes": 2048, "prepared_bytes": 0,
            "kernels": list(kernels)}


REPORT = report(kernel("accepted", "MatMul", 3, 0.5, proof_s=0.010, gate_s=0.001),
                kernel("slower", "Conv", 1, 0.2, proof_s=0.030, gate_s=0.003),
                kernel("refused", "GRU", 2, 0.3, "it is a recurrence"), swapped=3)

# A host whose optimiser comes to REPORT and makes runs FACTOR times as long; it starts LATER seconds later with one.
# Where starts are judged, START is so long that what the machine does besides hardly counts.
FAKE_HOST = """#!%s -IS
import json, os, sys, time
REPORT, FACTOR, START, LATER, FAILURE, OUTPUTS = %r, %r, %r, %r, %r, %r
assert "--budget" in sys.argv
on = os.environ["AXRUN_OPTIMIZE"] == "1"
if FAILURE == "refuse":
    sys.exit("fake: the model is not supported")
time.sleep(START + on * LATER)
print(json.dumps(dict(engine="fake", version="1", load_ms=1, session_ms=1, first_ms=1, start_to_first_ms=2)), flush=True)
us = 300.0
for line in sys.stdin:
    if line == "quit\\n":
        break
    if line == "settle\\n":
        assert on
        if FAILURE == "die":
            sys.exit("fake: died while it optimised")
        us *= FACTOR
        print(json.dumps(REPORT), flush=True)
        continue
    print(json.dumps(dict(times_us=[us] * int(line.split()[1]))), flush=True)
if "--save" in sys.argv:
    folder = sys.argv[sys.argv.index("--save") + 1]
    os.makedirs(folder)
    with open(os.path.join(folder, "output_0.pb"), "wb") as file:
        file.write(OUTPUTS[on])
"""


class Command(unittest.TestCase):
    setUp, add_model = CompareHosts.setUp, CompareHosts.add_model

    def host(self, factor=0.5, start=0.15, later=0.0, failure="", outputs=(RIGHT, RIGHT)):
        path = os.path.join(self.folder, "axrun_bench")
        with open(path, "w") as file:
            file.write(FAKE_HOST % (sys.executable, REPORT, factor, start, later, failure, outputs))
        os.chmod(path, 0o755)

    def run_command(self, *flags):
        command = [sys.executable, os.path.join(PERF, "optimiser"), "--programs", self.folder, "--models",
                   os.path.join(self.folder, "models"), "--quick", "--pairs", "4", *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def measure(self, *flags):
        """Exit code, the only model's row, everything, and the printed text."""
        out = os.path.join(self.folder, "out.json")
        done = self.run_command("--json", out, *flags)
        with open(out) as file:
            result = json.load(file)
        return done.returncode, result["models"][0], result, done.stdout

    def test_figures_of_a_model(self):
        self.host(factor=0.5, start=0.8)
        code, row, result, out = self.measure("--reasons", "--gate", "tiny")
        self.assertEqual((code, result["missed"]), (0, []), out)
        self.assertAlmostEqual(row["run"]["ratio"]["median"], 0.5, delta=0.01)
        self.assertEqual((row["run"]["ratio"]["verdict"], row["run"]["launches"]), ("faster", 2))
        self.assertAlmostEqual(row["first_answer"]["ratio"]["median"], 1, delta=0.2)
        self.assertEqual((row["steps"]["generated"], row["steps"]["verified"], row["steps"]["all"]), (3, 4, 6))
        self.assertIs(row["outputs"]["passed"], True)
        self.assertEqual(len(row["proof_ms"]), 4, "two kernels in each of two launches")
        for text in ("tiny", "3/4/6", "50%", "2.0", "30.0% of the time, 2 steps: it is a recurrence (GRU)",
                     "20.0% of the time, 1 step: slower than"):
            self.assertIn(text, out)
        self.assertEqual(result["summary"]["faster"], 1)

    def test_reasons_are_told_when_asked_for(self):
        self.host()
        self.assertNotIn("recurrence", self.measure()[3])

    def test_a_late_first_answer_and_slower_runs_are_missed(self):
        self.host(factor=1.2, later=0.1)
        code, row, result, _ = self.measure("--gate")
        self.assertEqual(code, 6)
        self.assertGreater(row["first_answer"]["ratio"]["low"], 1.2)
        self.assertEqual(len(result["missed"]), 2)
        self.assertRegex(result["missed"][0], "^tiny: the first answer comes .* ms later")
        self.assertRegex(result["missed"][1], "^tiny: a run takes 1.2")
        self.assertEqual(self.run_command().returncode, 0, "without --gate it is only said")

    def test_outputs_that_change_are_missed(self):
        self.host(start=0.8, outputs=(RIGHT, tensor(1.0, -2.0, 0.6)))
        code, _, result, out = self.measure("--gate")
        self.assertEqual(code, 6)
        self.assertEqual(result["missed"], ["tiny: its outputs became wrong: by 5.0e-02"])
        self.assertIn("wrong by 5.0e-02", out)

    def test_a_model_that_can_not_be_run_is_said(self):
        for failure, reason in (("refuse", "the model is not supported"), ("die", "died while it optimised")):
            with self.subTest(failure):
                self.host(failure=failure)
                code, row, result, out = self.measure("--gate")
                self.assertIn(reason, row["error"])
                self.assertIn(reason, out)
                self.assertEqual((code, result["summary"]), (6, None))

    def test_mistakes_on_the_command_line_exit_with_1(self):
        self.host()
        for flags in (["nothing"], ["./nothing.onnx"], ["--pairs", "0"], ["--launches", "1"], ["--budget", "0"],
                      ["--budget", "nan"], ["--threads", "0"], ["--programs", "nowhere"], ["--unknown"]):
            with self.subTest(flags):
                self.assertEqual(self.run_command(*flags).returncode, 1)

    def test_models_are_named_or_files(self):
        folder = os.path.join(self.folder, "models")
        path = os.path.join(folder, "tiny", "model.onnx")
        by_name, = models.named(["tiny"], [folder])
        for word in (path, os.path.dirname(path)):
            by_path, = models.named([word], [])
            self.assertEqual((by_path.name, by_path.path, by_path.data), (by_name.name, by_name.path, by_name.data))


class Figures(unittest.TestCase):
    def test_steps(self):
        said = optimiser.steps(REPORT)
        self.assertEqual((said["all"], said["generated"], said["verified"], said["left"]), (6, 3, 4, 0))
        self.assertAlmostEqual(said["share_generated"], 0.5)
        self.assertAlmostEqual(said["share_verified"], 0.7)

    def test_reasons_are_grouped_and_the_heaviest_comes_first(self):
        said = optimiser.reasons(report(
            kernel("refused", "Gather", 1, 0.1, "no schedule: stage 't2': an index depends on data"),
            kernel("refused", "Slice", 2, 0.15, "no schedule: stage 't31': an index depends on data"),
            kernel("waiting", "Conv", 4, 0.4), kernel("accepted", "MatMul", 1, 0.05)))
        self.assertEqual([(entry["reason"], entry["steps"]) for entry in said],
                         [(optimiser.NOT_TRIED, 4), (optimiser.NO_KERNEL, 0),
                          ("no schedule: stage ..: an index depends on data", 3)])
        self.assertEqual([round(entry["share"], 6) for entry in said], [0.4, 0.3, 0.25])
        self.assertEqual(said[2]["operators"], ["Slice", "Gather"])

    def test_reasons_with_other_numbers_are_alike(self):
        said = optimiser.reasons(report(kernel("refused", reason="output 0 element 3 is 1.5e-05, with the present kernel 1"),
                                        kernel("refused", reason="output 1 element 70 is -2, with the present kernel 0.5")))
        self.assertEqual([entry["steps"] for entry in said if entry["reason"] != optimiser.NO_KERNEL], [2], said)
        self.assertEqual(optimiser.reasons(report(kernel("refused", share=1, reason="x3 is of type i64")))[0]["reason"],
                         ".. is of type i64")

    def test_times_of_proofs_and_tests(self):
        said = optimiser.evidence_times([REPORT, report(kernel("refused", proof_s=0.5))])
        self.assertEqual([round(x, 6) for x in said["proof_ms"]], [10, 30, 500])
        self.assertEqual([round(x, 6) for x in said["gate_ms"]], [1, 3])
        self.assertEqual(optimiser.spread([1, 2, 3])["p50"], 2)
        self.assertIsNone(optimiser.spread([]))

    def test_a_first_answer_that_comes_hardly_later_is_not_missed(self):
        ratio = {"median": 1.2, "low": 1.1, "high": 1.3}
        row = {"model": "m", "outputs": {"passed": True},
               "run": {"ratio": {"median": 1.0, "low": 0.9, "high": 1.1}}}
        for later, count in ((0.9, 0), (1.1, 1)):
            row["first_answer"] = {"with_ms": 5 + later, "without_ms": 5, "ratio": ratio}
            self.assertEqual(len(optimiser.missed([row])), count)

    def test_a_model_without_kernels_has_a_row(self):
        ratio = {"median": 1.0, "low": 0.9, "high": 1.1, "verdict": "not distinguishable"}
        row = {"model": "m", "threads": 1, "first_answer": {"with_ms": 1, "without_ms": 1, "ratio": ratio},
               "run": {"with_us": 1, "without_us": 1, "ratio": ratio}, "steps": optimiser.steps(report()),
               "reasons": optimiser.reasons(report()), "proof_ms": [], "gate_ms": [], "code_bytes": 0,
               "optimiser_reason": "no worker", "outputs": {"error": 0.0, "passed": True, "note": ""}}
        self.assertIn("stopped: no worker", optimiser_text.lines(row, True))
        self.assertIn("0 of 0 run generated kernels", optimiser_text.summary(optimiser.summarise([row]), True))


# y = Mul(Relu(x), x), of 64 floats.
def _value(name):
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, field(1, field(1, 64)))))


def _node(operator, *inputs, output):
    return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, operator))


MODEL = field(1, 8) + field(8, field(2, 17)) + b"\x3a" + (lambda graph: bytes([len(graph)]) + graph)(
    _node(b"Relu", b"x", output=b"a") + _node(b"Mul", b"a", b"x", output=b"y") + field(2, b"g") +
    field(11, _value(b"x")) + field(12, _value(b"y")))


@unittest.skipUnless(os.environ.get("BENCH_PROGRAM"), "BENCH_PROGRAM names no axrun_bench")
class Program(unittest.TestCase):
    setUp, add_model = CompareHosts.setUp, CompareHosts.add_model

    def start(self, optimize, *flags):
        path = os.path.join(self.folder, "model.onnx")
        with open(path, "wb") as file:
            file.write(MODEL)
        environment = {**os.environ, "AXRUN_SWAP": "always", "AXRUN_OPTIMIZER_PRIORITY": "normal", "AXRUN_OPTIMIZE": optimize}
        return HostProcess([os.environ["BENCH_PROGRAM"], path, "--serve", *flags], environment, 120)

    def test_it_settles_with_every_kernel_in_force(self):
        with self.start("1", "--budget", "100") as process:
            said = process.settle()
            self.assertEqual((said["state"], said["left"]), ("frozen", 0))
            self.assertEqual((said["swapped"], optimiser.steps(said)["verified"]), (said["steps"], said["steps"]))
            self.assertAlmostEqual(optimiser.steps(said)["share_generated"], 1, delta=1e-3)
            self.assertTrue(all(optimiser.evidence_times([said]).values()))
            self.assertEqual(len(process.run(3)), 3)

    def test_nothing_is_optimised_when_it_is_off(self):
        with self.start("0", "--budget", "100") as process:
            self.assertEqual((process.settle()["state"], process.settle()["swapped"]), ("off", 0))
        with self.start("1") as process:
            self.assertEqual(process.settle(), {})

    def test_a_budget_that_is_no_number_is_refused(self):
        for text in ("5x", "-1", "nan", ""):
            with self.assertRaisesRegex(HostFailure, "exit 1"):
                self.start("1", "--budget", text)


if __name__ == "__main__":
    unittest.main()
