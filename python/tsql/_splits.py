"""Splits of a store into train, valid and test."""

from __future__ import annotations

from dataclasses import dataclass

from . import _native
from ._decode import decoded, decoded_list
from .errors import ArgumentError


@dataclass(frozen=True)
class Split:
    """A version of a split into train, valid and test.

    Attributes:
        name: Name of the split.
        version: Number of the version, from 1.
        unit: Unit that the split never divides.
        ratio: Ratio of train, valid and test.
        seed: Seed of the split.
        preset: Preset, if the split has one.
        warning: Known leaks.
        query: Query whose rows are split; `None` for all records.
        hold_out: Query whose units are held out.
        unit_count: Number of units when the split was created.
        digest: Versions with the same digest are the same split, in any store.
        created_at_us: Time of creation in microseconds since 1970.
    """

    name: str
    version: int
    unit: str
    ratio: str
    seed: int
    preset: str | None
    warning: str | None
    query: str | None
    hold_out: str | None
    unit_count: int
    digest: str
    created_at_us: int

    @property
    def full_name(self) -> str:
        """Name and version, as the SQL function `split('NAME@VERSION')` accepts them."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True)
class PartCount:
    """Number of records of a part of a split.

    Attributes:
        part: `train`, `valid` or `test`; `None` for records in no part.
        record_count: Number of records.
    """

    part: str | None
    record_count: int


@dataclass(frozen=True)
class CreatedSplit:
    """Result of `Store.create_split`.

    Attributes:
        split: The split.
        is_new: Whether a version was written. `False` if the newest version was equal.
        parts: Number of records of each part.
    """

    split: Split
    is_new: bool
    parts: list[PartCount]


@dataclass(frozen=True)
class Leaks:
    """Values that records of two parts have in common, at one level.

    Attributes:
        level: Level: `L0` to `L5`.
        shared: Description of the values.
        unit_count: Number of units that have records in a part.
        leaking_unit_count: Number of units with records in several parts.
        held_out_record_count: Number of records of valid and test.
        leaking_record_count: Number of held-out records that share a unit with an earlier part: valid with train, test
            with either.
        is_declared: Whether nothing may leak at this level.
    """

    level: str
    shared: str
    unit_count: int
    leaking_unit_count: int
    held_out_record_count: int
    leaking_record_count: int
    is_declared: bool


@dataclass(frozen=True)
class SplitLeaks:
    """Leaks between the parts of a split.

    Attributes:
        split: The split.
        parts: Number of records of each part.
        levels: Leaks at each level.
    """

    split: Split
    parts: list[PartCount]
    levels: list[Leaks]

    @property
    def is_clean(self) -> bool:
        """Whether nothing leaks at the declared levels."""
        return not any(leaks.is_declared and leaks.leaking_unit_count > 0 for leaks in self.levels)


class SplitMethods:
    """Methods of a store that create and examine splits."""

    _native: _native.Store

    def create_split(
        self,
        name: str | None = None,
        *,
        unit: str | None = None,
        ratio: str | None = None,
        seed: int = 0,
        hold_out: str | None = None,
        query: str | None = None,
        preset: str | None = None,
    ) -> CreatedSplit:
        """Creates the next version of a split. In SQL, `split('NAME')` is the part of a row of `records`.

        Args:
            name: Name of the split; a preset provides a name.
            unit: Unit that the split never divides: `config`, `task`, `dag`, `structure`, `network`, `platform` or
                `time`.
            ratio: Ratio of train, valid and test, such as `"80/10/10"`.
            seed: Seed of the split.
            hold_out: SQL query whose units are held out.
            query: SQL query whose rows are split; without it, all records.
            preset: Split of a publication, such as `"tenset-all-five"`.

        Returns:
            The split and its parts.

        Raises:
            tsql.errors.ArgumentError: If the call has neither `unit` nor `preset`, or both, or an argument is invalid.
            tsql.errors.EmptyError: If there are no rows to split.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> created = store.create_split("by-task", unit="task", ratio="80/0/20", seed=2)
            >>> {part.part: part.record_count for part in created.parts}
            {'train': 384, 'test': 96}
            >>> store.sql("SELECT count(*) FROM records WHERE split('by-task') = 'test'").scalar()
            96
        """
        if (unit is None) == (preset is None):
            hint = 'hint: unit="task" or preset="tlp-five"'
            raise ArgumentError(f"a split has either a unit or a preset\n{hint}", name="unit")
        named = name if name is not None else preset
        if named is None:
            raise ArgumentError('the split has no name\nhint: create_split("NAME", unit=...)', name="name")
        how = {"preset": preset, "unit": unit, "ratio": ratio, "seed": seed, "hold_out": hold_out, "query": query}
        return decoded(CreatedSplit, self._native.create_split(named, how))

    def split_leaks(self, name: str, level: str | None = None) -> SplitLeaks:
        """Counts leaks between the parts of a split.

        Args:
            name: Name of the split, or `NAME@VERSION`.
            level: Highest level without leaks: `L0` configuration and platform, `L1` configuration, `L2` task, `L3` DAG
                or structure, `L4` sketch, `L5` network. The default is the level of the unit.

        Returns:
            Leaks at each level.

        Raises:
            tsql.errors.UnknownName: If there is no such split.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> created = store.create_split("by-task", unit="task", ratio="80/0/20")
            >>> leaks = store.split_leaks("by-task")
            >>> leaks.is_clean, [level.level for level in leaks.levels]
            (True, ['L0', 'L1', 'L2', 'L3', 'L4', 'L5'])
        """
        return decoded(SplitLeaks, self._native.check_split(name, level))

    def parts_of_split(self, name: str) -> list[PartCount]:
        """Counts the records of each part of a split.

        Args:
            name: Name of the split, or `NAME@VERSION`.

        Returns:
            Number of records of each part, with those that were added later.

        Raises:
            tsql.errors.UnknownName: If there is no such split.
        """
        return decoded_list(PartCount, self._native.parts_of_split(name))

    def delete_split(self, name: str) -> int:
        """Deletes a split with all its versions, or one version.

        Args:
            name: Name of the split, or `NAME@VERSION`.

        Returns:
            Number of deleted versions.

        Raises:
            tsql.errors.UnknownName: If there is no such split.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> created = store.create_split("by-task", unit="task", ratio="80/0/20")
            >>> store.delete_split("by-task"), store.splits
            (1, [])
        """
        return self._native.drop_split(name)

    @property
    def splits(self) -> list[Split]:
        """All versions of all splits."""
        return decoded_list(Split, self._native.splits())
