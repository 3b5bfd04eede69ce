"""Scores of predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Any

from . import _native
from ._convert import as_file, is_table
from ._decode import decoded
from ._deprecated import earlier_attributes

Path = str | PathLike[str]


@earlier_attributes(left_out="excluded_tasks")
@dataclass(frozen=True)
class PredictionScore:
    """A score with its confidence interval.

    Attributes:
        value: Score; `None` if no number would be meaningful.
        low: Lower bound of the interval with 95 % of the resamples; `None` for one task.
        high: Upper bound of the interval.
        excluded_tasks: Number of tasks that do not count, by reason.
    """

    value: float | None
    low: float | None
    high: float | None
    excluded_tasks: dict[str, int]


@earlier_attributes(tasks_of_network="network_tasks")
@dataclass(frozen=True)
class PredictionScoreRow:
    """Scores of one predictor for a group of tasks.

    Attributes:
        group: Name of the group. `mean of networks` and `ratio of sums` are totals.
        platform: Platform, if tasks have several.
        predictor: Source of the ranking, such as `predictions` or `random`.
        tasks: Number of scored tasks.
        network_tasks: Number of tasks of the network, if it is known. The score covers only a part of the network if
            fewer were scored.
        rows: Number of ranked records.
        failed: Number of failed records.
        missing: Number of records without a prediction.
        scores: Scores, in the order of `PredictionScores.metrics`.
    """

    group: str
    platform: str | None
    predictor: str
    tasks: int
    network_tasks: int | None
    rows: int
    failed: int
    missing: int
    scores: list[PredictionScore]


@earlier_attributes(odd="invalid")
@dataclass(frozen=True)
class PredictionScores:
    """Scores of predictions: a table of groups of tasks, with reference predictors.

    Attributes:
        scoring: Format of the table.
        predictions: Predictions as the call gave them.
        split: Split with its version; `None` if all records were scored.
        split_digest: Digest of the split, which is the same in every store.
        split_warning: Warning about a known leak of the split.
        part: Part of the split.
        variant: Treatment of failed records: `tenset` or `valid`.
        seed: Seed of the resamples behind intervals.
        resamples: Number of resamples.
        records: Number of records of the part.
        failed: Number of failed records.
        missing: Number of records without a prediction.
        invalid: Number of predictions that are NaN or infinite, or a time of 0 or less.
        unused: Number of predictions for configurations without a record in the part.
        metrics: Names of the metrics, in order.
        main_metrics: Names of the main metrics.
        groups: Kind of the groups: `network`, `task`, `collection` or `platform`.
        rows: Scores of each group, and of all groups.
    """

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
    invalid: int
    unused: int
    metrics: list[str]
    main_metrics: list[str]
    groups: str
    rows: list[PredictionScoreRow]

    def score(self, metric: str, group: str | None = None, predictor: str = "predictions") -> PredictionScore:
        """Returns one score of the table.

        Args:
            metric: Name of the metric, one of `metrics`.
            group: Name of the group; without it, the last group, which is the total.
            predictor: Source of the ranking.

        Returns:
            The score.

        Raises:
            KeyError: If the table has no such score.
        """
        named = [row for row in self.rows if row.predictor == predictor and group in (None, row.group)]
        if not named or metric not in self.metrics:
            raise KeyError(f"no score of metric `{metric}` by `{predictor}`" + (f" for group `{group}`" if group else ""))
        return named[-1].scores[self.metrics.index(metric)]


class ScoringMethods:
    """Methods of a store that score predictions."""

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
        """Scores predictions, in the table format of a publication.

        Args:
            dataset: Format of the table: `"tenset"`, `"tlp"`, `"tpugraphs"` or `"graphnet"`.
            predictions: A file, a query in parentheses, or a frame or table. Its columns are `config_key`, either
                `prediction` (higher for a faster configuration) or `predicted_ns`, and `platform` if records have
                several.
            split: Name of the split, or `NAME@VERSION`.
            part: Part of the split; the default is `test`, for the split of TpuGraphs `valid`.
            where: SQL predicate over `records`.
            variant: Treatment of failed records: `"tenset"` as TenSet's scripts, `"valid"` leaves them out.
            evaluation_indices: Folder `eval_indices` of TpuGraphs, or one of its files. Only these configurations are
                scored.
            allow_missing: Whether to leave out records without a prediction, and to count them.
            seed: Seed of the resamples.
            resamples: Number of resamples of tasks behind the intervals; 0 for no intervals.

        Returns:
            The table of scores.

        Raises:
            tsql.errors.InputError: If predictions are missing or invalid.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> sql = "(SELECT config_key, platform, min(runtime_ns) AS predicted_ns FROM records GROUP BY 1, 2)"
            >>> scores = store.score("tenset", sql, allow_missing=True, resamples=10)
            >>> scores.records, scores.groups
            (480, 'task')
        """
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
            scores = decoded(PredictionScores, self._native.score(dataset, source, how))
        return replace(scores, predictions=type(predictions).__name__) if is_table(predictions) else scores
