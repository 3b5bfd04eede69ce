"""Results of a comparison of two sides."""

from __future__ import annotations

from dataclasses import dataclass

from ._deprecated import earlier_attributes


@dataclass(frozen=True)
class ComparedSide:
    """Records of a side.

    Attributes:
        name: The side as the call gave it.
        records: Number of records.
        failed_records: Number of failed records.
        platforms: Platforms of the records.
        first_day: First date of the records in UTC; `None` without times.
        last_day: Last date of the records.
        commits: Some values of the label `commit`.
    """

    name: str
    records: int
    failed_records: int
    platforms: list[str]
    first_day: str | None
    last_day: str | None
    commits: list[str]


@dataclass(frozen=True)
class NoiseFloor:
    """Noise between runs of the programs of a class, as logarithms: 0.01 is 1 %.

    Attributes:
        platform: Platform.
        half_decade: Duration as floor(2 log10(ns)); `None` for all durations of the platform.
        sigma: Scale of Student's t-distribution of one run.
        nu: Its degrees of freedom, 2 to 100.
        spread: Root mean square of one run.
        pairs: Number of pairs of repeated records of one day.
        day_sigma: Standard deviation of a day; `None` if there are too few pairs of two days.
        day_pairs: Number of pairs of two days.
    """

    platform: str
    half_decade: int | None
    sigma: float
    nu: float
    spread: float
    pairs: int
    day_sigma: float | None
    day_pairs: int


@dataclass(frozen=True)
class CommonShift:
    """Shift that the pairs of a platform have in common.

    Attributes:
        platform: Platform; `None` if each side has one platform.
        pairs: Number of pairs.
        median: Median change as a fraction: 0.03 is 3 % slower.
        moved: Fraction of pairs that changed by at least the minimum change in the direction of the median.
        has_moved: Whether more than half of at least five pairs moved one way, so that the machine may have changed.
    """

    platform: str | None
    pairs: int
    median: float
    moved: float
    has_moved: bool


@dataclass(frozen=True)
class ComparedPairs:
    """Summary of a set of pairs.

    Attributes:
        pairs: Number of pairs.
        speedup: Geometric mean of the speedups; `None` without pairs.
        speedup_low: Lower bound of its 95 % interval, which includes the noise that the pairs share. `None` where the noise
            is unknown.
        speedup_high: Upper bound of the interval.
        faster: Number of pairs that are significantly faster on side `b`.
        slower: Number of pairs that are significantly slower on side `b`.
        same: Number of pairs whose change is certainly below the minimum change.
        unclear: Number of inconclusive pairs.
    """

    pairs: int
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    faster: int
    slower: int
    same: int
    unclear: int


@dataclass(frozen=True)
class PairGroup(ComparedPairs):
    """Pairs of an operator or a network, with the attributes of `ComparedPairs`.

    Attributes:
        name: Name of the operator or network; `None` if it is unknown.
    """

    name: str | None


@dataclass(frozen=True)
class Change:
    """A configuration with its results on both sides. Times are in nanoseconds, changes are fractions: 0.03 is 3 % slower.

    Attributes:
        graph_id: Value of `records.graph_id`.
        config_id: Value of `records.config_id`.
        platform: Platform, if both sides have the same.
        workload_key: Value of `graphs.workload_key`.
        steps: Value of `configurations.steps`.
        a_ns: Time on side `a`; `None` if it failed.
        b_ns: Time on side `b`; `None` if it failed.
        speedup: Time in `a` over time in `b`; `None` if a side failed.
        speedup_low: Lower bound of the 95 % interval; `None` without a test.
        speedup_high: Upper bound of the interval.
        change: Time in `b` over time in `a`, minus 1.
        low: Lower bound of its 95 % interval.
        high: Upper bound of the interval.
        se: Standard error of the change as a logarithm; `None` for ranks.
        df: Degrees of freedom of the test; `None` for ranks.
        p: p-value of this pair alone.
        p_corrected: p-value corrected for all pairs.
        detectable: Change that is found with a probability of 80 %.
        runs_needed: Number of runs on each side that would decide an unclear pair.
        a_runs: Number of runs in `a`; `None` for ranks.
        b_runs: Number of runs in `b`.
        a_days: Number of days in `a`.
        b_days: Number of days in `b`.
        reason: Reason of an unclear verdict: `no_floor`, `few_runs`, `other_day`, `spoiled`, `anchor_moved` or
            `below_detectable`.
        verdict: `faster`, `slower`, `same` or `unclear`. `failed` if only side `b` failed, `fixed` if only side `a`
            failed.
        error_no: Error number of the side that failed.
    """

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
    change: float | None
    low: float | None
    high: float | None
    se: float | None
    df: float | None
    p: float | None
    p_corrected: float | None
    detectable: float | None
    runs_needed: int | None
    a_runs: int | None
    b_runs: int | None
    a_days: int | None
    b_days: int | None
    reason: str | None
    verdict: str
    error_no: int | None


