//! Rejects operators of JSON, and suggests the functions that read JSON.

use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr as PlanExpr, LogicalPlan, Operator};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value};

use crate::json_functions::JSON_FUNCTIONS;
use tsql_error::{Error, Result};

/// Rejects an operator that works only on JSON.
///
/// # Errors
/// [`Error::Refused`] with the function to use.
pub(super) fn check_expr(expr: &Expr) -> Result<()> {
    use BinaryOperator::{
        Arrow, AtAt, AtQuestion, HashArrow, HashLongArrow, HashMinus, LongArrow, Question,
        QuestionAnd, QuestionPipe,
    };
    let Expr::BinaryOp { left, op, right } = expr else {
        return Ok(());
    };
    let hint = match op {
        Arrow | LongArrow => element_call(left, right),
        Question => format!("list_contains(json_keys({left}), {right})"),
        HashArrow | HashLongArrow | HashMinus | AtAt | AtQuestion | QuestionAnd | QuestionPipe => {
            JSON_FUNCTIONS.to_owned()
        }
        _ => return Ok(()),
    };
    Err(Error::Refused(format!(
        "`{op}` is not supported: there are no operators for JSON\nhint: {hint}"
    )))
}

/// Returns the call that reads a field or an element, counted from 0.
fn element_call(json: &Expr, field: &Expr) -> String {
    let Expr::Value(value) = field else {
        return JSON_FUNCTIONS.to_owned();
    };
    match &value.value {
        Value::SingleQuotedString(_) => format!("json_text({json}, {field})"),
        Value::Number(index, _) => match index.parse::<u64>() {
            Ok(index) => format!("json_elements({json})[{}]", index.saturating_add(1)),
            Err(_) => JSON_FUNCTIONS.to_owned(),
        },
        _ => JSON_FUNCTIONS.to_owned(),
    }
}

/// Rejects `@>` and `<@` between other values than lists. The planner replaces them between lists.
///
/// # Errors
/// [`Error::Refused`] with the functions for JSON.
pub(super) fn check_plan(plan: &LogicalPlan, sql: &str) -> Result<()> {
    if !sql.contains("@>") && !sql.contains("<@") {
        return Ok(());
    }
    let mut found = None;
    let visited = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let PlanExpr::BinaryExpr(binary) = expr
                    && let Operator::AtArrow | Operator::ArrowAt = binary.op
                {
                    found = Some(binary.op);
                    return Ok(TreeNodeRecursion::Stop);
                }
                Ok::<_, DataFusionError>(TreeNodeRecursion::Continue)
            })
        })
    });
    visited.map_err(Error::Query)?;
    match found {
        None => Ok(()),
        Some(operator) => Err(Error::Refused(format!(
            "`{operator}` is supported only between lists\nhint: {JSON_FUNCTIONS}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::super::{parse_statements, plan_statement};

    #[tokio::test]
    async fn operators_of_json_name_the_functions_for_json() {
        let context = SessionContext::new();
        let create = "CREATE TABLE t AS SELECT '{\"a\": [1]}' AS j, [1, 2] AS l, 1 AS n";
        let created = context.sql(create).await.unwrap();
        created.collect().await.unwrap();
        let plan = async |sql: &str| {
            let statement = parse_statements(sql)?.pop_front().unwrap();
            plan_statement(&context, statement, sql).await
        };
        for (sql, operator, hint) in [
            ("SELECT t.j->'a' FROM t", "`->`", "json_text(t.j, 'a')"),
            ("SELECT j->'a' FROM t", "`->`", "json_text("),
            ("SELECT j->>0 FROM t", "`->>`", "json_elements(j)[1]"),
            (
                "SELECT 1 FROM t WHERE j->>'a' = '1'",
                "`->>`",
                "json_text(j, 'a')",
            ),
            ("SELECT j#>'{a}' FROM t", "`#>`", "json_text("),
            ("SELECT j#>>'{a}' FROM t", "`#>>`", "json_text("),
            (
                "SELECT j ? 'a' FROM t",
                "`?`",
                "list_contains(json_keys(j), 'a')",
            ),
            ("SELECT j @> '1' FROM t", "`@>`", "json_text("),
            (
                "SELECT 1 WHERE 1 IN (SELECT n FROM t WHERE j <@ j)",
                "`<@`",
                "json_text(",
            ),
            (
                "SELECT json_extract(j, '$.a') FROM t",
                "`json_extract`",
                "json_text(",
            ),
            (
                "SELECT jsonb_path_query(j, '$') FROM t",
                "`jsonb_path_query`",
                "json_text(",
            ),
        ] {
            let error = plan(sql).await.unwrap_err().to_string();
            let (message, way_out) = error.split_once("\nhint: ").unwrap();
            assert!(message.contains(operator), "{sql}: {error}");
            assert!(way_out.contains(hint), "{sql}: {error}");
        }
        plan("SELECT l @> [1], [1] <@ l FROM t").await.unwrap();
    }
}
