"""A loaded model: axrun.Session."""

from __future__ import annotations

import ctypes
import json
import operator
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from ctypes import c_int64, c_size_t
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Optional, Protocol, Union, overload

import numpy as np
import numpy.typing as npt

from . import _arrays, _interrupts, _library
from ._library import MAP, OPTIONAL, SEQUENCE, TENSOR, Handle, check, library
from .errors import Cancelled, Error, InvalidArgument, MissingFile, Unsupported
from .operators import Operators
from .reports import Cache, Explanation, Metric, Progress
from .state import State


class SupportsDLPack(Protocol):
    """An array of another library's, in this machine's memory."""

    def __dlpack__(self) -> Any: ...


if TYPE_CHECKING:
    # What an input takes: an array, or lists and numbers; for a sequence a list of arrays, for an optional None, too.
    Input = Union[npt.ArrayLike, Sequence[npt.ArrayLike], SupportsDLPack, None]
    # What an output gives. Nearly always an array; that of another kind than "tensor" (Port.kind) is a list, a dictionary
    # or None, which a type checker takes for what it is used as.
    Result = Union[npt.NDArray[Any], Any]
    Path = Union[str, os.PathLike[str]]

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
    dtype: Optional[np.dtype[Any]]  #: numpy's, None while unknown
    shape: Optional[tuple[Union[int, str, None], ...]]  #: sizes: integers, or the names of those that are open (None without a name); None: rank unknown
    _code: int = 0  # axrun_type