@dataclass(frozen=True)
class SpeedupBin:
    """Numbers of pairs with similar speedups.

    Attributes:
        speedup_from: Lower bound.
        speedup_to: Upper bound, where the next bin begins.
        faster: Number of significantly faster pairs.
        slower: Number of significantly slower pairs.
        same: Number of pairs that are certainly unchanged.
        unclear: Number of inconclusive pairs.
    """

    speedup_from: float
    speedup_to: float
    faster: int
    slower: int
    same: int
    unclear: int


@earlier_attributes(is_one="is_regression", is_slower_at_all="is_slower_overall")
@dataclass(frozen=True)
class Regression:
    """Result of the check whether side `b` is slower than allowed.

    Attributes:
        allowed: Allowed slowdown as a fraction.
        slower: Number of pairs that are significantly slower by more than the allowed slowdown.
        is_slower_overall: Whether all pairs together are slower: the upper bound of the interval of the geometric mean
            is below 1 / (1 + `allowed`).
        newly_failing: Number of pairs that fail on side `b` only.
    """

    allowed: float
    slower: int
    is_slower_overall: bool
    newly_failing: int

    @property
    def is_regression(self) -> bool:
        """Whether side `b` is slower than allowed, or fails where side `a` works."""
        return self.slower > 0 or self.is_slower_overall or self.newly_failing > 0


@earlier_attributes(minimal_change="minimum_change", repairs="fixes")
@dataclass(frozen=True)
class Comparison:
    """Result of a comparison. A speedup is the time of `a` divided by the time of `b`: above 1, `b` is faster.

    Attributes:
        version: Version of this document.
        rule: Rule of the verdicts: `runs` or `ranks`.
        a: The first side.
        b: The second side.
        minimum_change: Minimum change that is significant, as a fraction.
        is_by_platform: Whether both records of a pair have the same platform. Otherwise each side has one platform.
        floors: Noise between runs that the verdicts use.
        floor_date: Date of the newest record behind the floors.
        shifts: Shift that the pairs of each platform have in common.
        anchors: Pairs of the control programs.
        only_a: Number of configurations that only side `a` has.
        only_b: Number of configurations that only side `b` has.
        same_records: Number of configurations with the same records on both sides.
        newly_failing: Number of configurations that fail on side `b` only.
        newly_working: Number of configurations that fail on side `a` only.
        failing: Number of configurations that fail on both sides.
        all: Summary of all pairs that work on both sides.
        operators: Pairs by operator, the slowest first.
        networks: Pairs by network that contains their graph, the slowest first.
        regressions: The largest slowdowns, significant ones first.
        gains: The largest speedups, significant ones first.
        unclear: The unclear pairs with the largest changes.
        undecided: Number of unclear pairs that cannot show a change of the allowed slowdown, by default of the minimum
            change.
        unclear_reasons: Number of unclear pairs by reason.
        pairs: All pairs, where they were requested.
        failures: Some of the configurations that fail on side `b` only.
        fixes: Some of the configurations that fail on side `a` only.
        histogram: Distribution of the speedups.
        regression: Whether side `b` is slower than allowed; `None` without a limit.
    """

    version: int
    rule: str
    a: ComparedSide
    b: ComparedSide
    minimum_change: float
    is_by_platform: bool
    floors: list[NoiseFloor]
    floor_date: str | None
    shifts: list[CommonShift]
    anchors: list[Change]
    only_a: int
    only_b: int
    same_records: int
    newly_failing: int
    newly_working: int
    failing: int
    all: ComparedPairs
    operators: list[PairGroup]
    networks: list[PairGroup]
    regressions: list[Change]
    gains: list[Change]
    unclear: list[Change]
    undecided: int
    unclear_reasons: dict[str, int]
    pairs: list[Change]
    failures: list[Change]
    fixes: list[Change]
    histogram: list[SpeedupBin]
    regression: Regression | None
