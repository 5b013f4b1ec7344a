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
PARTS = ("fusion", "layouts", "schedules", "measurement")  # as AXRUN_ABLATE names them

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


def measure_model(model, threads, programs, launches, seconds, budget):
    """The row of a model; `error` in place of figures where it can't be run with everything."""
    model.read()
    plan = Plan(launches=launches, seconds=seconds, rounds=2 * launches, timeout=180 + budget)
    with tempfile.TemporaryDirectory() as saved:
        measured = measure(model.arguments, threads, programs, plan, saved)
    row = {"model": model.name, "threads": threads}
    full = measured["programs"][FULL]
    if "error" in full:
        return {**row, "error": full["error"]}
    ratios = {part: measured["ratios"][part]["time"] if part in measured["ratios"] else
              {"error": measured["programs"][part]["error"]} for part in programs if part != FULL}
    tried = {name: {key: [report[key] for report in said.get("settled", [])] for key in ("tried", "left", "seconds")}
             for name, said in measured["programs"].items()}
    return {**row, "full_us": full["p50_us"], "ratios": ratios, "optimiser": tried, "launches": measured["launches"],
            **{key: measured[key] for key in ("steal_percent", "other_programs_percent")}}


def summarise(rows, parts):
    """{part: {models, ratio}} over the models that ran."""
    found = {}
    for part in parts:
        medians = [row["ratios"][part]["median"] for row in rows
                   if "error" not in row and "error" not in row["ratios"][part]]
        found[part] = {"models": len(medians), "ratio": geometric_mean(medians)}
    return found


def header(parts):
    return "%-34s %11s" % ("model", "full us") + "".join("  %22s" % ("full/no " + part) for part in parts)


def line(row, parts):
    if "error" in row:
        return "%-34s can't be run: %s" % (row["model"], row["error"])
    cells = []
    for part in parts:
        ratio = row["ratios"][part]
        cells.append("failed" if "error" in ratio else "%.3f [%.3f, %.3f]" % (ratio["median"], ratio["low"], ratio["high"]))
    left = max([0] + row["optimiser"][FULL]["left"])
    return "%-34s %11.1f" % (row["model"], row["full_us"]) + "".join("  %22s" % cell for cell in cells) + (
        "  %d left to try" % left if left else "")


def last_line(summary, parts):
    cells = ["%.3f of %d" % (summary[part]["ratio"], summary[part]["models"]) if summary[part]["models"] else "-"
             for part in parts]
    return "%-34s %11s" % ("geometric mean", "") + "".join("  %22s" % cell for cell in cells)


def write(rows, summary, effort, path):
    with open(path, "w") as file:
        json.dump({"kind": "ablations", "schema": 1, "taken_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                   "machine": machine.describe(), "effort": effort, "models": rows, "summary": summary}, file, indent=1)
