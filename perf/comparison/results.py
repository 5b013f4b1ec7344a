"""The page perf/results/README.md and the figures in the main README, from what perf/compare has left below perf/results.

A file is results/MACHINE/DATE/NAME.json, as `perf/compare --results NAME` wrote it. Plots are SVG files beside the data.
"""

import json
import os
import re
from dataclasses import dataclass

from comparison import markdown
from comparison.comparison_section import findings
from comparison.curves_section import threads_text
from comparison.markup import title
from comparison.programs import AGAIN, SUBJECT

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join("perf", "results")
PAGE = os.path.join(FOLDER, "README.md")
BEGIN, END = "<!-- perf/page --results writes this -->", "<!-- until here -->"
_MARKS = "●◆■▲▼✚★✖"  # as plots.SHAPES draws them


@dataclass
class Result:
    """A file of measurements."""
    machine: str
    date: str
    name: str
    document: dict

    def path(self, ending):
        """Below ROOT, with slashes."""
        return "/".join((FOLDER.replace(os.sep, "/"), self.machine, self.date, self.name + ending))

    @property
    def optimised(self):
        return self.document.get("optimise_seconds", 0)


def machine_name(machine):
    """A folder's name for a machine as machine.describe() tells of it."""
    words = re.sub(r"\((R|TM|r|tm)\)|\b(CPU|Processor)\b|@", " ", machine["processor"])
    parts = re.findall(r"[a-z0-9.]+", words.lower()) + [machine["isa"], "%dcpu" % machine["processors"]]
    return "-".join(parts)


def path_for(document, name):
    """Where a document that was just measured belongs, below ROOT."""
    return Result(machine_name(document["machine"]), document["taken_at"][:10], name, document).path(".json")


def kept(document):
    """What is kept of a document: all but the lists of what the optimiser did in each launch, megabytes that name folders
    of the machine. Its counts, times and shares of evidence stay."""
    rows = []
    for row in document["rows"]:
        programs = {name: {**program, "settled": [_counts(report) for report in program["settled"]]}
                    if "settled" in program else program for name, program in row["programs"].items()}
        rows.append({**row, "programs": programs})
    return {**document, "rows": rows}


def _counts(report):
    return {key: value for key, value in report.items() if key == "evidence" or not isinstance(value, (dict, list))}


def find(root=ROOT):
    """All results, newest first; of a day those of the most models first."""
    found = []
    for folder, _, names in os.walk(os.path.join(root, FOLDER)):
        for name in names:
            if name.endswith(".json"):
                with open(os.path.join(folder, name), encoding="utf8") as file:
                    document = json.load(file)
                machine, date = os.path.relpath(folder, os.path.join(root, FOLDER)).split(os.sep)
                found.append(Result(machine, date, name[:-len(".json")], document))
    found.sort(key=lambda result: (result.machine, result.name))
    found.sort(key=lambda result: (result.date, result.optimised > 0, len(result.document["rows"])), reverse=True)
    return found


def page(results):
    """The text of PAGE."""
    lines = ["# Results", "", "Made by `perf/page --results` from the files in this folder; [`perf/README.md`](../README.md) says how they were "
             "measured and what the columns mean. Ratios are axrun's figure over the peer's: below 1 axrun is faster, or smaller. "
             "Brackets hold 95% intervals.", ""]
    for result in results:
        lines += _section(result)
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(result):
    document = result.document
    relative = result.path("")[len(FOLDER) + 1:]
    lines = ["## %s, %s: %s" % (result.date, result.machine, result.name), "", _origin(document), ""]
    lines += ["    " + document["command"], "", "[The data](%s.json)." % relative, ""]
    lines += _means(document) + [""]
    for threads in _thread_counts(document):
        lines += _plot(result, threads, _plot_path(result, threads)[len(FOLDER) + 1:]) + [""]
    told = findings(document)
    lines += ["- " + sentence for sentence in told] + [""] * bool(told)
    return lines + [markdown.rows(document), ""]


def summary(results):
    """What stands in the main README: the means of the newest day, and one plot."""
    newest = [result for result in results if (result.machine, result.date) == (results[0].machine, results[0].date)]
    first = newest[0]
    lines = [_origin(first.document), ""]
    lines += _table(["kernels"] + _MEANS_HEADING, [[_kernels(result.document)] + cells for result in newest
                                                   for cells in _means_rows(result.document)])
    threads = _thread_counts(first.document)[0]
    return "\n".join(lines + [""] + _plot(first, threads, _plot_path(first, threads)))


