"""What the background optimiser does for a model: the first answer and later runs with and without it, the steps that it
gave generated kernels, why not the others, and what proofs and tests took.

`with` and `without` are the same program on the same command line; AXRUN_OPTIMIZE=0 makes the difference.
"""

import os
import re
import tempfile
import time
from dataclasses import dataclass, replace
from statistics import median

from comparison import machine, model_file, outputs
from comparison.estimate import geometric_mean, percentile
from comparison.host_process import HostFailure, HostProcess
from comparison.measure import Plan, measure
from comparison.programs import Host, optimising

SCHEMA = 1
WITH, WITHOUT = "with", "without"

# Networks of every kind: convolutions, transformers, recurrences, quantised ones, trees, control flow, many small steps.
REPRESENTATIVE = ("mnist_cntk", "squeezenet_v1_real_tensor_input", "yunet_120x160", "mobilenetv2_qdq_u8_real",
                  "stories260k_kv", "bert_toy_5layer_pytorch", "tf_bert_qa_tiny_3836nodes", "tashkeel_fp32",
                  "thai2rom_decoder", "silero_vad_v6", "lgbm_classifier_tensor",
                  "bert_base", "gpt2_decode", "llama_block_decode", "lstm_2layer", "mobilenet_v2", "resnet50")

# What a model may lose by the optimiser: more is missed.
FIRST_ANSWER_LIMIT = 1.05
FIRST_ANSWER_FLOOR_MS = 1.0  # later by less than this passes whatever the ratio
RUN_LIMIT = 1.02

NOT_TRIED = "not tried: the time was over"
SLOWER = "slower than the kernel that was there"
NO_KERNEL = "no kernel to replace: control flow, strings, the interpreter"
LEAST_SHARE = 0.005  # of the time, for NO_KERNEL to be told


@dataclass
class Effort:
    """How much is spent on each model."""
    budget: float = 30.0  # seconds for the optimiser, in every launch
    pairs: int = 20  # of starts
    launches: int = 3  # in which runs are compared
    seconds: float = 3.0  # of rounds, over all launches

    def plan(self):
        """As `measure` takes it."""
        return Plan(launches=self.launches, seconds=self.seconds, rounds=2 * self.launches, timeout=120 + self.budget)


def hosts(program, budget):
    """{WITH: Host, WITHOUT: Host} of a host program that takes --budget."""
    host = lambda switch: optimising(Host([os.path.abspath(program)], {**os.environ, "AXRUN_OPTIMIZE": switch}), budget)
    return {WITH: host("1"), WITHOUT: replace(host("0"), settles=False)}


