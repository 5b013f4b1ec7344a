"""Cost curves: how time and memory of each program grow with one size of a model."""

import math
import tempfile
import time
from dataclasses import dataclass

from comparison import machine
from comparison.measure import measure
from comparison.programs import SUBJECT

SCHEMA = 1


@dataclass(frozen=True)
class Metric:
    """A figure of perf/compare's rows."""
    title: str
    unit: str
    key: str  # in a program's part of a row
    scale: float = 1.0  # from the row's unit to `unit`


METRICS = {  # named as in a row's `ratios`
    "time": Metric("time of a run", "us", "p50_us"),
    "session": Metric("session creation", "ms", "session_ms"),
    "start": Metric("time to the first answer", "ms", "start_ms"),
    "peak_rss": Metric("peak memory", "MB", "peak_rss_bytes", 1e-6),
}


def measure_curve(name, curve, sizes, hosts, plan, threads, model_of):
    """One entry of `curves` in the result; a point in which a program fails holds its reason, and the others go on.

    model_of: (name, size) -> Model, as in curve_models.
    """
    points = []
    for size in sizes:
        model = model_of(name, size)
        model.read()
        with tempfile.TemporaryDirectory() as scratch:
            points.append({"x": size, **measure(model.arguments, threads, hosts, plan, scratch)})
    growth = {metric: {program: growth_of(points, program, METRICS[metric].key) for program in hosts}
              for metric in curve.metrics}
    return {"name": name, "title": curve.title, "variable": curve.variable, "threads": threads,
            "metrics": list(curve.metrics), "points": points, "growth": growth}


def growth_of(points, program, key):
    """Exponent e of y ~ x^e over the upper half of the points that the program ran, or None when these are too few."""
    pairs = [(point["x"], point["programs"][program][key]) for point in points
             if "error" not in point["programs"][program]]
    upper = sorted(pairs)[-max(2, math.ceil(len(pairs) / 2)):]
    exponent = slope(upper)
    return None if exponent is None else {"exponent": exponent, "from": upper[0][0], "to": upper[-1][0]}


def slope(pairs):
    """Least-squares slope of log y against log x; None for fewer than two different x, or where y is not positive."""
    if len({x for x, _ in pairs}) < 2 or min(y for _, y in pairs) <= 0:
        return None
    logs = [(math.log(x), math.log(y)) for x, y in pairs]
    mean_x, mean_y = (sum(column) / len(logs) for column in zip(*logs))
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def result(curves, hosts, plan, left_out):
    """Everything, as perf/README.md describes it."""
    versions = {}
    for name in hosts:
        said = [point["programs"][name] for curve in curves for point in curve["points"]
                if point["programs"][name].get("engine")]
        versions[name] = {key: said[0][key] if said else "" for key in ("engine", "version")}
    return {"kind": "curves", "schema": SCHEMA, "taken_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "machine": machine.describe(), "plan": vars(plan), "programs": versions, "left_out": left_out,
            "curves": curves}


def cells(curve, metric):
    """The table of one metric: its heading, then a row for each x, each a list of texts; the last row is the growth."""
    names = list(curve["points"][0]["programs"])
    form = METRICS[metric]
    rows = [[curve["variable"]] + [text for name in names for text in _headings(name)]]
    for point in curve["points"]:
        row = [str(point["x"])]
        for name in names:
            program = point["programs"][name]
            row.append("failed" if "error" in program else figure(program[form.key] * form.scale))
            row += [ratio_text(point["ratios"].get(name), metric)] if name != SUBJECT else []
        rows.append(row)
    last = ["growth"]
    for name in names:
        growth = curve["growth"][metric][name]
        last += ["x^%.2f" % growth["exponent"] if growth else ""] + ([""] if name != SUBJECT else [])
    return rows + [last]


def figure(value):
    """Four digits, and all those before the point."""
    return "%.0f" % value if value >= 1000 else "%.4g" % value


def _headings(name):
    return [name] if name == SUBJECT else [name, "%s/%s" % (SUBJECT, name)]


def ratio_text(ratios, metric):
    """Ratio axrun / peer with its interval; peak memory, which hardly varies, has none."""
    if not ratios:
        return ""
    if metric == "peak_rss":
        return "%.2f" % ratios[metric]
    return "%.2f [%.2f, %.2f]" % tuple(ratios[metric][key] for key in ("median", "low", "high"))


def failures(curve):
    """A sentence for each program and x that could not be measured."""
    return ["%s at %s = %d: %s" % (name, curve["variable"], point["x"], program["error"])
            for point in curve["points"] for name, program in point["programs"].items() if "error" in program]


def text(curve):
    """All tables of a curve for people."""
    texts = []
    for metric in curve["metrics"]:
        form = METRICS[metric]
        texts.append("%s: %s, %s, %d thread%s" % (curve["title"], form.title, form.unit, curve["threads"],
                                                  "" if curve["threads"] == 1 else "s"))
        table = cells(curve, metric)
        widths = [max(map(len, column)) for column in zip(*table)]
        texts += ["  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths)).rstrip() for row in table]
    return "\n".join(texts + ["  " + sentence for sentence in failures(curve)]) + "\n"
