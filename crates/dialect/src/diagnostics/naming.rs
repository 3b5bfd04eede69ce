//! Unknown names, and suggestions of similar ones.

use std::collections::BTreeSet;

use datafusion::common::{Column, SchemaError};
use datafusion::prelude::SessionContext;

use super::finding::Finding;
use crate::json_functions::JSON_FUNCTIONS;
use crate::macros;
use tsql_error::{nearest, plain_message};
use tsql_schema as schema;

/// Part of the names of functions that read JSON.
const JSON: &str = "json";

/// Number of columns listed if none is similar to the unknown one.
const LISTED_COLUMNS: usize = 12;

/// Describes a column that does not exist or is ambiguous.
pub(super) fn unknown_column(found: &SchemaError) -> Finding {
    match found {
        SchemaError::FieldNotFound {
            field,
            valid_fields,
        } => describe_unknown_column(field, valid_fields),
        SchemaError::AmbiguousReference { field } => Finding {
            message: format!("column `{}` is in several of the tables", field.name),
            name: field.name.clone(),
            hint: Some(format!("use TABLE.{}", field.name)),
        },
        other => Finding {
            message: plain_message(&other.to_string()),
            name: String::new(),
            hint: None,
        },
    }
}

fn describe_unknown_column(field: &Column, valid: &[Column]) -> Finding {
    let typed = match &field.relation {
        Some(table) => format!("{}.{}", table.table(), field.name),
        None => field.name.clone(),
    };
    let mut names = valid.iter().map(|column| column.name.as_str());
    let meant = nearest(&field.name, names.clone());
    let of = valid.iter().filter_map(|column| column.relation.as_ref());
    let tables: BTreeSet<&str> = of.map(|table| table.table()).collect();
    let hint = match meant {
        Some(meant) => {
            let twice = names.filter(|name| *name == meant).count() > 1;
            let meant = quote_identifier(meant);
            let which = valid
                .iter()
                .find(|column| twice && quote_identifier(&column.name) == meant);
            match which.and_then(|column| column.relation.as_ref()) {
                Some(table) => format!("did you mean `{}.{meant}`?", table.table()),
                None => format!("did you mean `{meant}`?"),
            }
        }
        None if valid.is_empty() => {
            "there are no columns here: add FROM, or write text in single quotes: 'text'".to_owned()
        }
        None if tables_with_column(&field.name).is_some() => {
            tables_with_column(&field.name).unwrap_or_default()
        }
        None if valid.len() <= LISTED_COLUMNS => {
            let names: Vec<String> = names.by_ref().map(quote_identifier).collect();
            format!("there are {}", names.join(", "))
        }
        None => {
            let known = known_tables();
            let known = tables.iter().find(|table| known.contains(**table));
            let looked = known.map_or_else(|| "TABLE".to_owned(), |table| (*table).to_owned());
            format!(
                "`tsql describe {looked}` lists the columns; write text in single quotes: 'text'"
            )
        }
    };
    Finding {
        message: format!("no column named `{typed}`"),
        name: field.name.clone(),
        hint: Some(hint),
    }
}

/// Tables of the store that have a column of exactly this name; `None` if there are many.
fn tables_with_column(column: &str) -> Option<String> {
    let all = schema::relations().into_iter().flatten();
    let have = all.filter(|relation| {
        let mut columns = relation.columns.iter();
        columns.any(|own| own.name == column && !own.hidden)
    });
    let names: Vec<String> = have
        .map(|relation| format!("`{}`", relation.name))
        .collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("{one} has such a column")),
        [one, other] => Some(format!("{one} and {other} have such a column")),
        _ => None,
    }
}

/// Quotes a name for SQL if necessary.
fn quote_identifier(name: &str) -> String {
    let plain = name
        .chars()
        .all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_');
    if plain {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// Describes an unknown table: `table 'x' not found`.
pub(super) fn unknown_table(message: &str, context: &SessionContext) -> Option<Finding> {
    let name = message
        .strip_prefix("table '")?
        .strip_suffix("' not found")?;
    let known = visible_tables(context);
    let hint = match nearest(name, known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`tsql tables` lists the tables and views".to_owned(),
    };
    Some(Finding {
        message: format!("no table or view named `{name}`"),
        name: name.to_owned(),
        hint: Some(hint),
    })
}

fn known_tables() -> BTreeSet<String> {
    let all = schema::relations().into_iter().flatten();
    all.map(|relation| relation.name.to_owned()).collect()
}

/// Names of all tables and views of stores and of the session.
fn visible_tables(context: &SessionContext) -> BTreeSet<String> {
    let mut known = known_tables();
    let catalog = context.catalog("tsql");
    let schema = catalog.and_then(|catalog| catalog.schema("public"));
    known.extend(schema.into_iter().flat_map(|schema| schema.table_names()));
    known
}

/// Describes an unknown function: `invalid function 'x'.`
pub(super) fn unknown_function(message: &str, context: &SessionContext) -> Option<Finding> {
    let of_table = || {
        message
            .strip_prefix("table function '")?
            .strip_suffix("' not found")
    };
    let of_row = || message.strip_prefix("invalid function '")?.split_once("'.");
    let name = of_row().map(|(name, _)| name).or_else(of_table)?;
    let state = context.state();
    let mut known: BTreeSet<&str> = state
        .scalar_functions()
        .keys()
        .map(String::as_str)
        .collect();
    known.extend(state.aggregate_functions().keys().map(String::as_str));
    known.extend(state.window_functions().keys().map(String::as_str));
    known.extend(state.table_functions().keys().map(String::as_str));
    for name in macros::names() {
        known.insert(name);
    }
    let calls: Vec<&str> = macros::with_name(name)
        .map(|known| known.call.as_str())
        .collect();
    if !calls.is_empty() {
        return Some(Finding {
            message: format!("wrong number of arguments of `{name}`"),
            name: name.to_owned(),
            hint: Some(format!("use {}", calls.join(" or "))),
        });
    }
    if name.contains(JSON) {
        known.retain(|known| known.contains(JSON));
    }
    let hint = match nearest(name, known) {
        None if name.contains(JSON) => JSON_FUNCTIONS.to_owned(),
        Some(meant) if meant == name => {
            format!("use it over rows: {name}(...) OVER (ORDER BY ...)")
        }
        Some(meant) => format!("did you mean `{meant}`?"),
        None => {
            "`tsql functions` lists all functions, `tsql functions WORD` searches them".to_owned()
        }
    };
    let message = if state.window_functions().contains_key(name) {
        format!("`{name}` is a window function")
    } else {
        format!("no function named `{name}`")
    };
    Some(Finding {
        message,
        name: name.to_owned(),
        hint: Some(hint),
    })
}
