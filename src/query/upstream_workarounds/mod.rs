//! What DataFusion answers wrongly: answered rightly, or refused with a sentence.
//!
//! | SQL | DataFusion 55 | here |
//! |---|---|---|
//! | `INTERSECT ALL`, `EXCEPT ALL` | forget how often a row occurs | [`set_operations`] numbers equal rows |
//! | `SIMILAR TO` | takes a regular expression of any part | [`similar_to`] translates the pattern |
//! | `a IS DISTINCT FROM b AND c` | reads `b AND c` as one operand | [`distinct_from`] refuses what may be meant so |
//! | `x IS NOT FALSE` | plans it as possibly NULL, and stops at the difference | [`truth`] says it so that both agree |
//! | `x NOT IN (1, y, NULL) AND x IN (2)` | forgets y and the NULL | [`nulls_of_lists`] puts them beside the list |
//! | `x IN (0.0, 1.0, ...)` | does not find -0.0, which `x = 0.0` does | [`zeros`] puts both into the list |
//! | `sum(10 / x) FILTER (WHERE x > 0)` | divides for all rows | [`aggregate_filters`] divides for those that pass |
//! | `PARTITION BY x`, `rank() OVER (ORDER BY x)` | take -0.0 and 0.0, or NaN and NaN, for two keys | [`float_keys`] makes one of them |
//! | `inf - inf > 1.0`, `nullif(-0.0, 0.0)`, `[-0.0] = [0.0]` | compares bits | [`float_comparisons`] compares values |
//! | `(SELECT max(y) FROM (SELECT y FROM t WHERE t.k = u.k) AS s)` | rejects it | [`correlated_aliases`] makes projections of aliases |
//! | `(SELECT sum(y) FROM r WHERE r.k < l.k)` | rejects it | [`correlated_scalars`] joins the values of each `l.k` |
//! | `WHERE x > 0 AND 10 / x > 2` | divides for all rows | [`guarded_conditions`] divides for those of the other conditions |
//! | `x NOT IN (SELECT y ...) OR z`, `5 NOT IN (SELECT y ...)` | takes NULL for false | [`nested_not_in`] counts NULL |
//! | `EXISTS (SELECT count(*) FROM r WHERE r.k = l.k)` | has no row for some keys | [`one_row_subqueries`] has one for each |
//! | `SELECT x IN (SELECT y ...), EXISTS (SELECT ...)` | rejects both | [`selected_subqueries`] counts rows |
//! | `count(*) FILTER (WHERE x IN (SELECT ...))`, `ORDER BY (SELECT ... WHERE r.k = l.k)` | rejects both | [`lifted_subqueries`] computes them below |
//! | `ORDER BY -CASE ...`, `PARTITION BY length(x) + 1` | sorts, and does not see it | [`lifted_keys`] computes them below |
//! | `TABLESAMPLE` | gives all rows | [`samples`] refuses it |
//! | `... JOIN ... ORDER BY ... LIMIT 1` | limits rows before windows, joins, filters and groups | [`limit_barrier`] keeps the limit where it is |
//! | `WHERE x = 1 GROUP BY ROLLUP (x) ORDER BY x`, `LEFT JOIN (SELECT 1 AS x) ... ORDER BY x` | takes NULL and 1 for equal | [`null_extension`] forgets what it knew of `x` |
//! | `SELECT 1 AS n ... UNION ALL SELECT 0 ... ORDER BY n, x LIMIT 1` | compares rows of one query with those of another by `x` only | [`topk_order`] gives sorts the whole order |
//! | `SELECT count(*) ... HAVING max(x) = 1 AND max(x) = 2` | gives a row | [`group_filters`] keeps conditions on no column above groups |
//! | `(SELECT x ... ORDER BY y OFFSET 9)` | forgets the order | [`offsets`] puts the offset next to the sort |
//! | `lead(x, 9) OVER (...) ... LIMIT 1` | gives some windows too few rows | [`window_limits`] goes past those that need no more |
//! | `SELECT 1 AS n, b, b AS v ... UNION ALL ... ORDER BY b, n, v` | refuses its own plan | [`missing_sorts`] sorts the union |
//! | `a.k = b.k AND a.x > b.y`, by merging | reads other columns than `x` and `y` | [`merge_join`] moves the filter with its columns |
//! | `sum(x) FILTER (WHERE c) OVER (...)` | hides the filter from operators and workers | [`window_filters`] moves it into the argument |
//! | `lag(x, NULL)` | takes NULL for 0 | [`null_offsets`] makes it NULL |
//! | `x RIGHT JOIN y ... WHERE y.z = 0 AND coalesce(x.v, 4) > y.v` | compares `x.v` with itself | [`filter_barrier`] stops filters by ambiguous names |
//! | `... ORDER BY ... LIMIT 10` | forgets the order of scans and what groups are below a limit | [`limits`] says it again |
//! | `x = 1 OR x = 2 OR ...`, thousands of terms | overflows the stack | [`chains`] balances AND and OR, and limits other operators |
//!
//! All are rules of the session, so that they hold for whoever uses it. A rule goes when upstream is right:
//! its test says what is asked of it.

