"""A loaded model: axrun.Session."""

import ctypes
import json
import os
import threading
import time
from ctypes import c_int64, c_size_t
from dataclasses import dataclass

import numpy as np

from . import _arrays, _library
from ._library import MAP, OPTIONAL, SEQUENCE, TENSOR, check, library
from .errors import Cancelled, Error, InvalidArgument, Unsupported
from .reports import Explanation, Metric, Progress

TIERS = ("reference", "fallback", "auto")
PRIORITIES = (None, "assured", "idle", "normal")  # axrun_priority
NUMERIC_CLASSES = ("reassoc", "strict", "bilinear")  # axrun_fp
KINDS = ("tensor", "sequence", "optional", "map")

# So long one call waits for the optimiser: between two of them an interrupt is noticed.
_WAIT_SECONDS = 0.1
# Session.optimize leaves the processor to the optimiser for this multiple of a run's time.
_PAUSE, _SHORTEST_PAUSE, _LONGEST_PAUSE = 9, 0.005, 5
# Of runs whose steps Session.explain times.
_PROFILED_SECONDS, _FEWEST_RUNS, _MOST_RUNS = 0.5, 3, 1000


@dataclass(frozen=True)
class Port:
    """An input or output of a model."""
    name: str
    kind: str  #: "tensor", "sequence", "optional" or "map"
    type: str  #: ONNX's name of the element type: "float32", "bfloat16", "int4", "string"; "undefined" while unknown
    dtype: object  #: numpy's, None while unknown
    shape: tuple  #: sizes: integers, or the names of those that are open (None without a name); None: rank unknown
    _code: int = 0  # axrun_type


class Cancellation:
    """Ends the runs that it was given to: cancel() from any thread."""

    def __init__(self):
        self._lock = threading.Lock()
        self._cancelled = False
        self._requests = set()

    def cancel(self):
        """Ends the runs under way, each before its next step, and every later one before it begins."""
        with self._lock:
            self._cancelled = True
            for request in self._requests:
                library.axrun_cancel(request)

    def _begin(self, request):
        with self._lock:
            if self._cancelled:
                raise Cancelled("the run was cancelled")
            self._requests.add(request)

    def _end(self, request):
        with self._lock:
            self._requests.discard(request)


