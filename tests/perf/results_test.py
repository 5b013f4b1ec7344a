"""Tests of the page of perf/results, and that it is the one that follows from the files.

Run: python3 tests/perf/results_test.py
"""

import copy
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

from page_test import Reader, Recorder, comparison, row

from comparison import page, results


def measured(date, seconds, rows, isa="avx512"):
    document = comparison(rows)
    document.update(taken_at=date + "T10:00:00+0000", command="perf/compare --results x", optimise_seconds=seconds)
    document["machine"]["isa"] = isa
    return document


class Standalone(Recorder):
    def standalone(self, svg):
        return svg + "<!-- alone -->"


class Page(unittest.TestCase):
    def found(self, *named):
        """What is found below a folder that holds the documents, {name: document}, each where it belongs."""
        with tempfile.TemporaryDirectory() as root:
            for name, document in named:
                path = os.path.join(root, results.path_for(document, name))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf8") as file:
                    json.dump(document, file)
            return results.find(root)

    def test_a_machine_has_a_name_for_folders(self):
        describe = lambda text: results.machine_name({"processor": text, "isa": "avx2", "processors": 2})
        self.assertEqual(describe("Intel(R) Xeon(R) Processor @ 2.50GHz"), "intel-xeon-2.50ghz-avx2-2cpu")
        self.assertEqual(describe("AMD EPYC-Rome Processor"), "amd-epyc-rome-avx2-2cpu")
        self.assertEqual(describe("../x/y"), "..-x-y-avx2-2cpu")

    def test_newest_first_and_optimised_before_precompiled(self):
        found = self.found(("a", measured("2024-05-01", 9, [row("m", 1, 0.5)])),
                           ("b", measured("2024-05-02", 0, [row("m", 1, 0.9)])),
                           ("c", measured("2024-05-02", 30, [row("m", 1, 0.3)])))
        self.assertEqual([result.name for result in found], ["c", "b", "a"])
        text = results.page(found)
        self.assertLess(text.index("2cpu: c"), text.index("2cpu: b"))
        for expected in ("| m | 1 | 100 | 200 |", "0.30 [0.27, 0.33]", "optimised for at most 30 s", "precompiled kernels only",
                         "c_1.svg", "c.json", "- Missed: a <limit>.", "    perf/compare --results x"):
            self.assertIn(expected, text)

    def test_the_summary_is_of_the_newest_day(self):
        found = self.found(("old", measured("2024-05-01", 9, [row("m", 1, 0.5)])),
                           ("new", measured("2024-05-02", 30, [row("m", 1, 0.25), row("n", 1, 0.25)])),
                           ("start", measured("2024-05-02", 0, [row("m", 1, 0.75)])))
        text = results.summary(found)
        self.assertIn("2024-05-02", text)
        self.assertIn("| optimised for at most 30 s | 1 | ONNX Runtime | 2 | 0.25 | 2, 0, 0 | 0.50 | 0.30 |", text)
        self.assertIn("| precompiled kernels only | 1 | ONNX Runtime | 1 | 0.75 |", text)
        self.assertNotIn("0.50 | 1, 0, 0", text)
        readme = "# x\n%s\nold figures\n%s\nmore\n" % (results.BEGIN, results.END)
        made = results.with_summary(readme, found)
        self.assertNotIn("old figures", made)
        self.assertTrue(made.startswith("# x\n") and made.endswith("%s\nmore\n" % results.END))
        self.assertEqual(results.with_summary(made, found), made)
        with self.assertRaisesRegex(ValueError, "lacks the lines"):
            results.with_summary("# x\n", found)

    def test_how_far_the_optimiser_came(self):
        document = measured("2024-05-01", 9, [row("m", 1, 0.5)])
        document["summary"]["optimiser"] = {"1": {"models": 5, "finished": 3}, "2": {"models": 2, "finished": 2}}
        self.assertIn("nothing left to try in 5 of 7 models", results.summary(self.found(("r", document))))

    def test_what_is_kept(self):
        document = measured("2024-05-01", 9, [row("m", 1, 0.5)])
        whole = {"finished": True, "left": 0, "evidence": {"fallback": 1.0}, "kernels": [{}], "cache": {"folder": "/x"}}
        document["rows"][0]["programs"]["axrun"]["settled"] = [whole]
        [kept] = results.kept(document)["rows"][0]["programs"]["axrun"]["settled"]
        self.assertEqual(kept, {"finished": True, "left": 0, "evidence": {"fallback": 1.0}})
        self.assertIn("kernels", whole)

    def test_plots_lack_what_could_not_run(self):
        plots = Standalone()
        document = measured("2024-05-01", 9, [row("slow", 1, 3.0), row("fast", 1, 0.2), row("refused", 1, 1.0)])
        refused = copy.deepcopy(document["rows"][2])
        document["rows"][2] = {**refused, "ratios": {}}
        files = results.plot_files(self.found(("r", document)), plots)
        [path] = files
        self.assertTrue(path.endswith("2024-05-01/r_1.svg"))
        self.assertIn("alone", files[path])
        self.assertEqual(plots.calls[0][1][0], ["fast", "slow"])

    @unittest.skipIf(not importlib.util.find_spec(page.PLOTTER), "needs matplotlib")
    def test_a_plot_of_its_own(self):
        from comparison import plots
        [svg] = results.plot_files(self.found(("r", measured("2024-05-01", 9, [row("m", 1, 0.5)]))), plots).values()
        self.assertTrue(svg.startswith("<svg"))
        self.assertIn("svg{--ink:", svg)
        Reader(svg)


class Tree(unittest.TestCase):
    """What is in the tree follows from the files there. After measuring: perf/page --results."""

    def test_the_pages_are_those_of_the_files(self):
        found = results.find()
        self.assertGreater(len(found), 0)
        for path, want in ((results.PAGE, results.page(found)), ("README.md", None)):
            with open(os.path.join(results.ROOT, path), encoding="utf8") as file:
                there = file.read()
            self.assertEqual(there, want or results.with_summary(there, found), path)

    def test_every_plot_is_there_and_no_other(self):
        wanted = set(results.plot_files(results.find(), Standalone()))
        listed = subprocess.run(["git", "-C", results.ROOT, "ls-files", "--cached", "--others", "--exclude-standard", results.FOLDER],
                                capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(wanted, {path for path in listed if path.endswith(".svg")})

    def test_files_lie_where_they_belong(self):
        for result in results.find():
            self.assertEqual(results.path_for(result.document, result.name), result.path(".json"))


if __name__ == "__main__":
    unittest.main()
