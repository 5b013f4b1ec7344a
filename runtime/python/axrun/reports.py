"""What a session says of itself, as objects."""

from dataclasses import dataclass, field


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
class Metric:
    """A number that says how a session fares, named and labelled as Prometheus wants it."""
    name: str
    help: str
    counter: bool  #: it only grows while the session lives
    value: float
    labels: dict = field(default_factory=dict)
