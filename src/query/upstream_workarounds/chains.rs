//! Long chains of operators, as programs write them: `x = 1 OR x = 2 OR ...` with thousands of terms.
//!
//! The parser makes of each a tree that is as deep as the chain is long. Planner and optimizer walk such
//! trees by functions that call themselves, and name every part of them: thousands of terms took many
//! seconds, then the stack, and with it the process.
//!
//! ```text
//! a OR b OR c OR d      ─▶  (a OR b) OR (c OR d)       AND and OR are balanced, their order stays
//! x = 1 OR x = 2 ...    ─▶  x IN (1, 2, ...)           LISTED terms and more; so x <> 1 AND x <> 2 ...
//! a + b + c + ...       ─▶  an error from DEEPEST on   no other operator may be regrouped
//! ```
//!
//! The tree of a chain is filled from the left: on the left of each node is a perfect one. So a term is
//! appended in as many steps as the tree is deep. The optimizer makes chains of trees again, and [`trees`]
//! makes trees of those.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/22936>, <https://github.com/apache/datafusion/issues/23264>

mod levels;
pub(in crate::query) mod trees;

use std::ops::ControlFlow::{Break, Continue};

use arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, ExprSchema as _, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use levels::{levels, sides};

/// Terms from which on a chain of comparisons is a list.
const LISTED: usize = 32;

/// Levels of a perfect tree of as many terms.
const LISTED_LEVELS: usize = LISTED.ilog2() as usize;

/// Levels of a tree of terms at most: of OR, and of AND, which is taken apart and made a chain anew by
/// whatever brings it to the files.
const OR_LEVELS: usize = 13;
const AND_LEVELS: usize = 10;

/// Operators that may be nested.
pub(in crate::query) const DEEPEST: usize = 500;

/// The planner that does so.
#[derive(Debug)]
pub(super) struct Chains;

impl ExprPlanner for Chains {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let op = match expr.op {
            BinaryOperator::And => Operator::And,
            BinaryOperator::Or => Operator::Or,
            _ if is_too_deep(&expr.left) || is_too_deep(&expr.right) => {
                return plan_err!("{}", too_deep());
            }
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let most = match op {
            Operator::Or => OR_LEVELS,
            _ => AND_LEVELS,
        };
        let appended = append(expr.left, op, expr.right, schema);
        if levels(&appended, op) >= most {
            return plan_err!(
                "more than {} conditions between {op}\n\
                 hint: `x IN (...)` for many values, a join with `VALUES (...)` for many pairs of values",
                1 << (most - 1)
            );
        }
        Ok(PlannerResult::Planned(appended))
    }
}

/// What is said of what is too deep.
pub(in crate::query) fn too_deep() -> String {
    format!(
        "more than {DEEPEST} operators in one another\n\
         hint: `concat(a, b, ...)` for `a || b || ...`, `x IN (...)` for many comparisons, `sum` over \
         `VALUES (...)` or a table for many numbers"
    )
}

