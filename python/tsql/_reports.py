"""What calls report: plain dataclasses, with the names and units of the library's own."""

from __future__ import annotations

import dataclasses
import json
import typing
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


def parsed(of: type[T], text: str) -> T:
    """A report from what the library tells."""
    return made(of, json.loads(text))


def parsed_list(of: type[T], text: str) -> list[T]:
    """Reports from what the library tells."""
    return [made(of, one) for one in json.loads(text)]


def made(of: type[T], told: Any) -> T:
    """A dataclass from the dictionary that it was told as; dataclasses in it, too."""
    kinds = typing.get_type_hints(of)
    values = {field.name: _value(kinds[field.name], told[field.name.rstrip("_")]) for field in dataclasses.fields(of)}  # type: ignore[arg-type]
    return of(**values)


def _value(kind: Any, told: Any) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return made(kind, told)
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is list:
        return [_value(inner[0], one) for one in told]
    if typing.get_origin(kind) is tuple:
        return tuple(told)
    optional = [one for one in inner if one is not type(None)]
    if told is not None and len(optional) == 1 and len(inner) == 2 and type(None) in inner:
        return _value(optional[0], told)
    return told


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
class Ingested:
    """What an ingest, or a stream that was appended, brought."""

    kinds: dict[str, int]
    files: int
    unchanged_files: int
    unlabelled_files: int
    same_files: int
    grown_files: int
    renamed_files: list[tuple[str, str]]
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
    """Something that `store.mend()` can put right, or has."""

    found: str
    count: int
    does: str
    is_damage: bool
    then: list[str]


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
class Difference:
    """Rows of a table, or platforms, that came or went between two versions."""

    what: str
    platform: str | None
    before: int
    after: int
    added: int
    taken_away: int


@dataclass(frozen=True)
class SourceDifference:
    """A file whose records came or went."""

    dataset: str
    platform: str
    name: str
    records_before: int | None
    records_after: int | None


@dataclass(frozen=True)
class Diff:
    """What differs between two versions of a store."""

    counts: list[Difference]
    sources: list[SourceDifference]


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
class Subset:
    """A version of a named list."""

    name: str
    version: int
    members: list[str]


@dataclass(frozen=True)
class ComparedSide:
    """The records of a side."""

    name: str
    records: int
    failed_records: int
    platforms: list[str]


@dataclass(frozen=True)
class ComparedPairs:
    """What is said of a number of pairs; `speedup` is the geometric mean, with its 95 % interval."""

    pairs: int
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    faster: int
    slower: int
    same: int
    unclear: int


@dataclass(frozen=True)
class ComparedPart(ComparedPairs):
    """The pairs of an operator or a network."""

    name: str | None


@dataclass(frozen=True)
class Change:
    """A configuration on both sides; times are medians in nanoseconds."""

    graph_id: str
    config_id: str
    platform: str | None
    workload_key: str
    steps: str | None
    a_ns: float | None
    b_ns: float | None
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    p: float | None
    verdict: str
    error_no: int | None


@dataclass(frozen=True)
class SpeedupBin:
    """Pairs whose speedups are alike."""

    speedup_from: float
    speedup_to: float
    faster: int
    slower: int
    same: int
    unclear: int


@dataclass(frozen=True)
class Regression:
    """In what the second side is worse than allowed."""

    allowed: float
    slower: int
    is_slower_at_all: bool
    newly_failing: int

    @property
    def is_one(self) -> bool:
        """The second side is worse than allowed."""
        return self.slower > 0 or self.is_slower_at_all or self.newly_failing > 0


@dataclass(frozen=True)
class Comparison:
    """What a comparison found. A speedup is the time of a over the time of b: above 1 where b takes less."""

    a: ComparedSide
    b: ComparedSide
    minimal_change: float
    is_by_platform: bool
    only_a: int
    only_b: int
    same_records: int
    newly_failing: int
    newly_working: int
    failing: int
    all: ComparedPairs
    operators: list[ComparedPart]
    networks: list[ComparedPart]
    regressions: list[Change]
    gains: list[Change]
    failures: list[Change]
    repairs: list[Change]
    histogram: list[SpeedupBin]
    regression: Regression | None


@dataclass(frozen=True)
class PredictionScore:
    """A score, `None` where no number would say anything of the predictions; where it lies in 95 % of the draws of tasks;
    tasks that do not count, by reason."""

    value: float | None
    low: float | None
    high: float | None
    left_out: dict[str, int]


@dataclass(frozen=True)
class PredictionScoreRow:
    """Scores of a group of tasks (a network, a collection, all) by one predictor, in the order of the table's metrics."""

    group: str
    platform: str | None
    predictor: str
    tasks: int
    tasks_of_network: int | None
    rows: int
    failed: int
    missing: int
    scores: list[PredictionScore]


@dataclass(frozen=True)
class PredictionScores:
    """What predictions score, group by group and over all, beside a random order and what can be reached at most."""

    scoring: str
    predictions: str
    split: str | None
    split_digest: str | None
    split_warning: str | None
    part: str
    variant: str
    seed: int
    resamples: int
    records: int
    failed: int
    missing: int
    odd: int
    unused: int
    metrics: list[str]
    main_metrics: list[str]
    groups: str
    rows: list[PredictionScoreRow]

    def score(self, metric: str, group: str | None = None, predictor: str = "predictions") -> PredictionScore:
        """The score of a group; of the last one, which is over all, unless one is named."""
        named = [row for row in self.rows if row.predictor == predictor and group in (None, row.group)]
        if not named or metric not in self.metrics:
            raise KeyError((metric, group, predictor))
        return named[-1].scores[self.metrics.index(metric)]


@dataclass(frozen=True)
class ScorePoint:
    """A point of a curve of GraphNet's speedup scores, at the tolerance `t`."""

    t: int
    s: float | None
    es: float | None
    alpha: float | None
    beta: float | None
    lambda_: float | None
    eta: float | None
    gamma: float | None


@dataclass(frozen=True)
class ScoreCurve:
    """A curve of GraphNet's speedup scores."""

    name: str
    runs: int
    aggregate: float | None
    points: list[ScorePoint]


@dataclass(frozen=True)
class ScoreReport:
    """Scores of benchmark runs: curves, and speedups by category, each with its sample."""

    curves: list[ScoreCurve]
    categories: list[tuple[str, list[tuple[str, float]]]]