class Cancellation:
    """Ends the runs that it was given to: cancel() from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._requests: set[Handle] = set()

    def cancel(self) -> None:
        """Ends the runs under way, each before its next step, and every later one before it begins."""
        with self._lock:
            self._cancelled = True
            for request in self._requests:
                library.axrun_cancel(request)

    def _begin(self, request: Handle) -> None:
        with self._lock:
            if self._cancelled:
                raise Cancelled("the run was cancelled")
            self._requests.add(request)

    def _end(self, request: Handle) -> None:
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

    def __init__(self, model: Union[Path, bytes, bytearray, memoryview], *, directory: Optional[Path] = None, threads: int = 0,
                 tier: Literal["auto", "fallback", "reference"] = "auto", shapes: Optional[Mapping[str, Sequence[int]]] = None,
                 dims: Optional[Mapping[str, int]] = None, optimize: bool = True, budget: Optional[float] = None,
                 optimizer_threads: int = 0, optimizer_priority: Optional[Literal["assured", "idle", "normal"]] = None,
                 optimizer_share: float = 1, deterministic: bool = False,
                 fp: Literal["reassoc", "strict", "bilinear"] = "reassoc", cache: Union[bool, Path, None] = True,
                 memory_limit: int = 0, operators: Optional[Operators] = None) -> None:
        if tier not in TIERS:
            raise InvalidArgument("there is no tier '%s': %s" % (tier, ", ".join(TIERS)))
        if budget is not None and not _real("budget", budget) >= 0:
            raise InvalidArgument("the budget is negative")
        if optimizer_priority not in PRIORITIES:
            raise InvalidArgument("there is no priority '%s': %s" % (optimizer_priority, ", ".join(PRIORITIES[1:])))
        if fp not in NUMERIC_CLASSES:
            raise InvalidArgument("there is no numeric class '%s': %s" % (fp, ", ".join(NUMERIC_CLASSES)))
        if deterministic and fp == "bilinear":
            raise InvalidArgument("deterministic is fp='strict'")
        options = _library.create(library.axrun_options_create, library.axrun_options_free)
        check(library.axrun_options_set_threads(options, _integer("threads", threads)))
        check(library.axrun_options_set_tier(options, TIERS.index(tier)))
        for name, shape in (shapes or {}).items():
            sizes = [_integer("a size of shape '%s'" % name, size) for size in shape]
            check(library.axrun_options_set_shape(options, name.encode(), (c_int64 * len(sizes))(*sizes), len(sizes)))
        for name, size in (dims or {}).items():
            check(library.axrun_options_set_dim(options, name.encode(), _integer("size '%s'" % name, size)))
        check(library.axrun_options_set_optimize(options, bool(optimize) and budget != 0))
        check(library.axrun_options_set_optimizer_threads(options, _integer("optimizer_threads", optimizer_threads)))
        check(library.axrun_options_set_optimizer_priority(options, PRIORITIES.index(optimizer_priority)))
        check(library.axrun_options_set_optimizer_share(options, _real("optimizer_share", optimizer_share)))
        check(library.axrun_options_set_fp(options, NUMERIC_CLASSES.index("strict" if deterministic else fp)))
        check(library.axrun_options_set_memory_limit(options, _integer("memory_limit", memory_limit)))
        if operators is not None:
            check(library.axrun_options_set_operators(options, operators._handle))
        if cache is False or cache is None:
            check(library.axrun_options_set_cache(options, None))
        elif cache is not True:
            check(library.axrun_options_set_cache(options, os.fsencode(cache)))

        if isinstance(model, (bytes, bytearray, memoryview)):
            content = bytes(model)
            where = None if directory is None else os.fsencode(directory)
            self._handle: Optional[Handle] = _library.create(library.axrun_session_load_memory, library.axrun_session_free, content,
                                           len(content), where, options)
        else:
            self._handle = _loaded_file(model, options)
        _interrupts.answer()
        if cache not in (True, False, None):  # somebody relies on it
            trouble = self.cache.trouble
            if trouble:
                warnings.warn("nothing is kept between processes: %s" % trouble, RuntimeWarning, stacklevel=2)
        self._inputs = _ports(library.axrun_input_count(self._handle), library.axrun_input_info, self._handle)
        self._outputs = _ports(library.axrun_output_count(self._handle), library.axrun_output_info, self._handle)
        self._input_index = {port.name: k for k, port in enumerate(self._inputs)}
        self._output_index = {port.name: k for k, port in enumerate(self._outputs)}
        self._budget = budget or None
        self._freeze_at: Optional[float] = None

    @property
    def inputs(self) -> tuple[Port, ...]:
        """A Port for each input, in the model's order."""
        return self._inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """A Port for each output, in the model's order."""
        return self._outputs

    @property
    def cache(self) -> Cache:
        """Where what the session finds is kept, and why not, where it cannot be."""
        info = _library.CacheInfo()
        check(library.axrun_cache_status(self._open(), ctypes.byref(info)))
        return Cache(os.fsdecode(info.folder), info.trouble.decode("utf8", "replace"), bool(info.found), bool(info.writable))

    @overload
    def run(self, feed: Mapping[str, Input], /, *, state: Optional[State] = None,
            out: Optional[Mapping[str, npt.NDArray[Any]]] = None, timeout: Optional[float] = None,
            cancellation: Optional[Cancellation] = None) -> dict[str, Result]: ...

    @overload
    def run(self, names: Optional[Sequence[str]], feed: Mapping[str, Input], /, *, state: Optional[State] = None,
            out: Optional[Mapping[str, npt.NDArray[Any]]] = None, timeout: Optional[float] = None,
            cancellation: Optional[Cancellation] = None) -> list[Result]: ...

    def run(self, names_or_feed: Any, feed: Any = None, /, *, state: Optional[State] = None,
            out: Optional[Mapping[str, npt.NDArray[Any]]] = None, timeout: Optional[float] = None,
            cancellation: Optional[Cancellation] = None) -> Union[dict[str, Result], list[Result]]:
        """run({name: value}) gives {name: result}; run(names, {name: value}) gives a list of these outputs, or, for None,
        of all of them, as onnxruntime.InferenceSession.run does.

        Values are arrays of the input's type, read in place where they are contiguous; or lists and numbers, which are
        converted: floats are rounded to the nearest value, what is out of range or would be another integer is refused.
        Sequences are lists of arrays; optionals an array or None. Results are arrays of their own; sequences lists, maps
        dictionaries, strings arrays of str.

        state: a State (new_state), which has some of the inputs and keeps some of the outputs; the others are given, and
            come back. A run that fails leaves it as it was.
        out: {name: array}, written in place; of the result's type and shape, contiguous.
        timeout: seconds, after which the run ends with DeadlineExceeded.
        cancellation: a Cancellation, which ends it with Cancelled.

        In the main thread, signals are handled while the model runs, ten times a second and between its steps: Ctrl-C ends
        the run with KeyboardInterrupt.
        """
        by_name = feed is None
        given: Mapping[str, Input] = names_or_feed if by_name else feed
        names: Optional[Sequence[str]] = None if by_name else names_or_feed
        if not isinstance(given, Mapping):
            raise InvalidArgument("inputs are given as {name: value}, not as %s; session(value, ...) takes them in order" %
                                  type(given).__name__)
        if isinstance(names, str):
            raise InvalidArgument("the outputs' names are a list: [%r]" % names)
        kept = state.feeds if state is not None else {}
        if names is None:
            wanted = [k for k, port in enumerate(self._outputs) if port.name not in kept]
        else:
            wanted = [self._output(name) for name in names]
            for name in names:
                if name in kept:
                    raise InvalidArgument("output '%s' is kept by the state" % name)
        request = self._run(self._fed(given, kept.values()), out or {}, timeout, cancellation, state)
        results: dict[str, Result] = {}
        for k in wanted:
            name = self._outputs[k].name
            if name not in results:
                results[name] = out[name] if out and name in out else _result(request, k, ())
        return results if by_name else [results[self._outputs[k].name] for k in wanted]

    def new_state(self, feeds: Mapping[str, str], capacity: int) -> State:
        """A State for runs that hand on values: {output: input}, what the output is in one run the input is in the next.

        Values that grow (an output that joins its input and something new) have up to `capacity` positions and grow in
        place; others, and those that operators join themselves, are handed on.

            state = session.new_state({"present.0.key": "past_key_values.0.key", "present.0.value": ...}, capacity=1024)
            logits = session.run({"input_ids": ids, ...}, state=state)["logits"]
        """
        codes = {port.name: port._code for port in self._inputs if port.name in set(feeds.values())}
        return State._of(self._open(), feeds, codes, _integer("capacity", capacity))

    def __call__(self, *values: Input, **named: Input) -> Result:
        """Values in the order of the inputs, or by name; the result is the only output, or a tuple of all."""
        if len(values) > len(self._inputs):
            raise InvalidArgument("the model has %d inputs, %d were given" % (len(self._inputs), len(values)))
        feed = {port.name: value for port, value in zip(self._inputs, values)}
        for name in named:
            if name in feed:
                raise InvalidArgument("input '%s' is given twice" % name)
        results = tuple(self.run(None, {**feed, **named}))
        return results[0] if len(results) == 1 else results

    def progress(self) -> Progress:
        """What the background optimiser is doing: a Progress."""
        info = _library.OptimizerInfo()
        check(library.axrun_optimizer_status(self._open(), ctypes.byref(info)))
        return Progress(info.state.decode(), info.reason.decode("utf8", "replace"), info.tried, info.left, info.steps,
                        info.swapped)

    def freeze(self) -> None:
        """From now on no kernel is swapped: what is in force stays, and results with it, to the bit."""
        check(library.axrun_optimizer_freeze(self._open()))

    def wait(self, timeout: Optional[float] = None) -> bool:
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

    def optimize(self, feed: Mapping[str, Input], budget: float,
                 on_progress: Optional[Callable[[Progress], object]] = None) -> Progress:
        """Lets the optimiser work for up to `budget` seconds, and freezes what it has come to: shapes that come later run
        the kernels of then, and are not optimised any more. (A session that is only used goes on optimising for whatever
        shapes it meets.) Meanwhile the model runs on these inputs now and then, and `on_progress` is called with a Progress
        after each run. Returns the last one."""
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

    def explain(self, feed: Mapping[str, Input], runs: Optional[int] = None) -> Explanation:
        """Why the model runs as it does on these inputs: an Explanation, with every step's time, limit and evidence, and
        every schedule that was tried for it. Times the steps of so many runs, by default of half a second of them."""
        handle = self._open()
        if runs is None:
            start = time.monotonic()
            self.run(feed)
            runs = int(min(max(_PROFILED_SECONDS / max(time.monotonic() - start, 1e-9), _FEWEST_RUNS), _MOST_RUNS))
        request, alive = self._bound(handle, self._fed(feed))
        try:
            text = _library.create(library.axrun_explain, library.axrun_text_free, request, _integer("runs", runs))
        except Cancelled:
            _interrupts.raise_pending()
            raise
        del alive
        record = json.loads(ctypes.string_at(text.pointer.value or 0))
        return Explanation.of({**record, "json": record})

    def metrics(self) -> list[Metric]:
        """Every metric of the session: a list of Metric."""
        found: list[Metric] = []

        def add(_: object, pointer: Any) -> None:
            metric = pointer.contents
            labels = {metric.label_names[k].decode(): metric.label_values[k].decode("utf8", "replace")
                      for k in range(metric.label_count)}
            found.append(Metric(metric.name.decode(), metric.help.decode(), bool(metric.counter), metric.value, labels))

        check(library.axrun_session_metrics(self._open(), _library.MetricSink(add), None))
        return found

    def close(self) -> None:
        """Ends the session's work; what it holds is freed when no run and no result uses it any more."""
        handle, self._handle = self._handle, None
        if handle is not None:
            library.axrun_optimizer_freeze(handle)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        def text(ports: Iterable[Port]) -> str:
            return ", ".join("%s: %s %s" % (port.name, port.type, "[...]" if port.shape is None else list(port.shape))
                             for port in ports)
        return "<axrun.Session (%s) -> (%s)>" % (text(self._inputs), text(self._outputs))

    def _open(self) -> Handle:
        handle = self._handle
        if handle is None:
            raise InvalidArgument("the session is closed")
        return handle

    def _output(self, name: str) -> int:
        if name not in self._output_index:
            raise InvalidArgument("there is no output '%s': %s" % (name, ", ".join(map(repr, self._output_index))))
        return self._output_index[name]

    def _fed(self, feed: Mapping[str, Input], kept: Iterable[str] = ()) -> list[tuple[int, Input]]:
        """(index, value) of every input but those kept; all that is wrong with the names is said at once."""
        kept = set(kept)
        wanted = [(k, port.name) for k, port in enumerate(self._inputs) if port.name not in kept]
        if len(feed) != len(wanted) or any(name not in feed for _, name in wanted):
            wrong = ["there is no input '%s'" % name for name in feed if name not in self._input_index]
            wrong += ["input '%s' is kept by the state" % name for name in feed if name in kept]
            wrong += ["input '%s' is missing" % name for _, name in wanted if name not in feed]
            raise InvalidArgument("; ".join(wrong))
        return [(k, feed[name]) for k, name in wanted]

    def _bound(self, handle: Handle, fed: Iterable[tuple[int, Input]]) -> tuple[Handle, list[object]]:
        """A request with these inputs, and what has to live while it reads them."""
        request = _library.create(library.axrun_request_create, library.axrun_request_free, handle, keeps=handle)
        alive: list[object] = []
        for k, value in fed:
            try:
                alive.append(_bind(request, k, self._inputs[k], value))
            except Error as error:
                error.input = self._inputs[k].name
                raise
        return request, alive

    def _run(self, fed: Iterable[tuple[int, Input]], out: Mapping[str, npt.NDArray[Any]], timeout: Optional[float],
             cancellation: Optional[Cancellation], state: Optional[State] = None) -> Handle:
        """The request of a run that has succeeded: it holds the results."""
        handle = self._open()
        request, alive = self._bound(handle, fed)
        if state is not None:
            check(library.axrun_use_state(request, state._handle))
        for name, array in out.items():
            alive.append(_bind_output(request, self._output(name), self._outputs[self._output(name)], array))
        if timeout is not None:
            if not _real("timeout", timeout) > 0:
                raise InvalidArgument("the timeout is not above 0")
            check(library.axrun_set_timeout(request, timeout))
        if cancellation is not None:
            cancellation._begin(request)
        try:
            check(library.axrun_run(request))
        except Cancelled:
            _interrupts.raise_pending()
            raise
        finally:
            if cancellation is not None:
                cancellation._end(request)
        del alive  # inputs are read until here
        if self._budget is not None:
            self._count_budget(handle)
        return request

    def _count_budget(self, handle: Handle) -> None:
        now = time.monotonic()
        if self._freeze_at is None:
            self._freeze_at = now + (self._budget or 0)
        elif now >= self._freeze_at:
            self._budget = None
            check(library.axrun_optimizer_freeze(handle))


