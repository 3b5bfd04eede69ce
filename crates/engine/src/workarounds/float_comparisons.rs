//! Compares computed floats by value: NaN is greater than any number and equal to itself, and both zeros are equal.
//!
//! | SQL | DataFusion 55 |
//! |---|---|
//! | `inf - inf > 1.0`, `greatest(inf - inf, 1.0)` | false and 1.0 where the sign bit of NaN is set, as on x86 |
//! | `-0.0 IN (SELECT 0.0)`, `JOIN ... USING (x)` | hash and compare bits |
//! | `[-0.0] = [0.0]`, `nullif(-0.0, 0.0)`, `array_has([-0.0], 0.0)` | compare bits |
//!
//! Here, expressions that may have such a value are compared by `canonical_float(x)`. The rule runs after all rules
//! that match columns in comparisons. Comparisons of constants (`ln(-1.0) > 1`) are wrapped before they are folded.
//!
//! Upstream: not filed, docs/dev/upstream/float_comparisons.md

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{Between, Case, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable as _, LogicalPlan, Operator};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::float_keys::wrap_canonical;
use super::float_origin::{float_value, is_stored, may_make_nan};
use tsql_functions::{CANONICAL_FLOAT, has_floats};

/// Functions that search equal values.
const EQUATING: [&str; 16] = [
    "array_distinct",
    "array_except",
    "array_has",
    "array_has_all",
    "array_has_any",
    "array_intersect",
    "array_position",
    "array_positions",
    "array_remove",
    "array_remove_all",
    "array_remove_n",
    "array_replace",
    "array_replace_all",
    "array_replace_n",
    "array_union",
    "nullif",
];

/// Functions that order values.
const ORDERING: [&str; 5] = ["array_max", "array_min", "array_sort", "greatest", "least"];

/// Wraps operands of float comparisons.
#[derive(Debug)]
pub(super) struct FloatComparisons {
    pub operands: Operands,
}

/// Operands that a rule wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    All,
    /// Operands of comparisons that have no column, which DataFusion folds.
    Constant,
}

impl OptimizerRule for FloatComparisons {
    fn name(&self) -> &'static str {
        "float_comparisons"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let before = plan.clone();
        let inputs = before.inputs();
        let schema = match inputs.is_empty() {
            true => Arc::clone(before.schema()),
            false => Arc::new(merge_schema(&inputs)),
        };
        let names = NamePreserver::new(&before);
        let plan = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|part| {
                Ok(match self.operands == Operands::All || is_constant(&part) {
                    true => wrap_operands(part, &schema, &inputs),
                    false => Transformed::no(part),
                })
            })?;
            Ok(match expr.transformed {
                true => expr.update_data(|expr| name.restore(expr)),
                false => expr,
            })
        })?;
        plan.transform_data(|plan| {
            Ok(match self.operands {
                Operands::All => wrap_join_keys(plan, &schema, &inputs),
                Operands::Constant => Transformed::no(plan),
            })
        })
    }
}

/// Returns whether an expression has the same value for all rows.
pub(super) fn is_constant(expr: &Expr) -> bool {
    !expr.any_column_refs() && !expr.contains_outer() && !expr.is_volatile()
}

/// Wraps the keys of a join that are not columns of a store. Joins hash and compare bits.
fn wrap_join_keys(
    plan: LogicalPlan,
    schema: &DFSchema,
    inputs: &[&LogicalPlan],
) -> Transformed<LogicalPlan> {
    let LogicalPlan::Join(mut join) = plan else {
        return Transformed::no(plan);
    };
    let mut is_changed = false;
    for key in join.on.iter_mut().flat_map(|(left, right)| [left, right]) {
        let kind = key.get_type(schema);
        if kind.is_ok_and(|kind| has_floats(&kind)) && !is_canonical(key) && !is_stored(key, inputs)
        {
            wrap_canonical(key);
            is_changed = true;
        }
    }
    Transformed::new_transformed(LogicalPlan::Join(join), is_changed)
}

