"""The part of the page that shows what perf/compare has measured."""

from comparison import outputs
from comparison.curves_section import threads_text
from comparison.markup import items, paragraph, plot, table, tag, title
from comparison.origin import origin
from comparison.programs import AGAIN, SUBJECT

_REASON = 200  # characters of a reason that are shown
_HEADING = ["model", "threads", "program", "median us", "p99 us", "axrun/peer [95% interval]", "axrun is", "answer ms",
            "ratio", "session ms", "ratio", "peak MB", "ratio", "limit", "steal%", "other%", "remark"]


def section(document, plots):
    """HTML texts, in order."""
    rows = document["rows"]
    counts = sorted({row["threads"] for row in rows})
    numbers = {name: number for number, name in enumerate([*document["programs"], AGAIN])}
    parts = [tag("h2", "axrun and its peers")]
    parts += [paragraph(sentence) for sentence in in_words(document["summary"])]
    parts += [items(findings(document)), _refusals(document["summary"]["cannot_run"])]
    for count in counts:
        chosen = [row for row in rows if row["threads"] == count]
        parts.append(tag("h3", "Time of a run, %s" % threads_text(count)))
        parts.append(_ratio_plot(chosen, numbers, plots))
        if any(program.get("share_of_limit") for row in chosen for program in row["programs"].values()):
            parts.append(_value_plot(
                chosen, numbers, plots, "share_of_limit", 100,
                "Share of the machine's limit, %: the direct floor of the run (operations / peak, or bytes / "
                "bandwidth) as a part of the median. The line is 100.", line=100))
    if counts:
        chosen = [row for row in rows if row["threads"] == counts[0]]
        parts.append(tag("h3", "Start and memory, %s" % threads_text(counts[0])))
        parts.append(_value_plot(chosen, numbers, plots, "start_ms", 1,
                                 "From the start of the program to its first answer, ms. Further left is better."))
        parts.append(_value_plot(chosen, numbers, plots, "peak_rss_bytes", 1e-6,
                                 "Peak resident memory after all runs, MB. Further left is better."))
    parts += [tag("h3", "All figures"), _figures(rows)]
    return parts + origin(document, _limits(document.get("limits")))


def in_words(summary):
    """Sentences on the geometric means, one for each peer and thread count."""
    texts = []
    for threads, peers in summary["by_threads"].items():
        for name, means in peers.items():
            verdicts = "%(faster)d, slower on %(slower)d, not distinguishable on %(not distinguishable)d" % means
            if name == AGAIN:
                texts.append("With %s, axrun against itself on %d models: %.3f times the time; called faster on %s. "
                             "This is noise." % (threads_text(threads), means["models"], means["time_ratio"], verdicts))
                continue
            texts.append("With %s, over the %d models that both run, axrun takes %.2f times as long as %s (geometric "
                         "mean); it is faster on %s. Its first answer comes after %.2f times the time, a session is "
                         "created in %.2f times, and peak memory is %.2f times as large (on one model %.2f times)." %
                         (threads_text(threads), means["models"], means["time_ratio"], title(name), verdicts,
                          means["start_ratio"], means["session_ratio"], means["peak_rss_ratio"],
                          means["peak_rss_ratio_max"]))
    return texts


def findings(document):
    """What was missed or is wrong, a sentence each."""
    texts = ["Missed: %s." % sentence for sentence in document.get("missed", [])]
    return texts + ["%s on %s: %s." % (title(item["program"]), item["model"], item["remark"])
                    for item in document["summary"]["wrong"]]


def _refusals(refused):
    """What can't be run, folded away: reasons are long."""
    if not refused:
        return ""
    texts = ["%s can't run %s: %s" % (title(item["program"]), item["model"], _shortened(item["reason"]))
             for item in refused]
    return tag("details", tag("summary", "%d can't be run" % len(refused)) + items(texts))


def _shortened(reason):
    return reason if len(reason) <= _REASON else reason[:_REASON] + " ..."


def _ratio_plot(rows, numbers, plots):
    peers = [name for name in numbers if any(name in row["ratios"] for row in rows)]
    rows = sorted((row for row in rows if row["ratios"]),
                  key=lambda row: next(row["ratios"][name]["time"]["median"] for name in peers
                                       if name in row["ratios"]))
    series = {numbers[name]: [row["ratios"][name]["time"] if name in row["ratios"] else None for row in rows]
              for name in peers}
    caption = ("axrun's time of a run / the peer's, with 95% intervals. Left of 1, axrun is faster; hollow marks can't "
               "be told from 1.")
    return plot(plots.ratios([row["model"] for row in rows], series), caption, {name: numbers[name] for name in peers})


def _value_plot(rows, numbers, plots, key, scale, caption, line=None):
    """A row for each model, in the order of axrun's values."""
    programs = [name for name in numbers if name != AGAIN]
    read = lambda row, name: (row["programs"].get(name, {}).get(key) or 0) * scale
    rows = sorted((row for row in rows if any(read(row, name) for name in programs)),
                  key=lambda row: read(row, SUBJECT))
    series = {numbers[name]: [read(row, name) or None for row in rows] for name in programs}
    return plot(plots.values([row["model"] for row in rows], series, line), caption,
                {name: numbers[name] for name in programs})


def _figures(rows):
    cells, begins = [_HEADING], []
    for row in rows:
        for name in row["programs"]:
            cells.append(_cells(row, name))
            begins.append(name == SUBJECT)
    return table(cells, begins, texts=(0, 2, len(_HEADING) - 1))


def _cells(row, name):
    program, first = row["programs"][name], name == SUBJECT
    head = [row["model"] if first else "", str(row["threads"]) if first else "", title(name)]
    noise = ["%.1f" % row[key] if first else "" for key in ("steal_percent", "other_programs_percent")]
    if "error" in program:
        return head + [""] * 11 + noise + ["can't run it"]
    time, verdict, start, session, memory = ("",) * 5
    ratio = row["ratios"].get(name)
    if ratio:
        time = "%.3f [%.3f, %.3f]" % tuple(ratio["time"][key] for key in ("median", "low", "high"))
        verdict = ratio["time"]["verdict"]
        start, session = ("%.2f" % ratio[key]["median"] for key in ("start", "session"))
        memory = "%.2f" % ratio["peak_rss"]
    share = program.get("share_of_limit")
    return [*head, "%.1f" % program["p50_us"], "%.1f" % program["p99_us"], time, verdict, "%.1f" % program["start_ms"],
            start, "%.1f" % program["session_ms"], session, "%.1f" % (program["peak_rss_bytes"] / 1e6), memory,
            "%.0f%%" % (100 * share) if share else "", *noise,
            outputs.remark(program["outputs"]) if "outputs" in program else ""]


def _limits(limits):
    """What machine_limits has measured, in words."""
    if not limits:
        return []
    texts = ["Float32 peak: %.0f GFLOP/s on one core, %.0f on all." %
             (limits["f32_gflops"]["one"], limits["f32_gflops"]["all"])]
    return texts + ["Reads from %s: %.0f GB/s on one core, %.0f on all." %
                    (level["name"], level["gbps"]["one"], level["gbps"]["all"]) for level in limits["levels"]]
