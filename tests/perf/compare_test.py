"""Tests of the comparison with host programs that are scripts with canned times and outputs.

Run: python3 tests/perf/compare_test.py
"""

import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

PERF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf")
sys.path.insert(0, PERF)

from comparison import estimate, gate, model_file, outputs, tensor_file  # noqa: E402
from comparison.host_process import HostFailure, HostProcess  # noqa: E402

# A host whose runs take RUN_US, give or take a percent, and whose output is OUTPUT; FAILURE picks a way to misbehave.
FAKE_HOST = """#!%s -IS
import json, os, random, sys
RUN_US, FAILURE, OUTPUT, SETTLED = %r, %r, %r, %r
if FAILURE == "refuse":
    sys.exit("fake: the model is not supported")
if FAILURE == "silent":
    sys.stdin.readline()
first_line = dict(engine="fake", version="1", load_ms=1, session_ms=1, first_ms=1, start_to_first_ms=2)
if FAILURE == "nameless":
    del first_line["session_ms"]
print(json.dumps(first_line), flush=True)
generator = random.Random(7)
for line in sys.stdin:
    if line == "quit\\n":
        break
    if FAILURE == "die":
        sys.exit("fake: died in a run")
    if line == "settle\\n":
        print(json.dumps(dict(start_ms=0.5, evidence={"loops proved, code tested": 0.75, "fallback": 0.25}, **SETTLED)), flush=True)
        continue
    count = int(line.split()[1])
    times = [RUN_US * generator.uniform(0.99, 1.01) for _ in range(count - (FAILURE == "short"))]
    print(json.dumps(dict(times_us=times)), flush=True)
if "--save" in sys.argv and OUTPUT is not None:
    folder = sys.argv[sys.argv.index("--save") + 1]
    os.makedirs(folder)
    with open(os.path.join(folder, "output_0.pb"), "wb") as file:
        file.write(OUTPUT)
"""


