"""Files for training, as their manifest tells them: the fields of `manifest.json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
