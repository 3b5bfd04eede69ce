"""Programs that are measured, and stored."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _native, _worker
from ._parsed import later, pairs, parsed
from ._progress import Heard, Shown

if TYPE_CHECKING:
    from . import _findings, _reports
    from ._findings import Executed, Measured, MeasuredAgain
    from ._reports import Resumed
else:
    _findings = later("_findings")
    _reports = later("_reports")


class Measuring:
    """Calls of a store that measure on this machine."""

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
        progress: bool | Heard = False,
    ) -> Measured:
        """Builds and times a program's configurations on this machine, and stores the timings.

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

        - `program` is a manifest as a dictionary, or as text (TOML), with its `sources` by name; the path of one; or the name
          of a template (`tsql.measure.templates()`).
        - `search` is `grid`, `random` or `evolve` (children of the fastest so far), of `trials` at most (100; of a grid all).
        - Kernels are built and called in processes of their own, confined to what the system has installed (`sandbox`), on a
          quiet core that they take for themselves where they may (`realtime`).
        - Each timing is on the local disk before the next is made: what a killed run had measured, the next one stores.
          After Ctrl-C the kernel that is being timed ends, and what was measured is stored.

        A kernel that fails is a record with the reason. Raises `tsql.errors.InputError` for what is wrong with a manifest,
        `tsql.errors.MeasuringError` where a compiler or a device is missing, or nearly all fail alike.
        """
        text: str | None = None
        if isinstance(program, Mapping):
            text, place = json.dumps(program), f"{_name_of(program)}.json"
        else:
            place = fspath(program)
            if "\n" in place:
                text, place = place, "manifest.toml"
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
        with Shown(progress) as heard:
            return parsed(_findings.Measured, self._native.measure(place, text, dict(sources or {}), how, heard))

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
        progress: bool | Heard = False,
    ) -> MeasuredAgain:
        """Measures records again on this machine, and says which of them differ beyond noise.

            again = store.measure_repeat("measured_at < '2026-11-01'", change=0.05, trust=True)
            slower = [record for record in again.records if record.verdict == "slower"]

        - `where` is SQL over the columns of `records`; of those that `measure` made, the store has the programs. Each
          configuration is measured once, the newest `limit` of them. The new timings are records, too.
        - A store may come from anybody: without `trust` nothing is built, and the error shows what would be.
        - A change is one that a Mann-Whitney test finds, corrected for the number of records after Holm, and that is at least
          `change` (a share), for the repeats as a whole and for the least of them.

        The rest is as for `measure`. Raises `tsql.errors.ArgumentError` where no record can be measured again.
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
        asked = {"predicate": where, "limit": limit, "minimal_change": change, "trust": trust}
        with Shown(progress) as heard:
            told = self._native.measure_repeat(asked, how, heard)
        return parsed(_findings.MeasuredAgain, told)

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
        """Runs a program and stores the records that it prints, or adds to a `log`, as they appear.

            store.measure_exec([sys.executable, "time_kernels.py"], platform="a100", labels={"night": "7"})

        Lines of its output that begin with `{` are records, `measured` (objects whose keys are columns) or `tenset`; all
        others go to standard error. Where the program fails, the records that it gave stay; Ctrl-C stops it.
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
        return parsed(_findings.Executed, self._native.measure_exec(how))

    def resume_measured(self) -> Resumed:
        """Stores what runs that were killed have measured; `measure` does so, too."""
        return parsed(_reports.Resumed, self._native.resume_measured())


def _name_of(manifest: Mapping[str, Any]) -> str:
    program = manifest.get("program")
    name = program.get("name") if isinstance(program, Mapping) else None
    return os.path.basename(name) if isinstance(name, str) and name else "manifest"
