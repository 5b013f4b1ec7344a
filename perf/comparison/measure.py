"""Two host programs on one model: launches, and inside each launch paired rounds in the order A B B A."""

import contextlib
import math
import os
import time
from dataclasses import dataclass, field
from statistics import median

from comparison import estimate, machine
from comparison.host_process import HostFailure, HostProcess


@dataclass
class Host:
    """How one of the two programs is started."""
    command: list
    environment: dict


@dataclass
class Plan:
    """How long and how often one model is measured at one thread count."""
    launches: int = 6  # even: each program comes first in half of them
    seconds: float = 3.0  # of rounds, over all launches
    rounds: int = 6  # at least, over all launches
    timeout: float = 120.0


# Runs of one program without a switch to the other. Where a neighbour of a virtual machine slows one processor down, it
# does so for tens to hundreds of milliseconds: short blocks put both programs into the same weather.
BLOCK_US = 5_000.0


@dataclass
class Samples:
    """What was measured of one program."""
    times_us: list = field(default_factory=list)
    starts_ms: list = field(default_factory=list)
    first_lines: list = field(default_factory=list)
    peaks: list = field(default_factory=list)
    error: str = ""

    def summary(self):
        if self.error:
            return {"error": self.error}
        ordered = sorted(self.times_us)
        times = {key: round(median(line[key] for line in self.first_lines), 4)
                 for key in ("load_ms", "session_ms", "first_ms", "start_to_first_ms")}
        return {"p50_us": round(estimate.percentile(ordered, 0.5), 4), "min_us": ordered[0],
                "p99_us": round(estimate.percentile(ordered, 0.99), 4), "runs": len(ordered),
                "start_ms": round(median(self.starts_ms), 3), "starts_ms": [round(x, 3) for x in self.starts_ms],
                **times, "peak_rss_bytes": int(median(self.peaks)),
                "engine": self.first_lines[0].get("engine"), "version": self.first_lines[0].get("version")}


class Block:
    """How many runs of a program make one block, found by running it."""

    def __init__(self, host):
        count, times = 1, host.run(1)
        while sum(times) < BLOCK_US / 2 and count < 4096:
            count *= 4
            times = host.run(count)
        run_us = max(median(times), 1e-3)
        kept = max(1, min(20_000, round(BLOCK_US / run_us)))
        # The first runs after the other program has had the caches and the workers have slept are not typical.
        # A run as long as a block hardly notices.
        self.dropped = math.ceil(kept / 10) if run_us < BLOCK_US else 0
        self.count = kept + self.dropped

    def run(self, host):
        return host.run(self.count)[self.dropped:]


def measure(model_arguments, threads, hosts, plan):
    """One row of the report. hosts: {"a": Host, "b": Host}; one that can't run the model is left out after its first
    failure, and the other is measured alone."""
    arguments = model_arguments + ["--threads", str(threads), "--serve"]
    noise = machine.Noise()
    samples = {name: Samples() for name in hosts}
    ratios = []
    for launch in range(plan.launches):
        ratios.append(_launch(launch, arguments, threads, hosts, plan, samples))
        if all(sample.error for sample in samples.values()):
            break
    row = {name: sample.summary() for name, sample in samples.items()}
    if not any(sample.error for sample in samples.values()):
        a, b = samples["a"], samples["b"]
        row["ratio"] = estimate.ratio_estimate(ratios)
        row["start_ratio"] = estimate.ratio_estimate([[x / y] for x, y in zip(a.starts_ms, b.starts_ms)])
        row["peak_rss_ratio"] = row["a"]["peak_rss_bytes"] / row["b"]["peak_rss_bytes"]
        row["rounds"] = sum(map(len, ratios))
    return {**row, "launches": plan.launches, **noise.percent()}


def _processors(launch, threads):
    """As many processors as threads, the same for both programs; others in each launch, as speeds may differ."""
    all_processors = sorted(os.sched_getaffinity(0))
    return {all_processors[(launch + k) % len(all_processors)] for k in range(threads)}


def _launch(launch, arguments, threads, hosts, plan, samples):
    """Starts the programs one after the other, measures rounds, ends them. The one that comes first alternates.

    They are pinned after their start: then the scheduler has had no time to move other programs out of their way.
    """
    processors = _processors(launch, threads)
    order = sorted((name for name in hosts if not samples[name].error), reverse=launch % 2 == 1)
    running, ratios = {}, []
    with contextlib.ExitStack() as stack:
        for name in order:
            host = hosts[name]
            with _failure_recorded(samples[name]):
                process = HostProcess(host.command + arguments, host.environment, plan.timeout)
                running[name] = stack.enter_context(process)
                samples[name].starts_ms.append(process.start_ms)
                samples[name].first_lines.append(process.started)
                process.pause()
                process.pin(processors)
        blocks = {}
        for name, process in running.items():
            with _failure_recorded(samples[name]), _awake(process):
                blocks[name] = Block(process)
        deadline = time.perf_counter() + plan.seconds / plan.launches
        while time.perf_counter() < deadline or len(ratios) < math.ceil(plan.rounds / plan.launches):
            names = [name for name in order if name in blocks and not samples[name].error]
            ratio = _round(names, running, blocks, samples)
            if ratio is None and not names:
                break
            ratios.append(ratio)
        for name, process in running.items():
            if not samples[name].error:
                samples[name].peaks.append(process.peak_rss_bytes())
    return [ratio for ratio in ratios if ratio is not None]


def _round(names, running, blocks, samples):
    """One ABBA round (or two blocks of the only program); the ratio a / b of its two times, None without a pair."""
    times = {name: [] for name in names}
    for name in names + names[::-1]:
        with _failure_recorded(samples[name]), _awake(running[name]):
            block = blocks[name].run(running[name])
            samples[name].times_us += block
            times[name].append(median(block))
    if len(times) < 2 or any(len(halves) < 2 for halves in times.values()):
        return None
    # The geometric mean of the two halves cancels a drift that is linear over the round.
    return math.sqrt(math.prod(times["a"]) / math.prod(times["b"]))


@contextlib.contextmanager
def _awake(process):
    process.resume()
    try:
        yield
    finally:
        process.pause()


@contextlib.contextmanager
def _failure_recorded(sample):
    try:
        yield
    except HostFailure as failure:
        sample.error = sample.error or str(failure)
