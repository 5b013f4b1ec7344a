"""The figures of perf/compare as a Markdown table: a line for each model and thread count, by name."""

from comparison.comparison_section import in_words
from comparison.programs import AGAIN, SUBJECT

_VERDICT = {"faster": "", "slower": " **slower**", "not distinguishable": " ?"}
_LABEL = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


def table(document):
    """Summary in sentences, then the table."""
    return "\n".join(["- " + sentence for sentence in in_words(document["summary"])] + ["", rows(document)]) + "\n"


def rows(document):
    """The table. `?` marks what is not distinguishable, `again` axrun against itself."""
    peers = [name for name in document["programs"] if name != SUBJECT]
    heading = ["model", "threads", "axrun us", "p99", "limit"]
    for peer in peers:
        heading += [_LABEL.get(peer, peer), "answer", "memory"]
    lines = [_line(heading), _line(["---"] + ["---:"] * (len(heading) - 1))]
    return "\n".join(lines + [_row(row, peers) for row in sorted(document["rows"], key=lambda row: (row["model"], row["threads"]))])


def _line(cells):
    return "| " + " | ".join(cells) + " |"


def _row(row, peers):
    axrun = row["programs"][SUBJECT]
    if "error" in axrun:
        cells = [_escaped(row["model"]), str(row["threads"]), "refused", "", ""]
    else:
        share = axrun.get("share_of_limit")
        cells = [_escaped(row["model"]), str(row["threads"]), _time(axrun["p50_us"]), _time(axrun["p99_us"]),
                 "%.0f%%" % (100 * share) if share else ""]
    for peer in peers:
        ratios = row["ratios"].get(peer)
        if not ratios:
            cells += ["can't run" if "error" in row["programs"][peer] else "", "", ""]
            continue
        time = ratios["time"]
        cells += ["%s [%s, %s]%s" % (*(_ratio(time[key]) for key in ("median", "low", "high")), _VERDICT[time["verdict"]]),
                  "%.2f" % ratios["start"]["median"], "%.2f" % ratios["peak_rss"]]
    again = row["ratios"].get(AGAIN)
    if again:
        cells[0] += " (again: %.2f [%.2f, %.2f])" % tuple(again["time"][key] for key in ("median", "low", "high"))
    return _line(cells)


def _ratio(number):
    return "%.2f" % number if number >= 0.1 else "%.3f" % number


def _time(us):
    return "%.1f" % us if us < 100 else "%.0f" % us


def _escaped(text):
    return text.replace("|", "\\|")