def _integer(what: str, value: object) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgument("%s is %r, not an integer" % (what, value)) from None


def _real(what: str, value: object) -> float:
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise InvalidArgument("%s is %r, not a number" % (what, value))
    return float(value)


def _loaded_file(model: Path, options: Handle) -> Handle:
    try:
        name = os.fsencode(model)
    except TypeError:
        raise InvalidArgument("a model is a path or a file's bytes, not %s" % type(model).__name__) from None
    try:
        return _library.create(library.axrun_session_load, library.axrun_session_free, name, options)
    except InvalidArgument as error:
        if os.path.lexists(name):
            raise
        raise MissingFile(str(error), os.fsdecode(name)) from None


def _ports(count: int, info: Any, handle: Handle) -> tuple[Port, ...]:
    ports = []
    for k in range(count):
        port = _library.PortInfo()
        check(info(handle, k, ctypes.byref(port)))
        shape: Optional[tuple[Union[int, str, None], ...]] = None
        if port.rank >= 0:
            shape = tuple(size if size >= 0 else port.dim_names[d].decode("utf8", "replace") or None
                          for d, size in enumerate(port.dims[:port.rank]))
        ports.append(Port(port.name.decode("utf8", "replace"), KINDS[port.kind], _arrays.type_name(port.type),
                          _arrays.dtype_of(port.type), shape, port.type))
    return tuple(ports)


def _bind(request: Handle, index: int, port: Port, value: Any) -> object:
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


def _bind_output(request: Handle, index: int, port: Port, array: Any) -> object:
    usable = isinstance(array, np.ndarray) and array.flags.carray and array.dtype.isnative
    if not usable:
        raise InvalidArgument("the buffer for output '%s' has to be a contiguous, writeable array" % port.name)
    tensor, alive = _arrays.tensor_of(array, port._code)
    if port.dtype is not None and array.dtype != port.dtype:
        raise InvalidArgument("output '%s' is %s, the buffer given is %s" % (port.name, port.type, array.dtype))
    check(library.axrun_bind_output(request, index, ctypes.byref(tensor)))
    return alive


def _result(request: Handle, index: int, path: tuple[int, ...]) -> Any:
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
