"""Subsets, scores of GraphNet's benchmark runs, and scores of TpuGraphs submissions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Subset:
    """A version of a named list of values.

    Attributes:
        name: Name of the subset.
        version: Number of the version, from 1.
        members: Values in ascending order.
    """

    name: str
    version: int
    members: list[str]


@dataclass(frozen=True)
class ScorePoint:
    """A point of a curve of GraphNet's speedup scores.

    Source of the numbers: GraphNet paper, Appendices B and C.

    Attributes:
        t: Tolerance.
        s: S(t).
        es: ES(t).
        alpha: Geometric mean of the speedups of correct runs.
        beta: Geometric mean of the speedups below 1 of correct runs.
        lambda_: Fraction of correct runs.
        eta: Fraction of slowdowns among the correct runs.
        gamma: Mean penalty of an error.
    """

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
    """A curve of GraphNet's speedup scores.

    Attributes:
        name: Value that the runs have in common.
        runs: Number of runs.
        aggregate: Weighted mean of log10 ES(t).
        points: Points by tolerance.
    """

    name: str
    runs: int
    aggregate: float | None
    points: list[ScorePoint]


@dataclass(frozen=True)
class ScoreReport:
    """Scores of benchmark runs.

    Attributes:
        curves: Curves of S(t) and ES(t).
        categories: Speedups by category: name, and sample and speedup of each run.
    """

    curves: list[ScoreCurve]
    categories: list[tuple[str, list[tuple[str, float]]]]


@dataclass(frozen=True)
class ScoredRow:
    """A row of a TpuGraphs submission.

    Attributes:
        line: Line of the row, from 1.
        id: Id of the file.
        score: Score of the row; `None` if it has no score.
        problem: Reason why the row has no score.
    """

    line: int
    id: str
    score: float | None
    problem: str | None


@dataclass(frozen=True)
class ScoredCollection:
    """Mean score of a collection of TpuGraphs.

    Attributes:
        collection: Name of the collection.
        score: Mean of the scored rows.
        rows: Number of scored rows.
    """

    collection: str
    score: float
    rows: int


@dataclass(frozen=True)
class Scored:
    """Score of a submission to Kaggle's "Fast or Slow?".

    Attributes:
        score: Mean of the five collections; `None` unless each has a score.
        collections: Scores by collection.
        rows: Scores by row.
    """

    score: float | None
    collections: list[ScoredCollection]
    rows: list[ScoredRow]
