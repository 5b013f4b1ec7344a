"""Where a model's time goes beyond its direct floor, kernel by kernel.

A kernel's floor is that of a model which is this kernel alone (limits.floor_us): its operations at the measured peak, or
the bytes of its operands and results from the smallest memory level that holds them. A model's floor is less than the sum
of its kernels' floors wherever results pass between kernels; `between` is what the floors of the kernels are beyond it.
"""

import json
import os
import subprocess

from comparison import limits

# A model this far above its floor has its gap explained.
NEAR = 1.18
# Of the gap: kernels are named until so much is explained.
EXPLAINED = 0.9


def profile(command, model_arguments, threads, budget):
    """The `kernels` of `axrun --profile json` and the run's median in microseconds, after `budget` seconds of the
    optimiser. Raises ValueError with the reason where the program fails."""
    arguments = [command, *model_arguments, "--threads", str(threads), "--budget", "%g" % budget, "--quiet"]
    done = subprocess.run([*arguments, "--profile", "json"], capture_output=True, text=True, check=False,
                          env={**os.environ, "AXRUN_CACHE": "off"})
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["exit code %d" % done.returncode]
        raise ValueError(lines[-1])
    return json.loads(done.stdout)["kernels"]


def kernel_floor(machine, kernel, threads):
    """{floor_us, bound}: `arithmetic`, or the name of a memory level."""
    compute = limits.floor_us(machine, _costs(kernel["flops"], 0), threads)
    memory = limits.floor_us(machine, _costs(0, kernel["bytes"]), threads)
    level = limits.holding_level(machine, kernel["bytes"], threads)["name"]
    return {"floor_us": max(compute, memory), "bound": "arithmetic" if compute >= memory else level}


def explain(machine, costs, kernels, threads):
    """A model's time, floor and gap, and its kernels, those with the largest gaps first."""
    rows = []
    for kernel in kernels:
        row = {key: kernel[key] for key in ("name", "op", "kernel", "shape", "proof", "us_per_run")}
        row.update(kernel_floor(machine, kernel, threads))
        row["gap_us"] = row["us_per_run"] - row["floor_us"]
        rows.append(row)
    rows.sort(key=lambda row: -row["gap_us"])
    time = sum(row["us_per_run"] for row in rows)
    floor = limits.floor_us(machine, costs, threads)
    between = sum(row["floor_us"] for row in rows) - floor
    return {"time_us": time, "floor_us": floor, "ratio": time / floor if floor > 0 else None, "between_us": between,
            "kernels": rows}


def named(explained):
    """The kernels that explain the gap, largest first: as few as make up most of it, none for a model near its floor."""
    if explained["ratio"] is not None and explained["ratio"] <= NEAR:
        return []
    gap, found = sum(max(0, row["gap_us"]) for row in explained["kernels"]), []
    left = gap * EXPLAINED
    for row in explained["kernels"]:
        if left <= 0 or row["gap_us"] <= 0:
            break
        found.append(row)
        left -= row["gap_us"]
    return found


def by_bound(explained):
    """{bound: gap in microseconds} of the kernels that each limit bounds."""
    sums = {}
    for row in explained["kernels"]:
        sums[row["bound"]] = sums.get(row["bound"], 0) + max(0, row["gap_us"])
    return sums


def _costs(operations, size):
    return {"operations": operations, "integer_operations": 0, "compulsory_bytes": size}
