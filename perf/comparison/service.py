"""axrun-serve under steady load: windows with the optimiser at work, and windows with a neutral process that is as busy.

perf/README.md, "A service", says what is compared. Needs Linux: what threads have used is read from /proc.
"""

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import statistics
import struct
import subprocess
import tempfile
import threading
import time
import urllib.request

from comparison import estimate

OPTIMISER, NEUTRAL, ALONE = "optimiser", "neutral", "alone"
PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
SAMPLES_PER_SECOND = 5
SEARCH_SECONDS = 5  # between searches for threads of the optimiser
SETTLED = "waiting"  # the optimiser's state with nothing left to do
RUNS_BESIDE = 3  # the optimiser begins with the second

_SIZES = {"BOOL": 1, "INT8": 1, "UINT8": 1, "INT16": 2, "UINT16": 2, "FP16": 2, "BF16": 2, "INT32": 4, "UINT32": 4,
          "FP32": 4, "INT64": 8, "UINT64": 8, "FP64": 8}


class ServiceFailure(Exception):
    """The service did not start, or did not answer; the text says why."""


def request_for(metadata, seed=0):
    """(body, bytes of it that are JSON) for a model's metadata: reals from 0 to 1, everything else 0; open sizes 1."""
    generator = random.Random(seed)
    inputs, binary = [], []
    for port in metadata["inputs"]:
        shape = [max(1, size) if size < 0 else size for size in port["shape"]]
        count = 1
        for size in shape:
            count *= size
        kind = port["datatype"]
        if kind not in _SIZES:
            raise ServiceFailure("input '%s' is of the type %s: not made up" % (port["name"], kind))
        if kind == "FP32":
            data = struct.pack("<%df" % count, *[generator.random() for _ in range(count)])
        else:
            data = bytes(count * _SIZES[kind])
        inputs.append({"name": port["name"], "datatype": kind, "shape": shape,
                       "parameters": {"binary_data_size": len(data)}})
        binary.append(data)
    head = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
    return head + b"".join(binary), len(head)


class Group:
    """A control group with a quota of processor time; versions 1 and 2. Raises OSError where none can be made."""

    PERIOD_US = 100_000

    def __init__(self, cores):
        one = os.path.isdir("/sys/fs/cgroup/cpu")
        self.folder = os.path.join("/sys/fs/cgroup/cpu" if one else "/sys/fs/cgroup", "axrun_service_%d" % os.getpid())
        os.mkdir(self.folder)
        try:
            quota = round(cores * self.PERIOD_US)
            if one:
                self._write("cpu.cfs_period_us", self.PERIOD_US)
                self._write("cpu.cfs_quota_us", quota)
            else:
                self._write("cpu.max", "%d %d" % (quota, self.PERIOD_US))
        except OSError:
            self.close()
            raise

    def _write(self, name, value):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def enter(self):
        """Moves the calling process there."""
        self._write("cgroup.procs", os.getpid())

    def counts(self):
        """(periods, throttled periods) so far."""
        with open(os.path.join(self.folder, "cpu.stat"), encoding="ascii") as file:
            values = dict(line.split() for line in file)
        return int(values["nr_periods"]), int(values["nr_throttled"])

    def close(self):
        for _ in range(50):  # its processes have ended, but the system may count them still
            with contextlib.suppress(OSError):
                os.rmdir(self.folder)
                return
            time.sleep(0.1)


class Service:
    """A running axrun-serve with a model called "m", and perhaps one called "beside". To be used in a `with` block."""

    def __init__(self, program, model, optimise, cache, group=None, beside=None):
        environment = {**os.environ, "AXRUN_CACHE_DIR": cache}
        command = [program, "m=" + model, "--port", "0", "--threads", "1", "--queue", "1000000"]
        if beside:
            command.append("beside=" + beside)
        if not optimise:
            command.append("--no-optimizer")
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, preexec_fn=group.enter if group else None)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            _, said = self.process.communicate()
            raise ServiceFailure((said.strip() or "it ended").splitlines()[-1])
        self.port = int(line.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()

    def get(self, path):
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.port, path), timeout=30) as answer:
            return answer.read().decode()

    def metadata(self, name="m"):
        return json.loads(self.get("/v2/models/" + name))

    def run(self, name, times):
        """So many requests to a model, one after the other."""
        body, json_bytes = request_for(self.metadata(name))
        for _ in range(times):
            request = urllib.request.Request("http://127.0.0.1:%d/v2/models/%s/infer" % (self.port, name), data=body,
                                             headers={"Inference-Header-Content-Length": str(json_bytes),
                                                      "Content-Type": "application/octet-stream"})
            with urllib.request.urlopen(request, timeout=120) as answer:
                answer.read()

    def optimiser_state(self, name="m"):
        for line in self.get("/metrics").splitlines():
            if line.startswith("axrun_optimizer_state{") and 'model="%s"' % name in line and line.rsplit(" ", 1)[1] == "1":
                return line.split('state="', 1)[1].split('"', 1)[0]
        return ""


