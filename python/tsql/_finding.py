"""What is found in a store: comparisons, scores, lists."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING

from . import _native
from ._parsed import later, parsed

if TYPE_CHECKING:
    from . import _findings
    from ._findings import Comparison, Scored, ScoreReport, Subset
else:
    _findings = later("_findings")

Path = str | PathLike[str]


class Finding:
    """Calls of a store that compare, score and list."""

    _native: _native.Store

    def compare(
        self,
        a: str,
        b: str,
        *,
        where: str | None = None,
        all: bool = False,
        minimal_change: float | None = None,
        allowed_regression: float | None = None,
        top: int = 10,
        picture: Path | None = None,
    ) -> Comparison:
        """Compares two sides (`"k80"`, `"tag:v1.0"`, `"label:night=7"`, `"2026-11-01..2026-11-08"`, `"where:SQL"`) by the
        configurations that both have: what is faster, slower or the same beyond noise. `all` puts all records of a
        configuration together, else the newest counts; `picture` is a file to draw (`.svg`, `.png`)."""
        path = None if picture is None else fspath(picture)
        found = self._native.compare(a, b, where, all, minimal_change, allowed_regression, top, path)
        return parsed(_findings.Comparison, found)

    def report(
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
        """Scores of benchmark runs (GraphNet's S(t) and ES(t)): a curve for each value of the SQL `by`, speedups by
        `category`. `penalty` is the power that is added to slowdowns, `failure` the speedup that a failure counts as,
        `mismatch_extended` which failures ES(t) tolerates. Where a folder is given, pictures (PNGs of `width` pixels, SVGs) and
        tables are written there."""
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
        return parsed(_findings.ScoreReport, self._native.report(how))

    def score_submission(self, file: Path) -> Scored:
        """Scores a submission to Kaggle's "Fast or Slow?" (a CSV of `ID,TopConfigs`) against what was measured. Rows that have
        no score say why."""
        return parsed(_findings.Scored, self._native.score_submission(fspath(file)))

    def subset(
        self,
        name: str,
        query: str | None = None,
        *,
        version: int | None = None,
        random: int | None = None,
        seed: int = 0,
    ) -> Subset:
        """A named list: with a `query` its next version is made of the first column (or `random` values of it, drawn with
        a seed), without one it is read."""
        if query is None:
            return parsed(_findings.Subset, self._native.subset(name, version))
        drawn = None if random is None else (random, seed)
        return parsed(_findings.Subset, self._native.create_subset(name, query, drawn))

    def delete_subset(self, name: str) -> int:
        """Deletes a subset with all its versions, or one version (`name@2`). Returns the number of deleted versions."""
        return self._native.delete_subset(name)
