"""Measurements of programs on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _native, _worker
from ._decode import decoded, lazy_module, pairs
from ._progress import ProgressCallback, ProgressReport

if TYPE_CHECKING:
    from . import _ingest_reports, _measure_reports
    from ._ingest_reports import Resumed
    from ._measure_reports import Executed, Measured, MeasuredAgain, MeasuredPair
else:
    _ingest_reports = lazy_module("_ingest_reports")
    _measure_reports = lazy_module("_measure_reports")


class MeasuringMethods:
    """Methods of a store that measure on this machine."""

    _native: _native.Store

    def measure(
        self,
        program: str | PathLike[str] | Mapping[str, Any],
        sources: Mapping[str, str] | None = None,
        *,
        trials: int | None = None,
        search: str = "evolve",
        seed: int | None = None,
        skip_existing: bool = False,
        target: str | None = None,
        platform: str | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        core: int | None = None,
        realtime: bool = True,
        sandbox: bool = True,
        cache: str | None = None,
        jobs: int | None = None,
        input_seed: int = 0,
        keep_going: bool = False,
        commit_s: float = 30.0,
        commit_records: int = 500,
        progress: bool | ProgressCallback = False,
    ) -> Measured:
        """Builds and times the configurations of a program, and stores the timings.

        ```python
        kernel = "void scale(const float *x, float *y) { for (int i = 0; i < N; i += STEP) ... }"
        manifest = {
            "program": {"name": "scale", "language": "c", "source": "scale.c", "entry": "scale"},
            "workload": [{"params": {"N": 4096}}],
            "arg": [
                {"name": "x", "kind": "buffer", "dtype": "f32", "shape": ["N"], "role": "in"},
                {"name": "y", "kind": "buffer", "dtype": "f32", "shape": ["N"], "role": "out"},
            ],
            "space": {"STEP": [1, 2, 4]},
        }
        store.measure(manifest, {"scale.c": kernel}, search="grid").best()
        ```

        Kernels are built and run in separate processes. Each timing is in a journal on the local disk before the next
        kernel runs. The next call stores the journals of interrupted runs. After Ctrl-C, the current kernel finishes,
        and the timings are stored. A kernel that fails becomes a record with the reason.

        Args:
            program: A manifest as a dictionary or as TOML text, the path of a manifest, or the name of a template.
            sources: Texts of source files by the names in the manifest.
            trials: Maximum number of trials over all workloads; the default is 100, and unlimited for a grid.
            search: Search strategy: `grid`, `random` or `evolve` (mutations of the fastest configurations so far).
            seed: Seed of the search; the default is a random number.
            skip_existing: Whether to skip configurations of the same program and build that the store has for the
                platform.
            target: Device: `cpu`, or `cuda:0` for the first GPU; the default is the device of the program.
            platform: Platform of the records; the default is the short name of the device.
            name: Name of the run, which becomes part of the name of the source; the default is the name of the program.
            labels: Labels of the run, for the table `labels`.
            core: Processor core for the timing.
            realtime: Whether to run with real-time priority, if the process may.
            sandbox: Whether to confine kernels and compilers to the files of the system. Otherwise they may use the
                network, other programs and all files.
            cache: State of the caches before a call: `warm` or `cold`; the default is that of the manifest.
            jobs: Number of kernels to build in parallel; the default is one per core.
            input_seed: Seed of the input values.
            keep_going: Whether to continue if nearly all kernels fail in the same way.
            commit_s: Maximum time between commits, in seconds.
            commit_records: Maximum number of records of a commit.
            progress: `True` shows a line on standard error; a callable receives the current item, the completed
                amount and the total amount.

        Returns:
            Trials in their order, and the ingest report.

        Raises:
            tsql.errors.InputError: If the manifest is invalid.
            tsql.errors.MeasuringError: If there is no compiler or device, or nearly all kernels fail in the same way.
        """
        text: str | None = None
        if isinstance(program, Mapping):
            text, path = json.dumps(program), f"{_name_of(program)}.json"
        else:
            path = fspath(program)
            if "\n" in path:
                text, path = path, "manifest.toml"
        how = {
            "worker": _worker.command(),
            "target": target,
            "platform": platform,
            "name": name,
            "labels": pairs(labels),
            "core": core,
            "realtime": realtime,
            "sandbox": sandbox,
            "jobs": jobs,
            "commit_s": commit_s,
            "commit_records": commit_records,
            "input_seed": input_seed,
            "cache": cache,
            "keep_going": keep_going,
            "search": search,
            "trials": trials,
            "seed": seed,
            "skip_existing": skip_existing,
        }
        with ProgressReport(progress) as callback:
            measured = self._native.measure(path, text, dict(sources or {}), how, callback)
            return decoded(_measure_reports.Measured, measured)

    def measure_repeat(
        self,
        where: str = "dataset = 'measured'",
        *,
        limit: int = 100,
        change: float = 0.02,
        trust: bool = False,
        target: str | None = None,
        platform: str | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        core: int | None = None,
        realtime: bool = True,
        sandbox: bool = True,
        cache: str | None = None,
        jobs: int | None = None,
        input_seed: int = 0,
        keep_going: bool = False,
        commit_s: float = 30.0,
        commit_records: int = 500,
        progress: bool | ProgressCallback = False,
    ) -> MeasuredAgain:
        """Measures records again on this machine, and tests which of them changed.

        ```python
        again = store.measure_repeat("measured_at < '2026-11-01'", change=0.05, trust=True)
        slower = [record for record in again.records if record.verdict == "slower"]
        ```

        The store has the programs of records that `measure` stored. Each configuration is measured once. The new
        timings are records, too. A change is significant in a Mann-Whitney test with Holm's correction, and at least
        `change` for the median and for the minimum of the repeats.

        Args:
            where: SQL predicate over `records`.
            limit: Maximum number of records, the newest first.
            change: Minimum relevant change, as a fraction.
            trust: Whether to build and run the programs of the store. Without it, an error lists them.
            target: Device: `cpu`, or `cuda:0` for the first GPU; the default is the device of the program.
            platform: Platform of the records; the default is the short name of the device.
            name: Name of the run, which becomes part of the name of the source; the default is the name of the program.
            labels: Labels of the run, for the table `labels`.
            core: Processor core for the timing.
            realtime: Whether to run with real-time priority, if the process may.
            sandbox: Whether to confine kernels and compilers to the files of the system.
            cache: State of the caches before a call: `warm` or `cold`; the default is that of the manifest.
            jobs: Number of kernels to build in parallel; the default is one per core.
            input_seed: Seed of the input values.
            keep_going: Whether to continue if nearly all kernels fail in the same way.
            commit_s: Maximum time between commits, in seconds.
            commit_records: Maximum number of records of a commit.
            progress: `True` shows a line on standard error; a callable receives the current item, the completed
                amount and the total amount.

        Returns:
            Verdict of each record.

        Raises:
            tsql.errors.ArgumentError: If no record can be measured again, or `trust` is false.
        """
        how = {
            "worker": _worker.command(),
            "target": target,
            "platform": platform,
            "name": name,
            "labels": pairs(labels),
            "core": core,
            "realtime": realtime,
            "sandbox": sandbox,
            "jobs": jobs,
            "commit_s": commit_s,
            "commit_records": commit_records,
            "input_seed": input_seed,
            "cache": cache,
            "keep_going": keep_going,
            "search": "grid",
            "trials": None,
            "seed": None,
            "skip_existing": False,
        }
        selection = {"predicate": where, "limit": limit, "minimum_change": change, "trust": trust}
        with ProgressReport(progress) as callback:
            measured = self._native.measure_repeat(selection, how, callback)
        return decoded(_measure_reports.MeasuredAgain, measured)

    def measure_exec(
        self,
        command: Sequence[str | PathLike[str]],
        *,
        platform: str,
        format: str = "measured",
        log: str | PathLike[str] | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        commit_s: float = 5.0,
        commit_records: int = 10_000,
    ) -> Executed:
        """Runs a program, and stores the records that it prints or writes to a log.

        Lines of the output that begin with `{` are records. All others go to standard error. If the program fails, its
        records remain stored. Ctrl-C stops the program.

        Args:
            command: Program and its arguments.
            platform: Platform of the records.
            format: Format of the records: `measured` (JSON objects whose keys are columns) or `tenset`.
            log: File with the records; without it, the output of the program.
            name: Name of the run, which becomes part of the name of the source; the default is the name of the program.
            labels: Labels of the run, for the table `labels`.
            commit_s: Maximum time between commits, in seconds.
            commit_records: Maximum number of records of a commit.

        Returns:
            Exit code, and the ingest report.

        Examples:
            >>> import sys, tsql
            >>> record = '{"workload_key": ["mm", {"M": 512}], "steps": {"TILE": 8}, "repeats_ns": [4210, 4198.5]}'
            >>> store = tsql.create("memory:")
            >>> executed = store.measure_exec([sys.executable, "-c", f"print('{record}')"], platform="a100")
            >>> executed.exit_code, executed.stored.records
            (0, 1)
        """
        how = {
            "command": [fspath(word) for word in command],
            "platform": platform,
            "format": format,
            "log": None if log is None else fspath(log),
            "name": name,
            "labels": pairs(labels),
            "commit_s": commit_s,
            "commit_records": commit_records,
        }
        return decoded(_measure_reports.Executed, self._native.measure_exec(how))

    def measure_pair(
        self,
        base: Sequence[str | PathLike[str]],
        head: Sequence[str | PathLike[str]],
        *,
        platform: str,
        format: str = "measured",
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        blocks: int = 4,
        budget_s: float | None = None,
        minimum_change: float | None = None,
    ) -> MeasuredPair:
        """Runs two commands in turn, stores their records, and tests each program for a change.

        The schedule has blocks of four runs, A B B A and B A A B in turn, with a new process for each run. The records
        have the labels `pair`, `side`, `block` and `position`.

        Args:
            base: Command of the baseline: program and arguments.
            head: Command of the build that is compared with it.
            platform: Platform of the records.
            format: Format of the records: `measured` (JSON objects whose keys are columns) or `tenset`.
            name: Name of the runs, which becomes part of the names of the sources.
            labels: Labels of the runs, for the table `labels`.
            blocks: Number of blocks, at least 4. With a budget, the schedule has up to 12.
            budget_s: Time for measuring until all programs are decided, in seconds.
            minimum_change: Minimum change that is significant, as a fraction; the default is 0.02.

        Returns:
            Changes of the programs, and the runs.

        Examples:
            >>> import sys, tsql
            >>> record = '{"workload_key": ["mm"], "steps": {"TILE": 8}, "repeats_ns": [4210]}'
            >>> store = tsql.create("memory:")
            >>> command = [sys.executable, "-c", f"print('{record}')"]
            >>> pair = store.measure_pair(command, command, platform="a100")
            >>> len(pair.runs), pair.programs[0].verdict
            (16, 'same')
        """
        how = {
            "base": [fspath(word) for word in base],
            "head": [fspath(word) for word in head],
            "platform": platform,
            "format": format,
            "name": name,
            "labels": pairs(labels),
            "blocks": blocks,
            "budget_s": budget_s,
            "minimum_change": minimum_change,
        }
        return decoded(_measure_reports.MeasuredPair, self._native.measure_pair(how))

    def resume_measured(self) -> Resumed:
        """Stores measurements of interrupted runs. `measure` does this first, too.

        Returns:
            Numbers of journals and records.

        Examples:
            >>> import tsql
            >>> tsql.create("memory:").resume_measured().records
            0
        """
        return decoded(_ingest_reports.Resumed, self._native.resume_measured())


def _name_of(manifest: Mapping[str, Any]) -> str:
    program = manifest.get("program")
    name = program.get("name") if isinstance(program, Mapping) else None
    return os.path.basename(name) if isinstance(name, str) and name else "manifest"
