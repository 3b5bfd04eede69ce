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
//! | `lag(x, NULL)` | takes NULL for 0 | [`null_offsets`] makes it NULL |
//! | `x RIGHT JOIN y ... WHERE y.z = 0 AND coalesce(x.v, 4) > y.v` | compares `x.v` with itself | [`filter_barrier`] stops filters by ambiguous names |
//! | `... ORDER BY ... LIMIT 10` | forgets the order of scans and what groups are below a limit | [`limits`] says it again |
//! | `x = 1 OR x = 2 OR ...`, thousands of terms | overflows the stack | [`chains`] balances AND and OR, and limits other operators |
//!
//! All are rules of the session, so that they hold for whoever uses it. A rule goes when upstream is mended:
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
pub(super) mod nulls_of_lists;
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
mod window_limits;
mod zeros;

#[cfg(any(test, debug_assertions))]
pub(super) use topk_order::{below_projection, below_window};
#[cfg(any(test, debug_assertions))]
pub(super) use window_limits::rows_read;

use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

/// A session with all of them.
pub(super) fn rules(mut state: SessionStateBuilder) -> SessionStateBuilder {
    // Before those that would take a chain's operators.
    let planners = state.expr_planners().get_or_insert_default();
    planners.insert(0, Arc::new(chains::Chains));
    if let Some(optimizer) = state.optimizer() {
        optimizer.rules = group_filters::around(std::mem::take(&mut optimizer.rules));
    }
    state
        .with_relation_planners(vec![Arc::new(samples::NoSamples)])
        .with_analyzer_rule(Arc::new(set_operations::EveryRowCounts))
        .with_analyzer_rule(Arc::new(similar_to::SqlPatterns))
        .with_analyzer_rule(Arc::new(distinct_from::NoDoubt))
        .with_analyzer_rule(Arc::new(truth::ComparedWithLiterals))
        .with_analyzer_rule(Arc::new(nulls_of_lists::BesideLists))
        .with_analyzer_rule(Arc::new(null_offsets::NullOffsets))
        .with_analyzer_rule(Arc::new(correlated_aliases::ProjectedAliases))
        .with_analyzer_rule(Arc::new(aggregate_filters::FilterBeforeArguments))
        .with_analyzer_rule(Arc::new(lifted_subqueries::LiftedSubqueries))
        .with_analyzer_rule(Arc::new(one_row_subqueries::OneRowSubqueries))
        .with_analyzer_rule(Arc::new(selected_subqueries::SelectedSubqueries))
        .with_analyzer_rule(Arc::new(correlated_scalars::CorrelatedScalars))
        .with_analyzer_rule(Arc::new(nested_not_in::NestedNotIn))
        .with_optimizer_rule(Arc::new(offsets::OffsetsAtSorts))
        .with_optimizer_rule(Arc::new(zeros::BothZeros))
        .with_optimizer_rule(Arc::new(float_keys::FloatKeys))
        .with_optimizer_rule(Arc::new(float_comparisons::FloatComparisons))
        .with_optimizer_rule(Arc::new(lifted_keys::LiftedKeys))
        .with_optimizer_rule(Arc::new(guarded_conditions::GuardedConditions))
        .with_optimizer_rule(Arc::new(chains::trees::Balanced))
        .with_physical_optimizer_rules(repaired(PhysicalOptimizer::new().rules))
        .with_physical_optimizer_rule(Arc::new(chains::trees::BalancedFilters))
        .with_physical_optimizer_rule(Arc::new(limits::LimitsChooseNoRows))
}

/// DataFusion's physical rules, with ours around or in the place of some.
fn repaired(
    rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>,
) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut repaired = Vec::new();
    for rule in rules {
        if rule.name() == limit_barrier::PLACES_SORTS {
            repaired.push(Arc::new(null_extension::NothingKnownOfNulls) as _);
        }
        if rule.name() == missing_sorts::BEFORE {
            repaired.push(Arc::new(missing_sorts::MissingSorts) as _);
        }
        let is_sorted = rule.name() == limit_barrier::PLACES_SORTS;
        let is_before_order = rule.name() == topk_order::AFTER;
        repaired.push(match rule.name() {
            limit_barrier::PLACES_SORTS => Arc::new(limit_barrier::BehindBarriers(rule)) as _,
            window_limits::REPLACED => Arc::new(window_limits::LimitsPastWindows) as _,
            merge_join::MOVES_PROJECTIONS => Arc::new(merge_join::PastGuardedJoins(rule)) as _,
            name if filter_barrier::PUSH_FILTERS.contains(&name) => {
                Arc::new(filter_barrier::AboveBarriers(rule)) as _
            }
            _ => rule,
        });
        if is_sorted {
            repaired.push(Arc::new(missing_sorts::MissingSorts));
        }
        if is_before_order {
            repaired.push(Arc::new(topk_order::WholeOrder));
        }
    }
    repaired
}
