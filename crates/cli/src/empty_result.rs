//! A hint for a query without a result that compares a column with a value which its tables do not have.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use arrow::array::AsArray as _;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Statement as SqlStatement, Value, visit_expressions, visit_relations,
};
use tsql_dialect::plan_query;
use tsql_error::{Error, nearest};
use tsql_schema as schema;

use super::stderr::print_message;

/// Columns whose values people type from memory.
const COLUMNS: [&str; 3] = ["platform", "dataset", "status"];

/// A value that a statement compares a column with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamedValue {
    column: &'static str,
    value: String,
    /// Tables and views of the statement that have the column.
    tables: Vec<&'static str>,
}

/// Returns the values that a statement compares these columns with.
pub(super) fn named_values(statement: &Statement) -> Vec<NamedValue> {
    let Statement::Statement(statement) = statement else {
        return Vec::new();
    };
    let mut named: Vec<(&'static str, String)> = Vec::new();
    let _: ControlFlow<()> = visit_expressions(statement.as_ref(), |expr| {
        match expr {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq,
                right,
            } => {
                named.extend(column(left).zip(text(right)));
                named.extend(column(right).zip(text(left)));
            }
            Expr::Like {
                negated: false,
                expr,
                pattern,
                ..
            } => {
                let exact = text(pattern).filter(|pattern| !pattern.contains(['%', '_']));
                named.extend(column(expr).zip(exact));
            }
            Expr::InList {
                expr,
                list,
                negated: false,
            } => {
                let values = list.iter().filter_map(text);
                named.extend(values.filter_map(|value| Some((column(expr)?, value))));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    named.sort();
    named.dedup();
    let with_tables = named.into_iter().map(|(column, value)| NamedValue {
        column,
        value,
        tables: tables_with(statement, column),
    });
    with_tables.collect()
}

/// Returns the tables and views of the store that a statement reads and that have a column.
fn tables_with(statement: &SqlStatement, column: &str) -> Vec<&'static str> {
    let mut names = BTreeSet::new();
    let _: ControlFlow<()> = visit_relations(statement, |name| {
        let last = name.0.last().and_then(|part| part.as_ident());
        names.extend(last.map(|ident| ident.value.to_lowercase()));
        ControlFlow::Continue(())
    });
    let relations = names.iter().filter_map(|name| schema::relation(name));
    let have = relations.filter(|relation| {
        let mut columns = relation.shown_columns();
        columns.any(|own| own.name == column)
    });
    have.map(|relation| relation.name).collect()
}

/// Returns the column of [`COLUMNS`] that an expression is.
fn column(expr: &Expr) -> Option<&'static str> {
    let last = match expr {
        Expr::Identifier(name) => name,
        Expr::CompoundIdentifier(names) => names.last()?,
        _ => return None,
    };
    let mut columns = COLUMNS.into_iter();
    columns.find(|column| last.value.eq_ignore_ascii_case(column))
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

/// Prints the named values that their tables lack, with suggestions.
pub(super) async fn hint(context: &SessionContext, named: &[NamedValue]) {
    for NamedValue {
        column,
        value,
        tables,
    } in named
    {
        // The query itself has succeeded: a hint must not make it fail.
        let Ok(known) = known_values(context, column, tables).await else {
            continue;
        };
        if known.is_empty() || known.contains(value) {
            continue;
        }
        let meant = nearest(value, known.iter().map(String::as_str));
        let hint = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => {
                let known: Vec<String> = known.into_iter().collect();
                format!("there are {}", known.join(", "))
            }
        };
        print_message(&format!("note: no {column} `{value}`\nhint: {hint}"));
    }
}

/// Returns the values of a column in these tables.
async fn known_values(
    context: &SessionContext,
    column: &str,
    tables: &[&str],
) -> Result<BTreeSet<String>, Error> {
    let mut known = BTreeSet::new();
    for table in tables {
        let mut columns = schema::relation(table)
            .into_iter()
            .flat_map(|own| own.columns);
        let fixed = columns.find(|own| own.name == column);
        if let Some(fixed) = fixed.filter(|own| !own.values.is_empty()) {
            known.extend(fixed.values.iter().cloned());
            continue;
        }
        // With a count, the pre-aggregates have the result.
        let sql = format!("SELECT {column}, count(*) FROM {table} GROUP BY {column}");
        let frame = plan_query(context, &sql).await?;
        for batch in frame.collect().await.map_err(Error::Query)? {
            let values = cast(batch.column(0), &DataType::Utf8View);
            let values = values.map_err(|error| Error::Query(error.into()))?;
            let values = values.as_string_view().iter().flatten();
            known.extend(values.map(str::to_owned));
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsql_dialect::statement::parse_statements;

    fn describe_values(sql: &str) -> Vec<String> {
        let found = named_values(&parse_statements(sql).unwrap()[0]).into_iter();
        let text =
            |one: NamedValue| format!("{}={} {}", one.column, one.value, one.tables.join(" "));
        found.map(text).collect()
    }

    #[test]
    fn values_are_found_in_comparisons_and_lists() {
        assert_eq!(
            describe_values("SELECT 1 FROM records WHERE platform = 'A100' AND line = 1"),
            ["platform=A100 records"]
        );
        assert_eq!(
            describe_values("SELECT * FROM (SELECT 1 FROM records r WHERE 'x' = r.Platform)"),
            ["platform=x records"]
        );
        assert_eq!(
            describe_values("SELECT 1 FROM records WHERE platform IN ('a', 'b') OR status = 'OK'"),
            [
                "platform=a records",
                "platform=b records",
                "status=OK records"
            ]
        );
        assert_eq!(
            describe_values(
                "SELECT count(*) FROM Records r JOIN graphs g USING (graph_id) WHERE g.dataset LIKE 'TenSet'"
            ),
            ["dataset=TenSet graphs records"]
        );
        for other in [
            "platform NOT IN ('a')",
            "platform LIKE 'a%'",
            "platform <> 'a'",
        ] {
            let sql = format!("SELECT 1 FROM records WHERE {other}");
            assert!(describe_values(&sql).is_empty(), "{other}");
        }
    }

    #[test]
    fn files_have_other_values() {
        assert_eq!(
            describe_values("SELECT 1 FROM 'x.csv' WHERE platform = 'A100'"),
            ["platform=A100 "]
        );
    }
}
