"""Training files, and the manifest that describes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from . import _native
from ._decode import decoded
from ._deprecated import earlier_arguments, earlier_attributes

Path = str | PathLike[str]


@dataclass(frozen=True)
class ManifestFile:
    """A file of a manifest.

    Attributes:
        path: Path relative to the manifest.
        rows: Number of rows.
        bytes: Size in bytes.
        sha256: SHA-256 in hexadecimal.
    """

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class ManifestPart:
    """Rows or graphs of a part of a split.

    Attributes:
        name: Name of the part and of its folder.
        rows: Number of rows; for graphs, the number of configurations.
        groups: Number of groups; for graphs, the number of graphs.
        largest_group: Number of rows of the largest group.
        failed: Number of failed records among the rows.
        keys: Sum of the hashes of the keys of all rows, which does not depend on their order.
        files: Files of the part.
    """

    name: str
    rows: int
    groups: int
    largest_group: int
    failed: int
    keys: str
    files: list[ManifestFile]


@dataclass(frozen=True)
class FeatureInfo:
    """A feature of a manifest.

    Attributes:
        name: Name of the feature.
        column: Column of the files.
        version: Version of the definition.
        sql: SQL expression.
        element_type: Arrow type of the elements.
        elements: Names of the elements.
    """

    name: str
    column: str
    version: int
    sql: str
    element_type: str
    elements: list[str]


@dataclass(frozen=True)
class TargetInfo:
    """The target of a manifest, which a model learns.

    Attributes:
        name: Name of the target, such as `valid`.
        version: Version of the definition.
        relative_to: Description of the reference with the value 1.
        records_version: Version of `records` in which the best rows were determined.
    """

    name: str
    version: int
    relative_to: str
    records_version: int | None


@dataclass(frozen=True)
class SplitInfo:
    """The split of a manifest.

    Attributes:
        name: Name and version, such as `by-task@1`.
        version: Version of the split.
        digest: Digest that identifies the split in any store.
    """

    name: str
    version: int
    digest: str


@earlier_attributes(without_cost="invalid_runtime")
@dataclass(frozen=True)
class ExcludedRecords:
    """Numbers of records that are not among the rows, by reason.

    Attributes:
        failed: Failed measurements.
        unmeasured: Unmeasured or withheld records.
        invalid_runtime: Records whose time is not a number above 0.
        without_part: Records in no part of the split.
        other_parts: Records in parts that the call did not select.
        null_features: Records with a NULL feature, by feature.
        over_limit: Records of groups above the size limit that were not sampled.
        cut_groups: Number of groups that were divided.
    """

    failed: int
    unmeasured: int
    invalid_runtime: int
    without_part: int
    other_parts: int
    null_features: dict[str, int]
    over_limit: int
    cut_groups: int


@earlier_attributes(label="target", left_out="excluded")
@dataclass(frozen=True)
class TrainingManifest:
    """Manifest of training files: their content, and everything that determines it.

    Attributes:
        manifest_version: Format version of the manifest.
        tsql_version: Version of tsql that wrote the files.
        at: Versions of all tables of the store, as `tsql.open(..., at=)` accepts them.
        rows: Arguments that selected the rows; `None` for graphs.
        graphs: Arguments that selected the graphs; `None` for rows.
        sql: SQL of the rows.
        split: The split, if there is one.
        features: Features in the order of their columns.
        target: The target, if there is one.
        parts: Parts, one folder each.
        excluded: Records that are not among the rows.
    """

    manifest_version: int
    tsql_version: str
    at: str
    rows: dict[str, Any] | None
    graphs: dict[str, Any] | None
    sql: str | None
    split: SplitInfo | None
    features: list[FeatureInfo]
    target: TargetInfo | None
    parts: list[ManifestPart]
    excluded: ExcludedRecords


@dataclass(frozen=True)
class TrainingFilesVerified:
    """Result of `Store.verify_training_files`.

    Attributes:
        file_count: Number of compared files.
        rows: Number of rows that were exported again.
        differences: Differences, one sentence each.
    """

    file_count: int
    rows: int
    differences: list[str]

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


class TrainingFileMethods:
    """Methods of a store that write and verify training files."""

    _native: _native.Store

    @earlier_arguments(label="target", form="file_format")
    def write_training_files(
        self,
        to: Path,
        features: Iterable[str],
        *,
        where: str | None = None,
        split: str | None = None,
        parts: Iterable[str] = (),
        group: str | None = "task",
        target: str = "valid",
        file_format: str = "parquet",
        group_rows: int = 10_000,
        large_groups: str = "rejected",
        skip_null: bool = False,
        balance: str | None = None,
        seed: int = 0,
        overwrite: bool = False,
    ) -> TrainingManifest:
        """Writes records as training files: rows with features, targets and groups.

        Rows are sorted within the memory limit of the store.

        Args:
            to: Folder for the files.
            features: Names of features: `schedule_numbers`, `tlp_tokens`, `workload_shape` and others, and imported
                ones as `NAME` or `NAME@REVISION`.
            where: SQL predicate over `records`.
            split: `NAME@VERSION` of a split, with one folder for each part. Without it, all rows are in one folder.
            parts: Parts of the split; without them, all parts.
            group: Rows that form a group of the ranking: `task`, `graph`, `file`, columns of `records`, or `None`.
            target: Target that a model learns: `valid`, `tenset` or `metaschedule`.
            file_format: Format of the files: `parquet`, `arrow` or `npz`.
            group_rows: Maximum number of rows of a group.
            large_groups: Treatment of groups with more rows: `rejected` (an error), `cut` or `sampled`.
            skip_null: Whether to leave out rows without a value of a feature. Otherwise such rows are an error.
            balance: SQL expression over `records`. Rows get weights that balance its values.
            seed: Seed of sampled rows.
            overwrite: Whether to replace existing files.

        Returns:
            The manifest, which is also in the folder.

        Raises:
            tsql.errors.UnknownName: If a feature is unknown.
            tsql.errors.ArgumentError: If an argument is invalid.

        Examples:
            >>> import pathlib, tempfile, tsql
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     manifest = tsql.sample().write_training_files(f"{folder}/rows", ["workload_shape"], target="valid")
            ...     sorted(path.name for path in pathlib.Path(folder, "rows").iterdir())
            ['SHA256SUMS', 'all', 'manifest.json']
        """
        how = {
            "features": list(features),
            "where": where,
            "split": split,
            "parts": list(parts),
            "group": group,
            "target": target,
            "file_format": file_format,
            "group_rows": group_rows,
            "large_groups": large_groups,
            "skip_null": skip_null,
            "balance": balance,
            "seed": seed,
        }
        return decoded(TrainingManifest, self._native.write_training_files(fspath(to), json.dumps(how), overwrite))

    def write_graph_files(
        self, to: Path, names: str | Iterable[str], *, split: str | None = None, overwrite: bool = False
    ) -> TrainingManifest:
        """Writes TpuGraphs graphs with all their configurations, one npz file per graph.

        Edges are grouped by node (CSR). Configurations are codes, with the table of their layouts.

        Args:
            to: Folder for the files.
            names: Files or collections, such as `"layout:xla:random"`.
            split: `NAME@VERSION` of a split; without it, the parts of the paths.
            overwrite: Whether to replace existing files.

        Returns:
            The manifest, which is also in the folder.

        Raises:
            tsql.errors.UnknownName: If the store has no such file.
        """
        how = {"names": [names] if isinstance(names, str) else list(names), "split": split}
        return decoded(TrainingManifest, self._native.write_graph_files(fspath(to), json.dumps(how), overwrite))

    def verify_training_files(self, manifest: Path) -> TrainingFilesVerified:
        """Compares training files with their manifest, and with a new export from the same table versions.

        Args:
            manifest: Path of the manifest or its folder.

        Returns:
            Differences.

        Raises:
            tsql.errors.InputError: If there is no manifest.

        Examples:
            >>> import tempfile, tsql
            >>> store = tsql.sample()
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     manifest = store.write_training_files(f"{folder}/rows", ["workload_shape"])
            ...     store.verify_training_files(f"{folder}/rows").is_same
            True
        """
        return decoded(TrainingFilesVerified, self._native.verify_training_files(fspath(manifest)))
