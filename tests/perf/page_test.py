"""Tests of the page: made from canned figures, with stand-ins for the plots where matplotlib is missing.

Run: python3 tests/perf/page_test.py
"""

import html.parser
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest

PERF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf")
sys.path.insert(0, PERF)

from comparison import markdown, page, report  # noqa: E402

EVIL = "evil<script>alert('$x$')</script>&\""
VOID = {"meta", "br"}


def estimate(middle):
    low, high = middle / 1.1, middle * 1.1
    verdict = "slower" if low > 1 else "faster" if high < 1 else "not distinguishable"
    return {"median": middle, "low": low, "high": high, "verdict": verdict}


def program(engine, microseconds, share=None):
    return {"p50_us": microseconds, "min_us": microseconds, "p99_us": 2 * microseconds, "runs": 10, "start_ms": 12.0,
            "starts_ms": [12.0], "load_ms": 3.0, "session_ms": 2.0, "first_ms": 1.0, "start_to_first_ms": 4.0,
            "peak_rss_bytes": 12_300_000, "engine": engine, "version": "1", "share_of_limit": share,
            "outputs": {"against": "stored", "error": 0.5, "passed": engine != "openvino", "note": ""}}


def row(model, threads, ratio, share=0.25):
    """axrun runs it in 100 us; OpenVINO can't."""
    return {"model": model, "threads": threads, "launches": 2, "seconds": 1.0, "steal_percent": 1.5,
            "other_programs_percent": 2.5, "floor_us": 25.0,
            "programs": {"axrun": program("axrun", 100.0, share), "onnxruntime": program("onnxruntime", 100.0 / ratio),
                         "openvino": {"error": "exit 2: <b>%s</b>" % model}},
            "ratios": {"onnxruntime": {"time": estimate(ratio), "start": estimate(0.5), "session": estimate(0.4),
                                       "peak_rss": 0.3, "rounds": 5}}}


def comparison(rows):
    return {"schema": 2, "taken_at": "2024-05-01T00:00:00+0000", "limits": None, "rows": rows, "missed": ["a <limit>"],
            "machine": {"processor": "Some & Processor", "processors": 2, "kernel": "6"},
            "left_out": {"tvm": "not <here>"}, "plan": {"launches": 2, "seconds": 1.0, "timeout": 5},
            "summary": report.summarise(rows),
            "programs": {name: {"engine": name, "version": "1"} for name in ("axrun", "onnxruntime", "openvino")}}


def curves_document():
    points = [{"x": x, "programs": {"axrun": program("axrun", 10.0 * x), "peer": {"error": "<no> %d" % x}},
               "ratios": {}} for x in (10, 100)]
    growth = {"axrun": {"exponent": 1.0, "from": 10, "to": 100}, "peer": None}
    curve = {"name": "chain", "title": "a <chain>", "variable": "nodes", "threads": 1, "metrics": ["time", "peak_rss"],
             "points": points, "growth": {"time": growth, "peak_rss": growth}}
    return {**comparison([]), "kind": "curves", "curves": [curve], "rows": None}


class Recorder:
    """Stands in for the module `plots`."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        def draw(*arguments):
            self.calls.append((name, arguments))
            return "<svg></svg>"
        return draw


class Reader(html.parser.HTMLParser):
    """Fails on elements that are not closed in order; collects element names and what is written outside <style>."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.words = [], set(), []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.elements.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.add(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)


def render(*documents, plots=None):
    text = page.render(documents, plots or Recorder())
    reader = Reader(text)
    return text, reader.elements, " ".join(reader.words)


def curves_only():
    document = curves_document()
    del document["rows"]
    return document


class Comparison(unittest.TestCase):
    def test_has_every_model_and_escapes_names(self):
        text, elements, words = render(comparison([row("mnist", 1, 0.5), row(EVIL, 1, 1.01), row(EVIL, 2, 3.0)]))
        self.assertNotIn("script", elements)
        self.assertNotIn("<script", text)
        for expected in ("mnist", EVIL, "exit 2: <b>mnist</b>", "not <here>", "a <limit>", "Some & Processor", "0.500"):
            self.assertIn(expected, words)

    def test_is_complete_in_itself(self):
        text, elements, _ = render(comparison([row("mnist", 1, 0.5)]))
        self.assertFalse(elements & {"script", "link", "img", "iframe"})
        self.assertNotIn("http", text)
        self.assertNotIn("url(", text)

    def test_summary_in_words(self):
        _, _, words = render(comparison([row("a", 1, 0.5), row("b", 1, 2.0), row("c", 1, 1.0)]))
        self.assertIn("With 1 thread, over the 3 models that both run, axrun takes 1.00 times as long as ONNX Runtime "
                      "(geometric mean); it is faster on 1, slower on 1, not distinguishable on 1.", words)

    def test_plots_are_sorted_and_lack_what_could_not_run(self):
        plots = Recorder()
        render(comparison([row("slow", 1, 3.0), row("fast", 1, 0.2), row("fast", 2, 0.3)]), plots=plots)
        ratios = [arguments for name, arguments in plots.calls if name == "ratios"]
        self.assertEqual([labels for labels, _ in ratios], [["fast", "slow"], ["fast"]])
        self.assertEqual(list(ratios[0][1]), [1])  # only ONNX Runtime has ratios
        values = [arguments for name, arguments in plots.calls if name == "values"]
        self.assertEqual(len(values), 4)  # share of the limit twice, start, memory
        self.assertEqual(values[0][1], {0: [25.0, 25.0], 1: [None, None], 2: [None, None]})

    def test_no_limit_no_plot_of_it(self):
        plots = Recorder()
        render(comparison([row("a", 1, 3.0, share=None)]), plots=plots)
        self.assertEqual([name for name, _ in plots.calls], ["ratios", "values", "values"])

    def test_nothing_measured(self):
        render(comparison([]))


