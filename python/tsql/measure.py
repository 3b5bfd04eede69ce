"""Timings that are made here.

`Store.measure` builds and times kernels in C, C++ and CUDA, in processes of their own. What is a callable of Python (a
function of NumPy, a model of torch) is timed in this process, by the same rules and with the same flags:

    >>> import tsql
    >>> store = tsql.create("memory:")
    >>> timing = tsql.measure.callable(sorted, [list(range(1000))], store=store, repeat=5, max_time_s=0.2)
    >>> timing.median_ns > 1000, timing.target
    (True, 'python')
    >>> store.sql("SELECT workload_key FROM records JOIN graphs USING (graph_id)").scalar()
    '["sorted", {"args": [["list", 1000]]}]'

Tensors of torch that lie on a GPU are timed by its events. `Run` is for many callables: one stream of records, each on the
local disk before the next is timed and in the store once, whatever is killed.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import platform as system
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _native
from ._parsed import later, parsed
from .errors import ArgumentError

if TYPE_CHECKING:
    from ._store import Store
    from . import _reports
    from ._reports import Ingested
else:
    _reports = later("_reports")

__all__ = ["Finding", "Run", "Template", "Timing", "callable", "devices", "doctor", "machine", "platform", "templates"]

_RUNTIME_ERROR = 4
"""TVM's number for what fails when it runs."""

_SEVERAL = 1.2
"""Processor time of the process over that of this thread, from which a callable is taken to have several threads."""

_TOLD_NS = 100_000
"""Processor time below which that says nothing."""


@dataclass(frozen=True)
class Timing:
    """What timing a callable gave. Times are nanoseconds of a call; failed ones have none, and say why."""

    workload_key: str
    steps: str
    target: str
    median_ns: float | None
    repeats_ns: list[float]
    """The repeats that count."""
    cpu_repeats_ns: list[float] | None
    """Their processor time; `None` on a GPU."""
    number: int
    """Calls in each repeat."""
    flags: list[str]
    all_cost_s: float
    error_no: int
    error_message: str | None


class Run:
    """A stream of records of what this process times: `Run(store, "attention", platform="a100")`.

    Records are on the local disk when `callable` returns, and in the store after `commit_records` of them, after `commit_s`
    seconds, and at the end. What a killed process has left, the next run on the store brings in.

        with tsql.measure.Run(store, "attention") as run:
            for tile in (16, 32, 64):
                run.callable(attention, (q, k, v), steps={"TILE": tile}, kwargs={"tile": tile})
    """

    def __init__(
        self,
        store: Store,
        name: str,
        *,
        platform: str | None = None,
        labels: Mapping[str, str] | None = None,
        commit_s: float = 30.0,
        commit_records: int = 500,
    ) -> None:
        of = [(key, str(value)) for key, value in (labels or {}).items()]
        self.platform = platform or _native.platform(None)
        self._native = store._native.recording(name, self.platform, of, commit_s, commit_records)
        self.report: Ingested | None = None
        """What it brought; there when it is closed."""

    @property
    def stream(self) -> str:
        """Name of the source of its records."""
        return self._native.stream

    def callable(self, function: Callable[..., Any], args: Sequence[Any] = (), **how: Any) -> Timing:
        """Times a callable and keeps the record: see `tsql.measure.callable`, whose other arguments these are."""
        timing, record = _timed(function, args, **how)
        self._native.take(json.dumps(record))
        return timing

    def commit(self) -> int:
        """Waits until all records are in the store; how many they were."""
        return self._native.commit()

    def close(self) -> Ingested:
        """Stores what is left, and says what the run brought."""
        if self.report is None:
            self.report = parsed(_reports.Ingested, self._native.finish())
        return self.report

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tsql.measure.Run {self.stream!r}>"


