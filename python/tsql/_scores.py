"""Scores of predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Any

from . import _native
from ._parsed import parsed
from ._result import as_file, is_table

Path = str | PathLike[str]


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


class Scoring:
    """Calls of a store that score predictions."""

    _native: _native.Store

    def score(
        self,
        dataset: str,
        predictions: Path | Any,
        *,
        split: str | None = None,
        part: str | None = None,
        where: str | None = None,
        variant: str = "tenset",
        evaluation_indices: Path | None = None,
        allow_missing: bool = False,
        seed: int = 0,
        resamples: int = 1000,
    ) -> PredictionScores:
        """Scores predictions in the table of a paper (`"tenset"`, `"tlp"`, `"tpugraphs"`, `"graphnet"`): a file, a query in
        parentheses, or a frame (of pandas or polars, a table of pyarrow, a result), with `config_key`, one of `prediction` (higher for a faster configuration) and `predicted_ns`, and `platform`
        where records are of several. `split` is `"name@version"`, `variant` says what a failed record counts as (`"valid"`: it is
        left out). `evaluation_indices` is TpuGraphs' folder `eval_indices`, or one of its files: only these configurations count."""
        how = {
            "split": split,
            "part": part,
            "predicate": where,
            "variant": variant,
            "evaluation_indices": None if evaluation_indices is None else fspath(evaluation_indices),
            "allow_missing": allow_missing,
            "seed": seed,
            "resamples": resamples,
        }
        with as_file(predictions) as source:
            scores = parsed(PredictionScores, self._native.score(dataset, source, how))
        return replace(scores, predictions=type(predictions).__name__) if is_table(predictions) else scores
