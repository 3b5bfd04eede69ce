//! `SELECT * RENAME (a AS b)` as a query whose columns get their names last.

use datafusion::sql::sqlparser::ast::{Expr, Ident, RenameSelectItem, Select, SelectItem};
use datafusion::sql::sqlparser::parser::ParserError;

use super::super::dialect::leading::relation;
use super::super::dialect::pieces::{put_table, query, select, text};
use crate::error::{Error, Result};
use crate::query::relations::RENAME;

/// Takes `RENAME` out of a `SELECT`, and puts a query around it.
///
/// # Errors
/// [`Error::Refused`] for two of them.
pub(super) fn last(own: &mut Select) -> Result<()> {
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
        let reason = "a SELECT takes one RENAME\nhint: t.a AS b, and t.* EXCLUDE (a)";
        return Err(Error::Refused(reason.to_owned()));
    }
    let spelled = |ident: Ident| match ident.quote_style {
        Some(_) => text(ident.value),
        None => text(ident.value.to_lowercase()),
    };
    let names: Vec<Expr> = names
        .into_iter()
        .flat_map(|pair| [spelled(pair.ident), spelled(pair.alias)])
        .collect();
    let parsed = |error: ParserError| Error::Query(error.into());
    let mut outer = query("SELECT * FROM x").map_err(parsed)?;
    let mut inner = query("SELECT 1").map_err(parsed)?;
    if let Some(place) = select(&mut inner) {
        std::mem::swap(place, own);
    }
    put_table(&mut outer, relation(RENAME, inner, names));
    if let Some(made) = select(&mut outer) {
        std::mem::swap(own, made);
    }
    Ok(())
}
