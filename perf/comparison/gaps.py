"""Where a model's time goes beyond its direct floor, kernel by kernel, and why.

A kernel's floor is the limit that `axrun explain` gives it: its operations at the measured peak, or its bytes at the speed
of the memory that holds them. A model's floor is less than the sum of its kernels' floors wherever results pass between
kernels; `between_us` is that difference. Why a kernel takes longer is decided by `cause` from figures alone: what its loops
execute, as the command counts it, the ports' time for that, and what the optimiser says.
"""

import json
import os
import subprocess

from comparison import limits

# A model, or a kernel, this far above its floor has its gap explained.
NEAR = 1.18
# Of the gap: kernels are named until so much is explained.
EXPLAINED = 0.9
# What takes so much that it explains this share of a kernel's gap is its cause.
MOST = 0.5
# A step that takes longer than this did more than being called.
LONGEST_CALL_US = 0.25
# Fewer filled lanes than this are a cause of their own.
FILLED = 0.85

# What can be the cause of a gap, in the order of the list in perf/README.md.
CAUSES = {"near": "near its floor",
          "launch": "so little work that calling it counts",
          "fallback": "precompiled kernel",
          "lanes": "lanes of vectors left empty",
          "arithmetic": "arithmetic that the direct count does not have",
          "packing": "operands moved to other places first",
          "loads": "loads and stores of the nearest cache",
          "beyond": "bytes that come again from beyond a cache, at its measured speed",
          "apart": "elements that do not lie side by side",
          "scalar": "work on single elements",
          "chain": "results that wait for each other",
          "waits": "neither ports, chains nor bandwidths account for it: latencies, or what is not counted",
          "uncounted": "no counts: control flow, or a kernel inside a body"}


def explanation(command, model_arguments, threads, budget):
    """What `axrun explain --json` says after the optimiser has finished, or after `budget` seconds of it. Raises ValueError
    with the reason where the program fails."""
    arguments = [command, "explain", *model_arguments, "--threads", str(threads), "--budget", "%g" % budget, "--quiet"]
    done = subprocess.run([*arguments, "--json"], capture_output=True, text=True, check=False,
                          env={**os.environ, "AXRUN_CACHE": "off"})
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["exit code %d" % done.returncode]
        raise ValueError(lines[-1])
    return json.loads(done.stdout)


