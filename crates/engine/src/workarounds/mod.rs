//! Workarounds for SQL whose result is wrong in DataFusion: it is computed correctly or rejected with an error.
//!
//! | SQL | DataFusion 55 | here |
//! |---|---|---|
//! | `INTERSECT ALL`, `EXCEPT ALL` | ignore how often a row occurs | [`set_operations`] numbers equal rows |
//! | `SIMILAR TO` | matches a regular expression anywhere | [`similar_to`] translates the pattern |
//! | `a IS DISTINCT FROM b AND c` | parses `b AND c` as one operand | [`distinct_from`] rejects ambiguous operands |
//! | `x IS NOT FALSE` | plans it as nullable, and fails at the difference | [`boolean_tests`] rewrites it to a comparison |
//! | `x NOT IN (1, y, NULL) AND x IN (2)` | drops y and the NULL | [`null_in_list`] moves them out of the list |
//! | `x IN (0.0, 1.0, ...)` | does not match -0.0, as `x = 0.0` does | [`signed_zeros`] adds the other zero to the list |
//! | `sum(10 / x) FILTER (WHERE x > 0)` | divides for all rows | [`aggregate_filters`] divides for rows that pass |
//! | `PARTITION BY x`, `rank() OVER (ORDER BY x)` | -0.0 and 0.0, and NaN of both signs, are two keys | [`float_keys`] makes them one key |
//! | `inf - inf > 1.0`, `nullif(-0.0, 0.0)`, `[-0.0] = [0.0]` | compares bits | [`float_comparisons`] compares values |
//! | `(SELECT max(y) FROM (SELECT y FROM t WHERE t.k = u.k) AS s)` | rejects it | [`correlated_aliases`] replaces aliases by projections |
//! | `(SELECT sum(y) FROM r WHERE r.k < l.k)` | rejects it | [`correlated_scalars`] joins the values of each `l.k` |
//! | `WHERE x > 0 AND 10 / x > 2` | divides for all rows | [`guarded_conditions`] divides for rows that pass the other conditions |
//! | `x NOT IN (SELECT y ...) OR z`, `5 NOT IN (SELECT y ...)` | takes NULL as false | [`nested_not_in`] counts NULLs |
//! | `EXISTS (SELECT count(*) FROM r WHERE r.k = l.k)` | has no row for some keys | [`one_row_subqueries`] has one row for each |
//! | `SELECT x IN (SELECT y ...), EXISTS (SELECT ...)` | rejects both | [`selected_subqueries`] counts rows |
//! | `count(*) FILTER (WHERE x IN (SELECT ...))`, `ORDER BY (SELECT ... WHERE r.k = l.k)` | rejects both | [`lifted_subqueries`] computes them below |
//! | `ORDER BY -CASE ...`, `PARTITION BY length(x) + 1` | cannot prove its own sort | [`lifted_keys`] computes them below |
//! | `ORDER BY text RANGE 1 PRECEDING` | takes 1 as text | [`range_offsets`] rejects it |
//! | `list_transform(l, x -> x + 1)` over a scan | reads another column as `x`, and fails | [`lambda_projections`] keeps the projection above |
//! | `TABLESAMPLE` | returns all rows | [`tablesample`] rejects it |
//! | `... JOIN ... ORDER BY ... LIMIT 1` | limits rows below windows, joins, filters and groups | [`limit_barrier`] keeps the limit above |
//! | `WHERE x = 1 GROUP BY ROLLUP (x) ORDER BY x`, `LEFT JOIN (SELECT 1 AS x) ... ORDER BY x` | takes NULL and 1 as equal | [`null_extension`] drops the properties of `x` |
//! | `SELECT 1 AS n ... UNION ALL SELECT 0 ... ORDER BY n, x LIMIT 1` | compares rows of different inputs by `x` only | [`topk_order`] sorts by all keys |
//! | `SELECT count(*) ... HAVING max(x) = 1 AND max(x) = 2` | returns a row | [`group_filters`] keeps conditions without columns above groups |
//! | `(SELECT x ... ORDER BY y OFFSET 9)` | removes the sort | [`offsets`] moves the offset next to the sort |
//! | `lead(x, 9) OVER (...) ... LIMIT 1` | reads too few rows for some windows | [`window_limits`] passes only windows that need no more rows |
//! | `SELECT 1 AS n, b, b AS v ... UNION ALL ... ORDER BY b, n, v` | rejects its own plan | [`missing_sorts`] sorts the union |
//! | `a.k = b.k AND a.x > b.y` in a merge join | reads other columns than `x` and `y` | [`merge_join`] rewrites the filter with its columns |
//! | `sum(x) FILTER (WHERE c) OVER (...)` | hides the filter from operators and workers | [`window_filters`] moves it into the argument |
//! | `x * y` of two INT columns | wraps around | [`wide_integers`] multiplies in 64 bits |
//! | `x + y` of two BIGINT columns | wraps around | [`checked_integers`] reports an error |
//! | `lag(x, NULL)` | takes NULL as 0 | [`null_offsets`] makes it NULL |
//! | `x RIGHT JOIN y ... WHERE y.z = 0 AND coalesce(x.v, 4) > y.v` | compares `x.v` with itself | [`filter_barrier`] stops filters by ambiguous names |
//! | `... ORDER BY ... LIMIT 10` | ignores the order of scans, and truncates groups below a limit | [`limits`] restores both |
//! | `x = 1 OR x = 2 OR ...`, thousands of terms | overflows the stack | [`chains`] balances AND and OR, and limits other operators |
//!
//! All workarounds are rules of the session. A rule is removed when DataFusion is correct: its test in `reproductions.rs`
//! fails then.

