"""The table for people, and the summary."""

from comparison import gate, outputs
from comparison.estimate import geometric_mean
from comparison.programs import SUBJECT

_FORMAT = "%-36s %2s %-12s %11s %11s  %-25s %-6s %9s %6s %9s %6s %7s %5s %6s %6s %6s  %s"
HEADER = _FORMAT % ("model", "th", "program", "median us", "p99 us", "axrun/peer [95% interval]", "axrun", "answer ms",
                    "ratio", "session", "ratio", "peak MB", "ratio", "limit", "steal%", "other%", "remark")
# Of models whose run takes longer on the fallback, this share of the time is to be spent in generated kernels.
COUNTED_US = 200.0
GENERATED_LIMIT = 0.9
SHORT_VERDICT = {"faster": "faster", "slower": "slower", "not distinguishable": "same?"}


def lines(row):
    """A row of the table: one line per program, the subject first; ratios are subject / program."""
    texts = []
    for name, program in row["programs"].items():
        first = name == SUBJECT
        head = (row["model"] if first else "", row["threads"] if first else "", name)
        if "error" in program:
            texts.append("%-36s %2s %-12s can't run it: %s" % (*head, program["error"][:110]))
            continue
        told = [outputs.remark(program["outputs"])] if "outputs" in program else []
        evidence = evidence_of(program)
        told += [evidence_text(evidence), effort_text(program["settled"])] if evidence else []
        remark = "; ".join(filter(None, told))
        if first and gate.over_limit(row):
            remark = "OVER LIMIT " + remark
        ratio = row["ratios"].get(name)
        time, verdict, start, session, memory = ("",) * 5
        if ratio:
            time = "%.3f [%.3f, %.3f]" % tuple(ratio["time"][key] for key in ("median", "low", "high"))
            verdict = SHORT_VERDICT[ratio["time"]["verdict"]]
            start, session = ("%.2f" % ratio[key]["median"] for key in ("start", "session"))
            memory = "%.2f" % ratio["peak_rss"]
        share = program.get("share_of_limit")
        texts.append(_FORMAT % (
            *head, "%.1f" % program["p50_us"], "%.1f" % program["p99_us"], time, verdict,
            "%.1f" % program["start_ms"], start, "%.1f" % program["session_ms"], session,
            "%.1f" % (program["peak_rss_bytes"] / 1e6), memory, "%.0f%%" % (100 * share) if share else "",
            row["steal_percent"] if first else "", row["other_programs_percent"] if first else "", remark))
    return "\n".join(text.rstrip() for text in texts)