/// Wraps the operands of a comparison if necessary.
fn wrap_operands(mut part: Expr, schema: &DFSchema, inputs: &[&LogicalPlan]) -> Transformed<Expr> {
    let (is_equating, is_ordering) = match &part {
        Expr::ScalarFunction(call) => (
            EQUATING.contains(&call.name()),
            ORDERING.contains(&call.name()),
        ),
        _ => (false, false),
    };
    let mut is_changed = false;
    for operand in operands(&mut part) {
        // A parameter of a prepared statement may have no type yet.
        let Ok(kind) = operand.get_type(schema) else {
            continue;
        };
        let has_zeros = is_equating || kind.is_nested() && !is_ordering;
        if has_floats(&kind)
            && !is_canonical(operand)
            && (has_zeros || may_make_nan(operand, inputs))
        {
            wrap_canonical(operand);
            is_changed = true;
        }
    }
    Transformed::new_transformed(part, is_changed)
}

/// Returns the operands that an expression compares.
fn operands(part: &mut Expr) -> Vec<&mut Expr> {
    match part {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            vec![left, right]
        }
        Expr::Between(Between {
            expr, low, high, ..
        }) => vec![expr, low, high],
        Expr::InList(InList { expr, list, .. }) => {
            let list = list.iter_mut();
            list.chain([expr.as_mut()]).collect()
        }
        Expr::Case(Case {
            expr: Some(expr),
            when_then_expr,
            ..
        }) => {
            let values = when_then_expr.iter_mut().map(|(value, _)| value.as_mut());
            values.chain([expr.as_mut()]).collect()
        }
        Expr::ScalarFunction(call)
            if EQUATING.contains(&call.name()) || ORDERING.contains(&call.name()) =>
        {
            call.args.iter_mut().collect()
        }
        _ => Vec::new(),
    }
}