mod aggregate_filters;
mod boolean_tests;
pub(crate) mod chains;
mod checked_integers;
mod correlated_aliases;
mod correlated_scalars;
mod distinct_from;
mod filter_barrier;
mod float_comparisons;
mod float_keys;
mod float_origin;
mod group_filters;
mod guarded_conditions;
mod lambda_projections;
mod lifted_keys;
mod lifted_subqueries;
mod limit_barrier;
mod limits;
mod merge_join;
mod missing_sorts;
mod named_rewrite;
mod nested_not_in;
mod null_extension;
mod null_in_list;
mod null_offsets;
mod offsets;
mod one_row_subqueries;
mod placeholders;
mod range_offsets;
#[cfg(test)]
mod reproductions;
mod selected_subqueries;
mod set_operations;
mod signed_zeros;
mod similar_to;
mod tablesample;
#[cfg(test)]
mod tests;
mod topk_order;
mod wide_integers;
mod window_filters;
mod window_limits;

pub(crate) use window_filters::WindowFilters;

#[cfg(any(test, debug_assertions))]
pub(crate) use topk_order::{below_projection, below_window};
#[cfg(any(test, debug_assertions))]
pub(crate) use window_limits::lookahead_rows;

use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;

use crate::rewrites::distinct_on::DistinctOnRewrite;
use crate::rule::{PlanningStep, Position, Rule, Scope};