mod aggregate_filters;
pub(super) mod chains;
mod correlated_aliases;
mod correlated_scalars;
mod distinct_from;
mod filter_barrier;
mod float_comparisons;
mod float_keys;
mod float_origin;
mod group_filters;
mod guarded_conditions;
mod lifted_keys;
mod lifted_subqueries;
mod limit_barrier;
mod limits;
mod merge_join;
mod missing_sorts;
mod nested_not_in;
mod null_extension;
mod null_offsets;
mod nulls_of_lists;
mod offsets;
mod one_row_subqueries;
mod samples;
mod selected_subqueries;
mod set_operations;
mod similar_to;
#[cfg(test)]
mod tests;
mod topk_order;
mod truth;
#[cfg(test)]
mod upstream;
mod window_filters;
mod window_limits;
mod zeros;

pub(super) use window_filters::WindowFilters;

#[cfg(any(test, debug_assertions))]
pub(super) use topk_order::{below_projection, below_window};
#[cfg(any(test, debug_assertions))]
pub(super) use window_limits::rows_read;

use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;

use super::distinct_on::FirstRows;
use super::rule::{At, Place, Rule, Scope};

/// The workarounds, in their order.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "multiset_set_operations",
        documentation: "Workaround: INTERSECT ALL and EXCEPT ALL count equal rows",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| Arc::new(set_operations::EveryRowCounts))],
    },
    Rule {
        name: "similar_to",
        documentation: "Workaround: SIMILAR TO matches SQL patterns",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| Arc::new(similar_to::SqlPatterns))],
    },
    Rule {
        name: "distinct_from",
        documentation: "Workaround: IS DISTINCT FROM before AND is rejected where it may be misread",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| Arc::new(distinct_from::NoDoubt))],
    },
    Rule {
        name: "boolean_tests",
        documentation: "Workaround: IS NOT FALSE and the like are planned as never NULL",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| Arc::new(truth::ComparedWithLiterals))],
    },
    Rule {
        name: "null_in_list",
        documentation: "Workaround: IN lists keep NULL when they are merged",
        scope: Scope::Every,
        places: &[
            Place::Analyzer(|| Arc::new(nulls_of_lists::BesideLists)),
            Place::Logical(At::Before(nulls_of_lists::MERGES_LISTS), || {
                Arc::new(nulls_of_lists::BesideLists)
            }),
        ],
    },
    Rule {
        name: "null_offsets",
        documentation: "Workaround: lag and lead with an offset of NULL are NULL",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| Arc::new(null_offsets::NullOffsets))],
    },
    Rule {
        name: "correlated_aliases",
        documentation: "Workaround: correlated subqueries may have aliases",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| {
            Arc::new(correlated_aliases::ProjectedAliases)
        })],
    },
    Rule {
        name: "aggregate_filters",
        documentation: "Workaround: arguments of aggregates are computed for rows that pass FILTER",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| {
            Arc::new(aggregate_filters::FilterBeforeArguments)
        })],
    },
    Rule {
        name: "lifted_subqueries",
        documentation: "Workaround: subqueries in aggregates, groups, sorts and windows are computed below them",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| {
            Arc::new(lifted_subqueries::LiftedSubqueries)
        })],
    },
    Rule {
        name: "one_row_subqueries",
        documentation: "Workaround: EXISTS over an aggregate has a row for each outer row",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| {
            Arc::new(one_row_subqueries::OneRowSubqueries)
        })],
    },
    Rule {
        name: "selected_subqueries",
        documentation: "Workaround: IN and EXISTS may be columns of a SELECT",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| {
            Arc::new(selected_subqueries::SelectedSubqueries)
        })],
    },
    Rule {
        name: "correlated_scalars",
        documentation: "Workaround: scalar subqueries may be correlated by any condition",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| {
            Arc::new(correlated_scalars::CorrelatedScalars)
        })],
    },
    Rule {
        name: "nested_not_in",
        documentation: "Workaround: NOT IN below other operators keeps its NULL",
        scope: Scope::Every,
        places: &[Place::Analyzer(|| Arc::new(nested_not_in::NestedNotIn))],
    },
    Rule {
        name: "distinct_on",
        documentation: "Workaround: DISTINCT ON takes all columns from one row, and needs no sort of all rows",
        scope: Scope::Local,
        places: &[Place::Analyzer(|| Arc::new(FirstRows))],
    },
    Rule {
        name: "sorted_offsets",
        documentation: "Workaround: OFFSET without a LIMIT in a subquery keeps its order",
        scope: Scope::Every,
        places: &[Place::Logical(At::End, || {
            Arc::new(offsets::OffsetsAtSorts)
        })],
    },
    Rule {
        name: "signed_zeros",
        documentation: "Workaround: IN lists match -0.0 and 0.0 alike",
        scope: Scope::Every,
        places: &[Place::Logical(At::End, || Arc::new(zeros::BothZeros))],
    },
    Rule {
        name: "float_keys",
        documentation: "Workaround: all NaN are one key of groups, partitions and sorts, and so are both zeros",
        scope: Scope::Every,
        places: &[Place::Logical(At::End, || Arc::new(float_keys::FloatKeys))],
    },
    Rule {
        name: "float_comparisons",
        documentation: "Workaround: all NaN compare equal, and so do both zeros",
        scope: Scope::Every,
        places: &[Place::Logical(At::End, || {
            Arc::new(float_comparisons::FloatComparisons)
        })],
    },
    Rule {
        name: "lifted_keys",
        documentation: "Workaround: computed keys of sorts and windows are columns",
        scope: Scope::Every,
        places: &[Place::Logical(At::End, || {
            Arc::new(lifted_keys::LiftedKeys)
        })],
    },
    Rule {
        name: "guarded_conditions",
        documentation: "Workaround: a condition that may fail is evaluated only for rows that pass the others",
        scope: Scope::Every,
        places: &[Place::Logical(At::End, || {
            Arc::new(guarded_conditions::GuardedConditions)
        })],
    },
    Rule {
        name: "balanced_chains",
        documentation: "Workaround: long chains of AND and OR are balanced",
        scope: Scope::Every,
        places: &[
            Place::Logical(At::End, || Arc::new(chains::trees::Balanced)),
            Place::Physical(At::End, |_| Arc::new(chains::trees::BalancedFilters)),
        ],
    },
    Rule {
        name: "group_filters",
        documentation: "Workaround: conditions on no column stay above groups",
        scope: Scope::Every,
        places: &[Place::AroundLogical(
            &[group_filters::MOVES_FILTERS],
            |original| Arc::new(group_filters::ConditionsAboveGroups(original)),
        )],
    },
    Rule {
        name: "filter_barrier",
        documentation: "Workaround: filters are not pushed down by ambiguous names",
        scope: Scope::Every,
        places: &[Place::AroundPhysical(
            &filter_barrier::PUSH_FILTERS,
            |original| Arc::new(filter_barrier::AboveBarriers(original)),
        )],
    },
    Rule {
        name: "null_extension",
        documentation: "Workaround: columns that outer joins and grouping sets fill with NULL are not constant",
        scope: Scope::Every,
        places: &[Place::Physical(
            At::Before(limit_barrier::PLACES_SORTS),
            |_| Arc::new(null_extension::NothingKnownOfNulls),
        )],
    },
    Rule {
        name: "limit_barrier",
        documentation: "Workaround: limits stay above what they do not limit",
        scope: Scope::Every,
        places: &[Place::AroundPhysical(
            &[limit_barrier::PLACES_SORTS],
            |original| Arc::new(limit_barrier::BehindBarriers(original)),
        )],
    },
    Rule {
        name: "missing_sorts",
        documentation: "Workaround: inputs of merges and unions are sorted as they claim",
        scope: Scope::Every,
        places: &[
            Place::Physical(At::After(limit_barrier::PLACES_SORTS), |_| {
                Arc::new(missing_sorts::MissingSorts)
            }),
            Place::Physical(At::Before(missing_sorts::BEFORE), |_| {
                Arc::new(missing_sorts::MissingSorts)
            }),
        ],
    },
    Rule {
        name: "merge_join_filters",
        documentation: "Workaround: filters of merge joins read their own columns",
        scope: Scope::Every,
        places: &[Place::AroundPhysical(
            &[merge_join::MOVES_PROJECTIONS],
            |original| Arc::new(merge_join::PastGuardedJoins(original)),
        )],
    },
    Rule {
        name: "window_limits",
        documentation: "Workaround: limits pass windows that need no further rows only",
        scope: Scope::Every,
        places: &[Place::AroundPhysical(&[window_limits::REPLACED], |_| {
            Arc::new(window_limits::LimitsPastWindows)
        })],
    },
    Rule {
        name: "topk_order",
        documentation: "Workaround: limited sorts of several partitions have the whole order",
        scope: Scope::Every,
        places: &[Place::Physical(At::After(topk_order::AFTER), |_| {
            Arc::new(topk_order::WholeOrder)
        })],
    },
    Rule {
        name: "unordered_limits",
        documentation: "Workaround: limits keep the order of scans, and groups below them are complete",
        scope: Scope::Every,
        places: &[Place::Physical(At::End, |_| {
            Arc::new(limits::LimitsChooseNoRows)
        })],
    },
];

/// Gives a session the planners that go with them.
pub(super) fn planners(mut state: SessionStateBuilder) -> SessionStateBuilder {
    // Before those that would take a chain's operators.
    let planners = state.expr_planners().get_or_insert_default();
    planners.insert(0, Arc::new(chains::Chains));
    state.with_relation_planners(vec![Arc::new(samples::NoSamples)])
}
