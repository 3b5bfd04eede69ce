"""Versions, tags, notes, facts of platforms, corrections and copies."""

from __future__ import annotations

from dataclasses import dataclass

from ._deprecated import earlier_attributes


@earlier_attributes(known="unchanged", parts="partial", refused="rejected")
@dataclass(frozen=True)
class Copied:
    """Report of a copy to another store.

    Attributes:
        sources: Number of new sources.
        grown: Number of sources of which the other store had the first lines.
        other_names: Number of new names for the bytes of a source.
        unchanged: Number of sources that the other store had already.
        records: Number of new records.
        graphs: Number of new graphs.
        configurations: Number of new configurations.
        renamed: Sources whose name was in use: old and new name.
        partial: Sources of which only some lines were selected: name, name in the other store, and number of records.
            They cannot be exported byte for byte.
        rejected: Sources that were not copied: name and reason.
    """

    sources: int
    grown: int
    other_names: int
    unchanged: int
    records: int
    graphs: int
    configurations: int
    renamed: list[tuple[str, str]]
    partial: list[tuple[str, str, int]]
    rejected: list[tuple[str, str]]


@dataclass(frozen=True)
class Corrected:
    """Report of a correction.

    Attributes:
        correction_id: Id in the table `corrections`; `None` if nothing was changed.
        records: Number of records that were changed, retracted or restored.
        sources: Number of their sources; for a correction of labels, the number of selected sources.
        other_names: Number of other names with the same bytes, whose labels were changed as well.
        resumed: Whether the call finished an interrupted correction.
    """

    correction_id: str | None
    records: int
    sources: int
    other_names: int
    resumed: bool


@earlier_attributes(who="author", made_at_us="started_at_us", done_at_us="finished_at_us")
@dataclass(frozen=True)
class Correction:
    """A row of the table `corrections`.

    Attributes:
        correction_id: Id of the correction.
        kind: Kind of the correction.
        author: Author.
        why: Reason.
        started_at_us: Start in microseconds since 1970.
        finished_at_us: End in microseconds since 1970; `None` if the correction runs or was interrupted.
        predicate: SQL predicate of the selection.
        changes: Labels that were set, one `platform=k80` per line.
        record_count: Number of affected records.
        source_count: Number of their sources.
    """

    correction_id: str
    kind: str
    author: str
    why: str | None
    started_at_us: int
    finished_at_us: int | None
    predicate: str
    changes: str | None
    record_count: int | None
    source_count: int | None


@dataclass(frozen=True)
class Version:
    """A version of a table.

    Attributes:
        table: Name of the table.
        version: Number of the version, from 0.
        at_ms: Time of the commit in milliseconds since 1970.
        operation: Operation of the commit, such as `WRITE`.
        detail: Call that made the commit, such as `ingest`.
    """

    table: str
    version: int
    at_ms: int | None
    operation: str
    detail: str


@dataclass(frozen=True)
class Tag:
    """A name for the versions of all tables at one time.

    Attributes:
        name: Name of the tag.
        note: Text about the tag.
        created_at_us: Time of creation in microseconds since 1970.
        versions: Version of each table.
    """

    name: str
    note: str | None
    created_at_us: int
    versions: dict[str, int]


@dataclass(frozen=True)
class NoteTarget:
    """A source or a platform that a note is about.

    Attributes:
        source_id: Id of the source; `None` for a whole platform.
        source: Name of the source.
        platform: Platform, or the platform of the source.
        record_count: Number of records when the note was created.
    """

    source_id: int | None
    source: str | None
    platform: str | None
    record_count: int


@earlier_attributes(who="author")
@dataclass(frozen=True)
class Note:
    """A text about records, sources or a platform.

    Attributes:
        note_id: Id of the note.
        note: Text of the note.
        author: Author.
        noted_at_us: Time of creation in microseconds since 1970.
        predicate: SQL predicate that selected the targets.
        targets: Sources or platform that the note is about.
    """

    note_id: int
    note: str
    author: str | None
    noted_at_us: int
    predicate: str | None
    targets: list[NoteTarget]


@dataclass(frozen=True)
class PlatformFact:
    """A fact of a platform with its source.

    Attributes:
        platform: Platform.
        fact: Name of its column in the view `platforms`.
        value: Value. The unit of a number ends the name of the fact.
        source: Source of the fact: a text of `Store.set_platform`, or an environment.
        set_at_us: Time at which it was set, in microseconds since 1970; `None` for a fact of an environment.
        author: Author.
    """

    platform: str
    fact: str
    value: str | float
    source: str
    set_at_us: int | None
    author: str | None


@dataclass(frozen=True)
class PlatformSet:
    """Result of `Store.set_platform`.

    Attributes:
        platform: Platform.
        written: New facts.
        unchanged: Number of facts that had this value and source already.
        has_records: Whether the store has records of the platform.
    """

    platform: str
    written: list[PlatformFact]
    unchanged: int
    has_records: bool


@earlier_attributes(what="kind", taken_away="removed")
@dataclass(frozen=True)
class Difference:
    """Numbers of rows in two versions.

    Attributes:
        kind: Kind of the counted items: a table, or `platforms`.
        platform: Platform of these rows; `None` for all rows.
        before: Number of rows in the first version.
        after: Number of rows in the second version.
        added: Number of rows that only the second version has.
        removed: Number of rows that only the first version has.
    """

    kind: str
    platform: str | None
    before: int
    after: int
    added: int
    removed: int


@dataclass(frozen=True)
class SourceDifference:
    """A file whose records were added or removed.

    Attributes:
        dataset: Dataset of its records.
        platform: Platform of its records.
        name: Name of the file.
        records_before: Number of its records in the first version; `None` if the version does not have the file.
        records_after: Number of its records in the second version; `None` if the version does not have the file.
    """

    dataset: str
    platform: str
    name: str
    records_before: int | None
    records_after: int | None


@dataclass(frozen=True)
class Diff:
    """Differences between two versions of a store.

    Attributes:
        counts: Numbers of rows of each table.
        sources: Files that were ingested, removed or extended.
    """

    counts: list[Difference]
    sources: list[SourceDifference]
