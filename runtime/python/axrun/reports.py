"""What a session says of itself, as objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Optional, TypeVar

_Made = TypeVar("_Made", bound="_FromJson")


@dataclass(frozen=True)
class Progress:
    """What the background optimiser is doing."""
    state: str  #: "off", "waiting", "working", "paused", "frozen" or "stopped"
    reason: str  #: why it is off, paused or stopped; otherwise empty
    tried: int  #: kernels judged so far
    left: int  #: kernels known of, not judged yet
    steps: int  #: of the plan looked at last
    swapped: int  #: of them, those that run generated kernels


@dataclass(frozen=True)
class Cache:
    """Where a session keeps what it finds, for later ones with the same model."""
    folder: str  #: empty: there is none
    trouble: str  #: why it cannot be used, or only read, though nobody has turned it off; otherwise empty
    found: bool  #: there was something for this very model
    writable: bool


@dataclass(frozen=True)
class Metric:
    """A number that says how a session fares, named and labelled as Prometheus wants it."""
    name: str
    help: str
    counter: bool  #: it only grows while the session lives
    value: float
    labels: dict[str, str] = field(default_factory=dict)


class _FromJson:
    """Dataclasses whose members are those of a JSON object; members that are newer than this file are left out."""

    @classmethod
    def of(cls: type[_Made], json: Mapping[str, Any]) -> _Made:
        lists: dict[str, type[_FromJson]] = {"trials": Trial, "kernels": Kernel, "lost_joints": Kernel, "steps": Step}
        given = {one.name: json[one.name] for one in fields(cls) if one.name in json}  # type: ignore[arg-type]
        for name in given.keys() & lists.keys():
            if isinstance(given[name], list):
                given[name] = [lists[name].of(part) for part in given[name]]
        return cls(**given)


@dataclass(frozen=True)
class Trial(_FromJson):
    """A schedule that was tried for an expression, and what came of it. None: not measured, or not expected of it."""
    rank: int  #: 0: the default schedule
    kind: str  #: in one word
    schedule: str  #: what was decided
    end: str  #: "in force", "not faster", "not proved", ...
    reason: str  #: in words, where it does not serve
    expected_us: Optional[float]  #: by the cost model
    us: Optional[float]  #: what it took
    present_us: Optional[float]  #: what that took which it would replace
    speedup: Optional[float]  #: over that
    rounds: int
    proof: str
    gate: str


@dataclass(frozen=True)
class Kernel(_FromJson):
    """What the optimiser knows of one kernel that it generated, or tried to."""
    ops: str  #: "MatMul+Add"
    schedule: str  #: kind of the schedule
    state: str  #: "waiting", "refused", "slower" or "accepted"
    reason: str  #: why it does not serve
    sizes: str  #: those that it is claimed for; empty: fixed ones
    proof: str  #: of its loops
    gate: str  #: the tests of its machine code
    speedup: Optional[float]  #: over the kernel that was there before; None: not measured
    from_cache: bool = False  #: its code, proof and gate are what a cache folder says
    trials: list[Trial] = field(default_factory=list)  #: every schedule tried


@dataclass(frozen=True)
class Step(_FromJson):
    """A step of the plan in force."""
    node: str  #: the first of its nodes
    ops: str
    result: str  #: its first output's shape
    kernel: str  #: what executes it
    evidence: str  #: "loops proved, code tested", of code from a cache ", as this cache says" behind it; empty: precompiled
    us: float  #: microseconds of one run of the model
    share: float  #: of that run's time
    limit_us: Optional[float]  #: that it cannot be under on this machine; None: not known
    limit_by: str  #: what sets that: "arithmetic", "memory", ...
    limit_share: Optional[float]  #: limit_us / us
    flops_per_s: Optional[float]
    bytes_per_s: Optional[float]
    work: Optional[dict[str, Any]] = None  #: what a call executes, by kind of instruction, where the kernel's code is known
    kernels: list[Kernel] = field(default_factory=list)  #: of its expression, the one in force first
    lost_joints: list[Kernel] = field(default_factory=list)  #: of larger groups of nodes that were tried as one kernel


@dataclass(frozen=True)
class Explanation(_FromJson):
    """Why a model runs as it does. str() is a table of its steps, slowest first."""
    run_us: float  #: of one run: the sum of its steps
    limit_us: float  #: and of their limits
    runs: int  #: that were timed
    threads: int
    cpu: str
    steps: list[Step]  #: in order of execution
    optimiser: dict[str, Any]  #: state, swaps, phases, cache, layouts, algebra: as in `axrun explain --json`
    limits: dict[str, Any]  #: the machine's measured speeds
    json: dict[str, Any] = field(default_factory=dict, repr=False)  #: everything, as it was written

    def __str__(self) -> str:
        lines = ["%.1f us a run, limit %.1f us, %d steps" % (self.run_us, self.limit_us, len(self.steps))]
        for step in sorted(self.steps, key=lambda step: -step.us):
            limit = "" if step.limit_us is None else "limit %.1f us (%s)" % (step.limit_us, step.limit_by)
            lines.append("%6.1f%% %10.1f us  %-24s %-10s %-30s %s" % (
                100 * step.share, step.us, limit, "generated" if step.evidence else "", step.ops, step.node))
        return "\n".join(lines)
