"""What calls report that change a store, or keep it: plain dataclasses, with the names and units of the library's own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SkippedFile:
    """A file that no reader takes: what it looks like, and what may be done about it."""

    path: str
    looks_like: str
    hint: str | None
    named: bool


@dataclass(frozen=True)
class KnownSample:
    """A sample of GraphNet that something like it was known of before."""

    path: str
    level: str
    same_as: str


@dataclass(frozen=True)
class RepeatedFile:
    """A file that repeats records of an earlier version, so that these count twice."""

    path: str
    earlier: str
    records: int
    repeated: int
    is_replaceable: bool


@dataclass(frozen=True)
class ReplacedFile:
    """A file that took the place of its earlier versions."""

    path: str
    earlier: list[str]
    records: int


@dataclass(frozen=True)
class Ingested:
    """What an ingest, or a stream that was appended, brought."""

    kinds: dict[str, int]
    files: int
    unchanged_files: int
    unlabelled_files: int
    same_files: int
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
    known_samples: list[KnownSample]
    notes: int
    first_notes: list[tuple[str, int, str]]
    bytes_in: int
    bytes_out: int
    unmerged: str | None
    elapsed_s: float

    @property
    def is_clean(self) -> bool:
        """All that was given is in the store."""
        named = any(file.named for file in self.skipped_files)
        return self.rejects == 0 and not self.failed_files and not named


@dataclass(frozen=True)
class Optimized:
    """Files that an optimization replaced, and those that took their place."""

    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True)
class Mendable:
    """Something that `store.repair()` can put right, or has; `then` has commands that complete it, `lost` what is gone."""

    found: str
    count: int
    does: str
    is_damage: bool
    then: list[str]
    lost: list[str]


@dataclass(frozen=True)
class Checked:
    """What a check looked at and found; `damage` has tables and descriptions."""

    files: int
    file_bytes: int
    without_checksums: int
    references: int
    hashes: int
    sources: int
    source_bytes: int
    damage: list[tuple[str, str]]
    mendable: list[Mendable]

    @property
    def is_sound(self) -> bool:
        """Nothing is wrong with the store."""
        return not self.damage and not any(found.is_damage for found in self.mendable)


@dataclass(frozen=True)
class Exported:
    """What an export wrote; `damaged` and `refused` have names and reasons."""

    wanted: int
    files: int
    untouched: int
    bytes: int
    recompressed: int
    renamed: list[tuple[str, str]]
    damaged: list[tuple[str, str]]
    refused: list[tuple[str, str]]

    @property
    def is_clean(self) -> bool:
        """All that was asked for is there."""
        return not self.damaged and not self.refused


@dataclass(frozen=True)
class ExportedDatabase:
    """A database that was written: its folder below that of the export, and the lines of its two files."""

    folder: str
    platform: str
    target: str
    records: int
    workloads: int


@dataclass(frozen=True)
class ExportedDatabases:
    """What an export of databases wrote; `refused` has folders and reasons, `other_records` counts those of other formats."""

    databases: list[ExportedDatabase]
    refused: list[tuple[str, str]]
    other_records: int

    @property
    def is_clean(self) -> bool:
        """All that was asked for is there."""
        return not self.refused


@dataclass(frozen=True)
class Copied:
    """What a copy brought to the other store."""

    sources: int
    grown: int
    other_names: int
    known: int
    records: int
    graphs: int
    configurations: int
    renamed: list[tuple[str, str]]
    parts: list[tuple[str, str, int]]
    refused: list[tuple[str, str]]


@dataclass(frozen=True)
class Corrected:
    """What a correction changed."""

    correction_id: str | None
    records: int
    sources: int
    other_names: int
    resumed: bool


@dataclass(frozen=True)
class Correction:
    """A correction that was made; times in microseconds since 1970."""

    correction_id: str
    kind: str
    who: str
    why: str | None
    made_at_us: int
    done_at_us: int | None
    predicate: str
    changes: str | None
    record_count: int | None
    source_count: int | None


@dataclass(frozen=True)
class Version:
    """A version of a table: when it was made, in milliseconds since 1970, and by what."""

    table: str
    version: int
    at_ms: int | None
    operation: str
    detail: str


@dataclass(frozen=True)
class Tag:
    """A name for the versions of all tables at one moment."""

    name: str
    note: str | None
    created_at_us: int
    versions: dict[str, int]


@dataclass(frozen=True)
class NoteTarget:
    """What a note applies to: a source, or a platform."""

    source_id: int | None
    source: str | None
    platform: str | None
    record_count: int


@dataclass(frozen=True)
class Note:
    """What somebody says of records, sources or a platform."""

    note_id: int
    note: str
    who: str | None
    noted_at_us: int
    predicate: str | None
    targets: list[NoteTarget]


@dataclass(frozen=True)
class PublishedTable:
    """A table of a publication."""

    name: str
    rows: int
    file_count: int
    bytes: int


@dataclass(frozen=True)
class Published:
    """What was published."""

    tables: list[PublishedTable]
    file_count: int
    bytes: int


@dataclass(frozen=True)
class Verified:
    """What became of the files of a publication."""

    file_count: int
    bytes: int
    missing: list[str]
    changed: list[str]
    additional: list[str]

    @property
    def is_whole(self) -> bool:
        """All that was published is there, and nothing else."""
        return not (self.missing or self.changed or self.additional)


@dataclass(frozen=True)
class Resumed:
    """What runs that were killed had left: journals that were stored, those of other stores, and damaged ones."""

    journals: int
    records: int
    elsewhere: list[tuple[str, str]]
    damaged: list[tuple[str, list[int]]]
