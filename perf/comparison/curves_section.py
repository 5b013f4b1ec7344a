"""The part of the page that shows what perf/curves has measured."""

from comparison import curves
from comparison.markup import escape, items, paragraph, plot, table, tag, title
from comparison.origin import origin

_ABOUT = ("How time and memory grow with one size of a model. Both axes are logarithmic: a straight line is a power "
          "of the size, and its exponent is the growth, taken over the upper half of the sizes.")


def section(document, plots):
    """HTML texts, in order."""
    parts = [tag("h2", "Cost curves"), paragraph(_ABOUT)]
    for curve in document["curves"]:
        parts.append(tag("h3", escape("%s, against %s, %s" % (curve["title"], curve["variable"],
                                                              threads_text(curve["threads"])))))
        parts.append(items(curves.failures(curve)))
        for metric in curve["metrics"]:
            parts.append(_plot(curve, metric, plots))
            parts.append(table(curves.cells(curve, metric)))
    return parts + origin(document, [])


def threads_text(count):
    """Such as `1 thread`."""
    return "%s thread%s" % (count, "" if str(count) == "1" else "s")


def _plot(curve, metric, plots):
    form = curves.METRICS[metric]
    names = {name: number for number, name in enumerate(curve["points"][0]["programs"])}
    series = {number: [(point["x"], point["programs"][name][form.key] * form.scale) for point in curve["points"]
                       if "error" not in point["programs"][name]] for name, number in names.items()}
    growth = ["%s x^%.2f" % (title(name), said["exponent"])
              for name, said in curve["growth"][metric].items() if said]
    caption = "%s, %s, against %s.%s" % (form.title.capitalize(), form.unit, curve["variable"],
                                         " Growth: " + ", ".join(growth) + "." if growth else "")
    return plot(plots.curves(curve["variable"], "%s, %s" % (form.title, form.unit), series), caption, names)