class Session:
    """A loaded model. Loading may take a while; everything else may be called from many threads at once.

    model: a path, or the file's bytes.
    directory: where external data of a model in bytes may lie; without it, such a model is refused.
    threads: of one run; 0: every processor this process may use.
    tier: "auto"; "fallback": precompiled kernels only; "reference": the slow, exact twin.
    shapes, dims: fix the shapes of inputs, and sizes that the model names.
    optimize: False: no background optimiser.
    budget: seconds after the first run in which the optimiser may swap kernels; None: while it finds any, 0: never.
    optimizer_threads: of its own; 0: the standard.
    optimizer_priority: where others want the processors, too: "idle": next to nothing; "assured": a tenth at the start
        besides; "normal": as much as anybody; None: what AXRUN_OPTIMIZER_PRIORITY says, else assured.
    optimizer_share: of one processor that it takes at most, with its helper process: above 0, at most 1.
    deterministic: it swaps in only kernels whose results equal the precompiled ones' to the bit; the same as fp="strict".
    fp: what its kernels may do to floats: "strict"; "reassoc": sums in another order; "bilinear": convolutions by Winograd's
        algorithms besides, where that is faster, whose errors are bounded next to the largest values around a result.
    cache: True: the environment's folder; False: nothing is kept or used; a path: that folder.
    memory_limit: bytes one run may take for its tensors; 0: the machine's memory.
    operators: an Operators, whose operators the model may use besides axrun's own.
    """

    def __init__(self, model, *, directory=None, threads=0, tier="auto", shapes=None, dims=None, optimize=True, budget=None,
                 optimizer_threads=0, optimizer_priority=None, optimizer_share=1, deterministic=False, fp="reassoc", cache=True,
                 memory_limit=0, operators=None):
        if tier not in TIERS:
            raise InvalidArgument("there is no tier '%s': %s" % (tier, ", ".join(TIERS)))
        if budget is not None and not budget >= 0:
            raise InvalidArgument("the budget is negative")
        if optimizer_priority not in PRIORITIES:
            raise InvalidArgument("there is no priority '%s': %s" % (optimizer_priority, ", ".join(PRIORITIES[1:])))
        if fp not in NUMERIC_CLASSES:
            raise InvalidArgument("there is no numeric class '%s': %s" % (fp, ", ".join(NUMERIC_CLASSES)))
        if deterministic and fp == "bilinear":
            raise InvalidArgument("deterministic is fp='strict'")
        options = _library.create(library.axrun_options_create, library.axrun_options_free)
        check(library.axrun_options_set_threads(options, threads))
        check(library.axrun_options_set_tier(options, TIERS.index(tier)))
        for name, shape in (shapes or {}).items():
            check(library.axrun_options_set_shape(options, name.encode(), (c_int64 * len(shape))(*shape), len(shape)))
        for name, size in (dims or {}).items():
            check(library.axrun_options_set_dim(options, name.encode(), size))
        check(library.axrun_options_set_optimize(options, bool(optimize) and budget != 0))
        check(library.axrun_options_set_optimizer_threads(options, optimizer_threads))
        check(library.axrun_options_set_optimizer_priority(options, PRIORITIES.index(optimizer_priority)))
        check(library.axrun_options_set_optimizer_share(options, optimizer_share))
        check(library.axrun_options_set_fp(options, NUMERIC_CLASSES.index("strict" if deterministic else fp)))
        check(library.axrun_options_set_memory_limit(options, memory_limit))
        if operators is not None:
            check(library.axrun_options_set_operators(options, operators._handle))
        if cache is False or cache is None:
            check(library.axrun_options_set_cache(options, None))
        elif cache is not True:
            check(library.axrun_options_set_cache(options, os.fsencode(cache)))

        if isinstance(model, (bytes, bytearray, memoryview)):
            content = bytes(model)
            where = None if directory is None else os.fsencode(directory)
            self._handle = _library.create(library.axrun_session_load_memory, library.axrun_session_free, content,
                                           len(content), where, options)
        else:
            self._handle = _library.create(library.axrun_session_load, library.axrun_session_free, os.fsencode(model),
                                           options)
        self._inputs = _ports(library.axrun_input_count(self._handle), library.axrun_input_info, self._handle)
        self._outputs = _ports(library.axrun_output_count(self._handle), library.axrun_output_info, self._handle)
        self._input_index = {port.name: k for k, port in enumerate(self._inputs)}
        self._output_index = {port.name: k for k, port in enumerate(self._outputs)}
        self._budget = budget or None
        self._freeze_at = None

    @property
    def inputs(self):
        """A Port for each input, in the model's order."""
        return self._inputs

    @property
    def outputs(self):
        """A Port for each output, in the model's order."""
        return self._outputs

    def run(self, *arguments, out=None, timeout=None, cancellation=None):
        """run({name: value}) gives {name: result}; run(names, {name: value}) gives a list of these outputs, or, for None,
        of all of them, as onnxruntime.InferenceSession.run does.

        Values are arrays of the input's type, read in place where they are contiguous; or lists and numbers, which are
        converted where no value is lost. Sequences are lists of arrays; optionals an array or None. Results are arrays
        of their own; sequences lists, maps dictionaries, strings arrays of str.

        out: {name: array}, written in place; of the result's type and shape, contiguous.
        timeout: seconds, after which the run ends with DeadlineExceeded.
        cancellation: a Cancellation, which ends it with Cancelled.
        """
        if len(arguments) == 1:
            names, feed = None, arguments[0]
        elif len(arguments) == 2:
            names, feed = arguments
        else:
            raise TypeError("run takes a dictionary of inputs, or the outputs' names before it")
        wanted = range(len(self._outputs)) if names is None else [self._output(name) for name in names]
        request = self._run(self._fed(feed), out or {}, timeout, cancellation)
        results = {}
        for k in wanted:
            name = self._outputs[k].name
            if name not in results:
                results[name] = out[name] if out and name in out else _result(request, k, ())
        return results if len(arguments) == 1 else [results[self._outputs[k].name] for k in wanted]

    def __call__(self, *values, **named):
        """Values in the order of the inputs, or by name; the result is the only output, or a tuple of all."""
        if len(values) > len(self._inputs):
            raise InvalidArgument("the model has %d inputs, %d were given" % (len(self._inputs), len(values)))
        feed = {port.name: value for port, value in zip(self._inputs, values)}
        for name in named:
            if name in feed:
                raise InvalidArgument("input '%s' is given twice" % name)
        results = tuple(self.run(None, {**feed, **named}))
        return results[0] if len(results) == 1 else results

    def progress(self):
        """What the background optimiser is doing: a Progress."""
        info = _library.OptimizerInfo()
        check(library.axrun_optimizer_status(self._open(), ctypes.byref(info)))
        return Progress(info.state.decode(), info.reason.decode("utf8", "replace"), info.tried, info.left, info.steps,
                        info.swapped)

    def freeze(self):
        """From now on no kernel is swapped: what is in force stays, and results with it, to the bit."""
        check(library.axrun_optimizer_freeze(self._open()))

    def wait(self, timeout=None):
        """Waits until the optimiser has nothing left to do, or has stopped; False when `timeout` seconds were over before.
        Its work begins with the second run."""
        handle = self._open()
        end = None if timeout is None else time.monotonic() + timeout
        done = ctypes.c_int()
        while True:
            left = _WAIT_SECONDS if end is None else min(_WAIT_SECONDS, end - time.monotonic())
            check(library.axrun_optimizer_wait(handle, max(left, 0), ctypes.byref(done)))
            if done.value or left <= 0:
                return bool(done.value)

    def optimize(self, feed, budget, on_progress=None):
        """Lets the optimiser work for up to `budget` seconds, and freezes what it has come to. Meanwhile the model runs on
        these inputs now and then, and `on_progress` is called with a Progress after each run. Returns the last one."""
        end = time.monotonic() + budget
        self.run(feed)  # the optimiser begins with the second run
        while True:
            start = time.monotonic()
            self.run(feed)
            now = time.monotonic()
            if on_progress is not None:
                on_progress(self.progress())
            rest = min(max(_PAUSE * (now - start), _SHORTEST_PAUSE), _LONGEST_PAUSE)
            if now >= end or self.wait(min(rest, end - now)):
                self.freeze()
                return self.progress()

    def explain(self, feed, runs=None):
        """Why the model runs as it does on these inputs: an Explanation, with every step's time, limit and evidence, and
        every schedule that was tried for it. Times the steps of so many runs, by default of half a second of them."""
        handle = self._open()
        if runs is None:
            start = time.monotonic()
            self.run(feed)
            runs = int(min(max(_PROFILED_SECONDS / max(time.monotonic() - start, 1e-9), _FEWEST_RUNS), _MOST_RUNS))
        request, alive = self._bound(handle, self._fed(feed))
        text = _library.create(library.axrun_explain, library.axrun_text_free, request, runs)
        del alive
        record = json.loads(ctypes.string_at(text.pointer))
        return Explanation.of({**record, "json": record})

    def metrics(self):
        """Every metric of the session: a list of Metric."""
        found = []

        def add(_, metric):
            metric = metric.contents
            labels = {metric.label_names[k].decode(): metric.label_values[k].decode("utf8", "replace")
                      for k in range(metric.label_count)}
            found.append(Metric(metric.name.decode(), metric.help.decode(), bool(metric.counter), metric.value, labels))

        check(library.axrun_session_metrics(self._open(), _library.MetricSink(add), None))
        return found

    def close(self):
        """Ends the session's work; what it holds is freed when no run and no result uses it any more."""
        handle, self._handle = self._handle, None
        if handle is not None:
            library.axrun_optimizer_freeze(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        def text(ports):
            return ", ".join("%s: %s %s" % (port.name, port.type, list(port.shape or ())) for port in ports)
        return "<axrun.Session (%s) -> (%s)>" % (text(self._inputs), text(self._outputs))

    def _open(self):
        handle = self._handle
        if handle is None:
            raise InvalidArgument("the session is closed")
        return handle

    def _output(self, name):
        if name not in self._output_index:
            raise InvalidArgument("there is no output '%s': %s" % (name, ", ".join(map(repr, self._output_index))))
        return self._output_index[name]

    def _fed(self, feed):
        """(index, value) of every input; all that is wrong with the names is said at once."""
        if len(feed) != len(self._inputs) or any(port.name not in feed for port in self._inputs):
            wrong = ["there is no input '%s'" % name for name in feed if name not in self._input_index]
            wrong += ["input '%s' is missing" % port.name for port in self._inputs if port.name not in feed]
            raise InvalidArgument("; ".join(wrong))
        return [(k, feed[port.name]) for k, port in enumerate(self._inputs)]

    def _bound(self, handle, fed):
        """A request with these inputs, and what has to live while it reads them."""
        request = _library.create(library.axrun_request_create, library.axrun_request_free, handle, keeps=handle)
        alive = []
        for k, value in fed:
            try:
                alive.append(_bind(request, k, self._inputs[k], value))
            except Error as error:
                error.input = self._inputs[k].name
                raise
        return request, alive

    def _run(self, fed, out, timeout, cancellation):
        """The request of a run that has succeeded: it holds the results."""
        handle = self._open()
        request, alive = self._bound(handle, fed)
        for name, array in out.items():
            alive.append(_bind_output(request, self._output(name), self._outputs[self._output(name)], array))
        if timeout is not None:
            if not timeout > 0:
                raise InvalidArgument("the timeout is not above 0")
            check(library.axrun_set_timeout(request, timeout))
        if cancellation is not None:
            cancellation._begin(request)
        try:
            check(library.axrun_run(request))
        finally:
            if cancellation is not None:
                cancellation._end(request)
        del alive  # inputs are read until here
        if self._budget is not None:
            self._count_budget(handle)
        return request

    def _count_budget(self, handle):
        now = time.monotonic()
        if self._freeze_at is None:
            self._freeze_at = now + self._budget
        elif now >= self._freeze_at:
            self._budget = None
            check(library.axrun_optimizer_freeze(handle))


def _ports(count, info, handle):
    ports = []
    for k in range(count):
        port = _library.PortInfo()
        check(info(handle, k, ctypes.byref(port)))
        shape = None
        if port.rank >= 0:
            shape = tuple(size if size >= 0 else port.dim_names[d].decode("utf8", "replace") or None
                          for d, size in enumerate(port.dims[:port.rank]))
        ports.append(Port(port.name.decode("utf8", "replace"), KINDS[port.kind], _arrays.type_name(port.type),
                          _arrays.dtype_of(port.type), shape, port.type))
    return tuple(ports)


def _bind(request, index, port, value):
    """Binds an input; gives what has to live until the run is over."""
    if port.kind == "map":
        raise Unsupported("input '%s' is a map: axrun takes none" % port.name)
    if port.kind == "tensor":
        array = _arrays.array_of(value, port._code, port.name)
        if array.dtype == object:
            _arrays.bind_strings(request, index, array)
            return array
        tensor, alive = _arrays.tensor_of(array, port._code)
        check(library.axrun_bind_input(request, index, ctypes.byref(tensor)))
        return alive
    if port.kind == "sequence" and not isinstance(value, (list, tuple)):
        raise InvalidArgument("input '%s' is a sequence: a list of arrays" % port.name)
    parts = value if port.kind == "sequence" else () if value is None else (value,)
    made = [_arrays.tensor_of(_arrays.array_of(part, port._code, port.name), port._code) for part in parts]
    tensors = (_library.Tensor * len(made))(*[tensor for tensor, _ in made])
    kind = SEQUENCE if port.kind == "sequence" else OPTIONAL
    check(library.axrun_bind_input_parts(request, index, kind, tensors, len(made)))
    return made


def _bind_output(request, index, port, array):
    usable = isinstance(array, np.ndarray) and array.flags.carray and array.dtype.isnative
    if not usable:
        raise InvalidArgument("the buffer for output '%s' has to be a contiguous, writeable array" % port.name)
    tensor, alive = _arrays.tensor_of(array, port._code)
    if port.dtype is not None and array.dtype != port.dtype:
        raise InvalidArgument("output '%s' is %s, the buffer given is %s" % (port.name, port.type, array.dtype))
    check(library.axrun_bind_output(request, index, ctypes.byref(tensor)))
    return alive


def _result(request, index, path):
    value = _library.Value()
    where = (c_size_t * len(path))(*path)
    check(library.axrun_get_output_value(request, index, where, len(path), ctypes.byref(value)))
    if value.kind == TENSOR:
        return None if value.tensor.type == 0 else _arrays.array_over(value.tensor, value.string_sizes, request)
    parts = [_result(request, index, path + (k,)) for k in range(value.count)]
    if value.kind == MAP:
        return dict(zip(parts[0].tolist(), parts[1].tolist()))
    if value.kind == OPTIONAL:
        return parts[0] if parts else None
    return parts
