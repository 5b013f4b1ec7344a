"""The explanation of gaps for people: text, and a table in Markdown."""

from comparison import gaps


def shares(explained, least=0.05):
    """launch 61%, chain 30%: the causes of the gap, those of little left out."""
    found = gaps.by_cause(explained)
    gap = sum(found.values())
    return ", ".join("%s %.0f%%" % (cause, 100 * us / gap) for cause, us in found.items() if gap and us >= least * gap)


def _ratio(explained):
    return "%.2f" % explained["ratio"] if explained["ratio"] else "-"


def lines(name, explained, most):
    """What is printed of a model."""
    optimiser = explained["optimiser"]
    yield "%-32s %10.1f us  floor %10.1f us  %7s  %s%s" % (
        name, explained["time_us"], explained["floor_us"], _ratio(explained) + "x", shares(explained),
        "" if optimiser["finished"] else "  (not finished, %s left to try)" % optimiser["left"])
    gap = sum(row["gap_us"] for row in explained["kernels"])
    found = gaps.named(explained)
    for row in found[:most]:
        yield "    %5.1f%% of the gap  %9.2f us, floor %9.2f (%s)  %s: %s  %s  %s" % (
            100 * row["gap_us"] / gap, row["us"], row["floor_us"], row["bound"], row["cause"], row["evidence"], row["ops"],
            row["kernel"])
    if len(found) > most:
        yield "    %5.1f%% in %d more" % (100 * sum(row["gap_us"] for row in found[most:]) / gap, len(found) - most)


def markdown(results, most):
    """A table of all models, and under it the kernels that explain the gap of each that is not near its floor."""
    text = ["| model | us | floor us | ratio | between kernels | causes of the gap in kernels | optimised in |",
            "| --- | ---: | ---: | ---: | ---: | --- | ---: |"]
    for result in results:
        if "error" in result:
            text.append("| %s | | | | | %s | |" % (result["model"], result["error"]))
            continue
        optimiser = result["optimiser"]
        text.append("| %s | %.4g | %.4g | %s | %.4g | %s | %.0f s%s |" % (
            result["model"], result["time_us"], result["floor_us"], _ratio(result), max(0, result["between_us"]),
            shares(result) if result["ratio"] is None or result["ratio"] > gaps.NEAR else "near", optimiser["seconds"],
            "" if optimiser["finished"] else ", %s left" % optimiser["left"]))
    text += ["", "Causes (perf/README.md, \"The limit\"): %s." % "; ".join("`%s` %s" % item for item in gaps.CAUSES.items())]
    for result in results:
        found = [] if "error" in result else gaps.named(result)
        if not found:
            continue
        gap = sum(row["gap_us"] for row in result["kernels"])
        text += ["", "**%s**, %s times its floor" % (result["model"], _ratio(result)), "",
                 "| of the gap | us | floor us | by | cause | evidence | operators | kernel |",
                 "| ---: | ---: | ---: | --- | --- | --- | --- | --- |"]
        text += ["| %.1f%% | %.4g | %.4g | %s | %s | %s | %s | %s |" % (
            100 * row["gap_us"] / gap, row["us"], row["floor_us"], row["bound"], row["cause"], row["evidence"].replace("|", "/"),
            row["ops"], row["kernel"].split(" [")[0]) for row in found[:most]]
    return "\n".join(text) + "\n"