def measure_model(model, threads, both, effort):
    """The row of a model; where it can't be run, the row holds `error` in place of figures."""
    model.read()
    row = {"model": model.name, "threads": threads}
    try:
        row["first_answer"] = first_answers(model, threads, both, effort)
    except HostFailure as failure:
        return {**row, "error": str(failure)}
    with tempfile.TemporaryDirectory() as saved:
        measured = measure(model.arguments, threads, both, effort.plan(), saved)
        for name, program in measured["programs"].items():
            if "error" in program:
                return {**row, "error": "%s the optimiser: %s" % (name, program["error"])}
        found = outputs.compare_folders(os.path.join(saved, WITHOUT), os.path.join(saved, WITH),
                                        model_file.is_plain_float32(model.path))
    row["run"] = {**{name + "_us": program["p50_us"] for name, program in measured["programs"].items()},
                  "ratio": measured["ratios"][WITHOUT]["time"], "launches": measured["launches"]}
    reports = measured["programs"][WITH]["settled"]
    middle = sorted(reports, key=lambda report: report["swapped"])[len(reports) // 2]
    return {**row, "steps": steps(middle), "reasons": reasons(middle), "optimiser_seconds": middle["seconds"],
            "optimiser_reason": middle["reason"], "code_bytes": middle["code_bytes"],
            "prepared_bytes": middle["prepared_bytes"], **evidence_times(reports), "outputs": found,
            **{key: measured[key] for key in ("steal_percent", "other_programs_percent")}, "reports": reports}


def first_answers(model, threads, both, effort):
    """From before the fork to the line after the first answer, in the order A B B A; with / without, and its quartiles."""
    starts = {name: [] for name in both}
    for pair in range(-1, effort.pairs):  # one for nothing: it finds the caches as another model left them
        for name in list(both)[::1 if pair % 2 == 0 else -1]:
            command = both[name].command + model.arguments + ["--threads", str(threads), "--serve"]
            with HostProcess(command, both[name].environment, effort.plan().timeout) as process:
                if pair >= 0:
                    starts[name].append(process.start_ms)
    ratios = sorted(x / y for x, y in zip(starts[WITH], starts[WITHOUT]))
    return {**{name + "_ms": median(times) for name, times in starts.items()}, "pairs": effort.pairs,
            "ratio": {"median": median(ratios), "low": percentile(ratios, 0.25), "high": percentile(ratios, 0.75)}}


def steps(report):
    """How many steps of the plan, and what share of its time on the fallback, have kernels that are in force (generated
    by merit), or that are verified, faster or not. report: what the optimiser said in one launch."""
    of = lambda key, *states: sum(kernel[key] for kernel in report["kernels"] if kernel["state"] in states)
    return {"all": report["steps"], "generated": report["swapped"], "verified": of("steps", "accepted", "slower"),
            "share_generated": of("share", "accepted") if report["swapped"] else 0.0,
            "share_verified": of("share", "accepted", "slower"), "left": report["left"]}


def reasons(report):
    """Why steps have no kernel that is in force: [{reason, steps, share, operators}], those that take longest first."""
    found = {}
    for kernel in report["kernels"]:
        if kernel["state"] == "accepted":
            continue
        entry = found.setdefault(_reason(kernel), {"steps": 0, "share": 0.0, "operators": {}})
        entry["steps"] += kernel["steps"]
        entry["share"] += kernel["share"]
        entry["operators"][kernel["ops"]] = entry["operators"].get(kernel["ops"], 0.0) + kernel["share"]
    rest = 1 - sum(kernel["share"] for kernel in report["kernels"])
    if rest > LEAST_SHARE:
        found[NO_KERNEL] = {"steps": 0, "share": rest, "operators": {}}
    listed = [{"reason": reason, **entry, "operators": sorted(entry["operators"], key=lambda name: -entry["operators"][name])}
              for reason, entry in found.items()]
    return sorted(listed, key=lambda entry: -entry["share"])


def _reason(kernel):
    if kernel["state"] == "waiting":
        return NOT_TRIED
    if kernel["state"] == "slower":
        return SLOWER
    # Names and numbers differ from step to step.
    return re.sub(r"'[^']*'|-?\bx?[0-9][0-9.e+-]*\b", "..", kernel["reason"])


def evidence_times(reports):
    """{proof_ms, gate_ms: [milliseconds of every kernel that came so far, over all launches, in order]}."""
    return {key + "_ms": sorted(1e3 * kernel[key + "_s"] for report in reports for kernel in report["kernels"]
                                if kernel[key]) for key in ("proof", "gate")}


def spread(ordered):
    """{p50, p95, max} of sorted numbers; None without any."""
    return {"p50": percentile(ordered, 0.5), "p95": percentile(ordered, 0.95), "max": ordered[-1]} if ordered else None


def summarise(rows):
    """The same over all models that could be run; None where none could."""
    run = [row for row in rows if "error" not in row]
    if not run:
        return None
    verdicts = [row["run"]["ratio"]["verdict"] for row in run]
    means = {key: geometric_mean([row[key]["ratio"]["median"] for row in run]) for key in ("first_answer", "run")}
    times = {key: sorted(x for row in run for x in row[key]) for key in ("proof_ms", "gate_ms")}
    together = {}
    for row in run:
        for entry in row["reasons"]:
            known = together.setdefault(entry["reason"], {"models": 0, "steps": 0, "share": 0.0})
            known["models"] += 1
            known["steps"] += entry["steps"]
            known["share"] += entry["share"] / len(run)
    return {"models": len(run), **{key + "_ratio": mean for key, mean in means.items()},
            **{verdict: verdicts.count(verdict) for verdict in ("faster", "slower", "not distinguishable")},
            "steps": {key: sum(row["steps"][key] for row in run) for key in ("all", "generated", "verified", "left")},
            "share_generated": sum(row["steps"]["share_generated"] for row in run) / len(run),
            "kernels": {key: len(values) for key, values in times.items()},
            **{key: spread(values) for key, values in times.items()},
            "code_bytes": sum(row["code_bytes"] for row in run),
            "reasons": sorted(({"reason": reason, **entry} for reason, entry in together.items()),
                              key=lambda entry: -entry["share"])}


def missed(rows):
    """Sentences on what the optimiser promises and did not keep."""
    found = []
    for row in rows:
        if "error" in row:
            found.append("%(model)s can't be run: %(error)s" % row)
            continue
        if row["outputs"]["passed"] is False:
            found.append("%s: its outputs became wrong: %s" % (row["model"], wrong(row["outputs"])))
        first, run = row["first_answer"], row["run"]["ratio"]
        later = first["with_ms"] - first["without_ms"]
        if first["ratio"]["low"] > FIRST_ANSWER_LIMIT and later > FIRST_ANSWER_FLOOR_MS:
            found.append("%s: the first answer comes %.1f ms later, after %.2f times the time, limit %.2f" %
                         (row["model"], later, first["ratio"]["median"], FIRST_ANSWER_LIMIT))
        if run["low"] > RUN_LIMIT:
            found.append("%s: a run takes %.3f times as long, limit %.2f" % (row["model"], run["median"], RUN_LIMIT))
    return found


def wrong(found):
    """What differs, in words."""
    return found["note"] if found["error"] is None else "by %.1e" % found["error"]


def result(rows, effort):
    """Everything, as perf/README.md describes it."""
    return {"kind": "optimiser", "schema": SCHEMA, "taken_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "machine": machine.describe(), "effort": vars(effort), "models": rows, "summary": summarise(rows),
            "missed": missed(rows)}
