//! `x NOT IN (1, NULL)` with the NULL beside the list: `x NOT IN (1) AND NULL`.
//!
//! The optimizer takes the values of one list out of another's: of `x NOT IN (1, NULL) AND x IN (2)` it makes `x IN (2)`, which is true
//! where the question's condition is NULL.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, lit};
use datafusion::optimizer::AnalyzerRule;

/// The rule that writes it so.
#[derive(Debug)]
pub(super) struct BesideLists;

impl AnalyzerRule for BesideLists {
    fn name(&self) -> &'static str {
        "nulls_beside_lists"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let beside = expr.transform_up(|part| Ok(beside(part)))?;
                Ok(beside.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }
}

fn beside(expr: Expr) -> Transformed<Expr> {
    let Expr::InList(InList {
        expr,
        list,
        negated,
    }) = expr
    else {
        return Transformed::no(expr);
    };
    let (nulls, list): (Vec<Expr>, Vec<Expr>) = list.into_iter().partition(is_null);
    // Of a list of nothing but NULL there would be nothing left.
    let (has_nulls, list) = match list.is_empty() {
        true => (false, nulls),
        false => (!nulls.is_empty(), list),
    };
    let values = Expr::InList(InList {
        expr,
        list,
        negated,
    });
    if !has_nulls {
        return Transformed::no(values);
    }
    let null = lit(ScalarValue::Boolean(None));
    Transformed::yes(match negated {
        true => values.and(null),
        false => values.or(null),
    })
}

fn is_null(value: &Expr) -> bool {
    match value {
        Expr::Literal(value, _) => value.is_null(),
        Expr::Cast(cast) => is_null(&cast.expr),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;

    use crate::query::collect;
    use crate::query::engine::engine;

    #[tokio::test]
    async fn a_null_in_a_list_stays_one() {
        let context = engine(None).unwrap();
        for (condition, found) in [
            ("x NOT IN (1, NULL) AND x IN (2)", ""),
            ("x IN (2) AND x NOT IN (NULL, 1)", ""),
            ("x NOT IN (NULL)", ""),
            ("x NOT IN (1, NULL)", ""),
            ("x IN (1, NULL) OR x IN (2)", "1 2"),
            ("(x NOT IN (1, NULL)) IS NULL", "2 3 "),
            ("(x IN (1, NULL)) IS NULL", "2 3 "),
            ("(x NOT IN (1, NULL)) IS FALSE", "1"),
            ("x NOT IN (1) AND x IN (2)", "2"),
        ] {
            let sql = format!(
                "SELECT coalesce(string_agg(coalesce(CAST(x AS VARCHAR), ''), ' ' ORDER BY x), '') AS found FROM (VALUES (1), (2), (3), (NULL)) AS t(x) WHERE {condition}"
            );
            let rows = collect(&context, &sql).await.unwrap();
            let text = pretty_format_batches(&rows).unwrap().to_string();
            let cell = text.lines().nth(3).unwrap().trim_matches('|').trim();
            assert_eq!(cell, found.trim(), "{condition}");
        }
    }
}
