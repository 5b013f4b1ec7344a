"""The table of perf/optimiser, and its summary."""

from comparison import optimiser, outputs
from comparison.report import SHORT_VERDICT

_FORMAT = "%-32s %2s  %7s %7s  %-17s  %10s %10s  %-20s %-6s  %13s %5s %4s  %16s  %16s  %6s  %s"
HEADER = (_FORMAT % ("", "", "first", "answer", "with/without", "median", "of runs", "with/without", "", "steps", "of",
                     "", "proof ms", "gate ms", "code", "") + "\n" +
          _FORMAT % ("model", "th", "without", "with", "[quartiles]", "without us", "with us", "[95% interval]", "with",
                     "gen/ver/all", "time", "left", "50%/95%/max", "50%/95%/max", "KiB", "remark"))


def lines(row, with_reasons):
    """A model's row; with_reasons: and why steps have no generated kernel, one reason a line."""
    head = "%-32s %2d" % (row["model"], row["threads"])
    if "error" in row:
        return "%s  can't run it: %s" % (head, row["error"][:110])
    first, run, steps = row["first_answer"], row["run"], row["steps"]
    text = _FORMAT % (
        row["model"], row["threads"], "%.1f" % first["without_ms"], "%.1f" % first["with_ms"],
        _ratio(first["ratio"], 2), "%.1f" % run["without_us"], "%.1f" % run["with_us"], _ratio(run["ratio"], 3),
        SHORT_VERDICT[run["ratio"]["verdict"]], "%(generated)d/%(verified)d/%(all)d" % steps,
        _percent(steps["share_generated"]), steps["left"], _spread(optimiser.spread(row["proof_ms"])),
        _spread(optimiser.spread(row["gate_ms"])), "%.1f" % (row["code_bytes"] / 1024), _remark(row))
    return "\n".join([text.rstrip()] + ([_reason(entry) for entry in row["reasons"]] if with_reasons else []))


def summary(said, with_reasons):
    """What `optimiser.summarise` found, in words."""
    if not said:
        return "no model could be run"
    steps = said["steps"]
    texts = ["ratios are with / without the optimiser, below 1 is better; geometric means over %d models" % said["models"],
             "first answer x%.3f; run x%.3f: faster on %d, slower on %d, not distinguishable on %d" %
             (said["first_answer_ratio"], said["run_ratio"], said["faster"], said["slower"], said["not distinguishable"]),
             "steps: %d of %d run generated kernels (%s of a model's time on average), %d have verified ones; %d kernels "
             "were left to try" % (steps["generated"], steps["all"], _percent(said["share_generated"]),
                                   steps["verified"], steps["left"])]
    for key, what in (("proof_ms", "proofs"), ("gate_ms", "tests")):
        if said[key]:
            texts.append("%s: %d, 50%%/95%%/max %s ms" % (what, said["kernels"][key], _spread(said[key])))
    texts.append("machine code: %.1f KiB" % (said["code_bytes"] / 1024))
    return "\n".join(texts + ([_reason(entry) for entry in said["reasons"]] if with_reasons else []))


def _ratio(ratio, digits):
    return "%.*f [%.*f, %.*f]" % tuple(x for key in ("median", "low", "high") for x in (digits, ratio[key]))


def _percent(share):
    return "%.0f%%" % (100 * share)


def _spread(values):
    return "/".join("%.3g" % values[key] if values[key] < 1000 else "%.0f" % values[key]
                    for key in ("p50", "p95", "max")) if values else ""


def _remark(row):
    told = []
    remark = outputs.remark({"against": optimiser.WITHOUT, **row["outputs"]})
    if remark:
        told.append(remark)
    if row["optimiser_reason"]:
        told.append("stopped: " + row["optimiser_reason"][:80])
    return "; ".join(told)


def _reason(entry):
    """12.3% of the time, 4 steps: no schedule: .. (Conv+Relu, MaxPool, ...)"""
    names = entry.get("operators", [])
    operators = ", ".join(names[:3] + (["..."] if len(names) > 3 else []))
    count = ", %d step%s" % (entry["steps"], "" if entry["steps"] == 1 else "s") if entry["steps"] else ""
    return "    %5.1f%% of the time%s: %s%s" % (100 * entry["share"], count, entry["reason"][:120],
                                               " (%s)" % operators if operators else "")
