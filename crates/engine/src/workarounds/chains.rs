//! Limits the depth of long operator chains, as in generated queries: `x = 1 OR x = 2 OR ...` with thousands of terms.
//!
//! The parser builds a tree as deep as the chain is long. Planner and optimizer recurse over such trees, and format the
//! name of each subtree. With thousands of terms, that took many seconds, then overflowed the stack and killed the
//! process.
//!
//! ```text
//! a OR b OR c OR d      ─▶  (a OR b) OR (c OR d)       AND and OR are balanced, their order is unchanged
//! x = 1 OR x = 2 ...    ─▶  x IN (1, 2, ...)           from MIN_LIST_TERMS terms; also x <> 1 AND x <> 2 ...
//! a + b + c + ...       ─▶  an error                   from MAX_OPERATOR_DEPTH on; others cannot be regrouped
//! ```
//!
//! A tree is filled from the left: the left child of each node is a perfect tree. So appending a term takes as many
//! steps as the tree is deep. The optimizer turns trees into chains again, and [`trees`] rebalances those.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/22936>, <https://github.com/apache/datafusion/issues/23264>

mod levels;
pub(crate) mod trees;

use std::ops::ControlFlow::{Break, Continue};

use arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, ExprSchema as _, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use levels::{levels, sides};

/// Minimum number of comparisons that become an IN list.
const MIN_LIST_TERMS: usize = 32;

/// Depth of a perfect tree of [`MIN_LIST_TERMS`] terms.
const MIN_LIST_LEVELS: usize = MIN_LIST_TERMS.ilog2() as usize;

/// Maximum depth of a tree of OR and of AND. AND has fewer levels, because filter pushdown splits it and rebuilds it as
/// a chain.
const OR_LEVELS: usize = 13;
const AND_LEVELS: usize = 10;

/// Maximum number of nested operators.
pub const MAX_OPERATOR_DEPTH: usize = 500;

/// Plans binary operators as balanced trees.
#[derive(Debug)]
pub(super) struct ChainPlanner;

impl ExprPlanner for ChainPlanner {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let op = match expr.op {
            BinaryOperator::And => Operator::And,
            BinaryOperator::Or => Operator::Or,
            _ if is_too_deep(&expr.left) || is_too_deep(&expr.right) => {
                return plan_err!("{}", too_deep_message());
            }
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let most = match op {
            Operator::Or => OR_LEVELS,
            _ => AND_LEVELS,
        };
        let appended = append_term(expr.left, op, expr.right, schema);
        if levels(&appended, op) >= most {
            return plan_err!(
                "more than {} conditions between {op}\n\
                 hint: use `x IN (...)` for many values, a join with `VALUES (...)` for many \
                 pairs of values",
                1 << (most - 1)
            );
        }
        Ok(PlannerResult::Planned(appended))
    }
}

/// Returns the error message for expressions that are nested too deeply.
pub fn too_deep_message() -> String {
    format!(
        "more than {MAX_OPERATOR_DEPTH} nested operators\n\
         hint: use `concat(a, b, ...)` for `a || b || ...`, `x IN (...)` for many comparisons, \
         `sum` over `VALUES (...)` or a table for many numbers"
    )
}

/// Returns whether a left-deep chain exceeds [`MAX_OPERATOR_DEPTH`].
fn is_too_deep(expr: &Expr) -> bool {
    let mut left = expr;
    for _ in 0..MAX_OPERATOR_DEPTH {
        left = match left {
            Expr::BinaryExpr(binary) => &binary.left,
            Expr::Cast(cast) => &cast.expr,
            Expr::Alias(alias) => &alias.expr,
            _ => return false,
        };
    }
    true
}

fn is_perfect(expr: &Expr, op: Operator) -> bool {
    let mut right = expr;
    let mut wanted = levels(expr, op);
    while let Some((_, next)) = sides(right, op) {
        wanted = wanted.saturating_sub(1);
        if levels(next, op) != wanted {
            return false;
        }
        right = next;
    }
    true
}

