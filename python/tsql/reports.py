"""Types of results, for annotations: plain dataclasses."""

from __future__ import annotations

from typing import Any

from ._comparison_reports import (
    Change,
    CommonShift,
    ComparedPairs,
    ComparedSide,
    Comparison,
    NoiseFloor,
    PairGroup,
    Regression,
    SpeedupBin,
)
from ._deprecated import earlier_class
from ._features import FeaturesImported, RejectedRow
from ._history_reports import (
    Copied,
    Corrected,
    Correction,
    Diff,
    Difference,
    Note,
    NoteTarget,
    PlatformFact,
    PlatformSet,
    SourceDifference,
    Tag,
    Version,
)
from ._ingest_reports import Ingested, RepeatedFile, ReplacedFile, Resumed, SimilarSample, SkippedFile
from ._measure_reports import (
    Executed,
    MachineDifference,
    Measured,
    MeasuredAgain,
    MeasuredPair,
    MeasuredTrial,
    PairProgram,
    PairRun,
    Probe,
    RepeatedRecord,
    WorkerStatus,
)
from ._replay_reports import CurvePoint, PolicyReplay, PolicySpeedup, Replay, TaskReplay
from ._score_reports import Scored, ScoreCurve, ScoredCollection, ScoredRow, ScorePoint, ScoreReport, Subset
from ._scores import MatrixCell, PredictionScore, PredictionScoreRow, PredictionScores, ScoreMatrix
from ._splits import CreatedSplit, Leaks, PartCount, Split, SplitLeaks
from ._store_reports import (
    Checked,
    Exported,
    ExportedDatabase,
    ExportedDatabases,
    Optimized,
    Published,
    PublishedTable,
    RepairItem,
    Verified,
)
from ._training_files import (
    ExcludedRecords,
    FeatureInfo,
    ManifestFile,
    ManifestPart,
    SplitInfo,
    TargetInfo,
    TrainingFilesVerified,
    TrainingManifest,
)
from ._trend_reports import ProgramChange, Trend, TrendEvent
from .measure import Finding, Template, Timing

__all__ = [
    "Change",
    "Checked",
    "CommonShift",
    "ComparedPairs",
    "ComparedSide",
    "Comparison",
    "Copied",
    "Corrected",
    "Correction",
    "CreatedSplit",
    "CurvePoint",
    "Diff",
    "Difference",
    "ExcludedRecords",
    "Executed",
    "Exported",
    "ExportedDatabase",
    "ExportedDatabases",
    "FeatureInfo",
    "FeaturesImported",
    "Finding",
    "Ingested",
    "Leaks",
    "MachineDifference",
    "ManifestFile",
    "ManifestPart",
    "MatrixCell",
    "Measured",
    "MeasuredAgain",
    "MeasuredPair",
    "MeasuredTrial",
    "NoiseFloor",
    "Note",
    "NoteTarget",
    "Optimized",
    "PairGroup",
    "PairProgram",
    "PairRun",
    "PartCount",
    "PlatformFact",
    "PlatformSet",
    "PolicyReplay",
    "PolicySpeedup",
    "PredictionScore",
    "PredictionScoreRow",
    "PredictionScores",
    "Probe",
    "ProgramChange",
    "Published",
    "PublishedTable",
    "Regression",
    "RejectedRow",
    "RepairItem",
    "RepeatedFile",
    "RepeatedRecord",
    "Replay",
    "ReplacedFile",
    "Resumed",
    "ScoreCurve",
    "ScoreMatrix",
    "ScorePoint",
    "ScoreReport",
    "Scored",
    "ScoredCollection",
    "ScoredRow",
    "SimilarSample",
    "SkippedFile",
    "SourceDifference",
    "SpeedupBin",
    "Split",
    "SplitInfo",
    "SplitLeaks",
    "Subset",
    "Tag",
    "TargetInfo",
    "TaskReplay",
    "Template",
    "Timing",
    "TrainingFilesVerified",
    "TrainingManifest",
    "Trend",
    "TrendEvent",
    "Verified",
    "Version",
    "WorkerStatus",
]

_EARLIER_NAMES = {
    "ComparedPart": "PairGroup",
    "FeatureTold": "FeatureInfo",
    "KnownSample": "SimilarSample",
    "LabelInfo": "TargetInfo",
    "LabelTold": "TargetInfo",
    "LeftOut": "ExcludedRecords",
    "Mendable": "RepairItem",
    "RefusedRow": "RejectedRow",
    "SplitTold": "SplitInfo",
}


def __dir__() -> list[str]:
    """Returns the public names."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Returns a class by its earlier name."""
    return earlier_class(__name__, globals(), _EARLIER_NAMES, name)
