"""How fast a model becomes while it is served: latency over time since load, and when the final speed is nearly there."""

import json
import tempfile
import time
from statistics import median

from comparison.host_process import HostProcess
from comparison.programs import Host, optimising

NEARLY = 0.9  # of the final speed
FINAL_SHARE = 0.15  # of the time: the end, which shows the final speed
BIN_SECONDS = 1.0
AROUND = 1  # bins on either side that a bin's latency is the median of: a neighbour on the machine is no step back


def serve(model, threads, program, environment, seconds, load):
    """[(seconds since the start of the process when a run ended, its latency in ms)] and what the optimiser says of
    itself at the end. load: share of the time that runs take; 1: one after the other."""
    host = optimising(Host([program], environment), 0.1)
    command = host.command + model.arguments + ["--threads", str(threads), "--serve"]
    samples = []
    with tempfile.TemporaryDirectory() as nothing:
        begin = time.perf_counter()
        with HostProcess(command, dict(host.environment, AXRUN_CACHE_DIR=nothing), 60 + seconds) as process:
            return serve_from(process, samples, begin, seconds, load), process.settle()


def serve_from(process, samples, begin, seconds, load):
    """Adds to samples what runs take until so many seconds after `begin`; returns them."""
    samples.append((time.perf_counter() - begin, process.started["first_ms"]))
    while time.perf_counter() - begin < seconds:
        at = time.perf_counter() - begin
        times = process.run(max(1, min(64, int(20.0 / max(samples[-1][1], 1e-3)))))
        for ms in (microseconds / 1e3 for microseconds in times):
            at += ms / 1e3
            samples.append((at, ms))
        time.sleep(sum(times) / 1e6 * (1 / load - 1))
    return samples


def curve(samples):
    """[(seconds, median ms, runs)] of bins that have runs."""
    bins = {}
    for at, ms in samples:
        bins.setdefault(int(at / BIN_SECONDS), []).append(ms)
    return [((k + 0.5) * BIN_SECONDS, median(times), len(times)) for k, times in sorted(bins.items())]


def smooth(points):
    """Each bin's latency as the median of it and its neighbours."""
    return [(at, median(ms for _, ms, _ in points[max(0, k - AROUND):k + AROUND + 1]), runs)
            for k, (at, _, runs) in enumerate(points)]


def reached(points, share=NEARLY):
    """(final ms, the second from which on every bin has at least this share of the final speed; None where the last one
    has not)."""
    end = points[-1][0]
    final = median(ms for at, ms, _ in points if at >= end * (1 - FINAL_SHARE))
    since = None
    for at, ms, _ in reversed(smooth(points)):
        if ms > final / share:
            break
        since = at - BIN_SECONDS / 2
    return final, since


def first_reached(points, final, share=NEARLY):
    """(the first second in which this share of the final speed is there, the share of the later ones in which it is not:
    what is there for good, and on a machine with neighbours still not in every second); (None, 1) where it never is."""
    enough = [ms <= final / share for _, ms, _ in smooth(points)]
    if True not in enough:
        return None, 1.0
    first = enough.index(True)
    return points[first][0] - BIN_SECONDS / 2, enough[first:].count(False) / len(enough[first:])


def measure_model(model, threads, program, environment, seconds, load):
    """The row of a model."""
    model.read()
    samples, said = serve(model, threads, program, environment, seconds, load)
    points = curve(samples)
    final, since = reached(points)
    first, slower_later = first_reached(points, final)
    return {"model": model.name, "threads": threads, "load": load, "first_ms": samples[0][1], "final_ms": final,
            "nearly_s": since, "first_s": first, "slower_later": slower_later, "curve": points, "optimiser": said}


def lines(row, every):
    """The row in words, with a line for about every so many seconds, and for the swaps."""
    found = ["%s, %d threads: first answer %.4g ms, final %.4g ms (%.2f times as fast)" % (
        row["model"], row["threads"], row["first_ms"], row["final_ms"],
        median(ms for _, ms, _ in row["curve"][:2]) / row["final_ms"])]
    last = -every
    for at, ms, runs in row["curve"]:
        if at - last >= every:
            found.append("  %6.1f s  %9.4g ms  %5.1f%% of the final speed, %d runs" %
                         (at, ms, 100 * row["final_ms"] / ms, runs))
            last = at
    swaps = row["optimiser"].get("swaps", [])
    found.append("  swaps: " + ", ".join("%.1f s %s (%d)" % (one["s"], one["what"], one["generated"]) for one in swaps))
    found.append("  %d candidates tried, %d left" % (row["optimiser"].get("tried", 0), row["optimiser"].get("left", 0)))
    after = ["after %.0f s" % row[key] if row[key] is not None else "not reached" for key in ("nearly_s", "first_s")]
    found.append("  %d%% of the final speed, for good: %s; first: %s, and not in %.0f%% of the seconds since" % (
        100 * NEARLY, *after, 100 * row["slower_later"]))
    return "\n".join(found)


def write(rows, path):
    with open(path, "w") as file:
        json.dump({"kind": "progress", "schema": 1, "models": rows}, file, indent=1)
