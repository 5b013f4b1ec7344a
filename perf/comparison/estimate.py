"""Ratios with confidence intervals, by the bootstrap."""

import math
import random
from statistics import median

RESAMPLES = 1000
CONFIDENCE = 0.95

# 97.5% quantiles of Student's t distribution with 1, 2, ... degrees of freedom; the last serves all larger ones.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
_NORMAL = 1.960


def geometric_mean(values):
    """Geometric mean of positive numbers; None when there are none."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def percentile(ordered, share):
    """Linear interpolation between the nearest ranks of sorted numbers."""
    rank = share * (len(ordered) - 1)
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


def ratio_estimate(groups, seed=0):
    """Median ratio with its interval and a verdict, from paired ratios.

    groups: two or more lists of ratios, one list per launch. Launches are resampled first, then the ratios inside each:
    two launches of one program differ (memory layout, say) by more than the rounds of one launch show. The bootstrap is
    too sure of itself when launches are few, so its interval is widened as Hesterberg proposes ("What Teachers Should
    Know About the Bootstrap", 2015, section 4.4), on the logarithm of the ratio.
    """
    assert len(groups) >= 2 and all(groups)
    generator = random.Random(seed)
    medians = sorted(median(_resample(groups, generator)) for _ in range(RESAMPLES))
    centre = median([ratio for group in groups for ratio in group])
    low = centre * (percentile(medians, (1 - CONFIDENCE) / 2) / centre) ** _widening(len(groups))
    high = centre * (percentile(medians, (1 + CONFIDENCE) / 2) / centre) ** _widening(len(groups))
    return {"median": centre, "low": low, "high": high, "verdict": verdict(low, high)}


def _widening(launches):
    freedom = launches - 1
    return math.sqrt(launches / freedom) * _STUDENT[min(freedom, len(_STUDENT)) - 1] / _NORMAL


def verdict(low, high):
    """What an interval of time(a) / time(b) says."""
    if low > 1:
        return "slower"
    if high < 1:
        return "faster"
    return "not distinguishable"


def _resample(groups, generator):
    chosen = []
    for _ in groups:
        group = generator.choice(groups)
        chosen += generator.choices(group, k=len(group))
    return chosen
