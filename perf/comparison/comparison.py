"""A whole comparison: every model at every thread count, with its outputs checked and its floor."""

import contextlib
import os
import tempfile
import time
from dataclasses import dataclass, field

from comparison import gate, limits, machine, model_file, outputs, programs, report
from comparison.host_process import HostFailure, HostProcess
from comparison.measure import Plan, measure

SCHEMA = 2


@dataclass
class Comparison:
    """What is measured, and the rows that came of it."""
    hosts: dict  # {name: Host}, the subject first
    models: list
    threads: list  # thread counts
    plan: Plan
    programs_folder: str  # where axrun's own programs are: its reference and what measures the machine
    again: set  # names of the models on which the subject is its own peer too
    budget: float = None  # seconds for everything
    record: dict = field(default_factory=dict)  # more of what was asked for
    rows: list = field(default_factory=list)
    machine_limits: dict = None

    def run(self):
        """Yields row after row as they are measured."""
        deadline = time.monotonic() + (self.budget or 0)
        self.machine_limits = limits.measure_machine(self.programs_folder)
        self._warm_up(self.models[0])
        for index, model in enumerate(self.models):
            if self.budget is not None:
                models_left = len(self.models) - index
                self.plan.row_seconds = (deadline - time.monotonic()) / models_left / len(self.threads)
            yield from self._measure(model)

    def _warm_up(self, model):
        """Starts all programs once, so that none reads its libraries from the disk while it is measured."""
        for host in self.hosts.values():
            with contextlib.suppress(HostFailure):
                HostProcess(host.command + model.arguments + ["--serve"], host.environment, self.plan.timeout).close()

    def _measure(self, model):
        """The rows of one model, one for each thread count."""
        model.read()
        judged = model_file.is_plain_float32(model.path)
        costs = limits.model_costs(self.programs_folder, model.arguments) if self.machine_limits else None
        with tempfile.TemporaryDirectory() as scratch:
            reference = [os.path.join(self.programs_folder, "axrun_bench"), *model.arguments, "--tier", "reference"]
            expectation = outputs.Expectation.of(model.data, reference, self.plan.reference_seconds, scratch)
            for threads in self.threads:
                saved = os.path.join(scratch, str(threads))
                row = {"model": model.name, "threads": threads,
                       **measure(model.arguments, threads, self._hosts_for(model), self.plan, saved)}
                row["floor_us"] = limits.floor_us(self.machine_limits, costs, threads)
                for name, program in row["programs"].items():
                    if "error" in program:
                        continue
                    program["outputs"] = outputs.check(expectation, os.path.join(saved, name), judged)
                    program["share_of_limit"] = row["floor_us"] and row["floor_us"] / program["p50_us"]
                self.rows.append(row)
                yield row

    def _hosts_for(self, model):
        if model.name not in self.again:
            return self.hosts
        subject, *peers = self.hosts
        return {subject: self.hosts[subject], programs.AGAIN: self.hosts[subject],
                **{name: self.hosts[name] for name in peers}}

    def result(self):
        """Everything, as perf/README.md describes it."""
        summary = report.summarise(self.rows)
        return {"schema": SCHEMA, "taken_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **self.record, "machine": machine.describe(),
                "limits": self.machine_limits, "plan": vars(self.plan), "programs": self._versions(), "rows": self.rows,
                "summary": summary, "missed": gate.failures(summary)}

    def _versions(self):
        """Engine and version as the programs say, else the program's name."""
        versions = {}
        for name, host in self.hosts.items():
            said = [row["programs"][name] for row in self.rows if row["programs"][name].get("engine")]
            found = said[0] if said else {"engine": os.path.basename(host.command[0]), "version": ""}
            versions[name] = {key: found[key] for key in ("engine", "version")}
        return versions