/// Workarounds, in their order.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "multiset_set_operations",
        documentation: "Workaround: INTERSECT ALL and EXCEPT ALL count equal rows",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(set_operations::MultisetSetOperations)
        })],
    },
    Rule {
        name: "similar_to",
        documentation: "Workaround: SIMILAR TO matches SQL patterns",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(similar_to::SimilarToRewrite)
        })],
    },
    Rule {
        name: "distinct_from",
        documentation: "Workaround: IS DISTINCT FROM before AND is rejected where it may be misread",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(distinct_from::RejectAmbiguousDistinctFrom)
        })],
    },
    Rule {
        name: "boolean_tests",
        documentation: "Workaround: IS NOT FALSE and the like are planned as never NULL",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(boolean_tests::BooleanTestRewrite)
        })],
    },
    Rule {
        name: "null_in_list",
        documentation: "Workaround: IN lists keep NULL when they are merged",
        scope: Scope::Every,
        places: &[
            PlanningStep::Analyzer(|| Arc::new(null_in_list::NullInListRewrite)),
            PlanningStep::Logical(Position::Before(null_in_list::SIMPLIFY_EXPRESSIONS), || {
                Arc::new(null_in_list::NullInListRewrite)
            }),
        ],
    },
    Rule {
        name: "null_offsets",
        documentation: "Workaround: lag and lead with an offset of NULL are NULL",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(null_offsets::NullOffsets)
        })],
    },
    Rule {
        name: "range_offsets",
        documentation: "Workaround: RANGE frames with an offset over text are rejected",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(range_offsets::RejectRangeOffsets)
        })],
    },
    Rule {
        name: "correlated_aliases",
        documentation: "Workaround: correlated subqueries may have aliases",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(correlated_aliases::CorrelatedAliasRewrite)
        })],
    },
    Rule {
        name: "aggregate_filters",
        documentation: "Workaround: arguments of aggregates are computed for rows that pass FILTER",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(aggregate_filters::FilterBeforeArguments)
        })],
    },
    Rule {
        name: "lifted_subqueries",
        documentation: "Workaround: subqueries in aggregates, groups, sorts and windows are computed below them",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(lifted_subqueries::LiftedSubqueries)
        })],
    },
    Rule {
        name: "one_row_subqueries",
        documentation: "Workaround: EXISTS over an aggregate has a row for each outer row",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(one_row_subqueries::OneRowSubqueries)
        })],
    },
    Rule {
        name: "selected_subqueries",
        documentation: "Workaround: IN and EXISTS may be columns of a SELECT",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(selected_subqueries::SelectedSubqueries)
        })],
    },
    Rule {
        name: "correlated_scalars",
        documentation: "Workaround: scalar subqueries may be correlated by any condition",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(correlated_scalars::CorrelatedScalars)
        })],
    },
    Rule {
        name: "nested_not_in",
        documentation: "Workaround: NOT IN below other operators keeps its NULL",
        scope: Scope::Every,
        places: &[PlanningStep::Analyzer(|| {
            Arc::new(nested_not_in::NestedNotIn)
        })],
    },
    Rule {
        name: "distinct_on",
        documentation: "Workaround: DISTINCT ON takes all columns from one row, and needs no sort of all rows",
        scope: Scope::Local,
        places: &[PlanningStep::Analyzer(|| Arc::new(DistinctOnRewrite))],
    },
    Rule {
        name: "sorted_offsets",
        documentation: "Workaround: OFFSET without a LIMIT in a subquery keeps its order",
        scope: Scope::Every,
        places: &[PlanningStep::Logical(Position::End, || {
            Arc::new(offsets::PushOffsetsToSorts)
        })],
    },
    Rule {
        name: "signed_zeros",
        documentation: "Workaround: IN lists match -0.0 and 0.0 alike",
        scope: Scope::Every,
        places: &[PlanningStep::Logical(Position::End, || {
            Arc::new(signed_zeros::SignedZeroRewrite)
        })],
    },
    Rule {
        name: "float_keys",
        documentation: "Workaround: all NaN are one key of groups, partitions and sorts, and so are both zeros",
        scope: Scope::Every,
        places: &[PlanningStep::Logical(Position::End, || {
            Arc::new(float_keys::FloatKeys)
        })],
    },
    Rule {
        name: "float_comparisons",
        documentation: "Workaround: all NaN compare equal, and so do both zeros",
        scope: Scope::Every,
        places: &[
            PlanningStep::Logical(Position::Before("simplify_expressions"), || {
                Arc::new(float_comparisons::FloatComparisons {
                    operands: float_comparisons::Operands::Constant,
                })
            }),
            PlanningStep::Logical(Position::End, || {
                Arc::new(float_comparisons::FloatComparisons {
                    operands: float_comparisons::Operands::All,
                })
            }),
        ],
    },
    Rule {
        name: "checked_integers",
        documentation: "Workaround: sums and products beyond BIGINT are errors",
        scope: Scope::Every,
        places: &[
            PlanningStep::Logical(Position::Before("simplify_expressions"), || {
                Arc::new(checked_integers::CheckedIntegers {
                    operands: float_comparisons::Operands::Constant,
                })
            }),
            PlanningStep::Logical(Position::End, || {
                Arc::new(checked_integers::CheckedIntegers {
                    operands: float_comparisons::Operands::All,
                })
            }),
        ],
    },
    Rule {
        name: "lifted_keys",
        documentation: "Workaround: computed keys of sorts and windows are columns",
        scope: Scope::Every,
        places: &[PlanningStep::Logical(Position::End, || {
            Arc::new(lifted_keys::LiftedKeys)
        })],
    },
    Rule {
        name: "guarded_conditions",
        documentation: "Workaround: a condition that may fail is evaluated only for rows that the others do not decide",
        scope: Scope::Every,
        places: &[PlanningStep::Logical(Position::End, || {
            Arc::new(guarded_conditions::GuardedConditions)
        })],
    },
    Rule {
        name: "balanced_chains",
        documentation: "Workaround: long chains of AND and OR are balanced",
        scope: Scope::Every,
        places: &[
            PlanningStep::Logical(Position::End, || Arc::new(chains::trees::BalanceChains)),
            PlanningStep::Physical(Position::End, |_| Arc::new(chains::trees::BalanceFilters)),
        ],
    },
    Rule {
        name: "group_filters",
        documentation: "Workaround: conditions on no column stay above groups",
        scope: Scope::Every,
        places: &[PlanningStep::AroundLogical(
            &[group_filters::PUSH_DOWN_FILTER],
            |original| Arc::new(group_filters::ConditionsAboveGroups(original)),
        )],
    },
    Rule {
        name: "filter_barrier",
        documentation: "Workaround: filters are not pushed down by ambiguous names",
        scope: Scope::Every,
        places: &[PlanningStep::AroundPhysical(
            &filter_barrier::PUSH_FILTERS,
            |original| Arc::new(filter_barrier::PushdownWithBarriers(original)),
        )],
    },
    Rule {
        name: "null_extension",
        documentation: "Workaround: columns that outer joins and grouping sets fill with NULL are not constant",
        scope: Scope::Every,
        places: &[PlanningStep::Physical(
            Position::Before(limit_barrier::ENSURE_REQUIREMENTS),
            |_| Arc::new(null_extension::ForgetNullExtended),
        )],
    },
    Rule {
        name: "limit_barrier",
        documentation: "Workaround: limits stay above what they do not limit",
        scope: Scope::Every,
        places: &[PlanningStep::AroundPhysical(
            &[limit_barrier::ENSURE_REQUIREMENTS],
            |original| Arc::new(limit_barrier::HideLimits(original)),
        )],
    },
    Rule {
        name: "missing_sorts",
        documentation: "Workaround: inputs of merges and unions are sorted as they claim",
        scope: Scope::Every,
        places: &[
            PlanningStep::Physical(Position::After(limit_barrier::ENSURE_REQUIREMENTS), |_| {
                Arc::new(missing_sorts::MissingSorts)
            }),
            PlanningStep::Physical(Position::Before(missing_sorts::SANITY_CHECK_PLAN), |_| {
                Arc::new(missing_sorts::MissingSorts)
            }),
        ],
    },
    Rule {
        name: "lambda_projections",
        documentation: "Workaround: parameters of lambda functions keep their position",
        scope: Scope::Every,
        places: &[PlanningStep::AroundPhysical(
            &[merge_join::PROJECTION_PUSHDOWN],
            |original| Arc::new(lambda_projections::FixedLambdas(original)),
        )],
    },
    Rule {
        name: "merge_join_filters",
        documentation: "Workaround: filters of merge joins read their own columns",
        scope: Scope::Every,
        places: &[PlanningStep::AroundPhysical(
            &[merge_join::PROJECTION_PUSHDOWN],
            |original| Arc::new(merge_join::GuardMergeJoins(original)),
        )],
    },
    Rule {
        name: "window_limits",
        documentation: "Workaround: limits pass windows that need no further rows only",
        scope: Scope::Every,
        places: &[PlanningStep::AroundPhysical(
            &[window_limits::LIMIT_PUSH_PAST_WINDOWS],
            |_| Arc::new(window_limits::LimitsPastWindows),
        )],
    },
    Rule {
        name: "topk_order",
        documentation: "Workaround: limited sorts of several partitions have the whole order",
        scope: Scope::Every,
        places: &[PlanningStep::Physical(
            Position::After(topk_order::TOPK_REPARTITION),
            |_| Arc::new(topk_order::WholeMergeOrder),
        )],
    },
    Rule {
        name: "unordered_limits",
        documentation: "Workaround: limits keep the order of scans, and groups below them are complete",
        scope: Scope::Every,
        places: &[PlanningStep::Physical(Position::End, |_| {
            Arc::new(limits::UnorderedLimits)
        })],
    },
];

/// Adds the expression and relation planners of the workarounds to a session.
pub(crate) fn planners(mut state: SessionStateBuilder) -> SessionStateBuilder {
    // First, so that no other planner handles the operators of a chain.
    let planners = state.expr_planners().get_or_insert_default();
    planners.insert(0, Arc::new(chains::ChainPlanner));
    planners.insert(1, Arc::new(wide_integers::WideIntegers));
    state.with_relation_planners(vec![Arc::new(tablesample::RejectTablesample)])
}