class Watch:
    """Samples what the optimiser's thread and its helper process use. To be used in a `with` block.

    It works beside what is measured, and who wakes up may wait for its turn: a sample reads few files, and its thread is idle
    to the scheduler. To look through all threads of the service takes near a millisecond."""

    def __init__(self, process):
        self.process = process
        self.used = {"thread": 0.0, "helper": 0.0}  # processor seconds
        self.seconds = 0.0
        self.assured_seconds = 0.0  # in which its thread was more than idle
        self._last = {}
        self._threads, self._searched = [], float("-inf")
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._begin = self._before = time.monotonic()
        self._look(first=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        self._look()
        self.seconds = time.monotonic() - self._begin

    def shares(self):
        return {name: used / max(self.seconds, 1e-9) for name, used in self.used.items()}

    def _run(self):
        os.sched_setscheduler(threading.get_native_id(), os.SCHED_IDLE, os.sched_param(0))
        while not self._end.wait(1 / SAMPLES_PER_SECOND):
            self._look()

    def _look(self, first=False):
        now = time.monotonic()
        for kind, task in self._tasks(now):
            with contextlib.suppress(OSError):
                with open("/proc/%d/schedstat" % task, encoding="ascii") as file:
                    used = int(file.read().split()[0]) * 1e-9
                before = self._last.get(task, used if first else 0.0)
                self.used[kind] += max(0.0, used - before)
                self._last[task] = used
                if kind == "thread" and os.sched_getscheduler(task) != os.SCHED_IDLE:
                    self.assured_seconds += now - self._before
        self._before = now

    def helpers(self):
        return [task for kind, task in self._tasks(time.monotonic()) if kind == "helper"]

    def _tasks(self, now):
        """("thread" or "helper", its id) of what works in the background."""
        if now - self._searched >= SEARCH_SECONDS:
            self._threads, self._searched = list(self._optimiser_threads()), now
        for task in self._threads:
            yield "thread", task
            with contextlib.suppress(OSError):
                with open("/proc/%d/task/%d/children" % (self.process, task), encoding="ascii") as file:
                    for child in file.read().split():
                        yield "helper", int(child)

    def _optimiser_threads(self):
        with contextlib.suppress(OSError):
            for task in os.listdir("/proc/%d/task" % self.process):
                with contextlib.suppress(OSError):
                    with open("/proc/%d/task/%s/comm" % (self.process, task), encoding="utf-8") as file:
                        if file.read().strip() == "axrun-optimizer":
                            yield int(task)


class Others:
    """What programs besides a window's own use meanwhile, stolen time included. To be used in a `with` block."""

    def __init__(self, processes):
        self.processes = processes  # of the window that live on; those that end in it are known from their end

    def __enter__(self):
        self._begin = time.monotonic()
        self._machine, self._own = self._of_machine(), self._of_window()
        return self

    def __exit__(self, *_):
        own = self._of_window() - self._own
        # The counts are of hundredths of a second.
        self.share = max(0.0, self._of_machine() - self._machine - own) / (time.monotonic() - self._begin)

    @staticmethod
    def _of_machine():
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, interrupts, soft, stolen = map(int, file.readline().split()[1:9])
        return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")

    def _of_window(self):
        used = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) + time.process_time()
        for process in self.processes():
            with contextlib.suppress(OSError):
                with open("/proc/%d/stat" % process, encoding="utf-8") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                used += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return used


class Neutral:
    """Processes that are as busy as the optimiser of a window was, and do nothing. To be used in a `with` block."""

    LEAST = 0.02  # shares below that are not worth a process

    def __init__(self, program, window, memory):
        self.commands = [[program, "neutral", "--share", "%.4f" % min(share, 1.0), "--memory", str(memory),
                          "--assured-seconds", "%.3f" % window["assured_seconds"]]
                         for share in window["shares"].values() if share > self.LEAST]

    def __enter__(self):
        self.processes = [subprocess.Popen(command, stdin=subprocess.PIPE) for command in self.commands]
        self.pids = [process.pid for process in self.processes]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            process.wait(20)


