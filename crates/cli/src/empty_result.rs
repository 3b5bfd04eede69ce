//! A hint for a query without rows that names a platform which the store does not have.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value, visit_expressions};
use tsql_error::nearest;
use tsql_session::platforms;
use tsql_store::Store;

use super::stderr::print_message;

/// The column whose values people type from memory.
const COLUMN: &str = "platform";

/// Returns the platforms that a statement compares the column `platform` with.
pub(super) fn named_platforms(statement: &Statement) -> Vec<String> {
    let mut named = Vec::new();
    if let Statement::Statement(statement) = statement {
        let _: ControlFlow<()> = visit_expressions(statement.as_ref(), |expr| {
            match expr {
                Expr::BinaryOp {
                    left,
                    op: BinaryOperator::Eq,
                    right,
                } => {
                    named.extend(is_column(left).then(|| text(right)).flatten());
                    named.extend(is_column(right).then(|| text(left)).flatten());
                }
                Expr::InList {
                    expr,
                    list,
                    negated: false,
                } if is_column(expr) => named.extend(list.iter().filter_map(text)),
                _ => {}
            }
            ControlFlow::Continue(())
        });
    }
    named
}

fn is_column(expr: &Expr) -> bool {
    let last = match expr {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(names) => names.last(),
        _ => None,
    };
    last.is_some_and(|name| name.value.eq_ignore_ascii_case(COLUMN))
}

fn text(expr: &Expr) -> Option<String> {
    let Expr::Value(value) = expr else {
        return None;
    };
    match &value.value {
        Value::SingleQuotedString(text) => Some(text.clone()),
        _ => None,
    }
}

/// Prints the named platforms that the store lacks, with suggestions.
pub(super) async fn hint(store: &Store, named: &[String]) {
    if named.is_empty() {
        return;
    }
    // The query itself has succeeded: a hint must not make it fail.
    let Ok(known) = platforms(store).await else {
        return;
    };
    for name in named.iter().filter(|name| !known.contains(name)) {
        let meant = nearest(name, known.iter().map(String::as_str));
        let hint = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the store has {}", known.join(", ")),
        };
        print_message(&format!("note: no platform `{name}`\nhint: {hint}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsql_dialect::statement::parse_statements;

    #[test]
    fn platforms_are_found_in_comparisons_and_lists() {
        let named = |sql: &str| named_platforms(&parse_statements(sql).unwrap()[0]);
        assert_eq!(
            named("SELECT 1 FROM records WHERE platform = 'A100' AND line = 1"),
            ["A100"]
        );
        assert_eq!(
            named("SELECT * FROM (SELECT 1 FROM records r WHERE 'x' = r.Platform)"),
            ["x"]
        );
        assert_eq!(
            named("SELECT 1 FROM records WHERE platform IN ('a', 'b') OR status = 'ok'"),
            ["a", "b"]
        );
        assert!(named("SELECT 1 FROM records WHERE platform NOT IN ('a')").is_empty());
    }
}
