"""The end of each part of the page: where the figures come from."""

from comparison.markup import items, paragraph, tag, title

_METHOD = ("Each program runs in a native process of its own, inputs and outputs bound. All are launched several "
           "times, another one first each time, and measured in turns of a few milliseconds in the order A B C C B A, "
           "pinned to the same processors while the others are stopped. A ratio is the median over these rounds of "
           "axrun's time by the peer's; its 95% interval is a bootstrap over launches, then rounds. Where it holds 1, "
           "the two are not distinguishable. perf/README.md has the details.")


def origin(document, more):
    """HTML texts on machine, programs and method; `more` are sentences of the caller's."""
    machine, plan = document["machine"], document["plan"]
    texts = ["Taken %s on %s, %d processors, Linux %s." % (document["taken_at"], machine["processor"],
                                                           machine["processors"], machine["kernel"])]
    texts += ["%s: %s %s" % (title(name), said["engine"], said["version"])
              for name, said in document["programs"].items()]
    texts += ["Left out: %s: %s" % (title(name), reason) for name, reason in document.get("left_out", {}).items()]
    texts.append("At most %(launches)d launches and %(seconds)g s of rounds for each row; %(timeout)g s to answer." %
                 plan)
    return [tag("h3", "Machine, programs, method"), items(texts + more), paragraph(_METHOD)]