def field(number, content):
    """A field of a protobuf message: a number, or bytes shorter than 128."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content)]) + content


def tensor(*values, element_type=1, code="f", shape=None):
    """A tensor file with these values in the raw field."""
    dims = b"".join(field(1, dim) for dim in ([len(values)] if shape is None else shape))
    return dims + field(2, element_type) + field(9, struct.pack("<%d%s" % (len(values), code), *values))


RIGHT = tensor(1.0, -2.0, 0.5)


class FakeHosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.add_model("tiny")

    def add_model(self, name, operator="Relu", stored=RIGHT):
        data = os.path.join(self.folder, "models", name, "test_data_set_0")
        os.makedirs(data)
        with open(os.path.join(self.folder, "models", name, "model.onnx"), "wb") as file:
            file.write(field(7, field(1, field(4, operator.encode()))))
        if stored:
            with open(os.path.join(data, "output_0.pb"), "wb") as file:
                file.write(stored)

    def host(self, name, run_us, failure="", output=RIGHT, settled={}):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(FAKE_HOST % (sys.executable, run_us, failure, output, settled))
        os.chmod(path, 0o755)
        return path

    def run_compare(self, *flags):
        command = [sys.executable, os.path.join(PERF, "compare"), "--programs", self.folder,
                   "--models", os.path.join(self.folder, "models"), "--threads", "1", "--seconds", "0.04",
                   "--launches", "2", "--timeout", "10", *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def compare(self, subject, peers, *flags):
        """Exit code, JSON and text of a comparison; peers: {name: program}."""
        out = os.path.join(self.folder, "out.json")
        flags += tuple("--peer=%s=%s" % item for item in peers.items())
        done = self.run_compare("--subject", subject, "--json", out, *flags)
        with open(out) as file:
            return done.returncode, json.load(file), done.stdout

    def against_ort(self, subject, peer, *flags):
        return self.compare(subject, {"onnxruntime": peer}, *flags)


class Measurements(FakeHosts):
    def test_same_program_is_not_distinguishable(self):
        _, result, _ = self.compare(self.host("a", 300.0), {}, "--same")
        self.assertEqual(result["rows"][0]["ratios"]["axrun again"]["time"]["verdict"], "not distinguishable")
        self.assertEqual(list(result["rows"][0]["programs"]), ["axrun", "axrun again"])

    def test_three_programs_are_measured_and_their_ratios_are_right(self):
        code, result, out = self.compare(self.host("a", 450.0),
                                         {"onnxruntime": self.host("b", 300.0), "third": self.host("c", 900.0)},
                                         "--only", "tiny")
        row = result["rows"][0]
        self.assertEqual(code, 0)
        self.assertEqual(list(row["programs"]), ["axrun", "onnxruntime", "third"])
        for peer, ratio, verdict in (("onnxruntime", 1.5, "slower"), ("third", 0.5, "faster")):
            time = row["ratios"][peer]["time"]
            self.assertEqual(time["verdict"], verdict)
            self.assertAlmostEqual(time["median"], ratio, delta=0.02)
            self.assertLessEqual(time["low"], time["median"])
            self.assertGreaterEqual(time["high"], time["median"])
            self.assertAlmostEqual(result["summary"]["by_threads"]["1"][peer]["time_ratio"], ratio, delta=0.02)
            self.assertIn("against %s: time x" % peer, out)

    def test_in_a_whole_run_the_subject_is_its_own_peer_too(self):
        _, result, _ = self.against_ort(self.host("a", 300.0), self.host("b", 900.0))
        self.assertEqual(list(result["rows"][0]["ratios"]), ["axrun again", "onnxruntime"])

    def test_shares_of_evidence_are_told_where_axrun_optimises(self):
        _, result, out = self.compare(self.host("a", 300.0), {"onnxruntime": self.host("b", 300.0)}, "--optimise", "1")
        self.assertEqual(result["summary"]["generated"]["1"],
                         {"models": 1, "share": 0.75, "below": [{"model": "tiny", "share": 0.75}]})
        self.assertIn("75% loops proved, code tested; 25% fallback", out)
        self.assertIn("75.0% of their time in generated kernels; under 90%: tiny 75%", out)
        self.assertNotIn("optimiser", result["summary"])  # the program does not say whether it has finished
        _, result, _ = self.compare(self.host("a", 300.0), {"onnxruntime": self.host("b", 300.0)})
        self.assertNotIn("generated", result["summary"])

    def test_whether_the_optimiser_has_finished_is_told(self):
        for settled, told, summary in (
                (dict(finished=True, seconds=9.2, left=0), "optimised in 9 s",
                 {"models": 1, "finished": 1, "longest_s": 9.2, "longest": "tiny", "unfinished": []}),
                (dict(finished=False, seconds=60, left=12), "not finished in 60 s, 12 left to try",
                 {"models": 1, "finished": 0, "longest_s": 0, "longest": None, "unfinished": ["tiny"]})):
            with self.subTest(told):
                _, result, out = self.compare(self.host("a", 300.0, settled=settled),
                                              {"onnxruntime": self.host("b", 300.0)}, "--optimise", "1")
                self.assertIn(told, out)
                self.assertEqual(result["summary"]["optimiser"]["1"], summary)

    def test_peers_that_are_not_built_are_said(self):
        _, result, out = self.against_ort(self.host("a", 300.0), self.host("b", 300.0))
        self.assertEqual(result["left_out"], {"openvino": "openvino_host is not built"})
        self.assertIn("left out: openvino", out)
        _, result, _ = self.against_ort(self.host("a", 300.0), self.host("b", 300.0), "--without", "openvino")
        self.assertEqual(result["left_out"], {})

    def test_model_that_one_host_refuses_is_listed_and_the_others_measured(self):
        for failure in ("refuse", "die", "short", "nameless"):
            with self.subTest(failure):
                _, result, out = self.compare(self.host("a", 300.0), {"bad": self.host("b", 300.0, failure),
                                                                      "good": self.host("c", 300.0)})
                row = result["rows"][0]
                self.assertNotIn("bad", row["ratios"])
                self.assertAlmostEqual(row["ratios"]["good"]["time"]["median"], 1, delta=0.05)
                self.assertAlmostEqual(row["programs"]["axrun"]["p50_us"], 300.0, delta=3)
                self.assertEqual([item["program"] for item in result["summary"]["cannot_run"]], ["bad"])
                self.assertIn("bad can't run tiny", out)

    def test_a_row_ends_when_its_time_is_up(self):
        _, result, _ = self.against_ort(self.host("a", 300.0), self.host("b", 300.0),
                                        "--budget", "2", "--launches", "400")
        self.assertGreaterEqual(result["rows"][0]["launches"], 2)
        self.assertLess(result["rows"][0]["launches"], 400)

    def test_reason_of_a_failure_is_what_the_host_said(self):
        with self.assertRaisesRegex(HostFailure, "exit 1: fake: the model is not supported"):
            HostProcess([self.host("a", 1.0, "refuse")], dict(os.environ), 10)

    def test_a_host_that_does_not_answer_is_given_up(self):
        with self.assertRaisesRegex(HostFailure, "no answer within"):
            HostProcess([self.host("a", 1.0, "silent")], dict(os.environ), 0.2)

    def test_mistakes_on_the_command_line_exit_with_1(self):
        subject = self.host("a", 300.0)
        for flags in (["--subject", "nowhere"], ["--subject", subject, "--only", "nothing"],
                      ["--subject", subject, "--peer", "x"], ["--subject", subject, "--threads", "0"],
                      ["--subject", subject, "--launches", "1"], ["--subject", subject, "--without", "nobody"],
                      ["--subject", subject, "--peer", "axrun=" + subject], ["--unknown"]):
            with self.subTest(flags):
                self.assertEqual(self.run_compare(*flags).returncode, 1)


class Gate(FakeHosts):
    def test_it_fails_on_a_model_over_its_limit(self):
        code, result, out = self.against_ort(self.host("a", 1500.0), self.host("b", 300.0), "--gate")
        self.assertEqual(code, 6)
        self.assertEqual(result["summary"]["over_limit"], [{"model": "tiny", "threads": 1}])
        self.assertIn("OVER LIMIT", out)

    def test_short_runs_are_not_flagged(self):
        _, result, _ = self.against_ort(self.host("a", 15.0), self.host("b", 3.0))
        self.assertEqual(result["summary"]["over_limit"], [])

    def test_it_fails_when_only_the_program_under_test_refuses(self):
        code, result, _ = self.against_ort(self.host("a", 300.0, "refuse"), self.host("b", 300.0), "--gate")
        self.assertEqual(code, 6)
        self.assertTrue(any("axrun can't run it" in sentence for sentence in result["missed"]))

    def test_it_fails_on_wrong_outputs(self):
        _, result, _ = self.against_ort(self.host("a", 300.0, output=tensor(1.0, -2.0, 0.6)), self.host("b", 300.0))
        self.assertIn("tiny: axrun is wrong by 5.0e-02", result["missed"])

    def test_it_fails_when_nothing_was_compared_with_onnx_runtime(self):
        code, result, _ = self.compare(self.host("a", 300.0), {"other": self.host("b", 300.0)}, "--gate")
        self.assertEqual(code, 6)
        self.assertEqual(result["missed"], ["no model was measured with both axrun and ONNX Runtime"])

    def test_limit_needs_both_the_ratio_and_the_time(self):
        row = lambda ratio, time: {"ratios": {"onnxruntime": {"time": {"median": ratio}}},
                                   "programs": {"axrun": {"p50_us": time}}}
        self.assertFalse(gate.over_limit(row(3.9, 1000)))
        self.assertFalse(gate.over_limit(row(9.0, 19)))
        self.assertTrue(gate.over_limit(row(4.1, 21)))


class Outputs(FakeHosts):
    def outputs_of(self, peer_output, operator="Relu", stored=RIGHT):
        """What is said of a peer's outputs, and the printed text."""
        self.add_model("other", operator, stored)
        _, result, out = self.against_ort(self.host("a", 300.0), self.host("b", 300.0, "", peer_output),
                                          "--only", "other")
        self.assertIn("onnxruntime", result["rows"][0]["ratios"], "checking must not keep it from being measured")
        return result["rows"][0]["programs"]["onnxruntime"]["outputs"], out

    def test_right_ones_pass(self):
        said, out = self.outputs_of(tensor(1.0, -2.0001, 0.5))
        self.assertEqual((said["against"], said["passed"]), ("stored", True))
        self.assertAlmostEqual(said["error"], 0.00005, delta=1e-6)
        self.assertNotIn("wrong", out)

    def test_wrong_ones_are_marked_and_still_measured(self):
        said, out = self.outputs_of(tensor(1.0, -2.0, 0.562))
        self.assertIs(said["passed"], False)
        self.assertIn("wrong by 3.1e-02", out)
        self.assertIn("onnxruntime on other: wrong by 3.1e-02", out)

    def test_errors_of_models_that_quantise_are_told_not_judged(self):
        said, out = self.outputs_of(tensor(1.0, -2.0, 0.562), "QuantizeLinear")
        self.assertIsNone(said["passed"])
        self.assertIn("differs by 3.1e-02", out)
        self.assertNotIn("wrong", out)

    def test_a_shape_that_differs_and_an_infinite_value_are_wrong_in_any_model(self):
        for output, words in ((tensor(1.0, -2.0), "has shape [2], not [3]"), (tensor(1.0, -2.0, math.inf), "finite"),
                              (b"", "is missing")):
            with self.subTest(words):
                with tempfile.TemporaryDirectory() as want, tempfile.TemporaryDirectory() as got:
                    for folder, content in ((want, RIGHT), (got, output)):
                        with open(os.path.join(folder, "output_0.pb"), "wb") as file:
                            file.write(content)
                    said = outputs.compare_folders(want, got, judged=False)
                self.assertIs(said["passed"], False)
                self.assertIn(words, said["note"])

    def test_a_program_that_saves_nothing_is_unchecked(self):
        said, _ = self.outputs_of(None)
        self.assertEqual((said["against"], said["passed"], said["note"]), (None, None, "it saved no outputs"))

    def test_nothing_to_compare_with_is_said(self):
        said, out = self.outputs_of(RIGHT, stored=None)
        self.assertIsNone(said["against"])
        self.assertIn("nothing to compare with", said["note"])
        self.assertIn("unchecked", out)


