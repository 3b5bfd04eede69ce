"""Reports of calls that add records to a store."""

from __future__ import annotations

from dataclasses import dataclass

from ._deprecated import earlier_attributes


@earlier_attributes(named="is_explicit")
@dataclass(frozen=True)
class SkippedFile:
    """A file that no reader accepts. Nothing of it is stored, so that a later version may ingest it.

    Attributes:
        path: Path as given, or as found.
        looks_like: Detected content, such as `a Python pickle`.
        hint: Suggestion, if there is one.
        is_explicit: Whether the call named the file, or a pattern matched it. Other files were found in a folder or
            an archive.
    """

    path: str
    looks_like: str
    hint: str | None
    is_explicit: bool


@dataclass(frozen=True)
class SimilarSample:
    """A new sample of GraphNet that resembles a known one.

    Attributes:
        path: Path of the sample.
        level: Similarity to the other sample.
        same_as: Path of the other sample.
    """

    path: str
    level: str
    same_as: str


@dataclass(frozen=True)
class RepeatedFile:
    """A file that repeats records of an earlier version, so that these records count twice.

    Attributes:
        path: Path as given.
        earlier: Name of the earlier version in the store that shares the most records.
        records: Number of records of the file.
        repeated: Number of its records that the earlier version has too.
        is_replaceable: Whether `ingest(replace=True)` would replace the earlier version. Both need the same path.
    """

    path: str
    earlier: str
    records: int
    repeated: int
    is_replaceable: bool


@dataclass(frozen=True)
class ReplacedFile:
    """A file that replaced its earlier versions.

    Attributes:
        path: Path as given.
        earlier: Names of the earlier versions in the store.
        records: Number of their records, which were retracted.
    """

    path: str
    earlier: list[str]
    records: int


@earlier_attributes(
    unlabelled_files="ignored_label_files",
    same_files="duplicate_files",
    known_samples="similar_samples",
    notes="warnings",
    first_notes="first_warnings",
    unmerged="merge_error",
)
@dataclass(frozen=True)
class Ingested:
    """Report of an ingest, or of a stream that was closed.

    Attributes:
        kinds: Number of files by description, such as `a benchmark log`. Some folders count as one file.
        files: Number of files that were read.
        unchanged_files: Number of files that the store already had.
        ignored_label_files: Number of unchanged files that keep their labels although the call gave others.
        duplicate_files: Number of files with the bytes of a stored file of another name. Only the name is added.
        grown_files: Number of files of which only new lines at the end were read.
        renamed_files: Files whose name was in use: path, and name in the store.
        repeated_files: Files that repeat records of an earlier version.
        replaced_files: Files that replaced their earlier versions.
        exported_files: Number of files whose format and platform came from the file list of an export.
        skipped_files: Files that no reader accepts.
        platforms: Platforms of all processed files.
        failed_files: Files that could not be read completely: path and reason.
        lines: Number of lines.
        records: Number of lines that became records.
        replaced_rows: Number of rows of interrupted runs that were replaced.
        failed_records: Number of records of failed measurements.
        unmeasured_records: Number of records without a timing.
        verbatim_records: Number of records that are stored with their text, because columns cannot rebuild it.
        new_graphs: Number of graphs that the store did not have.
        new_configurations: Number of configurations that the store did not have.
        rejects: Number of rejected lines.
        first_rejects: The first rejected lines: path, line and reason.
        samples: Number of GraphNet samples that the store did not have.
        similar_samples: New samples that resemble a known one.
        warnings: Number of irregularities of ingested inputs.
        first_warnings: The first irregularities: path, line (0 for the whole file) and reason.
        bytes_in: Number of bytes that were read, after decompression.
        bytes_out: Growth of the data files of the store in bytes.
        merge_error: Error of merging small files, if there was one. A later call merges them.
        elapsed_s: Duration in seconds.

    Examples:
        >>> import tsql
        >>> with tsql.create("memory:").append("night-7", platform="a100") as stream:
        ...     stream.write({"workload_key": ["mm", {"M": 512}], "steps": {"TILE": 8}, "repeats_ns": [4210, 4198.5]})
        >>> stream.report.records, stream.report.new_graphs, stream.report.is_clean
        (1, 1, True)
    """

    kinds: dict[str, int]
    files: int
    unchanged_files: int
    ignored_label_files: int
    duplicate_files: int
    grown_files: int
    renamed_files: list[tuple[str, str]]
    repeated_files: list[RepeatedFile]
    replaced_files: list[ReplacedFile]
    exported_files: int
    skipped_files: list[SkippedFile]
    platforms: list[str]
    failed_files: list[tuple[str, str]]
    lines: int
    records: int
    replaced_rows: int
    failed_records: int
    unmeasured_records: int
    verbatim_records: int
    new_graphs: int
    new_configurations: int
    rejects: int
    first_rejects: list[tuple[str, int, str]]
    samples: int
    similar_samples: list[SimilarSample]
    warnings: int
    first_warnings: list[tuple[str, int, str]]
    bytes_in: int
    bytes_out: int
    merge_error: str | None
    elapsed_s: float

    @property
    def is_clean(self) -> bool:
        """Whether all inputs are in the store: no line was rejected, no file failed, no named file was skipped."""
        is_skipped = any(file.is_explicit for file in self.skipped_files)
        return self.rejects == 0 and not self.failed_files and not is_skipped


@earlier_attributes(elsewhere="other_stores")
@dataclass(frozen=True)
class Resumed:
    """Measurements of interrupted runs that were stored.

    Attributes:
        journals: Number of stored journals.
        records: Number of records that were new to the store.
        other_stores: Journals of other stores: path, and location of the store.
        damaged: Journals with unreadable lines: path, and line numbers.
    """

    journals: int
    records: int
    other_stores: list[tuple[str, str]]
    damaged: list[tuple[str, list[int]]]
