"""Whether one build of axrun is slower than another: every model is measured, and what looks slower is measured again."""

import math
import os
from dataclasses import dataclass
from statistics import mean, stdev

from comparison.comparison import Comparison
from comparison.measure import Plan
from comparison.programs import SUBJECT, Host

BASE = "base"

# Slower by less than this is not worth a word: two builds of the same sources differ by as much.
TIME_TOLERANCE = 0.02
START_TOLERANCE = 0.05
PEAK_RSS_TOLERANCE = 0.05

SECONDS = 1.5  # of rounds for each model and thread count


@dataclass
class Slowdown:
    """One thing that got worse on one model."""
    model: str
    threads: int
    what: str  # "time", "start to first answer", "peak memory", or what fails that does not in the base
    ratio: float  # this build / base; None for a failure
    low: float  # lower end of the ratio's interval

    def __str__(self):
        if self.ratio is None:
            return "%s, %d threads: %s" % (self.model, self.threads, self.what)
        return "%s, %d threads: %s x%.3f (at least x%.3f)" % (self.model, self.threads, self.what, self.ratio, self.low)


def slowdowns(row):
    """What is worse than the tolerances in a row that measured this build against BASE."""
    here, base = row["programs"][SUBJECT], row["programs"][BASE]
    if "error" in here:
        return [] if "error" in base else [Slowdown(row["model"], row["threads"], here["error"], None, None)]
    if "error" in base:
        return []
    if here["outputs"]["passed"] is False and base["outputs"]["passed"]:
        return [Slowdown(row["model"], row["threads"], "its outputs are wrong", None, None)]
    ratios = row["ratios"][BASE]
    found = [("time", ratios["time"]["median"], ratios["time"]["low"], TIME_TOLERANCE),
             ("start to first answer", ratios["start"]["median"], ratios["start"]["low"], START_TOLERANCE),
             ("peak memory", ratios["peak_rss"], ratios["peak_rss"], PEAK_RSS_TOLERANCE)]
    return [Slowdown(row["model"], row["threads"], what, ratio, low)
            for what, ratio, low, tolerance in found if low > 1 + tolerance]


def overall(rows):
    """(geometric mean, low, high) of this build's time over the base's, over all rows; None with fewer than two.

    The interval is that of the mean of the logarithms: rows err independently of each other.
    """
    logs = [math.log(row["ratios"][BASE]["time"]["median"]) for row in rows if BASE in row["ratios"]]
    if len(logs) < 2:
        return None
    width = 2.0 * stdev(logs) / math.sqrt(len(logs))
    return tuple(math.exp(x) for x in (mean(logs), mean(logs) - width, mean(logs) + width))


@dataclass
class Judgement:
    """What a whole comparison of two builds came to."""
    rows: list
    again: list  # rows of the second look
    confirmed: list  # Slowdowns seen both times
    overall: tuple  # see overall(), of the first look


def judge(here, base, models, threads, programs_folder, told, seconds=SECONDS):
    """Compares two host programs; `told` is called with each row as soon as it is measured.

    What looks slower is measured again, four times as long: of a hundred rows some intervals miss the truth by chance,
    hardly one does so twice.
    """
    hosts = {SUBJECT: Host([here], dict(os.environ)), BASE: Host([base], dict(os.environ))}

    def look(plan, some_models, some_threads):
        comparison = Comparison(hosts, some_models, some_threads, plan, programs_folder, set())
        for row in comparison.run():
            told(row)
        return comparison.rows

    rows = look(Plan(launches=4, seconds=seconds, rounds=4), models, threads)
    suspects = {(item.model, item.threads, item.what) for row in rows for item in slowdowns(row)}
    again = []
    for model in models:
        counts = [count for count in threads if any(suspect[:2] == (model.name, count) for suspect in suspects)]
        if counts:
            again += look(Plan(launches=8, seconds=4 * seconds, rounds=16), [model], counts)
    confirmed = [item for row in again for item in slowdowns(row)
                 if (item.model, item.threads, item.what) in suspects]
    return Judgement(rows, again, confirmed, overall(rows))
