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

/// Those before the workarounds.
pub(super) const FIRST: &[Rule] = &[
    Rule {
        name: "bitmap_distinct",
        documentation: "Counts distinct config_id in a bitmap",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| Arc::new(CountInBitmap::new()))],
    },
    Rule {
        name: "split_pruning",
        documentation: "Reads only files and pages of the graphs that a part of a split has",
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
        documentation: "Answers aggregates from those that data files keep",
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

/// Those after the workarounds.
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
        documentation: "Takes numbers out of lists below the groups that aggregate them",
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
        documentation: "Reads whole files by one thread each, and as many bytes by each thread",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Arc::new(WholeFiles))],
    },
    Rule {
        name: "topk_file_order",
        documentation: "Reads files first that may have the first rows of a limited sort",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Arc::new(BestFirst))],
    },
    Rule {
        name: "per_column_pruning",
        documentation: "Chooses pages by what a condition on several columns says of each",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Arc::new(BoundsOfColumns))],
    },
    Rule {
        name: "column_cache",
        documentation: "Keeps decoded columns for further queries of a session",
        scope: Scope::LocalUnlimited,
        places: &[Place::Physical(At::End, |_| Arc::new(KeepColumns))],
    },
    Rule {
        name: "streaming_window",
        documentation: "Computes windows of sorted rows as they come",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Replaced::<Running>::new())],
    },
    Rule {
        name: "run_aggregate",
        documentation: "Looks the group of a run of equal keys up once, and aggregates the run at once",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Replaced::<ByRuns>::new())],
    },
    Rule {
        name: "dense_group_by",
        documentation: "Looks groups by a dense integer up by their place in place of hashing",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Replaced::<ByNumber>::new())],
    },
    Rule {
        name: "full_sort",
        documentation: "Sorts by the words of a key in place of comparing rows",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |_| Replaced::<Ordered>::new())],
    },
    Rule {
        name: "range_join",
        documentation: "Searches sorted keys for joins by inequalities in place of comparing each row with each",
        scope: Scope::Local,
        places: &[Place::Physical(At::End, |limits| {
            Arc::new(RangeJoins {
                held_bytes: limits.memory_bytes.map(|bytes| bytes / spilling::PART),
            })
        })],
    },
];
