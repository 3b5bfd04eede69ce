//! Rewrites `SELECT * RENAME (a AS b)` to a query around it that renames the columns.

use datafusion::sql::sqlparser::ast::{Expr, Ident, RenameSelectItem, Select, SelectItem};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::syntax::leading::table_function;
use crate::syntax::pieces::{first_select, parse_query, set_from_table, string_literal};
use tsql_engine::RENAME;
use tsql_error::{Error, Result};

/// Removes `RENAME` from a `SELECT`, and wraps the select in a renaming query.
///
/// # Errors
/// [`Error::Refused`] for two of them.
pub(super) fn rewrite_rename(own: &mut Select) -> Result<()> {
    let mut renames = Vec::new();
    for item in &mut own.projection {
        if let SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) = item {
            renames.extend(options.opt_rename.take());
        }
    }
    let names = match renames.pop() {
        None => return Ok(()),
        Some(RenameSelectItem::Single(one)) => vec![one],
        Some(RenameSelectItem::Multiple(several)) => several,
    };
    if !renames.is_empty() {
        let reason = "a SELECT supports only one RENAME\nhint: t.a AS b, and t.* EXCLUDE (a)";
        return Err(Error::Refused(reason.to_owned()));
    }
    let spelled = |ident: Ident| match ident.quote_style {
        Some(_) => string_literal(ident.value),
        None => string_literal(ident.value.to_lowercase()),
    };
    let names: Vec<Expr> = names
        .into_iter()
        .flat_map(|pair| [spelled(pair.ident), spelled(pair.alias)])
        .collect();
    let parsed = |error: ParserError| Error::Query(error.into());
    let mut outer = parse_query("SELECT * FROM x").map_err(parsed)?;
    let mut inner = parse_query("SELECT 1").map_err(parsed)?;
    if let Some(place) = first_select(&mut inner) {
        std::mem::swap(place, own);
    }
    set_from_table(&mut outer, table_function(RENAME, inner, names));
    if let Some(made) = first_select(&mut outer) {
        std::mem::swap(own, made);
    }
    Ok(())
}