def put_under_load(program, service, body, json_bytes, requests, rate, connections):
    """What service_load says of so many requests; rate 0: as fast as they are answered."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        answer = subprocess.run(
            [program, "load", "--port", str(service.port), "--path", "/v2/models/m/infer", "--body", file.name,
             "--json-bytes", str(json_bytes), "--requests", str(requests), "--rate", repr(float(rate)),
             "--connections", str(connections)], capture_output=True, text=True, timeout=600, check=False)
    if answer.returncode != 0:
        raise ServiceFailure(answer.stderr.strip() or "service_load: exit %d" % answer.returncode)
    said = json.loads(answer.stdout)
    if said["failed"]:
        raise ServiceFailure("%d requests failed, the first: %s" % (said["failed"], said["failure"]))
    return said


@contextlib.contextmanager
def filled_cache(model, programs, seconds):
    """A cache with all that there is to be found for a model; what it was said to have been at the end, if not that."""
    cache = tempfile.mkdtemp(prefix="axrun_service_")
    try:
        answer = subprocess.run([programs["axrun"], "optimize", model.path, "--threads", "1", "--budget", "%g" % seconds,
                                 "--cache-dir", cache, "--quiet"], capture_output=True, text=True, check=False,
                                env={**os.environ, "AXRUN_OPTIMIZER_PRIORITY": "normal"})
        if answer.returncode != 0:
            raise ServiceFailure(answer.stderr.strip() or "axrun optimize: exit %d" % answer.returncode)
        yield cache
    finally:
        shutil.rmtree(cache)


def measure_window(kind, model, programs, load, before=None, group=None):
    """One window on a service that starts for it. before: the window whose optimiser a neutral process stands for.

    load["beside"]: the model that the optimiser works on, in windows with it; then those without it have an optimiser as
    well, which has nothing to do, and `model` starts from load["filled"] in both."""
    cache = tempfile.mkdtemp(prefix="axrun_service_")
    beside = load.get("beside")
    try:
        if beside:
            shutil.copytree(load["filled"], cache, dirs_exist_ok=True)
        with Service(programs["serve"], model.path, kind == OPTIMISER or bool(beside), cache, group,
                     beside.path if beside else None) as service:
            body, json_bytes = request_for(service.metadata())
            if beside and kind == OPTIMISER:
                service.run("beside", RUNS_BESIDE)
            beside_it = (Neutral(programs["load"], before, load.get("memory", 0)) if kind == NEUTRAL
                         else contextlib.nullcontext())
            with beside_it as neutral:
                send = lambda requests: put_under_load(programs["load"], service, body, json_bytes, requests,
                                                       load["rate"], load["connections"])
                send(load["warm_up"])
                counts = group.counts() if group else (0, 0)
                watch = Watch(service.process.pid)
                living = [service.process.pid] + (neutral.pids if neutral else [])
                with watch, Others(lambda: living + watch.helpers()) as others:
                    said = send(load["requests"])
                now = group.counts() if group else (0, 0)
            state = service.optimiser_state("beside" if beside else "m") if kind == OPTIMISER else ""
            left = service.optimiser_state("m") if beside else SETTLED
            if left != SETTLED:
                raise ServiceFailure("the cache is not full, its optimiser is %s: more seconds (--fill)" % left)
    finally:
        shutil.rmtree(cache)
    return {**window_of(said["microseconds"]), "kind": kind, "seconds": said["seconds"], "shares": watch.shares(),
            "assured_seconds": watch.assured_seconds, "state": state, "others": others.share,
            "periods": now[0] - counts[0], "throttled": now[1] - counts[1]}


def measure_quiet_window(kind, model, programs, load, before=None, group=None):
    """The same; once more where other programs have used more than load["others"] of a processor, but not for ever."""
    for _ in range(load["attempts"]):
        window = measure_window(kind, model, programs, load, before, group)
        if window["others"] <= load["others"]:
            break
    return window


def window_of(microseconds):
    ordered = sorted(microseconds)
    return {name: estimate.percentile(ordered, share) for name, share in PERCENTILES.items()}


def rate_for(model, programs, utilisation, requests=1000):
    """Requests a second that keep the service without an optimiser busy for that share of the time."""
    cache = tempfile.mkdtemp(prefix="axrun_service_")
    try:
        with Service(programs["serve"], model.path, False, cache) as service:
            body, json_bytes = request_for(service.metadata())
            said = put_under_load(programs["load"], service, body, json_bytes, requests, 0, 1)
    finally:
        shutil.rmtree(cache)
    return utilisation * 1e6 / statistics.median(said["microseconds"])


def summarise(rounds, first, second):
    """Ratios of `first` to `second` windows with intervals over rounds, and what groups were throttled.

    rounds: a list of {kind: window}.
    """
    summary = {"rounds": len(rounds)}
    for name in PERCENTILES:
        summary[name] = {kind: statistics.median(one[kind][name] for one in rounds) for kind in (first, second)}
        if len(rounds) >= 2:
            summary[name]["ratio"] = estimate.ratio_estimate([[one[first][name] / one[second][name]] for one in rounds])
    for count in ("periods", "throttled"):
        summary[count] = {kind: sum(one[kind][count] for one in rounds) for kind in (first, second)}
    summary["throttled_share"] = {
        "difference": difference([share_throttled(one[first]) - share_throttled(one[second]) for one in rounds])}
    summary["shares"] = {name: statistics.median(one[first]["shares"][name] for one in rounds)
                         for name in ("thread", "helper")}
    summary["others"] = max(window["others"] for one in rounds for window in one.values())
    summary["at_work_to_the_end"] = sum(one[first]["state"] != SETTLED for one in rounds)
    return summary


def share_throttled(window):
    return window["throttled"] / window["periods"] if window["periods"] else 0.0


def difference(values, seed=0):
    """Mean with its interval by the bootstrap."""
    generator = random.Random(seed)
    means = sorted(statistics.fmean(generator.choices(values, k=len(values))) for _ in range(estimate.RESAMPLES))
    edge = (1 - estimate.CONFIDENCE) / 2
    return {"mean": statistics.fmean(values), "low": estimate.percentile(means, edge),
            "high": estimate.percentile(means, 1 - edge)}
