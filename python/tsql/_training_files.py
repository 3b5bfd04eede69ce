"""Files for training, as their manifest tells them: the fields of `manifest.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from . import _native
from ._parsed import parsed

Path = str | PathLike[str]


@dataclass(frozen=True)
class ManifestFile:
    """A file beside the manifest."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class ManifestPart:
    """The rows of a part of a split, or its graphs; `keys` is a sum of hashes that does not depend on their order."""

    name: str
    rows: int
    groups: int
    largest_group: int
    failed: int
    keys: str
    files: list[ManifestFile]


@dataclass(frozen=True)
class FeatureTold:
    """A feature, its version, and the names of its elements."""

    name: str
    column: str
    version: int
    sql: str
    element_type: str
    elements: list[str]


@dataclass(frozen=True)
class LabelTold:
    """What is to be predicted, and what 1 is relative to."""

    name: str
    version: int
    relative_to: str
    records_version: int | None


@dataclass(frozen=True)
class SplitTold:
    """The split, which has the same digest in any store."""

    name: str
    version: int
    digest: str


@dataclass(frozen=True)
class LeftOut:
    """Records that are not among the rows, and why."""

    failed: int
    unmeasured: int
    without_cost: int
    without_part: int
    other_parts: int
    null_features: dict[str, int]
    over_limit: int
    cut_groups: int


@dataclass(frozen=True)
class TrainingManifest:
    """Everything that files for training follow from, and what they are."""

    manifest_version: int
    tsql_version: str
    at: str
    rows: dict[str, Any] | None
    graphs: dict[str, Any] | None
    sql: str | None
    split: SplitTold | None
    features: list[FeatureTold]
    label: LabelTold | None
    parts: list[ManifestPart]
    left_out: LeftOut


@dataclass(frozen=True)
class TrainingFilesVerified:
    """What became of files for training: `differences` are sentences, none where all is the same."""

    file_count: int
    rows: int
    differences: list[str]

    @property
    def is_same(self) -> bool:
        """Nothing differs."""
        return not self.differences


class TrainingFiles:
    """Calls of a store that write files for training, and compare them."""

    _native: _native.Store

    def write_training_files(
        self,
        to: Path,
        features: Iterable[str],
        *,
        where: str | None = None,
        split: str | None = None,
        parts: Iterable[str] = (),
        group: str | None = "task",
        label: str = "valid",
        form: str = "parquet",
        group_rows: int = 10_000,
        large_groups: str = "refused",
        skip_null: bool = False,
        balance: str | None = None,
        seed: int = 0,
        overwrite: bool = False,
    ) -> TrainingManifest:
        """Writes records as files for training: rows by group, with labels, relevance and `features`
        (`"schedule_numbers"`, `"tlp_tokens"`, `"workload_shape"`, ...), a folder for each part of `split`.

        `form` is `parquet`, `arrow` or `npz`; `label` is `valid`, `tenset` or `metaschedule`; a group of more than `group_rows` rows
        is `refused`, `cut` or `sampled`. With `balance`, an SQL expression over `records`, rows have weights by which all
        its values count the same. Rows are sorted within the store's `memory_limit`, or 70 % of what the process may have.
        """
        how = {
            "features": list(features),
            "where": where,
            "split": split,
            "parts": list(parts),
            "group": group,
            "label": label,
            "form": form,
            "group_rows": group_rows,
            "large_groups": large_groups,
            "skip_null": skip_null,
            "balance": balance,
            "seed": seed,
        }
        told = self._native.write_training_files(fspath(to), json.dumps(how), overwrite)
        return parsed(TrainingManifest, told)

    def write_graph_files(
        self, to: Path, names: str | Iterable[str], *, split: str | None = None, overwrite: bool = False
    ) -> TrainingManifest:
        """Writes graphs of TpuGraphs with all their configurations as npz files: edges by node (CSR), configurations as codes
        and the table that these stand for."""
        how = {"names": [names] if isinstance(names, str) else list(names), "split": split}
        return parsed(TrainingManifest, self._native.write_graph_files(fspath(to), json.dumps(how), overwrite))

    def verify_training_files(self, manifest: Path) -> TrainingFilesVerified:
        """Compares files for training with their manifest, and with what the versions of the tables that it names give now."""
        return parsed(TrainingFilesVerified, self._native.verify_training_files(fspath(manifest)))
