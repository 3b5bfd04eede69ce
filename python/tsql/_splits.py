"""Splits of a store into train, valid and test."""

from __future__ import annotations

from dataclasses import dataclass

from . import _native
from ._parsed import parsed, parsed_list
from .errors import ArgumentError


@dataclass(frozen=True)
class Split:
    """A version of a split into train, valid and test."""

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
        """`name@version`, as `split('name@version')` takes it."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True)
class PartCount:
    """Records of a part of a split; `part` is None for those in none."""

    part: str | None
    record_count: int


@dataclass(frozen=True)
class CreatedSplit:
    """A split that was made, and what is in it; not `is_new` where its newest version was the same already."""

    split: Split
    is_new: bool
    parts: list[PartCount]


@dataclass(frozen=True)
class Leaks:
    """What two parts of a split share at a level."""

    level: str
    shared: str
    unit_count: int
    leaking_unit_count: int
    held_out_record_count: int
    leaking_record_count: int
    is_declared: bool


@dataclass(frozen=True)
class SplitLeaks:
    """What leaks between the parts of a split."""

    split: Split
    parts: list[PartCount]
    levels: list[Leaks]

    @property
    def is_clean(self) -> bool:
        """Nothing leaks at the levels at which nothing is to leak."""
        return not any(leaks.is_declared and leaks.leaking_unit_count > 0 for leaks in self.levels)


class Splits:
    """Calls of a store that make splits and look at them."""

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
        """Makes the next version of a split: by `unit` (`config`, `task`, `dag`, `structure`, `network`, `platform`, `time`), or by a
        `preset` (`tenset-all-five`, ...). In SQL, `split('name')` is the part of a row of `records`."""
        if (unit is None) == (preset is None):
            raise ArgumentError("a split is made by a unit or by a preset", name="unit")
        named = name if name is not None else preset
        if named is None:
            raise ArgumentError("a split has a name", name="name")
        how = {"preset": preset, "unit": unit, "ratio": ratio, "seed": seed, "hold_out": hold_out, "query": query}
        return parsed(CreatedSplit, self._native.create_split(named, how))

    def check_split(self, name: str, level: str | None = None) -> SplitLeaks:
        """Counts what leaks between the parts of a split, level by level (`L0` to `L5`)."""
        return parsed(SplitLeaks, self._native.check_split(name, level))

    def parts_of_split(self, name: str) -> list[PartCount]:
        """How many of the records that a split is about are in each of its parts now."""
        return parsed_list(PartCount, self._native.parts_of_split(name))

    def delete_split(self, name: str) -> int:
        """Deletes a split with all its versions, or one version (`name@2`). Returns the number of deleted versions."""
        return self._native.drop_split(name)

    def drop_split(self, name: str) -> int:
        """Earlier name of [`delete_split`][tsql.Store.delete_split]."""
        return self.delete_split(name)

    @property
    def splits(self) -> list[Split]:
        """All versions of all splits."""
        return parsed_list(Split, self._native.splits())
