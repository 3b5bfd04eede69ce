"""Scores of predictions."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _native
from ._convert import as_file, is_table
from ._decode import decoded, lazy_module
from ._deprecated import earlier_attributes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from . import _replay_reports
    from ._replay_reports import Replay
else:
    _replay_reports = lazy_module("_replay_reports")

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


@dataclass(frozen=True)
class MatrixCell:
    """Scores of a model on a platform.

    Attributes:
        model: Name of the model.
        platform: Platform of the records.
        tasks: Number of scored tasks.
        rows: Number of ranked records.
        scores: Total scores, in the order of `ScoreMatrix.metrics`; empty if there are none.
        reason: Reason for missing scores.
    """

    model: str
    platform: str
    tasks: int
    rows: int
    scores: list[PredictionScore]
    reason: str | None


@dataclass(frozen=True)
class ScoreMatrix:
    """Scores of models by platform.

    Attributes:
        scoring: Format of the scores.
        split: Split with its version; `None` if all records were scored.
        part: Part of the split.
        metrics: Names of the metrics, in order.
        main_metrics: Names of the main metrics.
        platforms: Platforms, in ascending order.
        models: Models in the given order, then `random`, the expected scores of a random order.
        cells: A cell for each model and platform.
    """

    scoring: str
    split: str | None
    part: str
    metrics: list[str]
    main_metrics: list[str]
    platforms: list[str]
    models: list[str]
    cells: list[MatrixCell]

    def score(self, metric: str, model: str, platform: str) -> float | None:
        """Returns one score of the matrix.

        Args:
            metric: Name of the metric, one of `metrics`.
            model: Name of the model.
            platform: Platform of the records.

        Returns:
            The score; `None` if there is none.

        Raises:
            KeyError: If the matrix has no such metric or cell.
        """
        named = [cell for cell in self.cells if (cell.model, cell.platform) == (model, platform)]
        if not named or metric not in self.metrics:
            raise KeyError(f"no score of metric `{metric}` for `{model}` on `{platform}`")
        scores = named[0].scores
        return scores[self.metrics.index(metric)].value if scores else None


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

    def score_matrix(
        self,
        models: Mapping[str, Path | Any],
        *,
        dataset: str = "tenset",
        split: str | None = None,
        part: str | None = None,
        where: str | None = None,
        variant: str = "tenset",
        allow_missing: bool = False,
        seed: int = 0,
        resamples: int = 1000,
        plot: Path | None = None,
        metric: str | None = None,
    ) -> ScoreMatrix:
        """Scores several models on each platform, as in TenSet's figure 6b.

        Args:
            models: Predictions of each model by its name, as for `Store.score`. Predictions without a `platform` apply
                to all platforms.
            dataset: Format of the scores: `"tenset"` or `"tlp"`.
            split: Name of the split, or `NAME@VERSION`.
            part: Part of the split; the default is `test`.
            where: SQL predicate over `records`.
            variant: Treatment of failed records: `"tenset"` as TenSet's scripts, `"valid"` leaves them out.
            allow_missing: Whether to leave out records without a prediction.
            seed: Seed of the resamples.
            resamples: Number of resamples of tasks behind the intervals; 0 for no intervals.
            plot: File for a heat map: `NAME.svg` or `NAME.png`.
            metric: Metric of the heat map; the default is the first main metric.

        Returns:
            The matrix of scores.

        Raises:
            tsql.errors.EmptyError: If no record is selected, or no model has a prediction.
            tsql.errors.InputError: If predictions are missing or invalid.

        Examples:
            >>> import tsql
            >>> sql = "(SELECT config_key, avg(runtime_ns) AS predicted_ns FROM records WHERE status = 'ok' GROUP BY 1)"
            >>> matrix = tsql.sample().score_matrix({"mean": sql}, allow_missing=True, resamples=0)
            >>> matrix.models
            ['mean', 'random']
        """
        how = {
            "split": split,
            "part": part,
            "predicate": where,
            "variant": variant,
            "evaluation_indices": None,
            "allow_missing": allow_missing,
            "seed": seed,
            "resamples": resamples,
        }
        drawn = None if plot is None else (fspath(plot), metric)
        with ExitStack() as stack:
            named = [(name, stack.enter_context(as_file(model))) for name, model in models.items()]
            return decoded(ScoreMatrix, self._native.score_matrix(dataset, named, how, drawn))

    def replay(
        self,
        policies: Sequence[str] = (),
        *,
        predictions: Path | Any | None = None,
        exhaustive: bool = False,
        allow_missing: bool = False,
        epsilon: float = 0.05,
        where: str | None = None,
        draws: Sequence[int] = (1, 10, 100),
        within: float = 0.05,
        probability: float = 0.95,
        seeds: int = 100,
        seed: int = 0,
        network: str | None = None,
        scheduler: str = "gradient",
        round: int = 64,  # noqa: A002
        plot: Path | None = None,
        against: str = "draws",
    ) -> Replay:
        """Replays searches over measured configurations: best time so far against draws and seconds.

        Args:
            policies: Policies: `"random"`, `"recorded"`, `"greedy"` and `"epsilon-greedy"`. Speed-ups are relative to the
                first. The default is `random`, and `greedy` with predictions.
            predictions: A file, a query in parentheses, or a frame or table, with the columns of `Store.score`.
            exhaustive: Whether to leave out tasks whose trials are not known to be the whole search space.
            allow_missing: Whether configurations without a prediction are drawn last, instead of rejected.
            epsilon: Probability with which `epsilon-greedy` draws any trial.
            where: SQL predicate over `records`.
            draws: Numbers of draws for which the report has the best time.
            within: Distance from the best time that a search has to reach, as a fraction.
            probability: Probability with which a search has to reach it.
            seeds: Number of simulated searches of a random policy.
            seed: Seed of the simulated searches.
            network: Network whose tasks are replayed together, by weight.
            scheduler: Division of the draws among the tasks of a network: `"gradient"` or `"round-robin"`.
            round: Number of draws that the scheduler gives to a task at once.
            plot: File for a plot of the best time so far: `NAME.svg` or `NAME.png`.
            against: Horizontal axis of the plot: `"draws"` or `"seconds"`.

        Returns:
            Searches of each task by each policy.

        Raises:
            tsql.errors.EmptyError: If no measured record matches.
            tsql.errors.InputError: If predictions are missing or invalid.

        Examples:
            >>> import tsql
            >>> found = tsql.sample().replay(where="platform = 'epyc-1t'")
            >>> found.tasks[0].policies[0].policy
            'random'
        """
        how = {
            "policies": list(policies),
            "predictions": None,
            "exhaustive": exhaustive,
            "allow_missing": allow_missing,
            "epsilon": epsilon,
            "predicate": where,
            "draws": list(draws),
            "within": within,
            "probability": probability,
            "seeds": seeds,
            "seed": seed,
            "network": network,
            "scheduler": scheduler,
            "round": round,
            "plot": None if plot is None else fspath(plot),
            "against": against,
        }
        with nullcontext() if predictions is None else as_file(predictions) as source:
            found = decoded(_replay_reports.Replay, self._native.replay(how | {"predictions": source}))
        return replace(found, predictions=type(predictions).__name__) if is_table(predictions) else found