def with_summary(readme, results):
    """The main README with its figures made anew. Raises ValueError where it has no place for them."""
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise ValueError("README.md lacks the lines %s and %s" % (BEGIN, END))
    before, rest = readme.split(BEGIN)
    return "%s%s\n\n%s\n\n%s%s" % (before, BEGIN, summary(results), END, rest.split(END)[1])


def plot_files(results, plots):
    """{path below ROOT: SVG} of every plot that the texts name; plots: the module of that name."""
    files = {}
    for result in results:
        names = list(result.document["programs"])
        for threads in _thread_counts(result.document):
            rows = [row for row in result.document["rows"] if row["threads"] == threads and row["ratios"]]
            peers = _peers(result.document)
            rows.sort(key=lambda row: next(row["ratios"][peer]["time"]["median"] for peer in peers if peer in row["ratios"]))
            series = {names.index(peer): [row["ratios"].get(peer, {}).get("time") for row in rows] for peer in peers}
            files[_plot_path(result, threads)] = plots.standalone(plots.ratios([row["model"] for row in rows], series))
    return files


def _origin(document):
    machine = document["machine"]
    versions = ", ".join("%s %s" % (title(said["engine"]), said["version"])
                         for name, said in document["programs"].items() if name not in (SUBJECT, AGAIN))
    busy = sorted(row["other_programs_percent"] for row in document["rows"])
    commit = ", axrun at " + document["commit"] if document.get("commit") else ""
    return ("%s on %d processors of type %s (%s)%s, against %s; %s. Other programs used %.0f%% of the machine at the median row, %.0f%% "
            "at most.%s" % (document["taken_at"][:10], machine["processors"], machine["processor"],
                          machine["isa"], commit, versions, _kernels(document), busy[len(busy) // 2], busy[-1],
                            _effort(document)))


def _effort(document):
    """How far the optimiser came."""
    said = document["summary"].get("optimiser", {}).values()
    models, finished = (sum(one[key] for one in said) for key in ("models", "finished"))
    return " The optimiser had nothing left to try in %d of %d models when its time was over." % (finished, models) if models else ""


def _kernels(document):
    seconds = document.get("optimise_seconds", 0)
    return "optimised for at most %g s" % seconds if seconds else "precompiled kernels only"


_RATIOS = ["time of a run", "first answer", "peak memory"]
_MEANS_HEADING = ["threads", "peer", "models", _RATIOS[0], "faster, slower, not told apart", *_RATIOS[1:]]


def _means(document):
    return _table(_MEANS_HEADING, _means_rows(document))


def _means_rows(document):
    """Geometric means, for each thread count and peer."""
    return [[threads, title(peer), str(means["models"]), "%.2f" % means["time_ratio"],
             "%(faster)d, %(slower)d, %(not distinguishable)d" % means, "%.2f" % means["start_ratio"],
             "%.2f" % means["peak_rss_ratio"]]
            for threads, peers in document["summary"]["by_threads"].items() for peer, means in peers.items() if peer != AGAIN]


def _table(heading, rows):
    rule = ["---:" if name in ("threads", "models") or name in _RATIOS else "---" for name in heading]
    return ["| " + " | ".join(cells) + " |" for cells in [heading, rule] + rows]


def _thread_counts(document):
    return sorted({row["threads"] for row in document["rows"] if row["ratios"]})


def _peers(document):
    return [name for name in document["programs"] if name not in (SUBJECT, AGAIN)]


def _plot_path(result, threads):
    return result.path("_%d.svg" % threads)


def _plot(result, threads, path):
    """The picture, and how to read it. Its marks have the colours of a style sheet, here their shapes must do."""
    names = list(result.document["programs"])
    key = ", ".join("%s %s" % (_MARKS[names.index(peer) % len(_MARKS)], title(peer)) for peer in _peers(result.document))
    about = "ratio of axrun's time of a run to the peer's, %s, %s" % (threads_text(threads), _kernels(result.document))
    return ["![%s](%s)" % (about, path), "",
            "*%s (%s), with 95%% intervals: left of 1 axrun is faster; hollow marks cannot be told from 1.*" %
            (about[0].upper() + about[1:], key)]
