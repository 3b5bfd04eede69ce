//! Computes sort keys whose order DataFusion cannot prove in a projection below sorts, windows and aggregates.
//!
//! DataFusion 55 rejects `ORDER BY -CASE WHEN x > 3 THEN 1 ELSE 2 END` and
//! `ORDER BY CASE WHEN length(x) > 3 THEN 1 ELSE 2 END`. It adds a sort, and then cannot prove that the rows are
//! sorted. For the proof, it computes bounds of each part of a key. Functions, CASE and products of floats have none,
//! which ends the proof. Columns need no bounds.
//!
//! Upstream: not filed, docs/dev/upstream/lifted_keys.md

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::lifted_subqueries::{ProjectedExprs, with_projection_below};

/// Moves computed keys into a projection.
#[derive(Debug)]
pub(super) struct LiftedKeys;

impl OptimizerRule for LiftedKeys {
    fn name(&self) -> &'static str {
        "lifted_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let is_sort = matches!(plan, LogicalPlan::Sort(_));
        with_projection_below(plan, "__key", |mut expr, below| {
            if is_sort {
                return lift_key(expr, below);
            }
            let is_changed = lift_call_keys(&mut expr, below)?;
            Ok(Transformed::new_transformed(expr, is_changed))
        })
    }
}

/// Replaces the keys of a window function or an aggregate.
fn lift_call_keys(expr: &mut Expr, below: &mut ProjectedExprs) -> Result<bool> {
    match expr {
        Expr::Alias(alias) => lift_call_keys(&mut alias.expr, below),
        Expr::AggregateFunction(call) => lift_sort_keys(&mut call.params.order_by, below),
        Expr::WindowFunction(call) => {
            let mut is_changed = lift_sort_keys(&mut call.params.order_by, below)?;
            for part in &mut call.params.partition_by {
                let replaced = lift_key(std::mem::take(part), below)?;
                is_changed |= replaced.transformed;
                *part = replaced.data;
            }
            Ok(is_changed)
        }
        _ => Ok(false),
    }
}

fn lift_sort_keys(order: &mut [Sort], below: &mut ProjectedExprs) -> Result<bool> {
    let mut is_changed = false;
    for by in order {
        let replaced = lift_key(std::mem::take(&mut by.expr), below)?;
        is_changed |= replaced.transformed;
        by.expr = replaced.data;
    }
    Ok(is_changed)
}

fn lift_key(expr: Expr, below: &mut ProjectedExprs) -> Result<Transformed<Expr>> {
    Ok(match has_part_without_bounds(&expr)? {
        true => below.column(expr),
        false => Transformed::no(expr),
    })
}

/// Returns whether a part of a key may have no bounds: any but a column, a literal, and casts and negations of them.
/// The key itself needs none.
fn has_part_without_bounds(key: &Expr) -> Result<bool> {
    let mut has_part = false;
    key.apply_children(|part| {
        has_part |= part.exists(|part| Ok(!has_bounds(part)))?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(has_part)
}

fn has_bounds(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Alias(_) | Expr::Column(_) | Expr::Literal(..) | Expr::Negative(_) | Expr::Cast(_)
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;
    use crate::limits::Limits;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn keys_of_functions_and_cases_within_operators() {
        for threads in [1, 4] {
            let context = new_context(Limits {
                threads: Some(threads),
                ..Limits::default()
            })
            .unwrap();
            let t = "(SELECT * FROM (VALUES (1, 'abcd'), (2, 'ab'), (3, 'abc')) UNION ALL SELECT * FROM (VALUES (4, 'abcde'))) AS t(x, s)";
            for (sql, wanted) in [
                (
                    format!("SELECT x FROM {t} ORDER BY -CASE WHEN x > 2 THEN 1 ELSE 2 END, x"),
                    vec!["1", "2", "3", "4"],
                ),
                (
                    format!(
                        "SELECT x FROM {t} ORDER BY CASE WHEN length(s) > 3 THEN 1 ELSE 2 END, x DESC LIMIT 3"
                    ),
                    vec!["4", "1", "3"],
                ),
                (
                    format!(
                        "SELECT x, rank() OVER (ORDER BY -CASE WHEN x > 2 THEN 1 ELSE 2 END) AS r FROM {t} ORDER BY x"
                    ),
                    vec!["1|1", "2|1", "3|3", "4|3"],
                ),
                (
                    format!(
                        "SELECT x, sum(x) OVER (PARTITION BY -CASE WHEN x > 2 THEN 1 ELSE 2 END) AS r FROM {t} ORDER BY x"
                    ),
                    vec!["1|3", "2|3", "3|7", "4|7"],
                ),
                (
                    format!(
                        "SELECT x, rank() OVER (ORDER BY -(x * CAST(x AS DOUBLE))) AS r FROM {t} ORDER BY (x * 2e0 - 5) * x, x LIMIT 2"
                    ),
                    vec!["1|4", "2|3"],
                ),
                (
                    format!(
                        "SELECT array_agg(x ORDER BY -length(s))[1] AS a, min(x) AS m FROM {t}"
                    ),
                    vec!["4|1"],
                ),
                (
                    format!(
                        "SELECT DISTINCT ON (-length(s) % 2) x FROM {t} ORDER BY -length(s) % 2, x"
                    ),
                    vec!["3", "1"],
                ),
                (
                    format!(
                        "SELECT x FROM {t} ORDER BY NOT starts_with(s, 'abc'), abs(x - 2) + 1, x"
                    ),
                    vec!["1", "3", "4", "2"],
                ),
                (
                    format!("SELECT x FROM {t} ORDER BY CAST(length(s) AS VARCHAR) || 'a', x"),
                    vec!["2", "3", "1", "4"],
                ),
                (
                    format!(
                        "SELECT x AS __key_0, -length(s) AS __key__1 FROM {t} ORDER BY -length(s) + 1, -abs(x)"
                    ),
                    vec!["4|-5", "1|-4", "3|-3", "2|-2"],
                ),
            ] {
                assert_eq!(rows(&context, &sql).await, wanted, "{threads}: {sql}");
            }
        }
    }
}