/// Is a chain so long that leans to the left?
fn is_too_deep(expr: &Expr) -> bool {
    let mut left = expr;
    for _ in 0..DEEPEST {
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

fn append(tree: Expr, op: Operator, term: Expr, schema: &DFSchema) -> Expr {
    match tree {
        Expr::BinaryExpr(tree)
            if tree.op == op && !is_perfect_node(&tree.left, &tree.right, op) =>
        {
            let right = append(*tree.right, op, term, schema);
            node(*tree.left, op, right, schema)
        }
        perfect => node(perfect, op, term, schema),
    }
}

fn is_perfect_node(left: &Expr, right: &Expr, op: Operator) -> bool {
    levels(left, op) == levels(right, op) && is_perfect(right, op)
}

/// A node, or the list that all its terms are.
fn node(left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> Expr {
    let whole = levels(&left, op) + 1 == LISTED_LEVELS && is_perfect_node(&left, &right, op);
    let node = Expr::BinaryExpr(BinaryExpr {
        left: Box::new(left),
        op,
        right: Box::new(right),
    });
    let column = whole.then(|| one_column(&node, op, schema)).flatten();
    let Some(column) = column else {
        return node;
    };
    let terms = trees::terms(node, |expr| match expr {
        Expr::BinaryExpr(binary) if binary.op == op => Continue([*binary.left, *binary.right]),
        other => Break(other),
    });
    let list = terms.into_iter().flat_map(|term| match term {
        Expr::InList(list) => list.list,
        term => compared(&term, op)
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

/// The column that all terms of a tree compare with values of its own type, singly or in lists.
fn one_column(tree: &Expr, op: Operator, schema: &DFSchema) -> Option<Column> {
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
                let (column, value) = compared(term, op)?;
                (column, std::slice::from_ref(value))
            }
        };
        let (of, of_type) = match found {
            Some(found) => found,
            None => (column, schema.field_from_column(column).ok()?.data_type()),
        };
        found = Some((of, of_type));
        if of != column || !values.iter().all(|value| is_of(value, of_type)) {
            return None;
        }
    }
    found.map(|(column, _)| column.clone())
}

/// The column and the value of a term of such a chain: `x = 1` among OR, `x <> 1` among AND.
fn compared(expr: &Expr, op: Operator) -> Option<(&Column, &Expr)> {
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

/// Means the comparison of a column of this type with the value the same in a list as by itself?
fn is_of(value: &Expr, column: &DataType) -> bool {
    match value {
        Expr::Literal(ScalarValue::Int64(Some(_)), _) => column.is_integer(),
        Expr::Literal(ScalarValue::Utf8(Some(_)), _) => column.is_string(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use crate::query::engine::engine;

    async fn context() -> SessionContext {
        let context = engine(None).unwrap();
        let table = "CREATE TABLE t AS VALUES (1, 'a', 1.5), (2, 'b', NULL), (NULL, NULL, 3.5), (40, 'd', 4.5)";
        context.sql(table).await.unwrap().collect().await.unwrap();
        context
    }

    /// The first value of an answer, or the error.
    async fn answer(context: &SessionContext, sql: &str) -> String {
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
    async fn long_chains_answer_what_they_mean() {
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
                answer(&context, &sql).await,
                wanted,
                "{count}: {}",
                &sql[..60]
            );
            let not = format!("SELECT count(*) FROM t WHERE NOT ({condition})");
            let null = format!("SELECT count(*) FROM t WHERE ({condition}) IS NULL");
            let mut sum = wanted.parse::<u32>().unwrap();
            for sql in [not, null] {
                sum += answer(&context, &sql).await.parse::<u32>().unwrap();
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
        // A few stay as they are written, and so does the name of a column.
        let few = plan("column1 = 1 OR column1 = 2 OR column1 = 3 OR column1 = 4".to_owned()).await;
        assert!(!few.contains("IN (["), "{few}");
        // Not where it would mean something else.
        let other = plan(chain(" OR ", 100, |n| format!("column2 = {n}"))).await;
        assert!(!other.contains("IN (["), "{other}");
    }

    #[tokio::test]
    async fn what_may_not_be_regrouped_has_a_limit() {
        let context = context().await;
        let sum = |count| format!("SELECT {}", chain(" + ", count, |_| "column1".to_owned()));
        assert_eq!(
            answer(&context, &format!("{} FROM t", sum(100))).await,
            "100"
        );
        for (word, count) in [("+", 5000), ("||", 2000), ("*", 50_000)] {
            let sql = format!(
                "SELECT {} FROM t",
                chain(word, count, |_| "column2".to_owned())
            );
            let error = answer(&context, &sql).await;
            assert!(error.contains("more than 500 operators"), "{error}");
        }
        let all = |count| chain(" AND ", count, |place| format!("column1 > -{place}"));
        let sql = |count| format!("SELECT count(*) FROM t WHERE {}", all(count));
        assert_eq!(answer(&context, &sql(512)).await, "3");
        let error = answer(&context, &sql(513)).await;
        assert!(
            error.contains("more than 512 conditions between AND"),
            "{error}"
        );
    }
}
