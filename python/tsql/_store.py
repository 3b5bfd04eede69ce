"""Stores: what they are asked, what they take, and how they are kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike, fspath
from pathlib import Path as FilePath
from types import FrameType, TracebackType
from typing import Any

from . import _native
from ._plot import Kind, Plot
from ._progress import Heard, Shown
from ._questions import Questions
from ._reports import (
    Checked,
    Comparison,
    Copied,
    Corrected,
    Correction,
    Diff,
    Exported,
    Ingested,
    Mendable,
    Note,
    Optimized,
    Published,
    ScoreReport,
    Subset,
    Tag,
    Version,
    parsed,
    parsed_list,
)
from ._result import Result
from ._stream import Stream
from ._training import TrainingGraphs, TrainingRows
from .errors import ArgumentError

Path = str | PathLike[str]


def open(
    location: Path | None = None,
    *,
    at: str | None = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    workers: str | None = None,
) -> Store:
    """Opens a store: a folder, `s3://BUCKET/PATH`, or (without a location) the next one in the working directory or above,
    as the command finds it.

    `at` looks at it as it was: a tag (`"v1.0"`), a time (`"2026-11-21T17:00:00Z"`), a version (`"records@12"`), or the
    versions of all tables, as `Store.version` tells them. `memory_limit` is in bytes: what does not fit goes to temporary
    files; without it a question stops at 70 % of what the process may have. `workers` are machines that help
    (`"host:7700,host:7700"`).

    Raises `tsql.errors.NotAStore` where there is none, `tsql.errors.NoVersion` for an `at` that it does not have.
    """
    place = None if location is None else fspath(location)
    return Store(_native.Store(place, at, False, memory_limit, threads, workers), memory_limit, threads, workers)


def create(location: Path, *, memory_limit: int | None = None, threads: int | None = None) -> Store:
    """Opens the store at a location, or makes it; `"memory:"` makes one that ends with the process.

    >>> import tsql
    >>> tsql.create("memory:").sql("SELECT count(*) FROM records").scalar()
    0
    """
    native = _native.Store(fspath(location), None, True, memory_limit, threads, None)
    return Store(native, memory_limit, threads, None)


def sample() -> Store:
    """The small store that is built in, for trying things out."""
    return Store(_native.Store("sample:"), None, None, None)


class Store:
    """A store, for any number of threads; see `tsql.open`.

    A process that was forked opens it anew when it asks the first time. A pickled store is its location, what it is
    looked at (`at`) and its limits: never credentials.
    """

    def __init__(
        self, native: _native.Store, memory_limit: int | None, threads: int | None, workers: str | None
    ) -> None:
        self._native = native
        self._limits = (memory_limit, threads, workers)

    @property
    def location(self) -> str:
        """Where it is."""
        return self._native.location

    def __repr__(self) -> str:
        at = f" at {self._native.at}" if self._native.at else ""
        return f"<tsql.Store {self.location}{at}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.location == "memory:":
            raise ArgumentError("a store in memory ends with its process: it cannot be pickled", name="store")
        return _opened, (self.location, self._native.at, *self._limits)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of it; answers that are being read go on."""
        self._native.close()

    # Asking

    def sql(
        self,
        sql: str,
        params: Mapping[str, Any] | None = None,
        tables: Mapping[str, Any] | None = None,
        *,
        variables: bool = True,
    ) -> Result:
        """Plans a question; it is answered when somebody reads the result.

        - `params` are the values of `$NAME`: numbers, texts, bytes, dates, times, lists.
        - `tables` are tables for this question alone: frames of polars and pandas, tables of pyarrow, relations of DuckDB,
          other results, anything that exports Arrow. The store's own names are taken.
        - With `variables`, a name that is neither the store's nor in `tables` may be a variable of the caller (of the
          calling function, then of its module) that is such a table.
        - A file is a table, too: `FROM 'predictions.parquet'`.

        >>> import tsql
        >>> store = tsql.sample()
        >>> store.sql("SELECT count(*) FROM records WHERE platform = $p", {"p": "epyc-1t"}).scalar()
        240

        Raises `tsql.errors.SqlError` with the place of what is wrong, `tsql.errors.UnknownName` and
        `tsql.errors.ArgumentError` for parameters and tables that do not fit.
        """
        given = dict(tables or {})
        own = sys.modules["tsql"].tables() if given else {}
        for name in given:
            if name in own:
                raise ArgumentError(f"`{name}` is a table of the store: give yours another name", name="tables")
        if variables:
            given |= _variables(sql, given, sys._getframe(1))
        return Result(self._native.sql(sql, dict(params or {}), given))

    def plot(self, sql: str, kind: Kind | None = None, **given: Any) -> Plot:
        """Draws the answer to a question: see `Result.plot`, which takes the rest.

        >>> import tsql
        >>> tsql.sample().plot("SELECT op, count(*) AS count FROM tasks GROUP BY op", "bar")
        <tsql.Plot: bar>
        """
        return self.sql(sql, variables=False).plot(kind, **given)

    def page(self, path: Path, name: str | None = None) -> None:
        """Writes a page that shows the store into a file: what is in it, how good it is, pictures, tables and graphs."""
        html = self._native.page(name or fspath(self.location))
        FilePath(fspath(path)).write_text(html, encoding="utf-8")

    @property
    def questions(self) -> Questions:
        """The ready-made questions: `store.questions.platform_summary()`."""
        return Questions(self._native)

    def at(self, at: str) -> Store:
        """The same store as it was: see `tsql.open`."""
        return _opened(self.location, at, *self._limits)

    def pin(self) -> Store:
        """The same store as it is now, whatever others commit."""
        return self.at(self.version)

    @property
    def version(self) -> str:
        """The versions of its tables: `"graphs@3,records@12"`. `tsql.open(..., at=version)` looks at them."""
        return self._native.version()

    def history(self) -> list[Version]:
        """All versions of all tables, the newest first."""
        return parsed_list(Version, self._native.history())

    def diff(self, after: Store) -> Diff:
        """What differs between the version that this is and another one of the same store."""
        return parsed(Diff, self._native.diff(after._native))

    @property
    def data_bytes(self) -> int:
        """Size of its data files in bytes."""
        return self._native.data_bytes()

    # Writing

    def ingest(
        self,
        inputs: Path | Iterable[Path],
        *,
        platform: str | None = None,
        format: str | None = None,
        labels: Mapping[str, str] | None = None,
        strict: bool = False,
        dry_run: bool = False,
        threads: int | None = None,
        part: tuple[int, int] | None = None,
        progress: bool | Heard = False,
    ) -> Ingested:
        """Takes in files, folders or patterns: logs of TenSet, AutoTVM and MetaSchedule, npz files of TpuGraphs, samples
        and logs of GraphNet. What is there already is known again; a call that was broken off goes on.

        `platform` is that of the records, where the folder's name is not; `labels` are put on all files; `strict` stops
        at the first line that is refused; `part` is `(number, of)` of a work that several processes share.

        Raises `tsql.errors.InputError` for inputs that cannot be found. Lines that are refused are in the report.
        """
        given = [inputs] if isinstance(inputs, (str, PathLike)) else list(inputs)
        how = {
            "platform": platform,
            "format": format,
            "labels": _pairs(labels),
            "strict": strict,
            "dry_run": dry_run,
            "threads": threads,
            "part": part,
        }
        with Shown(progress) as heard:
            return parsed(Ingested, self._native.ingest([fspath(one) for one in given], how, heard))

    def append(
        self,
        stream: str,
        *,
        platform: str,
        format: str = "measured",
        labels: Mapping[str, str] | None = None,
        strict: bool = False,
        group_lines: int | None = None,
        group_s: float | None = None,
    ) -> Stream:
        """Begins a stream, or goes on with the one of this name, sent again from its beginning: nothing is doubled.

            with store.append("night-7", platform="a100") as stream:
                stream.write({"workload_key": ["mm", {"M": 512}], "steps": {"TILE": 8}, "repeats_ns": [4210, 4198.5]})

        `format` is that of its lines: `measured` (JSON whose keys are columns), `tenset`, `autotvm`. Groups are stored
        after `group_lines` (100,000) or `group_s` seconds (5).
        """
        how = {
            "format": format,
            "labels": _pairs(labels),
            "strict": strict,
            "group_lines": group_lines,
            "group_s": group_s,
        }
        return Stream(self._native.append(stream, platform, how), stream)

    def copy_to(
        self, to: Store, *, where: str | None = None, dry_run: bool = False, progress: bool | Heard = False
    ) -> Copied:
        """Copies sources to another store, all of them or those with records for which `where` holds."""
        with Shown(progress) as heard:
            return parsed(Copied, self._native.copy_to(to._native, where, dry_run, heard))

    def correct(
        self,
        labels: Mapping[str, str],
        *,
        where: str,
        why: str,
        who: str | None = None,
        all: bool = False,
        dry_run: bool = False,
    ) -> Corrected:
        """Changes labels that were given wrong: `store.correct({"platform": "k80"}, where="...", why="...")`."""
        how = {"why": why, "who": who, "all": all, "dry_run": dry_run}
        texts = [f"{name}={value}" for name, value in labels.items()]
        return parsed(Corrected, self._native.correct(texts, where, how))

    def retract(
        self, where: str, *, why: str, who: str | None = None, all: bool = False, dry_run: bool = False
    ) -> Corrected:
        """Takes records out of all answers; they stay in their files."""
        how = {"why": why, "who": who, "all": all, "dry_run": dry_run}
        return parsed(Corrected, self._native.retract(where, how))

    def restore(
        self,
        where: str,
        *,
        why: str | None = None,
        who: str | None = None,
        all: bool = False,
        dry_run: bool = False,
    ) -> Corrected:
        """Puts retracted records back."""
        how = {"why": why, "who": who, "all": all, "dry_run": dry_run}
        return parsed(Corrected, self._native.restore(where, how))

    @property
    def corrections(self) -> list[Correction]:
        """All corrections that were made."""
        return parsed_list(Correction, self._native.corrections())

    # Upkeep

    def optimize(
        self, *, again: bool = False, part: tuple[int, int] | None = None, progress: bool | Heard = False
    ) -> Optimized:
        """Rewrites the files of all tables: sorted, merged, as small as they get. Files that are so already are left."""
        with Shown(progress) as heard:
            return parsed(Optimized, self._native.optimize(again, part, heard))

    def vacuum(
        self,
        *,
        retain: timedelta = timedelta(days=7),
        force_unlisted: bool = False,
        dry_run: bool = False,
    ) -> list[str]:
        """Deletes files that no version of this last while and no tag needs; their names."""
        return self._native.vacuum(retain.total_seconds(), force_unlisted, dry_run)

    def check(self, *, memory_limit: int | None = None, progress: bool | Heard = False) -> Checked:
        """Reads everything and proves it: checksums, references, hashes, and that each source can be given back."""
        with Shown(progress) as heard:
            return parsed(Checked, self._native.check(memory_limit, heard))

    def mend(self) -> list[Mendable]:
        """Puts right what a check found and can be put right."""
        return parsed_list(Mendable, self._native.mend())

    def export(
        self, folder: Path, *, source: str | None = None, samples: str | None = None, overwrite: bool = False
    ) -> Exported:
        """Gives sources back, byte for byte: all, those whose names match `source` (`*`, `?`), or those of the samples that
        an SQL predicate selects."""
        return parsed(Exported, self._native.export(fspath(folder), source, samples, overwrite))

    def publish(
        self,
        to: Path,
        *,
        overwrite: bool = False,
        dry_run: bool = False,
        progress: bool | Heard = False,
        **about: str,
    ) -> Published:
        """Writes what others read without tsql: Parquet files with a card, metadata and checksums. `about` may be `title`,
        `description`, `license`, `citation`, `author`, `url`, `version` and `date`."""
        known = ("title", "description", "license", "citation", "author", "url", "version", "date")
        for name in about:
            if name not in known:
                raise TypeError(f"publish() has no argument {name!r}: {', '.join(known)}")
        with Shown(progress) as heard:
            return parsed(
                Published, self._native.publish(fspath(to), list(about.items()), overwrite, dry_run, heard)
            )

    # What people say of it

    def tag(self, name: str, note: str | None = None) -> Tag:
        """Gives its state a name: `tsql.open(..., at=name)`. What it names stays."""
        return parsed(Tag, self._native.create_tag(name, note))

    def delete_tag(self, name: str) -> None:
        """Takes a tag away; the versions stay as long as `vacuum` leaves them."""
        self._native.delete_tag(name)

    @property
    def tags(self) -> list[Tag]:
        """All tags, by name."""
        return parsed_list(Tag, self._native.tags())

    def note(
        self,
        text: str,
        *,
        where: str | None = None,
        source: str | None = None,
        platform: str | None = None,
        who: str | None = None,
    ) -> Note:
        """Notes what is to be known of the records for which `where` holds, of sources (`*`, `?`), or of a platform."""
        about = [(kind, value) for kind, value in (("where", where), ("source", source), ("platform", platform)) if value]
        if len(about) != 1:
            raise ArgumentError("a note is about one of where, source and platform", name="where")
        return parsed(Note, self._native.add_note(text, about[0], who))

    def delete_note(self, note_id: int) -> None:
        """Takes a note away."""
        self._native.delete_note(note_id)

    @property
    def notes(self) -> list[Note]:
        """All notes."""
        return parsed_list(Note, self._native.notes())

    # Working with it

    def training_rows(
        self,
        sql: str,
        params: Mapping[str, str] | None = None,
        *,
        batch_rows: int = 1024,
        group: str | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        rank: int = 0,
        world: int = 1,
        prefetch: int = 8,
        threads: int = 2,
    ) -> TrainingRows:
        """A loader of the rows of a query, in shuffled batches that can be resumed anywhere.

            rows = store.training_rows(
                "SELECT records.graph_id, schedule_numbers(steps) AS x, runtime_ns AS y FROM records JOIN configurations USING (config_id) WHERE ok",
                batch_rows=4096, group="graph_id", seed=7,
            )
            for batch in rows:
                x = batch.numpy()["x"]          # (rows, 113), float32

        The rows are written once into the user's cache folder and found there by the next process. With a `group`
        column, its rows stay together and `batch.group_sizes` tells how many each has. `part_of_split` in the query
        keeps a task, or whatever is not to leak, in one part. Of `world` processes each takes its `rank`.
        """
        recipe = {
            "sql": sql,
            "params": _pairs(params),
            "batch_rows": batch_rows,
            "group": group,
            "shuffle": shuffle,
            "seed": seed,
            "drop_last": drop_last,
            "rank": rank,
            "world": world,
            "prefetch": prefetch,
            "threads": threads,
        }
        loader = TrainingRows(self, recipe)
        loader._native()
        return loader

    def training_graphs(
        self,
        names: str | Iterable[str],
        *,
        k: int = 128,
        pick: str = "random",
        unique: bool = False,
        seed: int = 0,
        codes_only: bool = False,
        split: str | None = None,
        shuffle: bool = True,
        drop_last: bool = False,
        rank: int = 0,
        world: int = 1,
        prefetch: int = 4,
        threads: int = 2,
    ) -> TrainingGraphs:
        """A loader of graphs of TpuGraphs, each with `k` of its configurations, each file once an epoch.

        `names` are collections (`"layout:xla:random"`), files (`"layout:xla:random:resnet50"`), or the last parts of
        these. `pick` is one of `random`, `best`, `worst`, `baseline`, `gumbel` (as upstream trains), `close`
        (neighbours by runtime) and `all`; with `unique`, configurations that were measured again count once.
        """
        recipe = {
            "names": [names] if isinstance(names, str) else list(names),
            "k": k,
            "pick": pick,
            "unique": unique,
            "seed": seed,
            "codes_only": codes_only,
            "split": split,
            "shuffle": shuffle,
            "drop_last": drop_last,
            "rank": rank,
            "world": world,
            "prefetch": prefetch,
            "threads": threads,
        }
        loader = TrainingGraphs(self, recipe)
        loader._native()
        return loader

    def training_files(self) -> list[str]:
        """Ids of the files of TpuGraphs that it has: `"layout:xla:random:resnet50"`."""
        return [file["id"] for file in json.loads(self._native.training_files())]

    def compare(
        self,
        a: str,
        b: str,
        *,
        where: str | None = None,
        all: bool = False,
        minimal_change: float | None = None,
        allowed_regression: float | None = None,
        top: int = 10,
        picture: Path | None = None,
    ) -> Comparison:
        """Compares two sides (`"k80"`, `"tag:v1.0"`, `"label:night=7"`, `"2026-11-01..2026-11-08"`, `"where:SQL"`) by the
        configurations that both have: what is faster, slower or the same beyond noise. `all` puts all records of a
        configuration together, else the newest counts; `picture` is a file to draw (`.svg`, `.png`)."""
        path = None if picture is None else fspath(picture)
        found = self._native.compare(a, b, where, all, minimal_change, allowed_regression, top, path)
        return parsed(Comparison, found)

    def report(
        self,
        *,
        where: str | None = None,
        by: str | None = None,
        category: str | None = None,
        folder: Path | None = None,
    ) -> ScoreReport:
        """Scores of benchmark runs (GraphNet's S(t) and ES(t)): a curve for each value of the SQL `by`, speedups by
        `category`; pictures and tables are written where a folder is given."""
        path = None if folder is None else fspath(folder)
        return parsed(ScoreReport, self._native.report(where, by, category, path))

    def subset(
        self,
        name: str,
        query: str | None = None,
        *,
        version: int | None = None,
        random: int | None = None,
        seed: int = 0,
    ) -> Subset:
        """A named list: with a `query` its next version is made of the first column (or `random` values of it, drawn with
        a seed), without one it is read."""
        if query is None:
            return parsed(Subset, self._native.subset(name, version))
        drawn = None if random is None else (random, seed)
        return parsed(Subset, self._native.create_subset(name, query, drawn))


def _opened(
    location: str, at: str | None, memory_limit: int | None, threads: int | None, workers: str | None
) -> Store:
    return open(location, at=at, memory_limit=memory_limit, threads=threads, workers=workers)


def _pairs(labels: Mapping[str, str] | None) -> list[tuple[str, str]]:
    return [(key, str(value)) for key, value in (labels or {}).items()]


def _variables(sql: str, given: Mapping[str, Any], caller: FrameType) -> dict[str, Any]:
    found = {}
    for name in _native.other_tables(sql):
        if name in given:
            continue
        for scope in (caller.f_locals, caller.f_globals):
            value = scope.get(name)
            if value is not None and (hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")):
                found[name] = value
                break
    return found
