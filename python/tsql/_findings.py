"""What calls find that change nothing, or measure: plain dataclasses, with the names and units of the library's own."""

from __future__ import annotations

from dataclasses import dataclass

from ._reports import Ingested, Resumed


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


@dataclass(frozen=True)
class MeasuredTrial:
    """A trial of a run. Times are nanoseconds of a call; failed ones have none, and say why."""

    workload_key: str
    steps: str
    median_ns: float | None
    repeats_ns: list[float]
    gflops: float | None
    check_error: float | None
    flags: list[str]
    error_no: int
    error_message: str | None


@dataclass(frozen=True)
class Measured:
    """What a run measured: `trials` in their order, and what was `stored`."""

    platform: str
    stream: str
    seed: int | None
    limits: list[str]
    resumed: Resumed
    trials: list[MeasuredTrial]
    failed: int
    interrupted: bool
    stored: Ingested

    def best(self, workload_key: str | None = None) -> MeasuredTrial | None:
        """The fastest trial, of this workload or of all; `None` where none worked."""
        of_it = [trial for trial in self.trials if workload_key in (None, trial.workload_key)]
        return min((trial for trial in of_it if trial.median_ns is not None), key=_median, default=None)


@dataclass(frozen=True)
class MachineDifference:
    """A fact of the machine or the compiler (`fact` is "compiler" then) that was another when a record was taken."""

    fact: str
    then: str
    now: str


@dataclass(frozen=True)
class RepeatedRecord:
    """A record that was measured again. Changes are shares (-0.1: 10 % less time), times medians in nanoseconds of a call.

    `verdict` is `same`, `faster`, `slower` or `unclear`; `failed` where it fails now and did not before, `mended` the other
    way round. Where `differs` is not empty, it is on machines or compilers, too."""

    workload_key: str
    steps: str
    verdict: str
    change: float | None
    change_low: float | None
    change_high: float | None
    least_change: float | None
    p: float | None
    old_ns: float | None
    new_ns: float | None
    differs: list[MachineDifference]


@dataclass(frozen=True)
class MeasuredAgain:
    """Records that were measured again, the newest first; the `run` that did; how many have no program in the store."""

    run: Measured
    left_out: int
    records: list[RepeatedRecord]


@dataclass(frozen=True)
class Executed:
    """How a program ended whose records were taken (`None` by a signal), and what was `stored`."""

    exit_code: int | None
    stream: str
    stored: Ingested


def _median(trial: MeasuredTrial) -> float:
    return trial.median_ns or 0.0


@dataclass(frozen=True)
class ScoredRow:
    """A row of a submission: its line, the file's id, its score, or why it has none."""

    line: int
    id: str
    score: float | None
    problem: str | None


@dataclass(frozen=True)
class ScoredCollection:
    """The mean of the scored rows of a collection."""

    collection: str
    score: float
    rows: int


@dataclass(frozen=True)
class Scored:
    """What a submission to Kaggle's "Fast or Slow?" scores; `score` is the mean of five collections, if all have one."""

    score: float | None
    collections: list[ScoredCollection]
    rows: list[ScoredRow]


@dataclass(frozen=True)
class Probe:
    """Something that commits need of a bucket, and what is wrong with it there."""

    what: str
    wrong: str | None


@dataclass(frozen=True)
class WorkerStatus:
    """A worker: what it serves and does, or the error where it does not answer."""

    url: str
    version: str | None
    stores: list[str]
    running: int | None
    taken: int | None
    failed: int | None
    memory_bytes: int | None
    memory_limit_bytes: int | None
    stopping: bool | None
    error: str | None
