//! Why the engine did not take what somebody typed, told with the words that are meant.
//!
//! The engine says what is wrong with a plan; who typed the text wants to know where in it, and what it is called
//! here. `reading` is for text that is no SQL, `naming` for names that there are not, `calling` for functions
//! that do not take what they are given.

mod calling;
mod naming;
mod place;
mod reading;
mod told;

use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;

use crate::error::{Error, SqlError, SqlSpan, plain, way_out};

/// Text that could not be read as SQL.
pub(super) fn unread(error: DataFusionError, sql: &str) -> Error {
    match error.find_root() {
        DataFusionError::SQL(found, _) => Error::Sql(Box::new(reading::mistake(found, sql))),
        _ => Error::Query(error),
    }
}

/// A statement that could not be planned. What is no fault of the statement stays what it is.
pub(super) fn unplanned(error: DataFusionError, sql: &str, context: &SessionContext) -> Error {
    let mistake = match error.find_root() {
        DataFusionError::SQL(found, _) => Some(reading::mistake(found, sql)),
        DataFusionError::SchemaError(found, _) => Some(unknown_name(found, &error, sql)),
        DataFusionError::Plan(_) | DataFusionError::NotImplemented(_) => {
            Some(planned(&error, sql, context))
        }
        _ => None,
    };
    match mistake {
        Some(mistake) => Error::Sql(Box::new(mistake)),
        None => Error::Query(error),
    }
}

fn unknown_name(found: &SchemaError, error: &DataFusionError, sql: &str) -> SqlError {
    let told = naming::column(found);
    let span = span(error, sql).or_else(|| place::of_word(sql, &told.name));
    SqlError::new(sql, told.message, span, told.hint)
}

fn planned(error: &DataFusionError, sql: &str, context: &SessionContext) -> SqlError {
    let text = error.strip_backtrace();
    let message = unsupported(&text).unwrap_or_else(|| plain(&text));
    let found = naming::table(&message, context)
        .or_else(|| naming::function(&message, context))
        .or_else(|| calling::mistake(&text));
    let (message, name, hint) = match found {
        Some(told) => (told.message, told.name, told.hint),
        None => {
            let told = error.diagnostic().filter(|told| told.span.is_some());
            let helps = told.into_iter().flat_map(|told| &told.helps);
            let helps: Vec<String> = helps.map(|help| plain(&help.message)).collect();
            let message = told.map_or(message, |told| plain(&told.message));
            let hint = (!helps.is_empty()).then(|| helps.join("; "));
            (message, String::new(), hint)
        }
    };
    let hint = hint.or_else(|| way_out(&text).map(str::to_owned));
    let span = span(error, sql).or_else(|| place::of_word(sql, &name));
    SqlError::new(sql, message, span, hint)
}

/// A sentence for an expression that the planner does not know, which it prints as a syntax tree.
fn unsupported(text: &str) -> Option<String> {
    let (_, tree) = text.split_once("nsupported ast node")?;
    let (_, tree) = tree.split_once(": ")?;
    let kind: String = tree
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    Some(match kind.as_str() {
        "" => "this expression is not supported".to_owned(),
        // `a -> b` is read as the lambda function of an argument `a`.
        "Lambda" => {
            "`->` is not supported outside of the arguments of list functions, nor as an operator of JSON".to_owned()
        }
        kind => format!("this expression is not supported: {kind}"),
    })
}

/// The words that the planner means.
fn span(error: &DataFusionError, sql: &str) -> Option<SqlSpan> {
    place::of_span(error.diagnostic()?.span?, sql)
}
