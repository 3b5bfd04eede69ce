"""What keeps a store in shape, and gives its content to others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _native
from ._parsed import later, parsed, parsed_list
from ._progress import Heard, Shown
from ._result import as_file, size_bytes

if TYPE_CHECKING:
    from . import _reports
    from ._reports import Checked, Exported, ExportedDatabases, Mendable, Optimized, Published
else:
    _reports = later("_reports")

Path = str | PathLike[str]


class Upkeep:
    """Calls of a store that keep it in shape, and give its content to others."""

    _native: _native.Store

    def optimize(
        self, *, again: bool = False, part: tuple[int, int] | None = None, progress: bool | Heard = False
    ) -> Optimized:
        """Rewrites the files of all tables: sorted, merged, as small as they get. Files that are so already are left."""
        with Shown(progress) as heard:
            return parsed(_reports.Optimized, self._native.optimize(again, part, heard))

    def vacuum(
        self,
        *,
        retain: timedelta = timedelta(days=7),
        force_unlisted: bool = False,
        dry_run: bool = False,
    ) -> list[str]:
        """Deletes files that no version of this last while and no tag needs; their names."""
        return self._native.vacuum(retain.total_seconds(), force_unlisted, dry_run)

    def check(self, *, memory_limit: int | str | None = None, progress: bool | Heard = False) -> Checked:
        """Reads everything and proves it: checksums, references, hashes, and that each source can be given back."""
        with Shown(progress) as heard:
            return parsed(_reports.Checked, self._native.check(size_bytes(memory_limit), heard))

    def repair(self) -> list[Mendable]:
        """Puts right what a check found and can be put right, and says which files to ingest again."""
        return parsed_list(_reports.Mendable, self._native.repair())

    # The name before 0.1.0.
    mend = repair

    def export(
        self, folder: Path, *, source: str | None = None, samples: str | None = None, overwrite: bool = False
    ) -> Exported:
        """Gives sources back, byte for byte: all, those whose names match `source` (`*`, `?`), or those of the samples that
        an SQL predicate selects."""
        return parsed(_reports.Exported, self._native.export(fspath(folder), source, samples, overwrite))

    def export_lines(self, file: Path, *, where: str = "true") -> int:
        """Writes records as lines of auto_scheduler that TVM loads; how many they are."""
        with _whole(file) as part:
            return self._native.export_lines(where, part)

    def export_databases(self, folder: Path, *, where: str | None = None, overwrite: bool = False) -> ExportedDatabases:
        """Writes records of MetaSchedule as its databases: a folder for each platform and target, with the files of tuning
        records and of the workloads that they name by position. `where` is an SQL predicate over `records`."""
        return parsed(_reports.ExportedDatabases, self._native.export_databases(fspath(folder), where, overwrite))

    def export_hub(self, file: Path, *, samples: str | None = None) -> Exported:
        """Writes samples of GraphNet, those that the SQL predicate selects, as the Parquet file of its hub."""
        with _whole(file) as part:
            return parsed(_reports.Exported, self._native.export_hub(samples, part))

    def duckdb_views(self) -> str:
        """SQL by which DuckDB sees the tables as tsql shows them: repeats and parameters are packed in the files."""
        return self._native.duckdb_views()

    def write_submission(self, predictions: Path | Any, file: Path) -> int:
        """Writes a submission to Kaggle's "Fast or Slow?": `predictions` is a file, a query in parentheses, or a frame, with the
        columns `id`, `sample` and `score` (lower is faster). How many rows it has."""
        with _whole(file) as part, as_file(predictions) as source:
            return self._native.write_submission(source, part)

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
            return parsed(_reports.Published, self._native.publish(fspath(to), list(about.items()), overwrite, dry_run, heard)
            )


@contextmanager
def _whole(file: Path) -> Iterator[str]:
    """A file that takes the place of `file` when it was written to its end."""
    part = f"{fspath(file)}.{os.getpid()}.part"
    try:
        yield part
        os.replace(part, file)
    finally:
        with suppress(FileNotFoundError):
            os.remove(part)
