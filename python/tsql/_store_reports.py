"""Reports of calls that maintain a store or export its content."""

from __future__ import annotations

from dataclasses import dataclass

from ._deprecated import earlier_attributes


@dataclass(frozen=True)
class Optimized:
    """Report of an optimization.

    Attributes:
        files_before: Number of replaced files.
        files_after: Number of new files.
        bytes_before: Size of the replaced files in bytes.
        bytes_after: Size of the new files in bytes.
    """

    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int


@earlier_attributes(found="description", does="effect", then="next_commands")
@dataclass(frozen=True)
class RepairItem:
    """Something that `Store.repair` can repair, or has repaired.

    Attributes:
        description: Description, in the plural.
        count: Number of cases.
        effect: Effect of the repair: a sentence that begins with its verb.
        is_damage: Whether the store is damaged. Other items are leftovers.
        next_commands: Commands that complete the repair.
        lost: Descriptions of the data that is lost.
    """

    description: str
    count: int
    effect: str
    is_damage: bool
    next_commands: list[str]
    lost: list[str]


@earlier_attributes(mendable="repairs")
@dataclass(frozen=True)
class Checked:
    """Report of a check.

    Attributes:
        files: Number of data files, which were read completely.
        file_bytes: Size of these files in bytes.
        without_checksums: Number of data files without checksums. Damage of their bytes may go unnoticed.
        references: Number of references between tables that were checked.
        hashes: Number of hashes that were recomputed.
        sources: Number of sources that were rebuilt.
        source_bytes: Size of these sources in bytes.
        damage: Damage: table and description.
        repairs: Items that `Store.repair` would repair.
    """

    files: int
    file_bytes: int
    without_checksums: int
    references: int
    hashes: int
    sources: int
    source_bytes: int
    damage: list[tuple[str, str]]
    repairs: list[RepairItem]

    @property
    def is_sound(self) -> bool:
        """Whether the store has no damage."""
        return not self.damage and not any(item.is_damage for item in self.repairs)


@earlier_attributes(wanted="selected", untouched="unchanged", refused="rejected")
@dataclass(frozen=True)
class Exported:
    """Report of an export.

    Attributes:
        selected: Number of selected sources.
        files: Number of files that exist with the right content.
        unchanged: Number of files among them that existed before.
        bytes: Size of all files in bytes, after decompression.
        recompressed: Number of files that were compressed when they were ingested. Their content is the same, but the
            compressed bytes may differ.
        renamed: Files that could not have their own name: name and path.
        damaged: Files that differ from the ingested bytes: name and reason. Empty unless the store is damaged.
        rejected: Files that could not be written, or would have replaced another file: name and reason.
    """

    selected: int
    files: int
    unchanged: int
    bytes: int
    recompressed: int
    renamed: list[tuple[str, str]]
    damaged: list[tuple[str, str]]
    rejected: list[tuple[str, str]]

    @property
    def is_clean(self) -> bool:
        """Whether everything was exported."""
        return not self.damaged and not self.rejected


@dataclass(frozen=True)
class ExportedDatabase:
    """A MetaSchedule database that was written.

    Attributes:
        folder: Folder of the database, relative to the folder of the export.
        platform: Platform of its records.
        target: Target of its records as JSON; empty if they have none.
        records: Number of lines of its file of tuning records.
        workloads: Number of lines of its file of workloads.
    """

    folder: str
    platform: str
    target: str
    records: int
    workloads: int


@earlier_attributes(refused="rejected")
@dataclass(frozen=True)
class ExportedDatabases:
    """Report of an export of MetaSchedule databases.

    Attributes:
        databases: Databases in the folder.
        rejected: Databases that were not written because other files exist there: folder and reason.
        other_records: Number of selected records of other formats, which are in no database.
    """

    databases: list[ExportedDatabase]
    rejected: list[tuple[str, str]]
    other_records: int

    @property
    def is_clean(self) -> bool:
        """Whether all databases were written."""
        return not self.rejected


@dataclass(frozen=True)
class PublishedTable:
    """A table of a publication.

    Attributes:
        name: Name of the table.
        rows: Number of rows.
        file_count: Number of files.
        bytes: Size of the files in bytes.
    """

    name: str
    rows: int
    file_count: int
    bytes: int


@dataclass(frozen=True)
class Published:
    """Report of a publication.

    Attributes:
        tables: Tables of the publication.
        file_count: Number of files.
        bytes: Size of the files in bytes.
    """

    tables: list[PublishedTable]
    file_count: int
    bytes: int


@dataclass(frozen=True)
class Verified:
    """Differences between a publication and its checksums.

    Attributes:
        file_count: Number of unchanged files.
        bytes: Size of these files in bytes.
        missing: Missing files.
        changed: Files with other bytes.
        additional: Files that were not published.
    """

    file_count: int
    bytes: int
    missing: list[str]
    changed: list[str]
    additional: list[str]

    @property
    def is_whole(self) -> bool:
        """Whether all published files are unchanged, and there are no others."""
        return not (self.missing or self.changed or self.additional)