def evidence_of(program):
    """{kind of evidence: share of a run's time} of the launch in the middle; None where nothing was optimised."""
    said = [report["evidence"] for report in program.get("settled", []) if report.get("evidence")]
    return sorted(said, key=fallback_share)[len(said) // 2] if said else None


def fallback_share(evidence):
    """The part of the time that is spent in kernels that were not generated."""
    return evidence.get("fallback", 0.0)


def evidence_text(evidence):
    """93% loops proved, code tested; 7% fallback"""
    return "; ".join("%.0f%% %s" % (100 * share, kind) for kind, share in evidence.items())


def unfinished(reports):
    """The launches whose optimiser had something left when its time was over; those that don't say are left out."""
    return [report for report in reports if report.get("finished") is False]


def effort_text(reports):
    """optimised in 9 s; or: not finished in 60 s, 12 left to try; nothing where the program does not say."""
    late = unfinished(reports)
    if not all("finished" in report for report in reports):
        return ""
    if not late:
        return "optimised in %.0f s" % max(report["seconds"] for report in reports)
    return "not finished in %.0f s, %d left to try" % (max(report["seconds"] for report in late),
                                                       max(report["left"] for report in late))


def summarise(rows):
    """Geometric means by thread count and peer, over the models that both run; what failed, is wrong or too slow."""
    summary = {"by_threads": {}, "over_limit": [], "cannot_run": _refusals(rows), "wrong": _wrong(rows)}
    for threads in sorted({row["threads"] for row in rows}):
        chosen = [row for row in rows if row["threads"] == threads]
        peers = {name: None for row in chosen for name in row["ratios"]}
        summary["by_threads"][str(threads)] = {
            name: _means([row["ratios"][name] for row in chosen if name in row["ratios"]]) for name in peers}
        generated = _generated(chosen)
        if generated:
            summary.setdefault("generated", {})[str(threads)] = generated
        settled = _settled(chosen)
        if settled:
            summary.setdefault("optimiser", {})[str(threads)] = settled
    for row in rows:
        if gate.over_limit(row):
            summary["over_limit"].append({"model": row["model"], "threads": row["threads"]})
    return summary


def _generated(rows):
    """How much of the time of runs that take long enough is spent in generated kernels, and where it is little."""
    found = []
    for row in rows:
        subject = row["programs"][SUBJECT]
        evidence = evidence_of(subject)
        if evidence and max(report["start_ms"] for report in subject["settled"]) * 1e3 > COUNTED_US:
            found.append((row["model"], subject["p50_us"], 1 - fallback_share(evidence)))
    time = sum(us for _, us, _ in found)
    return found and {"models": len(found), "share": sum(us * share for _, us, share in found) / time,
                      "below": [{"model": model, "share": share} for model, _, share in sorted(found, key=lambda one: one[2])
                                if share < GENERATED_LIMIT]}


def _settled(rows):
    """How many models' optimisers came to their end in every launch, how long that took at most, and the others."""
    reports = {row["model"]: row["programs"][SUBJECT].get("settled") for row in rows}
    reports = {model: said for model, said in reports.items() if said and all("finished" in report for report in said)}
    late = [model for model, said in reports.items() if unfinished(said)]
    longest = max(((max(report["seconds"] for report in said), model) for model, said in reports.items()
                   if model not in late), default=(0, None))
    return reports and {"models": len(reports), "finished": len(reports) - len(late), "longest_s": longest[0],
                        "longest": longest[1], "unfinished": late}


def _means(ratios):
    verdicts = [ratio["time"]["verdict"] for ratio in ratios]
    peaks = [ratio["peak_rss"] for ratio in ratios]
    return {"models": len(ratios),
            **{key + "_ratio": geometric_mean([ratio[key]["median"] for ratio in ratios])
               for key in ("time", "start", "session")},
            "peak_rss_ratio": geometric_mean(peaks), "peak_rss_ratio_max": max(peaks),
            **{kind: verdicts.count(kind) for kind in SHORT_VERDICT}}


def _refusals(rows):
    """One entry per model and program that failed, with the reason of the first failure."""
    found = {}
    for row in rows:
        for name, program in row["programs"].items():
            if "error" in program:
                entry = {"model": row["model"], "program": name, "threads": [], "reason": program["error"]}
                found.setdefault((row["model"], name), entry)["threads"].append(row["threads"])
    return list(found.values())


def _wrong(rows):
    """One entry per model and program whose outputs are outside the tolerance."""
    found = {}
    for row in rows:
        for name, program in row["programs"].items():
            if program.get("outputs", {}).get("passed") is False:
                entry = {"model": row["model"], "program": name, "remark": outputs.remark(program["outputs"])}
                found.setdefault((row["model"], name), entry)
    return list(found.values())


def text(summary, programs, left_out):
    """The summary for people. programs: {name: {"engine": ..., "version": ...}}; left_out: {name: reason}."""
    texts = ["measured: " + ", ".join("%s = %s %s" % (name, said["engine"], said["version"])
                                      for name, said in programs.items())]
    texts += ["left out: %s: %s" % item for item in left_out.items()]
    texts.append("ratios are axrun / peer, below 1 is better for axrun; geometric means over the models that both run")
    for threads, peers in summary["by_threads"].items():
        for name, means in peers.items():
            texts.append("%s thread%s, %d models, against %s: time x%.3f, first answer x%.3f, session x%.3f, "
                         "peak memory x%.3f (most x%.2f); faster on %d, slower on %d, not distinguishable on %d" %
                         (threads, "" if threads == "1" else "s", means["models"], name, means["time_ratio"],
                          means["start_ratio"], means["session_ratio"], means["peak_rss_ratio"],
                          means["peak_rss_ratio_max"], means["faster"], means["slower"],
                          means["not distinguishable"]))
    for threads, said in summary.get("generated", {}).items():
        below = ", ".join("%(model)s %(share).0f%%" % {**one, "share": 100 * one["share"]} for one in said["below"])
        texts.append("%s thread%s, %d models whose run takes over %g ms at the start: %.1f%% of their time in generated "
                     "kernels; under %.0f%%: %s" % (threads, "" if threads == "1" else "s", said["models"],
                                                    COUNTED_US / 1e3, 100 * said["share"], 100 * GENERATED_LIMIT,
                                                    below or "none"))
    for threads, said in summary.get("optimiser", {}).items():
        texts.append("%s thread%s, %d models: the optimiser had nothing left to do in %d (longest %.0f s, %s); not finished: %s"
                     % (threads, "" if threads == "1" else "s", said["models"], said["finished"], said["longest_s"],
                        said["longest"] or "none", ", ".join(said["unfinished"]) or "none"))
    for item in summary["over_limit"]:
        texts.append("slower than x%g of ONNX Runtime and than %g us: %s, %d threads" %
                     (gate.MODEL_RATIO_LIMIT, gate.MODEL_FLOOR_US, item["model"], item["threads"]))
    texts += ["%(program)s on %(model)s: %(remark)s" % item for item in summary["wrong"]]
    texts += ["%s can't run %s: %s" % (item["program"], item["model"], item["reason"][:200])
              for item in summary["cannot_run"]]
    return "\n".join(texts)
