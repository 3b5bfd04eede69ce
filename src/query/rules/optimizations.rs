//! The optimizations, in their order.

use std::sync::Arc;

use crate::query::below_joins::BelowJoins;
use crate::query::below_unions::BelowUnions;
use crate::query::best_first::BestFirst;
use crate::query::by_number::ByNumber;
use crate::query::by_runs::ByRuns;
use crate::query::distinct::CountInBitmap;
use crate::query::finest::FromFinestGroups;
use crate::query::in_place::Replaced;
use crate::query::kept::KeepColumns;
use crate::query::not_in::NotIn;
use crate::query::one_column::BoundsOfColumns;
use crate::query::ordered::Ordered;
use crate::query::partition_top_k::{FinalStage, PartialStage};
use crate::query::pruned::GraphsOfParts;
use crate::query::range_join::RangeJoins;
use crate::query::rule::{At, Place, Rule, Scope};
use crate::query::running::Running;
use crate::query::spilling::{self, SortedWhereLarge};
use crate::query::sums::AnswerFromSums;
use crate::query::taken_out::TakenOut;
use crate::query::twice::ComputeOnce;
use crate::query::whole_files::WholeFiles;

/// DataFusion's rule that chooses the held side of joins.
const JOIN_SELECTION: &str = "join_selection";

/// DataFusion's rule that places repartitions and sorts.
const ENSURE_REQUIREMENTS: &str = "EnsureRequirements";

/// The optimizations that run before the workarounds.
pub(super) const FIRST: &[Rule] = &[
    Rule {
        name: "bitmap_distinct",
        documentation: "Counts distinct config_id in a bitmap",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| Arc::new(CountInBitmap::new()))],
    },
    Rule {
        name: "split_pruning",
        documentation: "Reads only the files and pages that have graphs of a part of a split",
        scope: Scope::Every,
        places: &[Place::Logical(At::End, || Arc::new(GraphsOfParts))],
    },
    Rule {
        name: "cascading_grouping_sets",
        documentation: "Aggregates coarse grouping sets from the rows of the finest one",
        scope: Scope::Every,
        places: &[Place::Logical(At::End, || Arc::new(FromFinestGroups))],
    },
    Rule {
        name: "aggregate_through_union",
        documentation: "Aggregates the inputs of a UNION ALL before they are united",
        scope: Scope::Every,
        places: &[Place::Logical(At::End, || Arc::new(BelowUnions))],
    },
    Rule {
        name: "preaggregates",
        documentation: "Computes aggregates from the pre-aggregates of data files",
        scope: Scope::Every,
        places: &[Place::Logical(At::End, || Arc::new(AnswerFromSums))],
    },
    Rule {
        name: "eager_aggregation",
        documentation: "Aggregates one side of a join before the join",
        scope: Scope::Every,
        places: &[Place::Logical(At::End, || Arc::new(BelowJoins))],
    },
    Rule {
        name: "spilling_joins",
        documentation: "Joins large sides by merging sorted rows, which may use temporary files",
        scope: Scope::Limited,
        places: &[Place::Physical(At::After(JOIN_SELECTION), |limits| {
            Arc::new(SortedWhereLarge {
                most_bytes: limits.memory_bytes.unwrap_or(usize::MAX) / spilling::PART,
            })
        })],
    },
];

/// The optimizations that run after the workarounds.
pub(super) const LAST: &[Rule] = &[
    Rule {
        name: "not_in",
        documentation: "Computes NOT IN over NULLs by an ordinary anti join of distinct values",
        scope: Scope::Local,
        places: &[Place::Logical(At::End, || Arc::new(NotIn))],
    },
    Rule {
        name: "common_subplan",
        documentation: "Computes equal parts of a plan once",
        scope: Scope::Local,
        places: &[Place::Logical(At::End, || Arc::new(ComputeOnce))],
    },
    Rule {
        name: "extract_list_elements",
        documentation: "Extracts list elements before the aggregation that reads them",
        scope: Scope::Local,
        places: &[Place::Logical(At::End, || Arc::new(TakenOut))],
    },
    Rule {
        name: "partition_topk",
        documentation: "Drops rows that cannot be among the first k of their partition before a window sorts them",
        scope: Scope::Local,
        places: &[
            Place::Physical(At::Before(ENSURE_REQUIREMENTS), |_| Arc::new(FinalStage)),
            Place::Physical(At::After(ENSURE_REQUIREMENTS), |_| Arc::new(PartialStage)),
        ],
    },
    Rule {
        name: "file_assignment",
        documentation: "Assigns each file to one thread, and about as many bytes to each thread",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Arc::new(WholeFiles))],
    },
    Rule {
        name: "topk_file_order",
        documentation: "Starts a limited sort with the files that may have its first rows",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Arc::new(BestFirst))],
    },
    Rule {
        name: "per_column_pruning",
        documentation: "Prunes pages by the bounds that a condition implies for each column",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Arc::new(BoundsOfColumns))],
    },
    Rule {
        name: "column_cache",
        documentation: "Caches decoded columns for further queries of a session",
        scope: Scope::LocalUnlimited,
        places: &[Place::Physical(At::End, |_| Arc::new(KeepColumns))],
    },
    Rule {
        name: "streaming_window",
        documentation: "Computes windows over sorted rows in a stream",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Replaced::<Running>::new())],
    },
    Rule {
        name: "run_aggregate",
        documentation: "Aggregates each run of equal keys as one unit",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Replaced::<ByRuns>::new())],
    },
    Rule {
        name: "dense_group_by",
        documentation: "Finds groups of a dense integer key by position instead of hashing",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Replaced::<ByNumber>::new())],
    },
    Rule {
        name: "full_sort",
        documentation: "Sorts by encoded keys instead of comparing rows",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Replaced::<Ordered>::new())],
    },
    Rule {
        name: "range_join",
        documentation: "Joins by inequalities with a search in sorted keys instead of comparing all pairs of rows",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |limits| {
            Arc::new(RangeJoins {
                held_bytes: limits.memory_bytes.map(|bytes| bytes / spilling::PART),
            })
        })],
    },
];
