"""Maintenance of a store, and exports of its content."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import timedelta
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _native
from ._convert import as_file, size_bytes
from ._decode import decoded, decoded_list, lazy_module
from ._deprecated import earlier_arguments
from ._progress import ProgressCallback, ProgressReport

if TYPE_CHECKING:
    from . import _store_reports
    from ._store_reports import Checked, Exported, ExportedDatabases, Optimized, Published, RepairItem
else:
    _store_reports = lazy_module("_store_reports")

Path = str | PathLike[str]


class MaintenanceMethods:
    """Methods of a store that maintain it, and export its content."""

    _native: _native.Store

    @earlier_arguments(part="shard")
    def optimize(
        self,
        *,
        again: bool = False,
        shard: tuple[int, int] | None = None,
        dry_run: bool = False,
        progress: bool | ProgressCallback = False,
    ) -> Optimized:
        """Merges, sorts and recompresses the data files of all tables. Optimized files are skipped.

        Args:
            again: Whether to rewrite optimized files too, after an upgrade of tsql.
            shard: One of several shards of the partitions: `(3, 8)` is the third of eight. Other processes rewrite the
                others.
            dry_run: Whether to count the files that would be rewritten, and rewrite nothing.
            progress: `True` shows a line on standard error; a callable receives the current item, the completed
                amount and the total amount.

        Returns:
            Number and size of the files.

        Examples:
            >>> import tsql
            >>> optimized = tsql.sample().optimize()
            >>> optimized.bytes_after <= optimized.bytes_before
            True
        """
        with ProgressReport(progress) as callback:
            return decoded(_store_reports.Optimized, self._native.optimize(again, dry_run, shard, callback))

    def vacuum(
        self,
        *,
        retain: timedelta = timedelta(days=7),
        force_unlisted: bool = False,
        dry_run: bool = False,
    ) -> list[str]:
        """Deletes files that no recent version and no tag needs.

        Args:
            retain: Files of versions that were current within this time stay.
            force_unlisted: Whether to delete files that no log lists, whatever their age. Running writers may be about
                to commit such files, and fail. Use it only if there are no writers.
            dry_run: Whether to list the files and delete nothing.

        Returns:
            Names of the deleted files.

        Examples:
            >>> import tsql
            >>> tsql.create("memory:").vacuum(dry_run=True)
            []
        """
        return self._native.vacuum(retain.total_seconds(), force_unlisted, dry_run)

    def check(
        self, *, memory_limit: int | str | None = None, progress: bool | ProgressCallback = False
    ) -> Checked:
        """Verifies every byte, reference and hash of the store, and that every source can be exported.

        Args:
            memory_limit: Limit in bytes, or a text like `"2GiB"`, or `"none"`.
            progress: `True` shows a line on standard error; a callable receives the current item, the completed
                amount and the total amount.

        Returns:
            Damage, and items that `repair` would repair.

        Examples:
            >>> import tsql
            >>> tsql.sample().check().is_sound
            True
        """
        with ProgressReport(progress) as callback:
            return decoded(_store_reports.Checked, self._native.check(size_bytes(memory_limit) or None, callback))

    def repair(self) -> list[RepairItem]:
        """Repairs what `check` reports in `Checked.repairs`.

        Sources that lost rows are removed. `RepairItem.next_commands` has the commands that ingest them again.

        Returns:
            Repaired items.

        Examples:
            >>> import tsql
            >>> tsql.create("memory:").repair()
            []
        """
        return decoded_list(_store_reports.RepairItem, self._native.repair())

    def export(
        self, folder: Path, *, source: str | None = None, samples: str | None = None, overwrite: bool = False
    ) -> Exported:
        """Writes ingested files again, byte for byte.

        Args:
            folder: Folder for the files.
            source: Pattern (`*` and `?`) of the names of sources; without it, all sources.
            samples: SQL predicate over `samples`, for the files of these GraphNet samples.
            overwrite: Whether to replace existing files.

        Returns:
            Numbers of files, and files that were not written.

        Examples:
            >>> import tempfile, tsql
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     tsql.sample().export(folder, source="epyc-1t/softmax*").files
            1
        """
        return decoded(_store_reports.Exported, self._native.export(fspath(folder), source, samples, overwrite))

    def export_lines(self, file: Path, *, where: str = "true") -> int:
        """Writes records as JSON lines of auto_scheduler, which TVM loads.

        Args:
            file: File to write.
            where: SQL predicate over `records`.

        Returns:
            Number of records.

        Examples:
            >>> import pathlib, tempfile, tsql
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     file = pathlib.Path(folder, "best.json")
            ...     count = tsql.sample().export_lines(file, where="line <= 2")
            ...     count == len(file.read_text().splitlines())
            True
        """
        with _complete_file(file) as part:
            return self._native.export_lines(where, part)

    def export_databases(self, folder: Path, *, where: str | None = None, overwrite: bool = False) -> ExportedDatabases:
        """Writes records of MetaSchedule as databases: a folder for each platform and target.

        Args:
            folder: Folder for the databases.
            where: SQL predicate over `records`.
            overwrite: Whether to replace existing files.

        Returns:
            Databases, and databases that were not written.
        """
        return decoded(_store_reports.ExportedDatabases, self._native.export_databases(fspath(folder), where, overwrite))

    def export_hub(self, file: Path, *, samples: str | None = None) -> Exported:
        """Writes GraphNet samples as the Parquet file of its hub.

        Args:
            file: File to write.
            samples: SQL predicate over `samples`; without it, all samples.

        Returns:
            Number of samples, and samples that were not written.
        """
        with _complete_file(file) as part:
            return decoded(_store_reports.Exported, self._native.export_hub(samples, part))

    def duckdb_views(self) -> str:
        """Returns SQL that defines the tables of the store as views of DuckDB.

        The data files pack repeats and parameters. The views unpack them.

        Returns:
            SQL text for DuckDB 1.4 and later, with its extensions delta and json.

        Examples:
            >>> import tsql
            >>> tsql.create("memory:").duckdb_views().splitlines()[0]
            "SET VARIABLE tsql_store = 'memory:';"
        """
        return self._native.duckdb_views()

    def write_submission(self, predictions: Path | Any, file: Path) -> int:
        """Writes a submission to Kaggle's "Fast or Slow?".

        Args:
            predictions: A file, a query in parentheses, or a frame or table, with the columns `id`, `sample` (index of
                the configuration, from 0) and `score` (lower is faster).
            file: File to write.

        Returns:
            Number of rows of the submission.
        """
        with _complete_file(file) as part, as_file(predictions) as source:
            return self._native.write_submission(source, part)

    def publish(
        self,
        to: Path,
        *,
        overwrite: bool = False,
        dry_run: bool = False,
        progress: bool | ProgressCallback = False,
        **about: str,
    ) -> Published:
        """Writes the store as a dataset that other tools read: Parquet files, a dataset card, metadata and checksums.

        Args:
            to: Folder or URL to write to.
            overwrite: Whether to replace an existing publication.
            dry_run: Whether to report tables and rows, and to write nothing.
            progress: `True` shows a line on standard error; a callable receives the current item, the completed
                amount and the total amount.
            **about: Metadata: `title`, `description`, `license`, `citation`, `author`, `url`, `version` and `date`.

        Returns:
            Tables of the publication.

        Raises:
            TypeError: If `about` has another name.
        """
        known = ("title", "description", "license", "citation", "author", "url", "version", "date")
        for name in about:
            if name not in known:
                raise TypeError(f"publish() got an unexpected keyword argument {name!r}; expected {', '.join(known)}")
        with ProgressReport(progress) as callback:
            published = self._native.publish(fspath(to), list(about.items()), overwrite, dry_run, callback)
            return decoded(_store_reports.Published, published)


@contextmanager
def _complete_file(file: Path) -> Generator[str, None, None]:
    """Provides a temporary path. The file replaces `file` once it is complete."""
    part = f"{fspath(file)}.{os.getpid()}.part"
    try:
        yield part
        os.replace(part, file)
    finally:
        with suppress(FileNotFoundError):
            os.remove(part)
