//! Diagnostics: errors of SQL statements with their position and a suggestion.
//!
//! DataFusion's errors describe a plan. These errors point at the position in the text, and suggest names that exist.
//! `syntax_errors` handles invalid SQL, `unknown_names` names that do not exist, `function_calls` calls with invalid
//! arguments.

mod calling;
mod finding;
mod naming;
mod position;
mod reading;

use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;

use crate::json_functions::JSON_FUNCTIONS;
use tsql_error::{Error, SqlError, SqlSpan, plain_message, sql_hint};

/// Message for a lambda function that is no argument of a function of lists.
const LAMBDA_OUTSIDE: &str =
    "`->` is supported only in arguments of list functions, and not as a JSON operator";

/// Error for a text that is not valid SQL.
pub(crate) fn parse_error(error: DataFusionError, sql: &str) -> Error {
    match error.find_root() {
        DataFusionError::SQL(found, _) => Error::Sql(Box::new(reading::syntax_error(found, sql))),
        _ => Error::Query(error),
    }
}

/// Error for a statement that cannot be planned. Errors that the statement did not cause are returned unchanged.
pub(crate) fn planning_error(error: DataFusionError, sql: &str, context: &SessionContext) -> Error {
    let mistake = match error.find_root() {
        DataFusionError::SQL(found, _) => Some(reading::syntax_error(found, sql)),
        DataFusionError::SchemaError(found, _) => Some(unknown_name(found, &error, sql)),
        DataFusionError::Plan(_) | DataFusionError::NotImplemented(_) => {
            Some(sql_error(&error, sql, context))
        }
        _ => None,
    };
    match mistake {
        Some(mistake) => Error::Sql(Box::new(mistake)),
        None => Error::Query(error),
    }
}

fn unknown_name(found: &SchemaError, error: &DataFusionError, sql: &str) -> SqlError {
    let told = naming::unknown_column(found);
    let span = error_span(error, sql).or_else(|| position::find_word(sql, &told.name));
    SqlError::new(sql, told.message, span, told.hint)
}

fn sql_error(error: &DataFusionError, sql: &str, context: &SessionContext) -> SqlError {
    let text = error.strip_backtrace();
    let message = unsupported_expression(&text).unwrap_or_else(|| plain_message(&text));
    let found = naming::unknown_table(&message, context)
        .or_else(|| naming::unknown_function(&message, context))
        .or_else(|| calling::no_matching_function(&text));
    let (message, name, hint) = match found {
        Some(told) => (told.message, told.name, told.hint),
        None => {
            let told = error.diagnostic().filter(|told| told.span.is_some());
            let helps = told.into_iter().flat_map(|told| &told.helps);
            let helps: Vec<String> = helps.map(|help| plain_message(&help.message)).collect();
            let message = told.map_or(message, |told| plain_message(&told.message));
            let hint = (!helps.is_empty()).then(|| helps.join("; "));
            (message, String::new(), hint)
        }
    };
    let hint = hint
        .or_else(|| sql_hint(&text).map(str::to_owned))
        .or_else(|| (message == LAMBDA_OUTSIDE).then(|| JSON_FUNCTIONS.to_owned()));
    let span = error_span(error, sql).or_else(|| position::find_word(sql, &name));
    SqlError::new(sql, message, span, hint)
}

/// Message for an expression that the planner does not support. The planner prints it as a syntax tree.
fn unsupported_expression(text: &str) -> Option<String> {
    let (_, tree) = text.split_once("nsupported ast node")?;
    let (_, tree) = tree.split_once(": ")?;
    let kind: String = tree
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    Some(match kind.as_str() {
        "" => "this expression is not supported".to_owned(),
        // `a -> b` is read as the lambda function of an argument `a`.
        "Lambda" => LAMBDA_OUTSIDE.to_owned(),
        kind => format!("this expression is not supported: {kind}"),
    })
}

/// Position that the planner reports.
fn error_span(error: &DataFusionError, sql: &str) -> Option<SqlSpan> {
    position::from_datafusion(error.diagnostic()?.span?, sql)
}
