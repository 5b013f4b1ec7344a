"""Several host programs on one model: launches, and inside each launch paired rounds in the order A B C C B A."""

import contextlib
import math
import os
import time
from dataclasses import dataclass, field
from statistics import median

from comparison import estimate, machine
from comparison.host_process import FIRST_LINE, HostFailure, HostProcess


@dataclass
class Plan:
    """How long and how often one model is measured at one thread count."""
    launches: int = 6  # at most; every program is started first in its share of them
    least_launches: int = 2  # however long they take: no interval can be given with fewer
    seconds: float = 3.0  # of rounds, over all launches
    rounds: int = 6  # at least, over all launches
    row_seconds: float = None  # no launch begins that would end later than this, but for the least
    reference_seconds: float = 120.0  # for the outputs of axrun's reference, where none are stored
    timeout: float = 120.0  # for every answer of a program


# Runs of one program without a switch to another. Where a neighbour of a virtual machine slows one processor down, it
# does so for tens to hundreds of milliseconds: short blocks put all programs into the same weather.
BLOCK_US = 5_000.0


@dataclass
class Samples:
    """What was measured of one program. Launch k is entry k of every list, up to the launch in which it failed."""
    times_us: list = field(default_factory=list)
    ratios: list = field(default_factory=list)  # time of the subject / of this program: a list per launch
    starts_ms: list = field(default_factory=list)
    first_lines: list = field(default_factory=list)
    settled: list = field(default_factory=list)  # what a program that settles said of it
    peaks: list = field(default_factory=list)
    error: str = ""

    def summary(self):
        """Its part of a row: medians over launches, percentiles over all runs."""
        if self.error:
            return {"error": self.error}
        ordered = sorted(self.times_us)
        times = {key: round(median(line[key] for line in self.first_lines), 4) for key in FIRST_LINE}
        return {"p50_us": round(estimate.percentile(ordered, 0.5), 4), "min_us": ordered[0],
                "p99_us": round(estimate.percentile(ordered, 0.99), 4), "runs": len(ordered),
                "start_ms": round(median(self.starts_ms), 3), "starts_ms": [round(x, 3) for x in self.starts_ms],
                **({"settled": self.settled} if self.settled else {}),
                **times, "peak_rss_bytes": int(median(self.peaks)),
                "engine": self.first_lines[0].get("engine"), "version": self.first_lines[0].get("version")}

    def sessions_ms(self):
        """Time of session creation, by launch."""
        return [line["session_ms"] for line in self.first_lines]


class Block:
    """How many runs of a program make one block, found by running it."""

    def __init__(self, host):
        # Some first runs take thirty times as long as the others, hardly one takes a hundred times as long.
        if host.started["first_ms"] * 1e3 > 100 * BLOCK_US:
            self.count, self.dropped = 1, 0
            return
        count, times = 1, host.run(1)
        while sum(times) < BLOCK_US / 2 and count < 4096:
            count *= 4
            times = host.run(count)
        run_us = max(median(times), 1e-3)
        kept = max(1, min(20_000, round(BLOCK_US / run_us)))
        # The first runs after another program has had the caches and the workers have slept are not typical.
        # A run as long as a block hardly notices.
        self.dropped = math.ceil(kept / 10) if run_us < BLOCK_US else 0
        self.count = kept + self.dropped

    def run(self, host):
        """Times in microseconds of the runs that count."""
        return host.run(self.count)[self.dropped:]


def measure(model_arguments, threads, hosts, plan, save_folder, together=()):
    """One row of the report. hosts: {name: Host}, the subject first; one that can't run the model is left out after its
    first failure, and the others are measured without it. At the end of the first launch each program is asked to save
    its outputs in save_folder/NAME. together: two of hosts, which are compared with as one whose time is the sum of theirs,
    too, by the name "A + B"."""
    arguments = model_arguments + ["--threads", str(threads), "--serve"]
    noise, begin = machine.Noise(), time.perf_counter()
    samples = {name: Samples() for name in hosts}
    launches = 0
    while launches < plan.launches and not all(sample.error for sample in samples.values()):
        spent = time.perf_counter() - begin
        if (plan.row_seconds is not None and launches >= plan.least_launches
                and spent * (launches + 1) / launches > plan.row_seconds):
            break
        saving = {name: ["--save", os.path.join(save_folder, name)] if launches == 0 else [] for name in hosts}
        commands = {name: host.command + arguments + saving[name] for name, host in hosts.items()}
        _launch(launches, commands, threads, hosts, plan, samples)
        launches += 1
    subject, *peers = hosts
    row = {"programs": {name: sample.summary() for name, sample in samples.items()}, "ratios": {}}
    for peer in peers:
        if not samples[subject].error and not samples[peer].error:
            row["ratios"][peer] = _ratios(samples[subject], samples[peer])
    if together and all(name in row["ratios"] for name in together):
        row["ratios"][" + ".join(together)] = {"time": _ratio_to_sum(*(samples[name] for name in together))}
    return {**row, "launches": launches, "seconds": round(time.perf_counter() - begin, 2), **noise.percent()}


