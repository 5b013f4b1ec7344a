"""One host program in `--serve` mode. perf/README.md describes the protocol."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time

SECONDS_TO_QUIT = 10  # it may have outputs to save

# Numbers that the first line must hold.
FIRST_LINE = ("load_ms", "session_ms", "first_ms", "start_to_first_ms")


class HostFailure(Exception):
    """The host ended, answered nonsense or took too long; the text says which."""


class HostProcess:
    """A running host. Use it in a `with` block: leaving the block ends the program, whatever happened."""

    def __init__(self, command, environment, timeout):
        """Starts the program and waits for its first line, printed right after the first answer.

        start_ms is the wall time from before the fork to the arrival of that line: what a user waits for.
        """
        self.timeout = timeout
        self.buffer = b""
        self.started = None
        self.exited = False
        begin = time.perf_counter()
        try:
            self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, bufsize=0)
        except OSError as error:
            raise HostFailure("can't start %s: %s" % (command[0], error.strerror)) from error
        try:
            line = self._read_line()
            self.start_ms = (time.perf_counter() - begin) * 1e3
            self.started = self._parse(line)
            missing = [key for key in FIRST_LINE if not isinstance(self.started.get(key), (int, float))]
            if missing:
                raise HostFailure("its first line lacks %s" % ", ".join(missing))
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def run(self, count):
        """Times in microseconds of `count` runs in a row."""
        times = self._ask(b"run %d\n" % count).get("times_us")
        if not isinstance(times, list) or len(times) != count:
            raise HostFailure("the answer to `run %d` does not hold %d times" % (count, count))
        return times

    def settle(self):
        """Waits until it has ended what it does in the background; returns what it says of that."""
        return self._ask(b"settle\n")

    def peak_rss_bytes(self):
        """High-water mark of its resident memory, as the kernel counts it for this program alone."""
        with open("/proc/%d/status" % self.process.pid) as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        raise HostFailure("the kernel reports no peak memory")

    def pin(self, processors):
        """Keeps all threads it has by now on these processors."""
        for thread in os.listdir("/proc/%d/task" % self.process.pid):
            with contextlib.suppress(ProcessLookupError):  # the thread has ended
                os.sched_setaffinity(int(thread), processors)

    def pause(self):
        """Stops all its threads. Waiting is not enough: workers may spin for tens of milliseconds after an answer."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        """Lets it go on after `pause`."""
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        """Asks it to quit, and ends it when it does not; its exit is then waited for."""
        if self.exited:
            return
        self.exited = True
        self.resume()
        try:
            self.process.stdin.write(b"quit\n")
        except OSError:
            pass
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        if not self._ends_its_output(time.perf_counter() + SECONDS_TO_QUIT):
            self.process.kill()
        try:
            self.process.wait(SECONDS_TO_QUIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def _ends_its_output(self, deadline):
        """Whether its stdout ends in time, as it does when it exits; unlike Popen.wait, this notices at once."""
        out = self.process.stdout.fileno()
        while select.select([out], [], [], max(0, deadline - time.perf_counter()))[0]:
            if not os.read(out, 1 << 16):
                return True
        return False

    def _ask(self, line):
        with contextlib.suppress(BrokenPipeError):  # the reason is read from its stderr
            self.process.stdin.write(line)
        return self._parse(self._read_line())

    def _read_line(self):
        deadline = time.perf_counter() + self.timeout
        out = self.process.stdout.fileno()
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([out], [], [], max(0, deadline - time.perf_counter()))
            if not ready:
                raise HostFailure("no answer within %g s" % self.timeout)
            block = os.read(out, 1 << 16)
            if not block:
                raise HostFailure(self._why_it_ended())
            self.buffer += block
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def _why_it_ended(self):
        code = self.process.wait()
        lines = self.process.stderr.read().decode("utf8", "replace").strip().splitlines()
        return "exit %d: %s" % (code, lines[-1] if lines else "no message")

    @staticmethod
    def _parse(line):
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise HostFailure("it printed %r, which is no JSON object" % line[:80])
        return answer
