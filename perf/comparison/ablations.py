"""What each part of the optimiser is worth: runs with all of it against runs that go without one part."""

import json
import os
import tempfile
import time

from comparison import machine
from comparison.estimate import geometric_mean
from comparison.measure import Plan, measure
from comparison.programs import Host, optimising

FULL = "full"
PARTS = ("fusion", "layouts", "algebra", "schedules", "measurement")  # as AXRUN_ABLATE names them

KEPT = ("tried", "left", "seconds", "finished")  # of what each program's optimiser says of every launch

# Beside what optimisers take: starts, first runs, blocks that are sized, rounds that take longer than asked for.
OTHERWISE = 0.3
LEAST_SECONDS = 1.0  # for an optimiser

# Convolutions of every kind, transformers, a recurrence; large and small.
REPRESENTATIVE = ("resnet50", "bert_base", "mobilenet_v2", "densenet121", "squeezenet_v1_real_tensor_input",
                  "gpt2_prefill", "yunet_120x160", "tashkeel_fp32")


def hosts(program, budget, parts):
    """{FULL: Host, part: Host without it, ..}: the same program, the optimiser at work for so long in every launch."""
    environment = {**os.environ}
    environment.pop("AXRUN_ABLATE", None)
    found = {FULL: optimising(Host([os.path.abspath(program)], environment), budget)}
    for part in parts:
        found[part] = optimising(Host([os.path.abspath(program)], {**environment, "AXRUN_ABLATE": part}), budget)
    return found


def budget_of(budget, left_s, models, launches, programs):
    """Seconds for the optimiser of each program in each launch of the next model: at most `budget`, and so much that
    as many models, each with its share of what is left, are measured in time. left_s: None where it does not matter."""
    if left_s is None:
        return budget
    return min(budget, max(LEAST_SECONDS, (1 - OTHERWISE) * left_s / (models * launches * programs)))


def measure_model(model, threads, programs, launches, seconds, budget):
    """The row of a model; `error` in place of figures where it can't be run with everything."""
    model.read()
    plan = Plan(launches=launches, seconds=seconds, rounds=2 * launches, timeout=180 + budget)
    with tempfile.TemporaryDirectory() as saved:
        measured = measure(model.arguments, threads, programs, plan, saved)
    row = {"model": model.name, "threads": threads, "budget": budget}
    full = measured["programs"][FULL]
    if "error" in full:
        return {**row, "error": full["error"]}
    ratios = {part: measured["ratios"][part]["time"] if part in measured["ratios"] else
              {"error": measured["programs"][part]["error"]} for part in programs if part != FULL}
    tried = {name: {key: [report.get(key) for report in said.get("settled", [])] for key in KEPT}
             for name, said in measured["programs"].items()}
    rewritten = [algebra_of(report) for report in full.get("settled", [])]
    return {**row, "full_us": full["p50_us"], "ratios": ratios, "optimiser": tried, "algebra": rewritten,
            "launches": measured["launches"],
            **{key: measured[key] for key in ("steal_percent", "other_programs_percent")}}


def algebra_of(report):
    """What one launch's optimiser says of a rewritten plan: its outcome, and by which rules."""
    said = report.get("algebra", {})
    in_force = said.get("outcome") == "rewritten"
    windows = said.get("windows", []) if in_force else []
    return {"outcome": said.get("outcome", ""), "windows": len(windows),
            "rules": sorted({rule["name"] for window in windows for rule in window["rules"]})}


def summarise(rows, parts):
    """{part: {models, ratio}} over the models that ran; of algebra also `rewritten`, models whose plan it changed."""
    found = {}
    for part in parts:
        medians = [row["ratios"][part]["median"] for row in rows
                   if "error" not in row and "error" not in row["ratios"][part]]
        found[part] = {"models": len(medians), "ratio": geometric_mean(medians)}
        if part == "algebra":
            found[part]["rewritten"] = sum(any(one["rules"] for one in row.get("algebra", [])) for row in rows)
    return found


def gain(ratio):
    """How much more is computed in a time with the part than without: "+7.5%" for a ratio of 0.93."""
    return "%+.1f%%" % (100 * (1 / ratio - 1))


def by_rules(launches):
    """rewritten in 2 of 2: 5 windows, 3 rules (a, b, c); or why not"""
    done = [one for one in launches if one["rules"]]
    if not done:
        return launches[-1]["outcome"] if launches and launches[-1]["outcome"] else "not reached in the time"
    rules = sorted({name for one in done for name in one["rules"]})
    return "rewritten in %d of %d: %d windows by %s" % (len(done), len(launches), max(one["windows"] for one in done),
                                                        ", ".join(rules))


def header(parts):
    return "%-34s %11s" % ("model", "full us") + "".join("  %22s" % ("full/no " + part) for part in parts) + (
        "  %26s" % ("gain by " + parts[0]) if len(parts) == 1 else "")


def line(row, parts):
    if "error" in row:
        return "%-34s can't be run: %s" % (row["model"], row["error"])
    cells = []
    for part in parts:
        ratio = row["ratios"][part]
        cells.append("failed" if "error" in ratio else "%.3f [%.3f, %.3f]" % (ratio["median"], ratio["low"], ratio["high"]))
    text = "%-34s %11.1f" % (row["model"], row["full_us"]) + "".join("  %22s" % cell for cell in cells)
    if len(parts) == 1 and "error" not in row["ratios"][parts[0]]:
        ratio = row["ratios"][parts[0]]
        text += "  %26s" % ("%s [%s, %s]" % (gain(ratio["median"]), gain(ratio["high"]), gain(ratio["low"])))
    text += "  " + effort(row["optimiser"][FULL])
    return text + ("; " + by_rules(row.get("algebra", [])) if list(parts) == ["algebra"] else "")


def effort(optimiser):
    """9 s; or: 30 s, 12 left to try"""
    seconds, left = (max(filter(None, optimiser.get(key, [])), default=0) for key in ("seconds", "left"))
    if all(optimiser.get("finished", [False])):
        return "%.0f s" % seconds
    return "%.0f s, not finished, %d left to try" % (seconds, left)


def last_line(summary, parts):
    cells = ["%.3f of %d" % (summary[part]["ratio"], summary[part]["models"]) if summary[part]["models"] else "-"
             for part in parts]
    text = "%-34s %11s" % ("geometric mean", "") + "".join("  %22s" % cell for cell in cells)
    if len(parts) == 1 and summary[parts[0]]["models"]:
        text += "  %26s" % gain(summary[parts[0]]["ratio"])
    if "rewritten" in summary.get("algebra", {}):
        text += "  algebra has changed the plans of %d" % summary["algebra"]["rewritten"]
    return text


def earlier(path):
    """The rows that an earlier run has written there, without those that failed; none where there is no such file.
    Raises ValueError for a file of something else."""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        found = json.load(file)
    if not isinstance(found, dict) or found.get("kind") != "ablations":
        raise ValueError("%s holds no ablations" % path)
    return [row for row in found["models"] if "error" not in row]


def write(rows, summary, effort, path):
    """In the place of what is there, in one step: who reads or stops this finds one or the other."""
    with open(path + ".new", "w") as file:
        json.dump({"kind": "ablations", "schema": 1, "taken_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                   "machine": machine.describe(), "effort": effort, "models": rows, "summary": summary}, file, indent=1)
    os.replace(path + ".new", path)
