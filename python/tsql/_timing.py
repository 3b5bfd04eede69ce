"""Timing of Python callables."""

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
from typing import Any

from . import _native
from .errors import ArgumentError

_RUNTIME_ERROR = 4
"""TVM's error number of a failure at run time."""

_PARALLEL_RATIO = 1.2
"""Ratio of the processor time of the process to that of the thread. Above it, a callable has several threads."""

_MINIMUM_NS = 100_000
"""Minimum processor time for this ratio to be meaningful."""


@dataclass(frozen=True)
class Timing:
    """Timing of a callable. Times are in nanoseconds per call.

    Attributes:
        workload_key: Workload key of the graph.
        steps: Steps of the configuration.
        target: `python`, or the target of the GPU.
        median_ns: Median of the repeats; `None` for a failure.
        repeats_ns: Repeats that count.
        cpu_repeats_ns: Processor time of the repeats; `None` on a GPU.
        number: Number of calls of a repeat.
        flags: Flags of the measurement, such as `busy_machine`.
        all_cost_s: Duration of the measurement in seconds.
        error_no: TVM's error number; 0 for success.
        error_message: Error message of a failure.
    """

    workload_key: str
    steps: str
    target: str
    median_ns: float | None
    repeats_ns: list[float]
    cpu_repeats_ns: list[float] | None
    number: int
    flags: list[str]
    all_cost_s: float
    error_no: int
    error_message: str | None


def timed(
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
    """Times a callable.

    Returns:
        The timing, and the record for the native module.

    Raises:
        tsql.errors.ArgumentError: If `cache` is unknown.
    """
    if cache not in ("warm", "cold"):
        raise ArgumentError(f"no cache state named `{cache}`\nhint: there are warm, cold", name="cache")
    given = dict(kwargs or {})
    device = device_of([*args, *given.values()])
    settings: dict[str, Any] = {
        "cache": cache,
        "repeat": repeat,
        "max_repeat": max_repeat,
        "min_repeat_ms": min_repeat_ms,
        "precision": precision,
        "max_time_s": max_time_s,
        "threads": threads or 1,
    }
    key = workload if workload is not None else [name_of(function), {"args": _shapes(args), **_named(given)}]
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
    outcome: dict[str, Any]
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
    valid = [repeat for repeat in outcome["repeats"] if repeat["counts"]]
    cpu = [repeat["cpu_ns"] for repeat in valid]
    timing = Timing(
        workload_key=record["workload_key"],
        steps=record["steps"],
        target=record["target"],
        median_ns=median_ns,
        repeats_ns=[repeat["wall_ns"] for repeat in valid],
        cpu_repeats_ns=None if None in cpu or not cpu else cpu,
        number=outcome["number"],
        flags=outcome["flags"],
        all_cost_s=outcome["all_cost_s"],
        error_no=outcome["error_no"],
        error_message=outcome["error_message"],
    )
    return timing, {**record, "outcome": outcome}


class _Gpu:
    """The GPU of a tensor, with properties that torch reports."""

    def __init__(self, torch: Any, device: Any) -> None:
        self._torch = torch
        self._device = device
        about = torch.cuda.get_device_properties(device)
        self.name: str = about.name
        self.number: int = device.index if device.index is not None else torch.cuda.current_device()
        self.target = f"cuda -arch=sm_{about.major}{about.minor}"
        self._l2_bytes: int = getattr(about, "L2_cache_size", 0) or 128 << 20
        domain, bus, slot = (getattr(about, f"pci_{part}_id", None) for part in ("domain", "bus", "device"))
        known = domain is not None and bus is not None and slot is not None
        self.bus_id = f"{domain:04x}:{bus:02x}:{slot:02x}.0" if known else None

    def timer(self, call: Callable[[int], None]) -> Callable[[int, bool], float]:
        """Returns a function that measures the nanoseconds between two events of the device around a number of calls."""
        cuda = self._torch.cuda
        flush: Any = None

        def time_calls(launches: int, flushed: bool) -> float:
            nonlocal flush
            with cuda.device(self._device):
                if flushed:
                    if flush is None:
                        flush = self._torch.empty(2 * self._l2_bytes, dtype=self._torch.int8, device=self._device)
                    # The device writes while the host prepares the call, so the time has no cost of the launch.
                    flush.zero_()
                begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
                begin.record()
                call(launches)
                end.record()
                end.synchronize()
            return float(begin.elapsed_time(end)) * 1e6

        return time_calls


def device_of(values: Iterable[Any]) -> _Gpu | None:
    """Returns the GPU that has one of the values; `None` if there is none."""
    for value in values:
        if getattr(value, "is_cuda", False) and hasattr(value, "device"):
            return _Gpu(sys.modules["torch"], value.device)
        if hasattr(value, "parameters") and "torch" in sys.modules and not isinstance(value, type):
            found = device_of(value.parameters())
            if found is not None:
                return found
        if isinstance(value, (list, tuple)):
            found = device_of(value)
            if found is not None:
                return found
    return None


def _threads(call: Callable[[int], None]) -> int:
    """Returns the number of threads that a call uses: one, or all that the process may use."""
    process, own = time.process_time_ns(), time.thread_time_ns()
    call(1)
    process, own = time.process_time_ns() - process, time.thread_time_ns() - own
    if process < _MINIMUM_NS or process < _PARALLEL_RATIO * own:
        return 1
    return len(os.sched_getaffinity(0))


def name_of(function: Any) -> str:
    """Returns the name of a callable."""
    if isinstance(function, type) or hasattr(function, "__name__"):
        return str(function.__name__)
    return type(function).__name__


def _program(function: Any) -> str:
    """Returns the name of a function, with a hash of its source if the source is available."""
    try:
        source = inspect.getsource(inspect.unwrap(function))
    except (OSError, TypeError):
        return name_of(function)
    return f"{name_of(function)}@{hashlib.sha256(source.encode()).hexdigest()[:12]}"


def _shape(value: Any) -> Any:
    """Returns a description of an argument: its value, its dtype and shape, or its type and length."""
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
    """Returns the versions of Python, NumPy and torch, which affect timings."""
    found = [f"{system.python_implementation()} {system.python_version()}"]
    for name in ("numpy", "torch"):
        module = sys.modules.get(name)
        if module is not None and hasattr(module, "__version__"):
            found.append(f"{name} {module.__version__}")
    return ", ".join(found)
