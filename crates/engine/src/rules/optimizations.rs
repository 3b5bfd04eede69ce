//! Optimizations, in their order.

use std::sync::Arc;

use crate::operators::common_subplan::CommonSubplanElimination;
use crate::operators::full_sort::FullSort;
use crate::operators::join_selection;
use crate::operators::join_selection::SortMergeLargeJoins;
use crate::operators::operator_substitution::Substitute;
use crate::operators::partition_top_k::{FinalStage, PartialStage};
use crate::operators::range_join::RangeJoins;
use crate::operators::run_aggregate::RunAggregate;
use crate::operators::streaming_window::StreamingWindow;
use crate::rewrites::bitmap_distinct::BitmapDistinct;
use crate::rewrites::eager_aggregation::EagerAggregation;
use crate::rewrites::not_in::NotInRewrite;
use crate::rewrites::per_column_pruning::PerColumnPruning;
use crate::rewrites::preaggregates::RollupRewrite;
use crate::rewrites::split_pruning::SplitPruning;
use crate::rewrites::topk_file_order::TopKFileOrder;
use crate::rule::{PlanningStep, Position, Rule, Scope};

/// DataFusion's rule that chooses the build side of joins.
const JOIN_SELECTION: &str = "join_selection";

/// DataFusion's rule that places repartitions and sorts.
const ENSURE_REQUIREMENTS: &str = "EnsureRequirements";

/// Optimizations that run before the workarounds.
pub(super) const FIRST: &[Rule] = &[
    Rule {
        name: "bitmap_distinct",
        documentation: "Counts distinct values of dense integers in a bitmap",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| Arc::new(BitmapDistinct::new()))],
    },
    Rule {
        name: "split_pruning",
        documentation: "Reads only the files and pages that have graphs of a part of a split",
        scope: Scope::Every,
        places: &[PlanningStep::Logical(Position::End, || {
            Arc::new(SplitPruning)
        })],
    },
    Rule {
        name: "eager_aggregation",
        documentation: "Aggregates below joins, unions and coarser grouping sets where that leaves few groups",
        scope: Scope::Every,
        places: &[PlanningStep::Logical(Position::End, || {
            Arc::new(EagerAggregation)
        })],
    },
    Rule {
        name: "preaggregates",
        documentation: "Computes aggregates from the pre-aggregates of data files",
        scope: Scope::Every,
        places: &[PlanningStep::Logical(Position::End, || {
            Arc::new(RollupRewrite)
        })],
    },
    Rule {
        name: "spilling_joins",
        documentation: "Joins large sides by merging sorted rows, which may use temporary files",
        scope: Scope::Limited,
        places: &[PlanningStep::Physical(
            Position::After(JOIN_SELECTION),
            |limits| {
                Arc::new(SortMergeLargeJoins {
                    most_bytes: limits.memory_bytes.unwrap_or(usize::MAX)
                        / join_selection::BUILD_SIDE_FRACTION,
                })
            },
        )],
    },
];

/// Optimizations that run after the workarounds.
pub(super) const LAST: &[Rule] = &[
    Rule {
        name: "not_in",
        documentation: "Computes NOT IN over NULLs by an ordinary anti join of distinct values",
        scope: Scope::Local,
        places: &[PlanningStep::Logical(Position::End, || {
            Arc::new(NotInRewrite)
        })],
    },
    Rule {
        name: "common_subplan",
        documentation: "Computes equal parts of a plan once",
        scope: Scope::Local,
        places: &[PlanningStep::Logical(Position::End, || {
            Arc::new(CommonSubplanElimination)
        })],
    },
    Rule {
        name: "partition_topk",
        documentation: "Drops rows that cannot be among the first k of their partition before a window sorts them",
        scope: Scope::Local,
        places: &[
            PlanningStep::Physical(Position::Before(ENSURE_REQUIREMENTS), |_| {
                Arc::new(FinalStage)
            }),
            PlanningStep::Physical(Position::After(ENSURE_REQUIREMENTS), |_| {
                Arc::new(PartialStage)
            }),
        ],
    },
    Rule {
        name: "topk_file_order",
        documentation: "Starts a limited sort with the files that may have its first rows",
        scope: Scope::Local,
        places: &[PlanningStep::Physical(Position::End, |_| {
            Arc::new(TopKFileOrder)
        })],
    },
    Rule {
        name: "per_column_pruning",
        documentation: "Prunes pages by the bounds that a condition implies for each column",
        scope: Scope::Local,
        places: &[PlanningStep::Physical(Position::End, |_| {
            Arc::new(PerColumnPruning)
        })],
    },
    Rule {
        name: "streaming_window",
        documentation: "Computes windows over sorted rows in a stream",
        scope: Scope::Local,
        places: &[PlanningStep::Physical(Position::End, |_| {
            Substitute::<StreamingWindow>::new()
        })],
    },
    Rule {
        name: "run_aggregate",
        documentation: "Aggregates each run of equal keys as one unit",
        scope: Scope::Local,
        places: &[PlanningStep::Physical(Position::End, |_| {
            Substitute::<RunAggregate>::new()
        })],
    },
    Rule {
        name: "full_sort",
        documentation: "Sorts by encoded keys instead of comparing rows",
        scope: Scope::Local,
        places: &[PlanningStep::Physical(Position::End, |_| {
            Substitute::<FullSort>::new()
        })],
    },
    Rule {
        name: "range_join",
        documentation: "Joins by inequalities with a search in sorted keys instead of comparing all pairs of rows",
        scope: Scope::Local,
        places: &[PlanningStep::Physical(Position::End, |limits| {
            Arc::new(RangeJoins {
                held_bytes: limits
                    .memory_bytes
                    .map(|bytes| bytes / join_selection::BUILD_SIDE_FRACTION),
            })
        })],
    },
];