fn append_term(tree: Expr, op: Operator, term: Expr, schema: &DFSchema) -> Expr {
    match tree {
        Expr::BinaryExpr(tree)
            if tree.op == op && !is_perfect_node(&tree.left, &tree.right, op) =>
        {
            let right = append_term(*tree.right, op, term, schema);
            join_terms(*tree.left, op, right, schema)
        }
        perfect => join_terms(perfect, op, term, schema),
    }
}

fn is_perfect_node(left: &Expr, right: &Expr, op: Operator) -> bool {
    levels(left, op) == levels(right, op) && is_perfect(right, op)
}

/// Joins two trees by an operator, or returns an IN list if all terms compare one column.
fn join_terms(left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> Expr {
    let whole = levels(&left, op) + 1 == MIN_LIST_LEVELS && is_perfect_node(&left, &right, op);
    let node = Expr::BinaryExpr(BinaryExpr {
        left: Box::new(left),
        op,
        right: Box::new(right),
    });
    let column = whole.then(|| compared_column(&node, op, schema)).flatten();
    let Some(column) = column else {
        return node;
    };
    let terms = trees::flatten_chain(node, |expr| match expr {
        Expr::BinaryExpr(binary) if binary.op == op => Continue([*binary.left, *binary.right]),
        other => Break(other),
    });
    let list = terms.into_iter().flat_map(|term| match term {
        Expr::InList(list) => list.list,
        term => column_comparison(&term, op)
            .map(|(_, value)| value.clone())
            .into_iter()
            .collect(),
    });
    Expr::InList(InList {
        list: list.collect(),
        expr: Box::new(Expr::Column(column)),
        negated: op == Operator::And,
    })
}

/// Returns the column that all terms of a tree compare with values of its own type, singly or in lists.
fn compared_column(tree: &Expr, op: Operator, schema: &DFSchema) -> Option<Column> {
    let mut waiting = vec![tree];
    let mut found: Option<(&Column, &DataType)> = None;
    while let Some(next) = waiting.pop() {
        if let Some((left, right)) = sides(next, op) {
            waiting.extend([left, right]);
            continue;
        }
        let (column, values) = match next {
            Expr::InList(list) if list.negated == (op == Operator::And) => match &*list.expr {
                Expr::Column(column) => (column, list.list.as_slice()),
                _ => return None,
            },
            term => {
                let (column, value) = column_comparison(term, op)?;
                (column, std::slice::from_ref(value))
            }
        };
        let (of, of_type) = match found {
            Some(found) => found,
            None => (column, schema.field_from_column(column).ok()?.data_type()),
        };
        found = Some((of, of_type));
        if of != column || !values.iter().all(|value| is_same_in_list(value, of_type)) {
            return None;
        }
    }
    found.map(|(column, _)| column.clone())
}

/// Returns the column and the value of a comparison: `x = 1` below OR, `x <> 1` below AND.
fn column_comparison(expr: &Expr, op: Operator) -> Option<(&Column, &Expr)> {
    let wanted = match op {
        Operator::Or => Operator::Eq,
        _ => Operator::NotEq,
    };
    match expr {
        Expr::BinaryExpr(term) if term.op == wanted => match (&*term.left, &*term.right) {
            (Expr::Column(column), value @ Expr::Literal(..)) => Some((column, value)),
            (value @ Expr::Literal(..), Expr::Column(column)) => Some((column, value)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether comparing a column of this type with the value has the same meaning in a list.
fn is_same_in_list(value: &Expr, column: &DataType) -> bool {
    match value {
        Expr::Literal(ScalarValue::Int64(Some(_)), _) => column.is_integer(),
        Expr::Literal(ScalarValue::Utf8(Some(_)), _) => column.is_string(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use crate::context::new_context;

    async fn context() -> SessionContext {
        let context = new_context(None).unwrap();
        let table = "CREATE TABLE t AS VALUES (1, 'a', 1.5), (2, 'b', NULL), (NULL, NULL, 3.5), (40, 'd', 4.5)";
        context.sql(table).await.unwrap().collect().await.unwrap();
        context
    }

    /// Returns the first value of a result, or the error.
    async fn first_value(context: &SessionContext, sql: &str) -> String {
        let frame = match context.sql(sql).await {
            Ok(frame) => frame,
            Err(error) => return error.to_string(),
        };
        let batches = frame.collect().await.unwrap();
        let column = batches[0].column(0);
        arrow::util::display::array_value_to_string(column, 0).unwrap()
    }

    fn chain(word: &str, count: usize, term: impl Fn(usize) -> String) -> String {
        let terms: Vec<String> = (0..count).map(term).collect();
        terms.join(word)
    }

    #[tokio::test]
    async fn long_chains_have_correct_results() {
        let context = context().await;
        for (count, condition, wanted) in [
            (5, chain(" OR ", 5, |n| format!("column1 = {n}")), "2"),
            (2000, chain(" OR ", 2000, |n| format!("column1 = {n}")), "3"),
            (
                2000,
                chain(" OR ", 2000, |n| format!("column2 = 'x{n}'")),
                "0",
            ),
            (
                2000,
                chain(" AND ", 2000, |n| format!("column1 <> {}", n + 3)),
                "2",
            ),
            (
                1000,
                chain(" OR ", 1000, |n| {
                    format!("(column1 = {n} AND column2 <> 'b')")
                }),
                "2",
            ),
            (
                1000,
                chain(" OR ", 1000, |n| match n % 2 {
                    0 => format!("column1 = {n}"),
                    _ => format!("column3 = {n}.5"),
                }),
                "4",
            ),
        ] {
            let sql = format!("SELECT count(*) FROM t WHERE {condition}");
            assert_eq!(
                first_value(&context, &sql).await,
                wanted,
                "{count}: {}",
                &sql[..60]
            );
            let not = format!("SELECT count(*) FROM t WHERE NOT ({condition})");
            let null = format!("SELECT count(*) FROM t WHERE ({condition}) IS NULL");
            let mut sum = wanted.parse::<u32>().unwrap();
            for sql in [not, null] {
                sum += first_value(&context, &sql).await.parse::<u32>().unwrap();
            }
            assert_eq!(sum, 4, "{count}: {}", &condition[..60]);
        }
    }

    #[tokio::test]
    async fn many_comparisons_of_a_column_are_a_list() {
        let context = context().await;
        let plan = async |condition: String| {
            let sql = format!("SELECT column1 FROM t WHERE {condition}");
            let frame = context.sql(&sql).await.unwrap();
            frame.logical_plan().to_string()
        };
        let or = plan(chain(" OR ", 100, |n| format!("column1 = {n}"))).await;
        assert!(
            or.contains("IN ([") && or.matches(" OR ").count() < 32,
            "{or}"
        );
        let and = plan(chain(" AND ", 100, |n| format!("{n} <> column1"))).await;
        let few = and.matches(" AND ").count() < 32;
        assert!(and.contains("NOT IN ([") && few, "{and}");
        // A few comparisons stay unchanged, and so does the name of a column.
        let few = plan("column1 = 1 OR column1 = 2 OR column1 = 3 OR column1 = 4".to_owned()).await;
        assert!(!few.contains("IN (["), "{few}");
        // Not with casts, which would change the meaning.
        let other = plan(chain(" OR ", 100, |n| format!("column2 = {n}"))).await;
        assert!(!other.contains("IN (["), "{other}");
    }

    #[tokio::test]
    async fn what_may_not_be_regrouped_has_a_limit() {
        let context = context().await;
        let sum = |count| format!("SELECT {}", chain(" + ", count, |_| "column1".to_owned()));
        assert_eq!(
            first_value(&context, &format!("{} FROM t", sum(100))).await,
            "100"
        );
        for (word, count) in [("+", 5000), ("||", 2000), ("*", 50_000)] {
            let sql = format!(
                "SELECT {} FROM t",
                chain(word, count, |_| "column2".to_owned())
            );
            let error = first_value(&context, &sql).await;
            assert!(error.contains("more than 500 nested operators"), "{error}");
        }
        let all = |count| chain(" AND ", count, |place| format!("column1 > -{place}"));
        let sql = |count| format!("SELECT count(*) FROM t WHERE {}", all(count));
        assert_eq!(first_value(&context, &sql(512)).await, "3");
        let error = first_value(&context, &sql(513)).await;
        assert!(
            error.contains("more than 512 conditions between AND"),
            "{error}"
        );
    }
}