class Markdown(unittest.TestCase):
    def test_a_line_for_each_row(self):
        lines = markdown.table(comparison([row("mnist", 1, 0.5), row("z|b", 2, 3.0)])).splitlines()
        heading, rule, first, second = [line for line in lines if line.startswith("|")]
        self.assertEqual(heading.count("|"), rule.count("|"))
        self.assertEqual(first.count("|"), rule.count("|"))
        self.assertIn("| mnist | 1 | 100 | 200 | 25% | 0.50 [0.45, 0.55] | 0.50 | 0.30 | can't run |", first)
        self.assertIn("z\\|b | 2 |", second)
        self.assertIn("**slower**", second)


class Curves(unittest.TestCase):
    def test_tables_growth_and_failures(self):
        plots = Recorder()
        _, _, words = render(curves_only(), plots=plots)
        for expected in ("a <chain>, against nodes, 1 thread", "x^1.00", "peer at nodes = 100: <no> 100", "failed"):
            self.assertIn(expected, words)
        self.assertEqual(plots.calls[0][1][2], {0: [(10, 100.0), (100, 1000.0)], 1: []})

    def test_several_documents_on_one_page(self):
        _, _, words = render(comparison([row("mnist", 1, 0.5)]), curves_only())
        self.assertLess(words.index("mnist"), words.index("a <chain>"))

    def test_another_kind_of_document(self):
        with self.assertRaises(ValueError):
            page.render([{"context": {}, "benchmarks": []}], Recorder())


class CommandLine(unittest.TestCase):
    def run_page(self, *arguments, **options):
        return subprocess.run([sys.executable, page.SCRIPT, *arguments], capture_output=True, text=True, check=False,
                              **options)

    def test_mistakes(self):
        for arguments in ([], ["a.json"], ["--html", "out.html"], ["a.json", "--html", "x", "--typo"],
                          ["a.json", "--html", "x", "--markdown"], ["a.json", "b.json", "--markdown"]):
            self.assertEqual(self.run_page(*arguments).returncode, 1, arguments)

    @unittest.skipIf(not importlib.util.find_spec(page.PLOTTER), "needs matplotlib")
    def test_a_page_with_plots(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            document = json.dumps(comparison([row("mnist", 1, 0.5), row(EVIL, 1, 1.01)]))
            done = self.run_page("-", "--html", path, input=document)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(path) as file:
                text = file.read()
            self.assertEqual(text.count("<svg"), 4)
            self.assertNotIn("<script", text)
            Reader(text)
            self.assertEqual(self.run_page(os.path.join(folder, "none"), "--html", path).returncode, 1)
            self.assertEqual(self.run_page("-", "--html", path, input="{").returncode, 1)
            self.assertEqual(self.run_page("-", "--html", path, input="{}").returncode, 1)
            self.assertEqual(self.run_page("-", "--html", folder, input=document).returncode, 1)


@unittest.skipIf(not importlib.util.find_spec(page.PLOTTER), "needs matplotlib")
class Plots(unittest.TestCase):
    @property
    def plots(self):
        from comparison import plots
        return plots

    def check(self, svg):
        self.assertTrue(svg.startswith("<svg"))
        for name in ("--ink", "--grid"):
            self.assertIn("var(%s)" % name, svg)
        for stand_in in ("#010101", "#020202", "#030303", "#0400"):
            self.assertNotIn(stand_in, svg)
        Reader(svg)

    def test_ratios(self):
        svg = self.plots.ratios(["one", EVIL], {1: [estimate(0.1), None], 9: [estimate(1.0), estimate(20.0)]})
        self.check(svg)
        self.assertIn("var(--program-1)", svg)
        self.assertIn("var(--paper)", svg)  # a hollow mark
        self.assertIn("evil&lt;script&gt;", svg)

    def test_values_and_curves(self):
        self.check(self.plots.values(["one"], {0: [5.0], 1: [None]}, line=100))
        self.check(self.plots.curves("x", "y", {0: [(1, 2.0), (10, 20.0)], 1: []}))

    def test_nothing_to_show(self):
        self.check(self.plots.ratios([], {}))
        self.check(self.plots.values([], {}))
        self.check(self.plots.curves("x", "y", {0: []}))

    def test_stand_in_has_what_the_module_has(self):
        for name in ("ratios", "values", "curves"):
            self.assertIsInstance(getattr(self.plots, name), types.FunctionType)


if __name__ == "__main__":
    unittest.main()