fn is_comparison(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

fn is_canonical(value: &Expr) -> bool {
    match value {
        Expr::ScalarFunction(call) => call.name() == CANONICAL_FLOAT.name(),
        Expr::Literal(value, _) => float_value(value)
            .is_some_and(|value| value.is_finite() && value.to_bits() != NEGATIVE_ZERO),
        _ => false,
    }
}

const NEGATIVE_ZERO: u64 = (-0.0_f64).to_bits();

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;

    use crate::context::new_context;
    use crate::test_queries::collect;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn computed_floats_are_compared_as_values() {
        let context = new_context(None).unwrap();
        // `n` is the NaN of this machine, `m` the other one, `z` and `o` are zeros.
        let rows = "(SELECT i - i AS n, -(i - i) AS m, z, o FROM (VALUES (CAST('inf' AS DOUBLE), CAST('-0' AS DOUBLE), 0e0)) AS v(i, z, o)) AS t";
        for (sql, wanted) in [
            ("ln(-1.0) > 1 AND NOT ln(-1.0) < 1", "true"),
            ("power(-1.0, 0.5) > 1 AND -ln(-1.0) > 1", "true"),
            (
                "greatest(ln(-1.0), 1.0) > 5 AND ln(-1.0) IN (-ln(-1.0))",
                "true",
            ),
            ("n > 1.0 AND m > 1.0", "true"),
            ("n < 1.0 OR m <= 1.0 OR n <> n", "false"),
            ("n = m AND n IN (m, 2.0) AND n BETWEEN 1.0 AND m", "true"),
            ("n IS DISTINCT FROM m", "false"),
            ("CASE n WHEN m THEN 1 ELSE 2 END", "1"),
            ("greatest(n, 1.0) = m AND greatest(m, 1.0) = n", "true"),
            ("least(n, 1.0) + least(m, 1.0)", "2.0"),
            (
                "array_max([n, 1.0]) = m AND array_max([m, 1.0]) = n",
                "true",
            ),
            ("array_min([n, 1.0]) + array_min([m, 1.0])", "2.0"),
            ("array_sort([n, 1.0])[1] + array_sort([m, 1.0])[1]", "2.0"),
            ("[n] = [m] AND [z] = [o] AND NOT [z] < [o]", "true"),
            ("nullif(z, o) IS NULL AND nullif(n, m) IS NULL", "true"),
            ("nullif(z, 0.0) IS NULL AND nullif(o, -0e0) IS NULL", "true"),
            ("nullif(o + 2, 3)", "2.0"),
            ("array_has([z], o) AND array_has([n], m)", "true"),
            (
                "array_has_any([z, 1], [o, 2]) AND array_has_all([z], [o])",
                "true",
            ),
            ("array_position([1, z], o)", "2"),
            ("len(array_remove_all([1, z, o], 0))", "1"),
            (
                "len(array_distinct([z, o])) + len(array_intersect([z], [o]))",
                "2",
            ),
        ] {
            assert_eq!(
                result_text(&context, &format!("SELECT {sql} FROM {rows}")).await,
                wanted,
                "{sql}"
            );
        }
        let rows = "(SELECT i - j AS n, -(i - j) AS m, k FROM (VALUES (CAST('inf' AS DOUBLE), CAST('inf' AS DOUBLE), 1), (1.0, 0.0, 2)) AS v(i, j, k)) AS t";
        for (sql, wanted) in [
            (
                "SELECT y > 1 AND y = -y FROM (SELECT ln(-1.0) AS y) AS s",
                "true",
            ),
            ("SELECT k FROM t ORDER BY n", "2 1"),
            ("SELECT k FROM t ORDER BY m LIMIT 1", "2"),
            ("SELECT k FROM t ORDER BY m DESC LIMIT 1", "1"),
            (
                "SELECT row_number() OVER (ORDER BY n) + row_number() OVER (ORDER BY m) FROM t ORDER BY k",
                "4 2",
            ),
            ("SELECT min(n) - min(m) FROM t", "2.0"),
            ("SELECT max(n) > 5 AND max(m) > 5 FROM t", "true"),
            ("SELECT min(n) - min(m) FROM t GROUP BY k > 0", "2.0"),
            ("SELECT arg_max(k, n) + arg_max(k, m) FROM t", "2"),
            ("SELECT k FROM t WHERE n > 5 AND m > 5", "1"),
            (
                "SELECT l.k FROM t AS l JOIN (SELECT 5 AS five) ON n > five AND m > five",
                "1",
            ),
            ("SELECT array_agg(k ORDER BY n)[1] FROM t", "2"),
            ("SELECT array_agg(k ORDER BY m)[1] FROM t", "2"),
            (
                "SELECT k FROM t WHERE n IN (SELECT -n FROM t) ORDER BY k",
                "1",
            ),
            (
                "SELECT k FROM t WHERE n - n IN (SELECT -m - n FROM t)",
                "1 2",
            ),
            ("SELECT k FROM t WHERE n NOT IN (SELECT m FROM t)", "2"),
            ("SELECT a.k FROM t AS a JOIN t AS b ON a.n = b.m", "1"),
            (
                "SELECT count(*) FROM (SELECT n FROM t UNION SELECT m FROM t)",
                "3",
            ),
            (
                "SELECT count(*) FROM (SELECT n AS v FROM t UNION ALL SELECT m FROM t) GROUP BY v ORDER BY 1",
                "1 1 2",
            ),
            ("SELECT min(m) OVER () + min(n) OVER () FROM t", "0.0 0.0"),
        ] {
            let sql = sql.replace("FROM t", &format!("FROM {rows}"));
            let sql = sql.replace("JOIN t", &format!("JOIN {rows}"));
            let sql = sql.replace("AS t AS", "AS");
            assert_eq!(result_text(&context, &sql).await, wanted, "{sql}");
        }
    }

    /// Columns of tables and arithmetic on numbers stay unchanged, so that they can prune pages.
    #[tokio::test]
    async fn what_is_no_nan_is_compared_as_it_is() {
        let context = new_context(None).unwrap();
        let rows =
            "(SELECT count(*) AS n, CAST(count(*) AS DOUBLE) * 2.5 AS d FROM (VALUES (1.0))) AS t";
        let sql = format!("EXPLAIN SELECT * FROM {rows} WHERE d > 1.0 AND d - 1.5 < 7 ORDER BY d");
        let plan = collect(&context, &sql).await.unwrap();
        let plan = pretty_format_batches(&plan).unwrap().to_string();
        assert!(!plan.contains("canonical_float"), "{plan}");
    }

    async fn result_text(context: &datafusion::prelude::SessionContext, sql: &str) -> String {
        let rows = collect(context, sql).await.unwrap();
        let text = pretty_format_batches(&rows).unwrap().to_string();
        let lines = text.lines().skip(3).filter(|line| line.starts_with('|'));
        let cells = lines.map(|line| line.trim_matches('|').trim().to_owned());
        cells.collect::<Vec<_>>().join(" ")
    }
}