def callable(
    function: Callable[..., Any],
    args: Sequence[Any] = (),
    *,
    kwargs: Mapping[str, Any] | None = None,
    store: Store | None = None,
    platform: str | None = None,
    labels: Mapping[str, str] | None = None,
    workload: Any = None,
    steps: Any = None,
    program: str | None = None,
    raises: bool = True,
    threads: int | None = None,
    cache: str = "warm",
    repeat: int = 50,
    max_repeat: int = 500,
    min_repeat_ms: float = 2.0,
    precision: float = 0.01,
    max_time_s: float = 5.0,
) -> Timing:
    """Times `function(*args, **kwargs)` in this process; with a `store`, the timing is a record of it.

    - It is warmed up, then called in repeats of at least `min_repeat_ms`, so many (`repeat` to `max_repeat`) that the
      median's 95 % interval is within `precision` of it, for `max_time_s` at most. Wall clock and processor time are kept, and
      flags say what was odd (`busy_machine`, `disturbed`, `not_converged`, ...). With a tensor on a GPU among the arguments,
      the device's own events are the clock.
    - `workload` is the graph: JSON, by default the function's name with the shapes of its arguments. `steps` is the
      configuration: JSON, by default empty. `program` tells versions of the function apart, by default by a hash of its source.
    - `threads` is how many it uses; by default that is found out by its first call. `cache="cold"` flushes the caches before
      each call.
    - What it raises is raised; with `raises=False` that is a failed record.
    """
    how = {
        "kwargs": kwargs,
        "workload": workload,
        "steps": steps,
        "program": program,
        "raises": raises,
        "threads": threads,
        "cache": cache,
        "repeat": repeat,
        "max_repeat": max_repeat,
        "min_repeat_ms": min_repeat_ms,
        "precision": precision,
        "max_time_s": max_time_s,
    }
    if store is None:
        return _timed(function, args, **how)[0]
    device = _device([*args, *(kwargs or {}).values()])
    place = platform or _native.platform(None if device is None else device.name)
    with Run(store, _name(function), platform=place, labels=labels) as run:
        return run.callable(function, args, **how)


def _timed(
    function: Callable[..., Any],
    args: Sequence[Any],
    *,
    kwargs: Mapping[str, Any] | None = None,
    workload: Any = None,
    steps: Any = None,
    program: str | None = None,
    raises: bool = True,
    threads: int | None = None,
    cache: str = "warm",
    repeat: int = 50,
    max_repeat: int = 500,
    min_repeat_ms: float = 2.0,
    precision: float = 0.01,
    max_time_s: float = 5.0,
) -> tuple[Timing, dict[str, Any]]:
    """The timing, and what the library is told of it."""
    if cache not in ("warm", "cold"):
        raise ArgumentError(f"no state of caches named `{cache}`\nhint: there are warm, cold", name="cache")
    given = dict(kwargs or {})
    device = _device([*args, *given.values()])
    settings: dict[str, Any] = {
        "cache": cache,
        "repeat": repeat,
        "max_repeat": max_repeat,
        "min_repeat_ms": min_repeat_ms,
        "precision": precision,
        "max_time_s": max_time_s,
        "threads": threads or 1,
    }
    key = workload if workload is not None else [_name(function), {"args": _shapes(args), **_named(given)}]
    record: dict[str, Any] = {
        "workload_key": json.dumps(key),
        "steps": json.dumps({} if steps is None else steps),
        "program": program or _program(function),
        "target": "python" if device is None else device.target,
        "interpreter": sys.executable,
        "version": _version(),
        "gpu": None if device is None else device.number,
        "settings": settings,
    }

    def call(number: int) -> None:
        for _ in range(number):
            function(*args, **given)

    began = time.perf_counter()
    try:
        if device is None:
            settings["threads"] = threads or _threads(call)
            outcome = json.loads(_native.time_calls(call, json.dumps(settings)))
        else:
            outcome = json.loads(_native.time_launches(device.timer(call), json.dumps(settings), device.bus_id))
    except Exception as error:
        if raises:
            raise
        outcome = {
            "error_no": _RUNTIME_ERROR,
            "error_message": f"{type(error).__name__}: {error}",
            "repeats": [],
            "number": 0,
            "flags": [],
            "all_cost_s": time.perf_counter() - began,
            "check_error": None,
        }
    median_ns = outcome.pop("median_ns", None)
    counted = [one for one in outcome["repeats"] if one["counts"]]
    cpu = [one["cpu_ns"] for one in counted]
    timing = Timing(
        workload_key=record["workload_key"],
        steps=record["steps"],
        target=record["target"],
        median_ns=median_ns,
        repeats_ns=[one["wall_ns"] for one in counted],
        cpu_repeats_ns=None if None in cpu or not cpu else cpu,
        number=outcome["number"],
        flags=outcome["flags"],
        all_cost_s=outcome["all_cost_s"],
        error_no=outcome["error_no"],
        error_message=outcome["error_message"],
    )
    return timing, {**record, "outcome": outcome}


