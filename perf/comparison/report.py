"""The table for people, the summary, and the gate."""

from comparison.estimate import geometric_mean

# What axrun's fallback kernels are to reach against ONNX Runtime.
GEOMETRIC_MEAN_LIMIT = 2.0
MODEL_RATIO_LIMIT = 4.0
MODEL_FLOOR_US = 20.0  # a run this short passes whatever the ratio
START_RATIO_LIMIT = 1.0
PEAK_RSS_RATIO_LIMIT = 1.3

HEADER = ("%-36s %2s %10s %10s  %-22s %-8s %8s %8s %6s %7s %7s %5s %6s %6s  %s" %
          ("model", "th", "a us", "b us", "a/b [95% interval]", "verdict", "start a", "start b", "a/b", "MB a", "MB b",
           "a/b", "steal%", "other%", "remark"))
_SHORT = {"faster": "faster", "slower": "slower", "not distinguishable": "same?"}


def over_limit(row):
    """Whether a is slower than both limits of a single model allow."""
    return row["ratio"]["median"] > MODEL_RATIO_LIMIT and row["a"]["p50_us"] > MODEL_FLOOR_US


def line(row):
    """One row of the table."""
    a, b = row["a"], row["b"]
    if "ratio" not in row:
        time_of = lambda side: "-" if "error" in side else "%.1f" % side["p50_us"]
        errors = "; ".join("%s: %s" % (name, row[name]["error"]) for name in "ab" if "error" in row[name])
        return "%-36s %2d %10s %10s  %s" % (row["model"], row["threads"], time_of(a), time_of(b), errors[:150])
    ratio, start = row["ratio"], row["start_ratio"]
    return "%-36s %2d %10.1f %10.1f  %-22s %-8s %8.1f %8.1f %6.2f %7.1f %7.1f %5.2f %6.1f %6.1f  %s" % (
        row["model"], row["threads"], a["p50_us"], b["p50_us"],
        "%.3f [%.3f, %.3f]" % (ratio["median"], ratio["low"], ratio["high"]), _SHORT[ratio["verdict"]],
        a["start_ms"], b["start_ms"], start["median"], a["peak_rss_bytes"] / 1e6, b["peak_rss_bytes"] / 1e6,
        row["peak_rss_ratio"], row["steal_percent"], row["other_programs_percent"],
        "OVER LIMIT" if over_limit(row) else "")


def summarise(rows):
    """Geometric means per thread count over the models that both programs run, and what is outside the limits."""
    summary = {"by_threads": {}, "over_limit": [], "cannot_run": []}
    for threads in sorted({row["threads"] for row in rows}):
        measured = [row for row in rows if row["threads"] == threads and "ratio" in row]
        if not measured:
            continue
        verdicts = [row["ratio"]["verdict"] for row in measured]
        peaks = [row["peak_rss_ratio"] for row in measured]
        summary["by_threads"][threads] = {
            "models": len(measured),
            "time_ratio": geometric_mean([row["ratio"]["median"] for row in measured]),
            "start_ratio": geometric_mean([row["start_ratio"]["median"] for row in measured]),
            "peak_rss_ratio": geometric_mean(peaks), "peak_rss_ratio_max": max(peaks),
            **{kind: verdicts.count(kind) for kind in _SHORT}}
    for row in rows:
        if "ratio" in row and over_limit(row):
            summary["over_limit"].append({"model": row["model"], "threads": row["threads"]})
    summary["cannot_run"] = _refusals(rows)
    return summary


def _refusals(rows):
    """One entry per model and program that failed, with the reason of the first failure."""
    found = {}
    for row in rows:
        for name in "ab":
            if "error" in row[name]:
                entry = {"model": row["model"], "host": name, "threads": [], "reason": row[name]["error"]}
                found.setdefault((row["model"], name), entry)["threads"].append(row["threads"])
    return list(found.values())


def gate_failures(summary):
    """Sentences on every limit that is missed; nothing measured is a failure too."""
    failures = ["%(model)s, %(threads)d threads: over the limit of a single model" % item
                for item in summary["over_limit"]]
    failures += ["%(model)s, threads %(threads)s: a can't run it: %(reason)s" % item
                 for item in summary["cannot_run"]
                 if item["host"] == "a" and not _both_refuse(item, summary["cannot_run"])]
    for threads, means in summary["by_threads"].items():
        for key, limit in (("time_ratio", GEOMETRIC_MEAN_LIMIT), ("start_ratio", START_RATIO_LIMIT),
                           ("peak_rss_ratio_max", PEAK_RSS_RATIO_LIMIT)):
            if means[key] > limit:
                failures.append("%d threads: %s is %.3f, limit %.3f" % (threads, key, means[key], limit))
    return failures if summary["by_threads"] else failures + ["no model was measured with both programs"]


def _both_refuse(item, refused):
    return any(other["host"] == "b" and other["model"] == item["model"] for other in refused)


def text(summary, names):
    """The summary for people; names: {"a": ..., "b": ...}."""
    lines = ["a = %(a)s, b = %(b)s; ratios are a / b, below 1 is better for a" % names]
    for threads, means in summary["by_threads"].items():
        lines.append("%d thread%s, %d models: time x%.3f, start to first answer x%.3f, peak memory x%.3f (most x%.2f); "
                     "a is faster on %d, slower on %d, not distinguishable on %d" %
                     (threads, "s" if threads > 1 else "", means["models"], means["time_ratio"], means["start_ratio"],
                      means["peak_rss_ratio"], means["peak_rss_ratio_max"], means["faster"], means["slower"],
                      means["not distinguishable"]))
    for item in summary["over_limit"]:
        lines.append("over the limit of x%g or %g us: %s, %d threads" %
                     (MODEL_RATIO_LIMIT, MODEL_FLOOR_US, item["model"], item["threads"]))
    for item in summary["cannot_run"]:
        lines.append("%s (%s) can't run %s: %s" %
                     (item["host"], names[item["host"]], item["model"], item["reason"][:200]))
    return "\n".join(lines)