class Files(unittest.TestCase):
    def read(self, content):
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            return tensor_file.read(file.name)

    def test_all_ways_to_store_values(self):
        half, small = struct.pack("<e", -1.5), struct.unpack("<H", struct.pack("<e", 1.0))[0]
        for content, values in (
                (tensor(1.5, -2.0), [1.5, -2.0]),
                (field(1, 2) + field(2, 1) + field(4, struct.pack("<2f", 1.5, -2.0)), [1.5, -2.0]),
                (field(1, b"\x02") + field(2, 6) + field(5, b"\x07" + b"\xff" * 9 + b"\x01"), [7, -1]),
                (field(1, 1) + field(2, 10) + field(9, half), [-1.5]),
                (field(1, 1) + field(2, 10) + field(5, bytes([small & 127 | 128, small >> 7])), [1.0]),
                (field(1, 1) + field(2, 16) + field(9, b"\xc0\xbf"), [-1.5]),
                (field(1, 2) + field(2, 9) + field(9, b"\0\1"), [0, 1]),
                (field(2, 7) + field(9, struct.pack("<q", -5)), [-5])):
            with self.subTest(content):
                self.assertEqual(list(self.read(content).values), values)

    def test_damaged_files_and_strings_are_refused(self):
        for content in (b"\xff", b"\x08", RIGHT[:-1], field(1, 3) + RIGHT, field(2, 8) + field(6, b"text"), b""):
            with self.subTest(content), self.assertRaises(tensor_file.NotATensor):
                self.read(content)

    def test_error_without_numpy(self):
        with unittest.mock.patch.object(outputs, "numpy", None):
            self.check_errors()

    @unittest.skipUnless(outputs.numpy, "numpy is not installed")
    def test_error_with_numpy(self):
        self.check_errors()

    def check_errors(self):
        """Floats: relative to the largest value; integers: the share that differs."""
        error = lambda want, got: outputs.error_of(self.read(want), self.read(got))
        self.assertAlmostEqual(error(tensor(100.0, 0.0), tensor(100.0, 1.0)), 0.01)
        self.assertAlmostEqual(error(tensor(1e-5), tensor(2e-5)), 1e-3)
        self.assertEqual(error(tensor(math.nan, math.inf, 1.0), tensor(math.nan, math.inf, 1.0)), 0)
        self.assertEqual(error(tensor(1.0), tensor(math.nan)), math.inf)
        self.assertEqual(error(tensor(math.inf), tensor(-math.inf)), math.inf)
        self.assertEqual(error(tensor(shape=[0]), tensor(shape=[0])), 0)
        labels = lambda *values: tensor(*values, element_type=7, code="q")
        self.assertEqual(error(labels(1, 2, 3, 4), labels(1, 2, 3, 5)), 0.25)

    def test_models_that_quantise_or_hold_16_bit_floats_are_recognised(self):
        node = lambda operator: field(1, field(4, operator))
        branch = field(1, field(4, b"If") + field(5, field(6, node(b"DequantizeLinear"))))
        for graph, plain in ((node(b"Relu"), True), (node(b"QLinearConv"), False), (node(b"MatMulInteger"), False),
                             (branch, False), (field(5, tensor(1.0)), True),
                             (field(5, tensor(1.0, element_type=10, code="e")), False)):
            with self.subTest(graph), tempfile.NamedTemporaryFile() as file:
                file.write(field(7, graph))
                file.flush()
                self.assertIs(model_file.is_plain_float32(file.name), plain)


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


if __name__ == "__main__":
    unittest.main()
