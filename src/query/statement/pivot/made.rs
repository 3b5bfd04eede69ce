//! Pieces of queries that pivots and unpivots are made of.

use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Ident, ObjectName, SelectItem, TableAlias, TableFactor,
    WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::parser::ParserError;

/// Columns that a pivot may have: more are a slip.
pub(super) const WIDEST: usize = 1000;

/// Why something cannot be written.
pub(super) fn refused(reason: &str) -> ParserError {
    ParserError::ParserError(reason.to_owned())
}

/// `* EXCLUDE (these)`.
pub(super) fn all_but(columns: Vec<Ident>) -> SelectItem {
    let columns = columns.into_iter().map(|name| ObjectName::from(vec![name]));
    let exclude = ExcludeSelectItem::Multiple(columns.collect());
    SelectItem::Wildcard(WildcardAdditionalOptions {
        opt_exclude: Some(exclude),
        ..WildcardAdditionalOptions::default()
    })
}

/// The same query under this name.
pub(super) fn aliased(mut table: TableFactor, wanted: Option<TableAlias>) -> TableFactor {
    if let TableFactor::Derived { alias, .. } = &mut table {
        *alias = wanted;
    }
    table
}