class _Gpu:
    """The GPU of a tensor, as torch tells it."""

    def __init__(self, torch: Any, device: Any) -> None:
        self._torch = torch
        self._device = device
        about = torch.cuda.get_device_properties(device)
        self.name: str = about.name
        self.number: int = device.index if device.index is not None else torch.cuda.current_device()
        self.target = f"cuda -arch=sm_{about.major}{about.minor}"
        self._l2_bytes: int = getattr(about, "L2_cache_size", 0) or 128 << 20
        domain, bus, place = (getattr(about, f"pci_{part}_id", None) for part in ("domain", "bus", "device"))
        known = domain is not None and bus is not None and place is not None
        self.bus_id = f"{domain:04x}:{bus:02x}:{place:02x}.0" if known else None

    def timer(self, call: Callable[[int], None]) -> Callable[[int, bool], float]:
        """Nanoseconds of the device between two events around so many calls."""
        cuda = self._torch.cuda
        flush: Any = None

        def time_calls(launches: int, flushed: bool) -> float:
            nonlocal flush
            with cuda.device(self._device):
                if flushed:
                    if flush is None:
                        flush = self._torch.empty(2 * self._l2_bytes, dtype=self._torch.int8, device=self._device)
                    # While the device writes, the call is prepared: its cost is not in the time.
                    flush.zero_()
                begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
                begin.record()
                call(launches)
                end.record()
                end.synchronize()
            return float(begin.elapsed_time(end)) * 1e6

        return time_calls


def _device(values: Iterable[Any]) -> _Gpu | None:
    """The GPU that one of the values lies on."""
    for value in values:
        if getattr(value, "is_cuda", False) and hasattr(value, "device"):
            return _Gpu(sys.modules["torch"], value.device)
        if hasattr(value, "parameters") and "torch" in sys.modules and not isinstance(value, type):
            found = _device(value.parameters())
            if found is not None:
                return found
        if isinstance(value, (list, tuple)):
            found = _device(value)
            if found is not None:
                return found
    return None


def _threads(call: Callable[[int], None]) -> int:
    """How many threads a call uses: one, or all that the process may."""
    process, own = time.process_time_ns(), time.thread_time_ns()
    call(1)
    process, own = time.process_time_ns() - process, time.thread_time_ns() - own
    if process < _TOLD_NS or process < _SEVERAL * own:
        return 1
    return len(os.sched_getaffinity(0))


def _name(function: Any) -> str:
    if isinstance(function, type) or hasattr(function, "__name__"):
        return str(function.__name__)
    return type(function).__name__


def _program(function: Any) -> str:
    """The function's name, and a hash of its source where that can be had."""
    try:
        source = inspect.getsource(inspect.unwrap(function))
    except (OSError, TypeError):
        return _name(function)
    return f"{_name(function)}@{hashlib.sha256(source.encode()).hexdigest()[:12]}"


def _shape(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return [str(value.dtype).removeprefix("torch."), [int(size) for size in value.shape]]
    if isinstance(value, (list, tuple, dict, set)):
        return [type(value).__name__, len(value)]
    return type(value).__name__


def _shapes(args: Sequence[Any]) -> list[Any]:
    return [_shape(value) for value in args]


def _named(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {"kwargs": {name: _shape(value) for name, value in kwargs.items()}} if kwargs else {}


def _version() -> str:
    """Versions of what decides how fast a callable is."""
    found = [f"{system.python_implementation()} {system.python_version()}"]
    for name in ("numpy", "torch"):
        module = sys.modules.get(name)
        if module is not None and hasattr(module, "__version__"):
            found.append(f"{name} {module.__version__}")
    return ", ".join(found)


@dataclass(frozen=True)
class Finding:
    """What is said of one topic of this machine; `level` is `ok`, `note` or `warning`."""

    level: str
    what: str
    detail: str
    hint: str | None


@dataclass(frozen=True)
class Template:
    """A program that comes with tsql: `store.measure(template.name)`."""

    name: str
    about: str
    manifest: str


def doctor() -> list[Finding]:
    """What would spoil timings on this machine, and what to do about it."""
    return [Finding(**one) for one in json.loads(_native.doctor())]


def machine() -> dict[str, Any]:
    """What is stored of this machine with every record: no host name, user, serial number or address."""
    told: dict[str, Any] = json.loads(_native.machine())
    return told


def devices() -> list[str]:
    """What kernels can be measured on, and what is missing for the rest, in lines."""
    return _native.devices()


def platform(device: str | None = None) -> str:
    """The platform that records name where nobody says: a device of this name in short, or this machine's processor.

    >>> import tsql
    >>> tsql.measure.platform("NVIDIA H200")
    'nvidia-h200'
    """
    return _native.platform(device)


def templates() -> dict[str, Template]:
    """Programs that come with tsql, by name.

    >>> import tsql
    >>> "matmul" in tsql.measure.templates()
    True
    """
    return {name: Template(name, about, manifest) for name, about, manifest in _native.templates()}
