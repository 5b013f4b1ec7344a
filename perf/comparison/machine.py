"""What else the machine did during a measurement."""

import os
import platform
import resource


def _own_cpu_seconds():
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)  # those that have been waited for
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _cpu_times():
    """Seconds of (all, busy, stolen) time of all processors since boot."""
    with open("/proc/stat") as stat:
        ticks = [int(x) for x in stat.readline().split()[1:9]]
    user, nice, system, idle, iowait, irq, softirq, steal = (x / os.sysconf("SC_CLK_TCK") for x in ticks)
    busy = user + nice + system + irq + softirq
    return busy + idle + iowait + steal, busy, steal


class Noise:
    """Steal time and the work of other programs between creation and `percent()`, in percent of all processors."""

    def __init__(self):
        self.own = _own_cpu_seconds()
        self.times = _cpu_times()

    def percent(self):
        """Call it when the measured programs have ended: only then does the kernel tell their share."""
        total, busy, steal = (now - before for now, before in zip(_cpu_times(), self.times))
        own = _own_cpu_seconds() - self.own
        total = max(total, 1e-9)
        return {"steal_percent": round(100 * steal / total, 2),
                "other_programs_percent": round(100 * max(0.0, busy - own) / total, 2)}


def describe():
    """Processor, its instruction set, core count and kernel, for the record."""
    said = {}
    with open("/proc/cpuinfo") as info:
        for line in info:
            name, _, value = line.partition(":")
            said.setdefault(name.strip(), value.strip())
    flags = said.get("flags", "").split()
    isa = next((name for name, flag in (("avx512", "avx512f"), ("avx2", "avx2")) if flag in flags), "sse2")
    return {"processor": said.get("model name", "unknown"), "isa": isa, "processors": len(os.sched_getaffinity(0)),
            "kernel": platform.release()}
