"""Results of measurements, checks of buckets, and the status of workers."""

from __future__ import annotations

from dataclasses import dataclass

from ._deprecated import earlier_attributes
from ._ingest_reports import Ingested, Resumed


@dataclass(frozen=True)
class MeasuredTrial:
    """A trial of a run. Times are in nanoseconds per call.

    Attributes:
        workload_key: Workload key of the graph.
        steps: Steps of the configuration.
        median_ns: Median of the repeats that count; `None` for a failure.
        repeats_ns: Repeats that count.
        gflops: Billions of floating-point operations per second, if the manifest has their number.
        check_error: Largest error against the reference, if there is a reference.
        flags: Flags of the measurement, such as `throttled`.
        error_no: TVM's error number; 0 for success.
        error_message: Error message of a failure.
    """

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
    """Report of `Store.measure`.

    Attributes:
        platform: Platform of the records.
        stream: Stream of the records, which is their source.
        seed: Seed of the search; `None` for a grid.
        limits: Active limits of kernels.
        resumed: Measurements of interrupted runs that were stored first.
        trials: Trials in their order.
        failed: Number of failed trials. Failed trials are records, too.
        interrupted: Whether the run was stopped.
        stored: Ingest report of the records.
    """

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
        """Returns the fastest trial.

        Args:
            workload_key: Workload of the trial; without it, all workloads count.

        Returns:
            The trial with the smallest median; `None` if all trials failed.
        """
        trials = [trial for trial in self.trials if workload_key in (None, trial.workload_key)]
        return min((trial for trial in trials if trial.median_ns is not None), key=_median, default=None)


@earlier_attributes(then="recorded", now="current")
@dataclass(frozen=True)
class MachineDifference:
    """A fact of the machine or the compiler that differs from that of a record.

    Attributes:
        fact: Name of the fact, such as `processor`, `cores` or `compiler`.
        recorded: Value in the record.
        current: Current value.
    """

    fact: str
    recorded: str
    current: str


@earlier_attributes(least_change="minimum_change", differs="machine_differences")
@dataclass(frozen=True)
class RepeatedRecord:
    """A record that was measured again.

    Changes are fractions: -0.1 is 10 % less time. Times are medians in nanoseconds per call.

    Attributes:
        workload_key: Workload key of the graph.
        steps: Steps of the configuration.
        verdict: `same`, `faster`, `slower` or `unclear`. `failed` if only the new measurement failed, `fixed` if only
            the old one failed.
        change: Change of the median; `None` if one of the measurements failed.
        change_low: Lower bound of the 95 % interval of `change`.
        change_high: Upper bound of the interval.
        minimum_change: Change of the minimum of the repeats.
        p: p-value of a Mann-Whitney test, with Holm's correction for the number of records.
        old_ns: Old time.
        new_ns: New time.
        machine_differences: Differences of machine and compiler, which can explain a change.
    """

    workload_key: str
    steps: str
    verdict: str
    change: float | None
    change_low: float | None
    change_high: float | None
    minimum_change: float | None
    p: float | None
    old_ns: float | None
    new_ns: float | None
    machine_differences: list[MachineDifference]


@earlier_attributes(left_out="skipped")
@dataclass(frozen=True)
class MeasuredAgain:
    """Report of `Store.measure_repeat`.

    Attributes:
        run: The run. Its timings are records, too.
        skipped: Number of selected records without a program in the store.
        records: Results of the other records, the newest first.
    """

    run: Measured
    skipped: int
    records: list[RepeatedRecord]


@dataclass(frozen=True)
class Executed:
    """Report of `Store.measure_exec`.

    Attributes:
        exit_code: Exit code of the program; `None` if a signal ended it.
        stream: Stream of the records, which is their source.
        stored: Ingest report of the records.
    """

    exit_code: int | None
    stream: str
    stored: Ingested


@dataclass(frozen=True)
class PairRun:
    """A run of a command in `Store.measure_pair`.

    Attributes:
        side: `"base"` or `"head"`.
        block: Number of its block, from 1.
        position: Position in the block, 1 to 4.
        stream: Stream of the records.
        exit_code: Exit code; `None` after a signal.
        records: Number of records.
        rejects: Number of rejected lines.
        is_failed: Whether the command failed, which ends the schedule.
    """

    side: str
    block: int
    position: int
    stream: str
    exit_code: int | None
    records: int
    rejects: int
    is_failed: bool


@dataclass(frozen=True)
class PairProgram:
    """A program with its change from base to head.

    Attributes:
        workload_key: Workload key of the graph.
        steps: Steps of the configuration.
        verdict: `"faster"`, `"slower"`, `"same"` or `"unclear"`; `"failed"` if head fails and base does not, `"fixed"`
            the other way round, `"failing"` if both fail, and `"missing"` if a side did not time it.
        blocks: Number of complete blocks.
        base_ns: Time of base, as the geometric mean of its runs in nanoseconds.
        head_ns: Time of head.
        change: Time of head over time of base, minus 1: 0.03 is 3 % slower.
        low: Lower bound of its 95 % interval.
        high: Upper bound of its 95 % interval.
        p: p-value over all looks.
        p_corrected: p-value corrected for all programs.
        detectable: Change that the test finds with a probability of 80 %, as a fraction.
    """

    workload_key: str
    steps: str
    verdict: str
    blocks: int
    base_ns: float | None
    head_ns: float | None
    change: float | None
    low: float | None
    high: float | None
    p: float
    p_corrected: float
    detectable: float | None


@dataclass(frozen=True)
class MeasuredPair:
    """Report of `Store.measure_pair`.

    Attributes:
        version: Version of this document.
        pair: Value of the label `pair` of all sources.
        minimum_change: Minimum change that is significant, as a fraction.
        runs: The runs, in their order.
        is_out_of_budget: Whether the budget ended before all programs were decided.
        looks: Number of looks at the results.
        change: Mean change over all programs, as a fraction.
        low: Lower bound of its 95 % interval.
        high: Upper bound of its 95 % interval.
        programs: Programs, the slowest change first.
    """

    version: int
    pair: str
    minimum_change: float
    runs: list[PairRun]
    is_out_of_budget: bool
    looks: int
    change: float | None
    low: float | None
    high: float | None
    programs: list[PairProgram]


def _median(trial: MeasuredTrial) -> float:
    return trial.median_ns or 0.0


@earlier_attributes(what="check", wrong="problem")
@dataclass(frozen=True)
class Probe:
    """Result of one check of a bucket.

    Attributes:
        check: Name of the check.
        problem: Reason of the failure; `None` for success.
    """

    check: str
    problem: str | None


@earlier_attributes(taken="started")
@dataclass(frozen=True)
class WorkerStatus:
    """Status of a worker. All attributes but `url`, `stores` and `error` are `None` if the worker does not respond.

    Attributes:
        url: URL of the worker.
        version: Version of its program.
        stores: Locations of the stores that the worker serves.
        running: Number of running stage tasks.
        started: Number of stage tasks since the worker started.
        failed: Number of failed stage tasks.
        memory_bytes: Memory that joins, sorts and aggregates use, in bytes.
        memory_limit_bytes: Memory limit in bytes; `None` without a limit.
        stopping: Whether the worker accepts no new stage tasks.
        error: Error, if the worker does not respond.
    """

    url: str
    version: str | None
    stores: list[str]
    running: int | None
    started: int | None
    failed: int | None
    memory_bytes: int | None
    memory_limit_bytes: int | None
    stopping: bool | None
    error: str | None
