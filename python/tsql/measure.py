"""Timings on this machine.

`Store.measure` builds and times kernels in C, C++ and CUDA in separate processes. `callable` times a Python callable in
this process, such as a function of NumPy or a model of torch. Both follow the same rules and have the same flags.

    >>> import tsql
    >>> store = tsql.create("memory:")
    >>> timing = tsql.measure.callable(sorted, [list(range(1000))], store=store, repeat=5, max_time_s=0.2)
    >>> timing.median_ns > 1000, timing.target
    (True, 'python')
    >>> store.sql("SELECT workload_key FROM records JOIN graphs USING (graph_id)").scalar()
    '["sorted", {"args": [["list", 1000]]}]'

Events of a GPU time calls with tensors of torch on that GPU. `Run` times many callables in one stream of records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _native
from ._decode import decoded, decoded_list, lazy_module, pairs
from ._deprecated import earlier_attributes
from ._timing import Timing, device_of, name_of, timed

if TYPE_CHECKING:
    from . import _ingest_reports
    from ._ingest_reports import Ingested
    from ._store import Store
else:
    _ingest_reports = lazy_module("_ingest_reports")

__all__ = ["Finding", "Run", "Template", "Timing", "callable", "devices", "doctor", "machine", "platform", "templates"]


def __dir__() -> list[str]:
    """Returns the public names."""
    return sorted(__all__)


class Run:
    """A run: a stream of records of callables that this process times.

    A record is in a journal on the local disk when `callable` returns. Records are committed to the store in groups,
    and at the end of the run. The next run on the store commits the records of a process that was killed.

    Args:
        store: Store of the records.
        name: Name of the run, which becomes part of the name of the source.
        platform: Platform of the records; the default is the processor of this machine.
        labels: Labels of the run, for the table `labels`.
        commit_s: Maximum time between commits, in seconds.
        commit_records: Maximum number of records of a commit.

    Attributes:
        platform: Platform of the records.
        report: Report of the run; `None` until the run is closed.

    Examples:
        >>> import tsql
        >>> store = tsql.create("memory:")
        >>> with tsql.measure.Run(store, "sorting", platform="laptop") as run:
        ...     for size in (100, 1000):
        ...         timing = run.callable(sorted, [list(range(size))], repeat=5, max_time_s=0.2)
        >>> run.report.records, run.stream.startswith("measure/sorting")
        (2, True)
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
        self.platform: str = platform or _native.platform(None)
        self._native = store._native.recording(name, self.platform, pairs(labels), commit_s, commit_records)
        self.report: Ingested | None = None

    @property
    def stream(self) -> str:
        """Name of the stream, which is the source of the records."""
        return self._native.stream

    def callable(self, function: Callable[..., Any], args: Sequence[Any] = (), **how: Any) -> Timing:
        """Times a callable, and writes the record.

        Args:
            function: The callable.
            args: Positional arguments of the callable.
            **how: Other arguments of `tsql.measure.callable`.

        Returns:
            The timing.

        Examples:
            >>> import tsql
            >>> with tsql.measure.Run(tsql.create("memory:"), "sorting", platform="laptop") as run:
            ...     run.callable(sorted, [[3, 1, 2]], repeat=5, max_time_s=0.2).error_no
            0
        """
        timing, record = timed(function, args, **how)
        self._native.take(json.dumps(record))
        return timing

    def commit(self) -> int:
        """Waits until all records are in the store.

        Returns:
            Number of committed records.

        Examples:
            >>> import tsql
            >>> with tsql.measure.Run(tsql.create("memory:"), "sorting", platform="laptop") as run:
            ...     timing = run.callable(sorted, [[3, 1, 2]], repeat=5, max_time_s=0.2)
            ...     run.commit()
            1
        """
        return self._native.commit()

    def close(self) -> Ingested:
        """Commits the remaining records, and closes the run.

        Returns:
            Report of the run.

        Examples:
            >>> import tsql
            >>> tsql.measure.Run(tsql.create("memory:"), "sorting", platform="laptop").close().records
            0
        """
        if self.report is None:
            self.report = decoded(_ingest_reports.Ingested, self._native.finish())
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
    """Times `function(*args, **kwargs)` in this process. With a store, the timing becomes a record.

    After a warm-up, the callable runs in repeats. Repeats end when the 95 % interval of the median is within
    `precision`.
    The timing has wall clock time, processor time and flags of disturbances. With a tensor on a GPU among the arguments,
    events of the GPU are the clock.

    Args:
        function: The callable.
        args: Positional arguments.
        kwargs: Keyword arguments.
        store: Store of the record.
        platform: Platform of the record; the default is the GPU of the arguments, or the processor.
        labels: Labels of the record, for the table `labels`.
        workload: The graph as JSON; the default is the name of the callable and the shapes of its arguments.
        steps: The configuration as JSON; the default is empty.
        program: Version of the callable; the default is a hash of its source.
        raises: Whether to raise exceptions of the callable. Otherwise they become failed records.
        threads: Number of threads of the callable; by default, its first call determines it.
        cache: State of the caches before a call: `warm` or `cold`.
        repeat: Minimum number of repeats.
        max_repeat: Maximum number of repeats.
        min_repeat_ms: Minimum duration of a repeat in milliseconds.
        precision: Precision of the median as a fraction.
        max_time_s: Maximum duration in seconds.

    Returns:
        The timing.

    Raises:
        tsql.errors.ArgumentError: If `cache` is unknown.

    Examples:
        >>> import tsql
        >>> timing = tsql.measure.callable(sorted, [[3, 1, 2]], repeat=5, max_time_s=0.2)
        >>> timing.workload_key, timing.error_no
        ('["sorted", {"args": [["list", 3]]}]', 0)
    """
    how: dict[str, Any] = {
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
        return timed(function, args, **how)[0]
    device = device_of([*args, *(kwargs or {}).values()])
    short_name = platform or _native.platform(None if device is None else device.name)
    with Run(store, name_of(function), platform=short_name, labels=labels) as run:
        return run.callable(function, args, **how)


@earlier_attributes(what="topic")
@dataclass(frozen=True)
class Finding:
    """A finding of `doctor` about one topic of this machine.

    Attributes:
        level: `ok`, `note` or `warning`.
        topic: Topic, such as `hypervisor`.
        detail: Description.
        hint: Suggestion, if there is one.
    """

    level: str
    topic: str
    detail: str
    hint: str | None


@dataclass(frozen=True)
class Template:
    """A program that comes with tsql: `store.measure(template.name)`.

    Attributes:
        name: Name of the template.
        about: Description.
        manifest: Text of the manifest.
    """

    name: str
    about: str
    manifest: str


def doctor() -> list[Finding]:
    """Checks this machine for disturbances of timings.

    Returns:
        Findings, with suggestions.

    Examples:
        >>> import tsql
        >>> {finding.level for finding in tsql.measure.doctor()} <= {"ok", "note", "warning"}
        True
    """
    return decoded_list(Finding, _native.doctor())


def machine() -> dict[str, Any]:
    """Returns the facts of this machine that every record has. They have no host name, user, serial number or address.

    Returns:
        Facts by topic.

    Examples:
        >>> import tsql
        >>> "processor" in tsql.measure.machine()
        True
    """
    facts: dict[str, Any] = json.loads(_native.machine())
    return facts


def devices() -> list[str]:
    """Returns the devices that can run kernels, and the requirements that are missing for other devices.

    Returns:
        One line for each device or requirement.

    Examples:
        >>> import tsql
        >>> len(tsql.measure.devices()) > 0
        True
    """
    return _native.devices()


def platform(device: str | None = None) -> str:
    """Returns the default platform of records.

    Args:
        device: Name of a device; without it, the processor of this machine.

    Returns:
        Short name of the device.

    Examples:
        >>> import tsql
        >>> tsql.measure.platform("NVIDIA H200")
        'nvidia-h200'
    """
    return _native.platform(device)


def templates() -> dict[str, Template]:
    """Returns the programs that come with tsql.

    Returns:
        Templates by name.

    Examples:
        >>> import tsql
        >>> "matmul" in tsql.measure.templates()
        True
    """
    return {name: Template(name, about, manifest) for name, about, manifest in _native.templates()}