def _ratios(subject, peer):
    """Subject / peer of everything that is compared; below 1 is better for the subject."""
    by_launch = lambda xs, ys: estimate.ratio_estimate([[x / max(y, 1e-6)] for x, y in zip(xs, ys)])
    return {"time": estimate.ratio_estimate(peer.ratios), "rounds": sum(map(len, peer.ratios)),
            "start": by_launch(subject.starts_ms, peer.starts_ms),
            "session": by_launch(subject.sessions_ms(), peer.sessions_ms()),
            "peak_rss": median(subject.peaks) / median(peer.peaks)}


def _ratio_to_sum(a, b):
    """Time of the subject / those of both, added up in every round."""
    return estimate.ratio_estimate([[1 / (1 / x + 1 / y) for x, y in zip(*launch)] for launch in zip(a.ratios, b.ratios)])


def _processors(launch, threads):
    """As many processors as threads, the same for all programs; others in each launch, as speeds may differ."""
    all_processors = sorted(os.sched_getaffinity(0))
    return {all_processors[(launch + k) % len(all_processors)] for k in range(threads)}


def _rotated(names, by):
    by %= max(1, len(names))
    return names[by:] + names[:by]


def _launch(launch, commands, threads, hosts, plan, samples):
    """Starts the programs one after the other, measures rounds, ends them. Another one comes first in each launch.

    They are pinned after their start: then the scheduler has had no time to move other programs out of their way.
    What a program does in the background it ends before, on any processor.
    """
    processors = _processors(launch, threads)
    running, blocks = {}, {}
    with contextlib.ExitStack() as stack:
        for name in _rotated([name for name in hosts if not samples[name].error], launch):
            with _failure_recorded(samples[name]):
                process = HostProcess(commands[name], hosts[name].environment, plan.timeout)
                running[name] = stack.enter_context(process)
                samples[name].starts_ms.append(process.start_ms)
                samples[name].first_lines.append(process.started)
                if hosts[name].settles:
                    samples[name].settled.append(process.settle())
                end = time.perf_counter() + hosts[name].first_seconds
                while time.perf_counter() < end:
                    process.run(1)
                process.pause()
                process.pin(processors)
        for name, process in running.items():
            with _failure_recorded(samples[name]), _awake(process):
                blocks[name] = Block(process)
        for sample in samples.values():
            sample.ratios.append([])
        deadline, rounds = time.perf_counter() + plan.seconds / plan.launches, 0
        while time.perf_counter() < deadline or rounds < math.ceil(plan.rounds / plan.launches):
            names = [name for name in hosts if name in blocks and not samples[name].error]
            if not names:
                break
            # Which program a block follows matters a little: every order has its turn.
            _round(_rotated(names, launch + rounds), next(iter(hosts)), running, blocks, samples)
            rounds += 1
        for name, process in running.items():
            if not samples[name].error:
                samples[name].peaks.append(process.peak_rss_bytes())


def _round(names, subject, running, blocks, samples):
    """One round in this order and back; notes the ratio subject / peer of every peer that ran both times."""
    times = {name: [] for name in names}
    for name in names + names[::-1]:
        with _failure_recorded(samples[name]), _awake(running[name]):
            if not samples[name].error:
                block = blocks[name].run(running[name])
                samples[name].times_us += block
                times[name].append(median(block))
    for name in names:
        if name != subject and len(times[name]) == len(times.get(subject, ())) == 2:
            # The geometric mean of the two halves cancels a drift that is linear over the round.
            samples[name].ratios[-1].append(math.sqrt(math.prod(times[subject]) / math.prod(times[name])))


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
