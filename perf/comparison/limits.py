"""What the machine allows: the direct floor of a model's run time, from two programs of this project.

`machine_limits` measures the processor (peak rates, bandwidth of each memory level), `model_costs` counts what one run
of a model has to do. How both are defined: perf/README.md, "The limit".
"""

import json
import os
import subprocess


def measure_machine(programs_dir):
    """The machine's limits as `machine_limits --json` prints them; None when the program is missing or fails."""
    return _run([os.path.join(programs_dir, "machine_limits"), "--json"])


def model_costs(programs_dir, model_arguments):
    """What one run costs, as `model_costs` prints it; None when the program is missing or can't run the model.

    `model_arguments` is a list: the model's path, then --data, --shape or --dim as the host programs take them.
    """
    return _run([os.path.join(programs_dir, "model_costs"), *model_arguments])


def floor_us(machine, costs, threads):
    """Microseconds below which a run on `threads` threads can't come by the direct algorithm.

    max(operations / peak, compulsory bytes / bandwidth of the smallest level that holds them); None where either
    argument is. Floating and integer operations follow each other, each at its own peak.
    """
    if machine is None or costs is None:
        return None
    compute = costs["operations"] / (_rate(machine, "f32_gflops", threads) * 1e3)
    if costs["integer_operations"]:
        compute += costs["integer_operations"] / (_rate(machine, "int8_gops", threads) * 1e3)
    level = holding_level(machine, costs["compulsory_bytes"], threads)
    return max(compute, costs["compulsory_bytes"] / (_rate(level, "gbps", threads) * 1e3))


def holding_level(machine, size, threads):
    """The smallest memory level that holds `size` bytes; a level that each core has to itself counts once a thread.

    Runs that repeat find there what the last one left.
    """
    for level in machine["levels"][:-1]:
        copies = min(threads, machine["threads"]) if level["private"] else 1
        if size <= level["bytes"] * copies:
            return level
    return machine["levels"][-1]


def _rate(limits, key, threads):
    """The rate of `threads` threads, between the measured ones of one thread and of all; never beyond either bound."""
    one, every = limits[key]["one"], limits[key]["all"]
    if threads <= 1:
        return one
    return min(one * threads, max(one, every))


def _run(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
        return json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
