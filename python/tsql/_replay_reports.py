"""Results of a replay of searches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CurvePoint:
    """Best time of a search after some draws or seconds.

    Attributes:
        at: Number of draws, or seconds.
        best_ns: Mean of the best time over the searches that have one, in nanoseconds; `None` if no search has one.
        low_ns: 5 % quantile of the best time. A search without a time counts as infinitely slow.
        high_ns: 95 % quantile of the best time; `None` if more than 5 % of the searches have none.
    """

    at: float
    best_ns: float | None
    low_ns: float | None
    high_ns: float | None


@dataclass(frozen=True)
class PolicyReplay:
    """Searches of a task by one policy.

    Attributes:
        policy: Policy: `"random"`, `"recorded"`, `"greedy"` or `"epsilon-greedy"`.
        reason: Why the policy was not replayed.
        best: Best time after each of `Replay.draws`. More draws than trials are all trials.
        draws_to_reach: Draws until the time is near the best one.
        seconds_to_reach: Seconds until the time is near the best one.
        draws_speedup: Draws of the first policy over those of this one.
        seconds_speedup: Seconds of the first policy over those of this one.
        draws_curve: Best time against draws.
        seconds_curve: Best time against seconds; empty if the costs are unknown. A mean exists once each search has a
            time.
    """

    policy: str
    reason: str | None
    best: list[CurvePoint]
    draws_to_reach: float | None
    seconds_to_reach: float | None
    draws_speedup: float | None
    seconds_speedup: float | None
    draws_curve: list[CurvePoint]
    seconds_curve: list[CurvePoint]


@dataclass(frozen=True)
class TaskReplay:
    """Searches of a task: a graph on a platform, or a network on a platform.

    Attributes:
        name: Workload key of the graph, or name of the network with its input shapes and kind of target.
        platform: Platform.
        graph_id: Value of `records.graph_id`; `None` for a network.
        network_tasks: Number of tasks of the network with records; `None` for a graph.
        trials: Number of trials: configurations with a record.
        timed: Number of trials with a time.
        coverage: `"exhaustive"` if the trials are the whole search space; `"searched"`, `"unknown"` or `"winners"`.
        coverage_reason: Why the trials are not known to be the whole search space.
        best_ns: Best time of all trials in nanoseconds; of a network the sum over its tasks, by weight.
        total_s: Seconds that all draws cost.
        seconds_reason: Why there are no seconds.
        policies: Searches by policy.
    """

    name: str
    platform: str
    graph_id: str | None
    network_tasks: int | None
    trials: int
    timed: int
    coverage: str
    coverage_reason: str | None
    best_ns: float | None
    total_s: float | None
    seconds_reason: str | None
    policies: list[PolicyReplay]


@dataclass(frozen=True)
class PolicySpeedup:
    """Speed-up of a policy over the first one, over all tasks.

    Attributes:
        policy: Policy.
        tasks: Number of tasks with a speed-up.
        draws: Geometric mean over tasks of the speed-up in draws.
        seconds: Geometric mean over tasks of the speed-up in seconds.
    """

    policy: str
    tasks: int
    draws: float | None
    seconds: float | None


@dataclass(frozen=True)
class Replay:
    """Searches that were replayed.

    Attributes:
        version: Version of this document.
        predictions: File or query of the predictions.
        missing: Number of records without a prediction.
        unused: Number of predictions that no replayed record used.
        draws: Numbers of draws for which there is a best time.
        within: Distance from the best time that a search has to reach, as a fraction.
        probability: Probability with which it has to reach it.
        epsilon: Probability with which `epsilon-greedy` draws any trial.
        seeds: Number of simulated searches of a random policy.
        seed: Seed.
        scheduler: How draws are divided among the tasks of a network; `None` without networks.
        tasks: Tasks, or the network on each platform.
        speedups: Speed-up of each policy over the first.
    """

    version: int
    predictions: str | None
    missing: int
    unused: int
    draws: list[int]
    within: float
    probability: float
    epsilon: float
    seeds: int
    seed: int
    scheduler: str | None
    tasks: list[TaskReplay]
    speedups: list[PolicySpeedup]
