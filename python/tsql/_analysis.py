"""Comparisons, scores of benchmark runs, and subsets."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Literal

from . import _native
from ._decode import decoded, lazy_module
from ._deprecated import earlier_arguments
from .errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from . import _comparison_reports, _score_reports, _trend_reports
    from ._comparison_reports import Comparison
    from ._score_reports import Scored, ScoreReport, Subset
    from ._trend_reports import Trend
else:
    _comparison_reports = lazy_module("_comparison_reports")
    _score_reports = lazy_module("_score_reports")
    _trend_reports = lazy_module("_trend_reports")

Path = str | PathLike[str]


class AnalysisMethods:
    """Methods of a store that compare and score."""

    _native: _native.Store

    @earlier_arguments(picture="plot", minimal_change="minimum_change")
    def compare(
        self,
        a: str,
        b: str,
        *,
        where: str | None = None,
        all: bool = False,
        minimum_change: float | None = None,
        allowed_regression: float | None = None,
        top: int = 10,
        plot: Path | None = None,
        rule: Literal["runs", "ranks"] = "runs",
        anchors: Sequence[str] = (),
    ) -> Comparison:
        """Compares two sides by the configurations that both have.

        A side is a platform (`"k80"`), a tag (`"tag:v1.0"`), a label (`"label:night=7"`), a range of times
        (`"2026-11-01..2026-11-08"`) or a predicate (`"where:SQL"`).

        Args:
            a: The first side.
            b: The second side.
            where: SQL predicate over the records of both sides.
            all: Whether all records of a configuration count. Otherwise those of its newest day count, and with the rule
                `"ranks"` the newest record.
            minimum_change: Minimum relevant change as a fraction; the default is 0.02.
            allowed_regression: Slowdown that is allowed, as a fraction. `Comparison.regression` has the result.
            top: Maximum number of configurations of each list.
            plot: File for a plot of the speedups: `NAME.svg` or `NAME.png`.
            rule: Rule of the verdicts. `"runs"` compares with the noise between repeated records of the store, `"ranks"`
                tests the repeats of both records.
            anchors: Control programs: operators, workload names or keys. If one of them changed, the machine did, and all
                verdicts of the platform are unclear.

        Returns:
            Speedups and changes, with their significance. Of the pairs that are called faster or slower, at most 5 % are
            expected to be unchanged.

        Raises:
            tsql.errors.EmptyError: If a side has no records, or nothing can be compared.

        Examples:
            >>> import tsql
            >>> comparison = tsql.sample().compare("epyc-1t", "epyc-2t", allowed_regression=0.05, rule="ranks")
            >>> comparison.all.speedup > 1, len(comparison.gains)
            (True, 10)
        """
        path = None if plot is None else fspath(plot)
        if rule not in ("runs", "ranks"):
            raise ValueError(f"unknown rule {rule!r}, expected 'runs' or 'ranks'")
        found = self._native.compare(
            a, b, where, all, minimum_change, allowed_regression, top, path, rule == "ranks", list(anchors)
        )
        return decoded(_comparison_reports.Comparison, found)

    def trend(
        self,
        *,
        by: str | None = None,
        where: str | None = None,
        minimum_change: float | None = None,
        last: int | None = None,
        plot: Path | None = None,
    ) -> Trend:
        """Searches the history of each program for places where its level changed.

        A program is a graph and a configuration on a platform. It has one value for each place, and needs six.

        Args:
            by: Places: `"day"`, `"source"` or the key of a label. The default is the label `commit` if the store has it,
                else days, else sources.
            where: SQL predicate over `records`.
            minimum_change: Minimum change between two levels as a fraction; the default is 0.02.
            last: Number of places of each platform, counted from the newest, whose changes are returned.
            plot: File for a plot of the largest changes: `NAME.svg` or `NAME.png`.

        Returns:
            Changes of programs, and the places where they changed, newest first.

        Raises:
            tsql.errors.EmptyError: If no record has a place.

        Examples:
            >>> import tsql
            >>> tsql.sample().trend(by="source").changes
            []
        """
        path = None if plot is None else fspath(plot)
        return decoded(_trend_reports.Trend, self._native.trend(by, where, minimum_change, last, path))

    def report_graphnet(
        self,
        *,
        where: str | None = None,
        by: str | None = None,
        category: str | None = None,
        penalty: float | None = None,
        failure: float | None = None,
        mismatch_extended: bool = False,
        folder: Path | None = None,
        width: int = 1600,
    ) -> ScoreReport:
        """Computes GraphNet's scores S(t) and ES(t) of benchmark runs.

        Args:
            where: SQL predicate over `runs`.
            by: SQL expression with one curve per value; the default is the name of the log.
            category: SQL expression with one category of speedups per value; the default is the `heuristic_tag` of the
                sample, or the compiler if no sample has one.
            penalty: Exponent p of the penalty on slowdowns; the default is 0.
            failure: Speedup b of a failure; the default is 0.1.
            mismatch_extended: Whether ES(t) tolerates mismatches from t = 2, errors at run time from 3, and failed
                compilations after these. Otherwise it tolerates wrong values from t = 1, and all else from 3.
            folder: Folder for plots and tables.
            width: Width of the PNG files in pixels.

        Returns:
            Curves, and speedups by category.

        Examples:
            >>> import tsql
            >>> tsql.create("memory:").report_graphnet()
            ScoreReport(curves=[], categories=[])
        """
        how = {
            "predicate": where,
            "by": by,
            "category": category,
            "penalty": penalty,
            "failure": failure,
            "mismatch_extended": mismatch_extended,
            "folder": None if folder is None else fspath(folder),
            "width": width,
        }
        return decoded(_score_reports.ScoreReport, self._native.report(how))

    def score_submission(self, file: Path) -> Scored:
        """Scores a submission to Kaggle's "Fast or Slow?" against the records of the store.

        Args:
            file: A CSV file with the columns `ID` and `TopConfigs`.

        Returns:
            The score, and the reason of each row without a score.

        Raises:
            tsql.errors.InputError: If the file cannot be read.
        """
        return decoded(_score_reports.Scored, self._native.score_submission(fspath(file)))

    def subset(
        self,
        name: str,
        query: str | None = None,
        *,
        version: int | None = None,
        random: int | None = None,
        tasks: int | None = None,
        programs: int | None = None,
        seed: int = 0,
    ) -> Subset:
        """Creates a version of a subset from a query, or returns an existing version.

        Args:
            name: Name of the subset.
            query: SQL query whose first column has the values. Without it, the call returns an existing version. With
                `tasks`, its second column has their tasks, and the default is all configurations and their graphs.
            version: Number of the existing version; without it, the newest one.
            random: Number of values to select at random.
            tasks: Number of tasks to select at random. With the same seed, fewer tasks or programs are a part of more.
            programs: Number of values to select of each task.
            seed: Seed of the selection.

        Returns:
            The subset.

        Raises:
            tsql.errors.UnknownName: If there is no such subset.
            tsql.errors.ArgumentError: If only one of `tasks` and `programs` is given, or the query returns fewer.

        Examples:
            >>> import tsql
            >>> store = tsql.create("memory:")
            >>> created = store.subset("numbers", "SELECT value FROM range(100)", random=3, seed=1)
            >>> len(created.members), store.subset("numbers") == created
            (3, True)
        """
        if (tasks is None) != (programs is None) or (tasks is not None and random is not None):
            raise ArgumentError("expected `tasks` with `programs`, or `random`", name="tasks")
        grid = None if tasks is None or programs is None else (tasks, programs, seed)
        if query is None and grid is None:
            return decoded(_score_reports.Subset, self._native.subset(name, version))
        selection = None if random is None else (random, seed)
        return decoded(_score_reports.Subset, self._native.create_subset(name, query, selection, grid))

    def delete_subset(self, name: str) -> int:
        """Deletes a subset with all its versions, or one version.

        Args:
            name: Name of the subset, or `NAME@VERSION`.

        Returns:
            Number of deleted versions.

        Raises:
            tsql.errors.UnknownName: If there is no such subset.

        Examples:
            >>> import tsql
            >>> store = tsql.create("memory:")
            >>> created = store.subset("platforms", "SELECT 'a100' UNION ALL SELECT 'k80'")
            >>> store.delete_subset("platforms")
            1
        """
        return self._native.delete_subset(name)
