"""What brings records into a store, and changes what is said of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING

from . import _native
from ._parsed import later, pairs, parsed, parsed_list
from ._progress import Heard, Shown
from ._stream import Stream
from .errors import ArgumentError

if TYPE_CHECKING:
    from ._store import Store
    from . import _reports
    from ._reports import Copied, Corrected, Correction, Ingested, Note, Tag
else:
    _reports = later("_reports")

Path = str | PathLike[str]


class Writing:
    """Calls of a store that bring records, and change what is said of them."""

    _native: _native.Store

    def ingest(
        self,
        inputs: Path | Iterable[Path],
        *,
        platform: str | None = None,
        format: str | None = None,
        labels: Mapping[str, str] | None = None,
        strict: bool = False,
        dry_run: bool = False,
        replace: bool = False,
        threads: int | None = None,
        part: tuple[int, int] | None = None,
        progress: bool | Heard = False,
    ) -> Ingested:
        """Takes in files, folders or patterns: logs of TenSet, AutoTVM and MetaSchedule, npz files of TpuGraphs, samples
        and logs of GraphNet. What is there already is known again; a call that was broken off goes on.

        `platform` is that of the records, where the folder's name is not; `labels` are put on all files; `strict` stops
        at the first line that is refused; with `replace`, an edited file takes the place of its earlier version, whose
        records leave in the same commit; `part` is `(number, of)` of a work that several processes share.

        Raises `tsql.errors.InputError` for inputs that cannot be found. Lines that are refused are in the report.
        """
        given = [inputs] if isinstance(inputs, (str, PathLike)) else list(inputs)
        how = {
            "platform": platform,
            "format": format,
            "labels": pairs(labels),
            "strict": strict,
            "dry_run": dry_run,
            "replace": replace,
            "threads": threads,
            "part": part,
        }
        with Shown(progress) as heard:
            return parsed(_reports.Ingested, self._native.ingest([fspath(one) for one in given], how, heard))

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
            "labels": pairs(labels),
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
            return parsed(_reports.Copied, self._native.copy_to(to._native, where, dry_run, heard))

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
        return parsed(_reports.Corrected, self._native.correct(texts, where, how))

    def retract(
        self, where: str, *, why: str, who: str | None = None, all: bool = False, dry_run: bool = False
    ) -> Corrected:
        """Takes records out of all answers; they stay in their files."""
        how = {"why": why, "who": who, "all": all, "dry_run": dry_run}
        return parsed(_reports.Corrected, self._native.retract(where, how))

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
        return parsed(_reports.Corrected, self._native.restore(where, how))

    @property
    def corrections(self) -> list[Correction]:
        """All corrections that were made."""
        return parsed_list(_reports.Correction, self._native.corrections())

    # What people say of it

    def tag(self, name: str, note: str | None = None) -> Tag:
        """Gives its state a name: `tsql.open(..., at=name)`. What it names stays."""
        return parsed(_reports.Tag, self._native.create_tag(name, note))

    def delete_tag(self, name: str) -> None:
        """Takes a tag away; the versions stay as long as `vacuum` leaves them."""
        self._native.delete_tag(name)

    @property
    def tags(self) -> list[Tag]:
        """All tags, by name."""
        return parsed_list(_reports.Tag, self._native.tags())

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
        return parsed(_reports.Note, self._native.add_note(text, about[0], who))

    def delete_note(self, note_id: int) -> None:
        """Takes a note away."""
        self._native.delete_note(note_id)

    @property
    def notes(self) -> list[Note]:
        """All notes."""
        return parsed_list(_reports.Note, self._native.notes())
