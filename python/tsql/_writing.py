"""Ingest, streams, corrections, tags, notes and facts of platforms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING

from . import _native
from ._convert import is_table
from ._decode import decoded, decoded_list, lazy_module, pairs
from ._deprecated import earlier_arguments
from ._progress import ProgressCallback, ProgressReport
from ._stream import Stream
from .errors import ArgumentError

if TYPE_CHECKING:
    from . import _history_reports, _ingest_reports
    from ._history_reports import Copied, Corrected, Correction, Note, PlatformFact, PlatformSet, Tag
    from ._ingest_reports import Ingested
    from ._store import Store
else:
    _history_reports = lazy_module("_history_reports")
    _ingest_reports = lazy_module("_ingest_reports")

Path = str | PathLike[str]


class WritingMethods:
    """Methods of a store that add records, and change their metadata."""

    _native: _native.Store

    @earlier_arguments(part="shard")
    def ingest(
        self,
        inputs: Path | Iterable[Path],
        *,
        platform: str | None = None,
        graph: str | None = None,
        map: str | None = None,
        commit: str | None = None,
        measured_at: str | None = None,
        graph_parameters: str | None = None,
        format: str | None = None,
        labels: Mapping[str, str] | None = None,
        strict: bool = False,
        dry_run: bool = False,
        replace: bool = False,
        threads: int | None = None,
        shard: tuple[int, int] | None = None,
        progress: bool | ProgressCallback = False,
    ) -> Ingested:
        """Reads tuning logs, files of autotuners and benchmark tools, and files of TpuGraphs and GraphNet into the store.

        A second call skips files that are in the store already. A call after an interrupted one continues it.

        Args:
            inputs: Files, folders or patterns.
            platform: Platform of all records. The default is the name of the folder of a log, `tpu-v3` for TpuGraphs,
                and the hardware in a benchmark log.
            graph: Graph of all records of autotuner files: a name, or a JSON list such as `["gemm", {"M": 512}]`.
            map: Graphs, platforms and columns of tables by patterns of paths, as text in TOML.
            commit: Commit of the code that autotuners or benchmark tools measured; also the label `commit`.
            measured_at: Time of their measurements with its zone, such as `2026-03-01T12:00:00Z`.
            graph_parameters: Names of their parameters that belong to the graph, such as `size,dim`.
            format: Format of all files; without it, the content of each file decides.
            labels: Labels of the files, such as `{"night": "7"}`, for the table `labels`.
            strict: Whether to stop at the first rejected line.
            dry_run: Whether to parse and report, and to write nothing.
            replace: Whether to retract the records of earlier versions of each file. An earlier version was ingested
                from the same path and is not a beginning of the file.
            threads: Number of threads.
            shard: One of several shards of the files: `(3, 8)` is the third of eight. Several processes may ingest
                shards into one store at the same time.
            progress: `True` shows a line on standard error; a callable receives the current item, the completed
                amount and the total amount in bytes.

        Returns:
            Numbers of files and records, and rejected lines.

        Raises:
            tsql.errors.ArgumentError: If the inputs are a frame or a table, which `append` stores.
            tsql.errors.InputError: If an input does not exist, or with `strict` a line is rejected.

        Examples:
            >>> import pathlib, tempfile, tsql
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     exported = tsql.sample().export(folder, source="epyc-1t/softmax*")
            ...     ingested = tsql.create("memory:").ingest(folder, labels={"night": "7"})
            >>> ingested.files, ingested.records, ingested.platforms
            (1, 48, ['epyc-1t'])
        """
        if is_table(inputs):
            kind = type(inputs).__name__
            hint = "hint: with store.append(NAME, platform=...) as stream: stream.write(rows)"
            raise ArgumentError(f"`{kind}` has rows, expected paths of files\n{hint}", name="inputs")
        given = [inputs] if isinstance(inputs, (str, PathLike)) else list(inputs)
        how = {
            "platform": platform,
            "graph": graph,
            "map": map,
            "commit": commit,
            "measured_at": measured_at,
            "graph_parameters": graph_parameters,
            "format": format,
            "labels": pairs(labels),
            "strict": strict,
            "dry_run": dry_run,
            "replace": replace,
            "threads": threads,
            "part": shard,
        }
        with ProgressReport(progress) as callback:
            return decoded(_ingest_reports.Ingested, self._native.ingest([fspath(one) for one in given], how, callback))

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
        """Starts a stream of records, or resumes the stream of this name.

        A program that was interrupted sends the stream again from its beginning. Stored lines are skipped.

        Args:
            stream: Name of the stream.
            platform: Platform of the records.
            format: Format of the lines: `measured` (JSON objects whose keys are columns), `tenset`, `autotvm` or
                `metaschedule`.
            labels: Labels of the stream, for the table `labels`.
            strict: Whether to stop at the first rejected line.
            group_lines: Maximum number of lines of a commit group; the default is 100,000.
            group_s: Maximum time until a line is committed, in seconds; the default is 5.

        Returns:
            The stream, for use in a `with` block.

        Raises:
            tsql.errors.UnknownName: If the format is unknown.

        Examples:
            >>> import tsql
            >>> store = tsql.create("memory:")
            >>> with store.append("night-7", platform="a100") as stream:
            ...     stream.write({"workload_key": ["mm", {"M": 512}], "steps": {"TILE": 8}, "repeats_ns": [4210, 4198.5]})
            >>> store.sql("SELECT platform, runtime_ns FROM records").rows()
            [('a100', 4204.25)]
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
        self, to: Store, *, where: str | None = None, dry_run: bool = False, progress: bool | ProgressCallback = False
    ) -> Copied:
        """Copies sources to another store.

        Args:
            to: The other store.
            where: SQL predicate over `records`; without it, all sources.
            dry_run: Whether to report and copy nothing.
            progress: `True` shows a line on standard error; a callable receives the current item, the completed
                amount and the total amount.

        Returns:
            Numbers of copied sources and records.

        Examples:
            >>> import tsql
            >>> store = tsql.create("memory:")
            >>> tsql.sample().copy_to(store, where="source = 'epyc-1t/softmax-256x480.json'", dry_run=True).records
            48
        """
        with ProgressReport(progress) as callback:
            return decoded(_history_reports.Copied, self._native.copy_to(to._native, where, dry_run, callback))

    @earlier_arguments(who="author")
    def correct(
        self,
        labels: Mapping[str, str],
        *,
        where: str,
        why: str,
        author: str | None = None,
        all: bool = False,
        dry_run: bool = False,
    ) -> Corrected:
        """Corrects wrong labels of sources: platform, collection and split.

        Args:
            labels: Label and correct value, such as `{"platform": "k80"}`; an empty value removes the label.
            where: SQL predicate over `sources`; `source` is the name.
            why: Reason, which is stored with the correction.
            author: Author; the default is the name of the user.
            all: Whether to allow a predicate that selects everything.
            dry_run: Whether to report and change nothing.

        Returns:
            Numbers of records and sources.

        Raises:
            tsql.errors.ArgumentError: If no source is selected, or all are and `all` is false.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> corrected = store.correct({"platform": "epyc"}, where="platform = 'epyc-1t'", why="wrong name")
            >>> corrected.records, corrected.sources
            (240, 5)
        """
        how = {"why": why, "author": author, "all": all, "dry_run": dry_run}
        texts = [f"{name}={value}" for name, value in labels.items()]
        return decoded(_history_reports.Corrected, self._native.correct(texts, where, how))

    @earlier_arguments(who="author")
    def retract(
        self, where: str, *, why: str, author: str | None = None, all: bool = False, dry_run: bool = False
    ) -> Corrected:
        """Hides records from all queries. Exported files still contain them.

        Args:
            where: SQL predicate over `records`; `source` is the name of their file.
            why: Reason, which is stored with the correction.
            author: Author; the default is the name of the user.
            all: Whether to allow a predicate that selects everything.
            dry_run: Whether to report and change nothing.

        Returns:
            Numbers of records and sources.

        Raises:
            tsql.errors.ArgumentError: If no record is selected, or all are and `all` is false.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> store.retract("line = 1", why="cold caches").records
            9
            >>> store.sql("SELECT count(*) FROM records").scalar()
            471
        """
        how = {"why": why, "author": author, "all": all, "dry_run": dry_run}
        return decoded(_history_reports.Corrected, self._native.retract(where, how))

    @earlier_arguments(who="author")
    def restore(
        self,
        where: str,
        *,
        why: str | None = None,
        author: str | None = None,
        all: bool = False,
        dry_run: bool = False,
    ) -> Corrected:
        """Restores retracted records.

        Args:
            where: SQL predicate over `retracted`; `source` is the name of their file.
            why: Reason, which is stored with the correction.
            author: Author; the default is the name of the user.
            all: Whether to allow a predicate that selects everything.
            dry_run: Whether to report and change nothing.

        Returns:
            Numbers of records and sources.

        Raises:
            tsql.errors.ArgumentError: If no record is selected, or all are and `all` is false.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> retracted = store.retract("line = 1", why="cold caches")
            >>> store.restore("line = 1", all=True).records
            9
        """
        how = {"why": why, "author": author, "all": all, "dry_run": dry_run}
        return decoded(_history_reports.Corrected, self._native.restore(where, how))

    @property
    def corrections(self) -> list[Correction]:
        """All corrections."""
        return decoded_list(_history_reports.Correction, self._native.corrections())

    # Tags and notes

    def tag(self, name: str, note: str | None = None) -> Tag:
        """Tags the versions of all tables. `tsql.open(..., at=NAME)` opens the store at the tag.

        Args:
            name: Name of the tag: letters, digits and `. - _ + /`.
            note: Text about the tag.

        Returns:
            The tag.

        Raises:
            tsql.errors.ArgumentError: If the name is invalid or in use.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> store.tag("v1.0").versions["records"]
            1
        """
        return decoded(_history_reports.Tag, self._native.create_tag(name, note))

    def delete_tag(self, name: str) -> None:
        """Deletes a tag. Its data stays until `vacuum`.

        Args:
            name: Name of the tag.

        Examples:
            >>> import tsql
            >>> store = tsql.create("memory:")
            >>> tag = store.tag("v1.0")
            >>> store.delete_tag("v1.0")
            >>> store.tags
            []
        """
        self._native.delete_tag(name)

    @property
    def tags(self) -> list[Tag]:
        """All tags, by name."""
        return decoded_list(_history_reports.Tag, self._native.tags())

    @earlier_arguments(who="author")
    def note(
        self,
        text: str,
        *,
        where: str | None = None,
        source: str | None = None,
        platform: str | None = None,
        author: str | None = None,
    ) -> Note:
        """Creates a note about records, sources or a platform. A call has one of the three.

        Args:
            text: Text of the note.
            where: SQL predicate over `records`.
            source: Name of sources, or a pattern (`*` and `?`).
            platform: Platform with all its records.
            author: Author; the default is the name of the user.

        Returns:
            The note.

        Raises:
            tsql.errors.ArgumentError: If the call has none or several of the three, or nothing is selected.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> store.note("the fan was loud", platform="epyc-2t").targets[0].record_count
            240
        """
        about = [(kind, value) for kind, value in (("where", where), ("source", source), ("platform", platform)) if value]
        if len(about) != 1:
            raise ArgumentError("a note needs exactly one of where, source and platform", name="where")
        return decoded(_history_reports.Note, self._native.add_note(text, about[0], author))

    def delete_note(self, note_id: int) -> None:
        """Deletes a note.

        Args:
            note_id: Id of the note.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> note = store.note("the fan was loud", platform="epyc-2t")
            >>> store.delete_note(note.note_id)
            >>> store.notes
            []
        """
        self._native.delete_note(note_id)

    @property
    def notes(self) -> list[Note]:
        """All notes."""
        return decoded_list(_history_reports.Note, self._native.notes())

    # Facts of platforms

    def set_platform(
        self,
        platform: str,
        *,
        source: str,
        author: str | None = None,
        vendor: str | None = None,
        device: str | None = None,
        cores: int | None = None,
        clock_hz: float | str | None = None,
        isa: str | None = None,
        memory_bytes: float | str | None = None,
        bandwidth_bytes_per_s: float | str | None = None,
        peak_flop_per_s: float | str | None = None,
        instance: str | None = None,
    ) -> PlatformSet:
        """Sets facts of a platform with their source. The newest value of a fact is valid.

        The view `platforms` has one row per platform. Facts that were not set are those of environments.

        Args:
            platform: Platform, as in `records.platform`.
            source: Source of these facts, such as a data sheet.
            author: Author.
            vendor: Vendor.
            device: Full name of the processor or accelerator.
            cores: Number of cores; of a GPU, of multiprocessors.
            clock_hz: Clock in Hz, or a text such as `"2.5GHz"`.
            isa: Instruction set, or compute capability of a GPU.
            memory_bytes: Size of the memory in bytes, or a text such as `"40GB"`.
            bandwidth_bytes_per_s: Memory bandwidth in bytes per second, or a text such as `"1555GB/s"`.
            peak_flop_per_s: Peak performance in FLOP per second, or a text such as `"19.5TFLOP/s"`.
            instance: Instance type of a cloud.

        Returns:
            The new facts.

        Raises:
            tsql.errors.ArgumentError: If a value is invalid, or the call has no fact.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> store.set_platform("epyc-2t", peak_flop_per_s="90GFLOP/s", source="matmul").written[0].value
            90000000000.0
        """
        facts = {
            "vendor": vendor,
            "device": device,
            "cores": cores,
            "clock_hz": clock_hz,
            "isa": isa,
            "memory_bytes": memory_bytes,
            "bandwidth_bytes_per_s": bandwidth_bytes_per_s,
            "peak_flop_per_s": peak_flop_per_s,
            "instance": instance,
        }
        values = pairs({name: value for name, value in facts.items() if value is not None})
        return decoded(_history_reports.PlatformSet, self._native.set_platform(platform, values, source, author))

    def platform_facts(self, platform: str) -> list[PlatformFact]:
        """Returns the known facts of a platform with their sources.

        Args:
            platform: Platform, as in `records.platform`.

        Returns:
            The facts, including those of environments.

        Examples:
            >>> import tsql
            >>> [(fact.fact, fact.value) for fact in tsql.sample().platform_facts("epyc-2t")]
            [('cores', 2.0)]
        """
        return decoded_list(_history_reports.PlatformFact, self._native.platform_facts(platform))

    def unset_platform(self, platform: str, fact: str) -> None:
        """Deletes a fact that was set, with its earlier values. A fact of an environment is then valid again.

        Args:
            platform: Platform.
            fact: Name of the fact.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> set = store.set_platform("epyc-2t", cores=2, source="counted")
            >>> store.unset_platform("epyc-2t", "cores")
        """
        self._native.unset_platform(platform, fact)