def shapes_of(bench, model):
    """Arguments that give a model without a data set the shapes with which axrun_bench, and model_costs, run it: where the
    model leaves sizes open, the command chooses others. Raises ValueError where the program fails."""
    if model.data:
        return []
    done = subprocess.run([bench, *model.arguments, "--threads", "1", "--runs", "1", "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise ValueError((done.stderr.strip().splitlines() or ["exit code %d" % done.returncode])[-1])
    return [word for one in json.loads(done.stdout)["inputs"] if one["shape"]
            for word in ("--shape", "%s:%s" % (one["name"], "x".join(map(str, one["shape"]))))]


def explanation_of(command, model, shapes, threads, budget, folder):
    """The same of a model with more arguments (`shapes_of`); kept in the folder, where one is given, and taken from there where an earlier run has kept it."""
    path = folder and os.path.join(folder, "%s.%d.json" % (model.name, threads))
    if path and os.path.exists(path):
        with open(path) as file:
            return json.load(file)
    made = explanation(command, model.arguments + shapes, threads, budget)
    if path:
        os.makedirs(folder, exist_ok=True)
        with open(path + ".new", "w") as file:
            json.dump(made, file)
        os.replace(path + ".new", path)
    return made


def explain(machine, costs, said, threads):
    """A model's time, floor and gap, and its kernels, those with the largest gaps first. said: by `explanation`."""
    steps = [step for step in said["steps"] if step["us"] > 0]
    launch = launch_us(steps)
    rows = []
    for step in steps:
        floor = min(step.get("limit_us") or 0.0, step["us"])
        row = {"node": step["node"], "ops": step["ops"], "kernel": step["kernel"], "result": step["result"],
               "us": step["us"], "floor_us": floor, "bound": step.get("limit_by") or "", "gap_us": step["us"] - floor}
        row["cause"], row["evidence"] = cause(step, floor, launch)
        rows.append(row)
    rows.sort(key=lambda row: -row["gap_us"])
    time = sum(row["us"] for row in rows)
    floor = limits.floor_us(machine, costs, threads)
    return {"time_us": time, "latency_us": said["latency_ms"] * 1e3, "floor_us": floor,
            "ratio": time / floor if floor > 0 else None, "launch_us": launch,
            "between_us": sum(row["floor_us"] for row in rows) - floor, "kernels": rows,
            "optimiser": {key: said["optimiser"].get(key) for key in ("seconds", "finished", "tried", "left")}}


def launch_us(steps):
    """What a call costs at least, with the clock that is read around it: the shortest that was seen."""
    return min([LONGEST_CALL_US] + [step["us"] / max(step.get("calls") or 1, 1e-9) for step in steps])


def cause(step, floor, launch):
    """(one of CAUSES, the figures that say so) of a step's time beyond its floor."""
    us, calls, work = step["us"], step.get("calls") or 1, step.get("work")
    if us <= NEAR * floor:
        return "near", "%.0f%% of its floor's speed" % (100 * floor / us)
    if launch * calls >= MOST * us:
        return "launch", "%g call%s of %.2f us, the shortest step takes %.2f us" % (
            calls, "" if calls == 1 else "s", us / calls, launch)
    if not step.get("evidence"):
        return "fallback", refusal(step)
    if not work or work["us"]["arithmetic"] is None:
        return "uncounted", step["kernel"]
    return cause_of_work(work, us / calls, floor / calls)


def cause_of_work(work, us, floor):
    """The same of a generated kernel, a call of which takes so many microseconds and has this floor."""
    ports = dict(work["us"])
    far = max(work.get("beyond", []), key=lambda level: level["us"] or 0, default=None)
    ports["beyond"] = far["us"] or 0 if far else 0
    # Where several are as busy, the first one counts.
    largest = max(("arithmetic", "memory", "apart", "scalar", "chain", "beyond"), key=lambda name: ports[name])
    busy = ports[largest] / us
    if ports[largest] < floor + MOST * (us - floor):
        return "waits", "ports, chains and bandwidths account for at most %.0f%% of its time (%s)" % (100 * busy, largest)
    share = "%.0f%% of its time" % (100 * min(busy, 1))
    if largest == "arithmetic":
        filled = work["filled_lanes"] / work["lanes"] if work["lanes"] else 1
        if filled < FILLED:
            return "lanes", "arithmetic takes %s, %.0f%% of the lanes are filled" % (share, 100 * filled)
        vectors = max(work["multiply_adds"] + work["operations"] + work["functions"], 1)
        return "arithmetic", "arithmetic takes %s: %s, %.0f%% multiply-adds, %.0f%% in functions" % (
            share, "%.1f times the floor" % (ports["arithmetic"] / floor) if floor else "%.0f vectors" % vectors,
            100 * work["multiply_adds"] / vectors, 100 * work["functions"] / vectors)
    if largest == "memory":
        moved = work["moved_bytes"] / max(work["bytes_loaded"] + work["bytes_stored"], 1)
        if moved > 0.5:
            return "packing", "loads and stores take %s, %.0f%% of their bytes only move" % (share, 100 * moved)
        return "loads", "loads and stores take %s: %.0f kB" % (share, (work["bytes_loaded"] + work["bytes_stored"]) / 1e3)
    if largest == "beyond":
        return "beyond", "%.0f kB from %s take %s" % (far["bytes"] / 1e3, far["from"], share)
    if largest == "apart":
        return "apart", "%.0f elements one by one take %s" % (work["apart_lanes"], share)
    if largest == "scalar":
        return "scalar", "%.0f scalar operations take %s" % (work["scalar_operations"], share)
    return "chain", "the longest chain takes %s" % share


def refusal(step):
    """Why there is no generated kernel, in the optimiser's words."""
    told = ["%s%s" % (kernel["state"], ": " + kernel["reason"] if kernel["reason"] else "")
            for kernel in step.get("kernels", [])]
    return told[0] if told else "the optimiser was not asked for one"


def named(explained):
    """The kernels that explain the gap, largest first: as few as make up most of it, none for a model near its floor."""
    if explained["ratio"] is not None and explained["ratio"] <= NEAR:
        return []
    gap, found = sum(row["gap_us"] for row in explained["kernels"]), []
    left = gap * EXPLAINED
    for row in explained["kernels"]:
        if left <= 0 or row["gap_us"] <= 0:
            break
        found.append(row)
        left -= row["gap_us"]
    return found


def by_cause(explained):
    """{cause: gap in microseconds} of the kernels, largest first."""
    sums = {}
    for row in explained["kernels"]:
        sums[row["cause"]] = sums.get(row["cause"], 0) + row["gap_us"]
    return dict(sorted(sums.items(), key=lambda item: -item[1]))
