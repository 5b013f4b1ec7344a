"""Tests of the cost curves with host programs that are scripts: their figures follow from the model's size.

Run: python3 tests/perf/curves_test.py
"""

import os
import subprocess
import sys
import tempfile
import unittest

PERF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf")
sys.path.insert(0, PERF)

from comparison import curve_models, curves  # noqa: E402
from comparison.measure import Plan  # noqa: E402
from comparison.models import Model  # noqa: E402
from comparison.programs import Host  # noqa: E402

# A run of model "N" takes N^EXPONENT us; it refuses models larger than MOST, and does not answer above SILENT.
FAKE_HOST = """#!%s -IS
import json, os, sys
EXPONENT, MOST, SILENT = %r, %r, %r
size = int(os.path.basename(sys.argv[1]))
if size > MOST:
    sys.exit("fake: %%d is too many" %% size)
if size > SILENT:
    sys.stdin.readline()
print(json.dumps(dict(engine="fake", version="1", load_ms=1, session_ms=3.0 * size, first_ms=1, start_to_first_ms=2)),
      flush=True)
for line in sys.stdin:
    if line == "quit\\n":
        break
    print(json.dumps(dict(times_us=[10.0 * size ** EXPONENT] * int(line.split()[1]))), flush=True)
"""


class Slope(unittest.TestCase):
    def test_of_a_power(self):
        self.assertAlmostEqual(curves.slope([(x, 7 * x ** 1.5) for x in (1, 3, 10, 200)]), 1.5)

    def test_of_a_constant(self):
        self.assertAlmostEqual(curves.slope([(1, 4.0), (2, 4.0), (8, 4.0)]), 0)

    def test_of_too_little(self):
        self.assertIsNone(curves.slope([]))
        self.assertIsNone(curves.slope([(3, 1.0)]))
        self.assertIsNone(curves.slope([(3, 1.0), (3, 2.0)]))
        self.assertIsNone(curves.slope([(1, 0.0), (2, 1.0)]))


class Growth(unittest.TestCase):
    def points(self, pairs):
        return [{"x": x, "programs": {"axrun": {"error": "no"} if y is None else {"p50_us": y}}} for x, y in pairs]

    def test_takes_the_upper_half(self):
        # Constant costs hide the growth at small sizes.
        growth = curves.growth_of(self.points([(1, 50.0), (2, 50.0), (4, 50.0), (8, 100.0), (16, 200.0)]), "axrun",
                                  "p50_us")
        self.assertAlmostEqual(growth["exponent"], 1)
        self.assertEqual((growth["from"], growth["to"]), (4, 16))

    def test_leaves_out_what_failed(self):
        growth = curves.growth_of(self.points([(1, 1.0), (2, 4.0), (4, 16.0), (8, None)]), "axrun", "p50_us")
        self.assertAlmostEqual(growth["exponent"], 2)
        self.assertEqual((growth["from"], growth["to"]), (2, 4))

    def test_of_one_point_is_unknown(self):
        self.assertIsNone(curves.growth_of(self.points([(1, 1.0), (2, None)]), "axrun", "p50_us"))


class FakeHosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def host(self, name, exponent, most=10**9, silent=10**9):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(FAKE_HOST % (sys.executable, exponent, most, silent))
        os.chmod(path, 0o755)
        return Host([path], dict(os.environ))

    def model(self, name, size):
        path = os.path.join(self.folder, str(size))
        with open(path, "w"):
            pass
        return Model(name, path, None)

    def measure(self, hosts, metrics=("time", "session", "start", "peak_rss"), sizes=(1, 10, 100)):
        curve = curve_models.Curve("fakes", "size", sizes, sizes, metrics, None)
        plan = Plan(launches=2, seconds=0, rounds=2, timeout=0.5)
        return curves.measure_curve("fakes", curve, sizes, hosts, plan, 1, self.model)

    def test_figures_and_growth(self):
        curve = self.measure({"axrun": self.host("a", 1), "peer": self.host("b", 2)})
        self.assertEqual([point["x"] for point in curve["points"]], [1, 10, 100])
        self.assertAlmostEqual(curve["growth"]["time"]["axrun"]["exponent"], 1)
        self.assertAlmostEqual(curve["growth"]["time"]["peer"]["exponent"], 2)
        self.assertAlmostEqual(curve["growth"]["session"]["peer"]["exponent"], 1)
        last = curve["points"][-1]
        self.assertAlmostEqual(last["ratios"]["peer"]["time"]["median"], 0.01)
        text = curves.text(curve)
        for expected in ("x^1.00", "x^2.00", "0.01 [0.01, 0.01]", "100000", "session creation, ms", "peak memory, MB"):
            self.assertIn(expected, text)

    def test_a_peer_that_fails_is_listed_and_the_others_go_on(self):
        curve = self.measure({"axrun": self.host("a", 1), "refuser": self.host("b", 1, most=10),
                              "sleeper": self.host("c", 1, silent=1)}, ("time",))
        self.assertEqual([point["programs"]["axrun"]["p50_us"] for point in curve["points"]], [10, 100, 1000])
        failures = curves.failures(curve)
        self.assertEqual(len(failures), 3)
        self.assertIn("refuser at size = 100: exit 1: fake: 100 is too many", failures)
        self.assertIn("sleeper at size = 10: no answer within 0.5 s", failures)
        self.assertEqual(curve["growth"]["time"]["refuser"]["to"], 10)
        self.assertIsNone(curve["growth"]["time"]["sleeper"])
        self.assertIn("failed", curves.text(curve))

    def test_a_subject_that_fails_does_not_end_the_curve(self):
        curve = self.measure({"axrun": self.host("a", 1, most=1), "peer": self.host("b", 1)}, ("time", "peak_rss"))
        self.assertEqual([("error" in point["programs"]["axrun"], "peer" in point["ratios"])
                          for point in curve["points"]], [(False, True), (True, False), (True, False)])
        self.assertIn("failed", curves.text(curve))

    def test_result_names_the_versions(self):
        hosts = {"axrun": self.host("a", 1), "refuser": self.host("b", 1, most=0)}
        result = curves.result([self.measure(hosts, ("time",), (1, 2))], hosts, Plan(), {"other": "not built"})
        self.assertEqual(result["kind"], "curves")
        self.assertEqual(result["programs"]["axrun"], {"engine": "fake", "version": "1"})
        self.assertEqual(result["programs"]["refuser"], {"engine": "", "version": ""})
        self.assertEqual(result["left_out"], {"other": "not built"})


class Graphs(unittest.TestCase):
    def test_have_as_many_nodes_as_asked_for(self):
        for make in (curve_models.chain, curve_models.ladder):
            for count in (10, 1000):
                self.assertEqual(len(make(count).nodes), count)

    def test_every_value_is_used_or_an_output(self):
        for graph in (curve_models.chain(50), curve_models.ladder(50)):
            made = [name for node in graph.nodes for name in node.outputs]
            used = {name for node in graph.nodes for name in node.inputs} | {port.name for port in graph.outputs}
            self.assertEqual(len(set(made)), len(made))
            self.assertLessEqual(set(made) | set(graph.initializers), used)

    def test_odd_numbers_of_nodes_are_refused(self):
        for make in (curve_models.chain, curve_models.ladder):
            for count in (0, 7):
                with self.assertRaises(ValueError):
                    make(count)

    def test_all_curves_build_at_their_sizes(self):
        for name, curve in curve_models.CURVES.items():
            self.assertLessEqual(set(curve.quick_sizes), set(curve.sizes), name)
            self.assertLessEqual(set(curve.metrics), set(curves.METRICS))
            self.assertTrue(curve.graph(curve.quick_sizes[0]).nodes)
        layers = curve_models.CURVES["depth"].graph
        self.assertGreater(len(layers(4).nodes), 3 * len(layers(1).nodes))
        self.assertEqual(curve_models.CURVES["batch"].graph(4).inputs[0].shape[0], 4)
        self.assertEqual(curve_models.CURVES["sequence"].graph(32).inputs[0].shape, (1, 32))


class CommandLine(unittest.TestCase):
    def test_mistakes(self):
        for arguments in (["--only", "nothing"], ["--sizes", "10"], ["--only", "chain", "--sizes", "7"],
                          ["--threads", "0"], ["--launches", "1"], ["--subject", "/nowhere"], ["--typo"],
                          ["--peer", "PROGRAM"], ["--peer", "axrun=/bin/true"], ["--only", "batch", "--sizes", "0"],
                          ["--only", "sequence", "--sizes", "100000"]):
            done = subprocess.run([sys.executable, os.path.join(PERF, "curves"), *arguments], capture_output=True,
                                  text=True, check=False)
            self.assertEqual((done.returncode, done.stderr[:8]), (1, "curves: "), arguments)


if __name__ == "__main__":
    unittest.main()
