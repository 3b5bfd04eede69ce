//! Builders of query parts for pivots and unpivots.

use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Ident, ObjectName, SelectItem, TableAlias, TableFactor,
    WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::parser::ParserError;

/// Maximum number of columns of a pivot. More are probably a mistake.
pub(super) const MAX_PIVOT_COLUMNS: usize = 1000;

/// Error of a pivot that cannot be rewritten.
pub(super) fn pivot_error(reason: &str) -> ParserError {
    ParserError::ParserError(reason.to_owned())
}

/// `* EXCLUDE (these)`.
pub(super) fn star_except(columns: Vec<Ident>) -> SelectItem {
    let columns = columns.into_iter().map(|name| ObjectName::from(vec![name]));
    let exclude = ExcludeSelectItem::Multiple(columns.collect());
    SelectItem::Wildcard(WildcardAdditionalOptions {
        opt_exclude: Some(exclude),
        ..WildcardAdditionalOptions::default()
    })
}

/// Renames a derived table.
pub(super) fn with_alias(mut table: TableFactor, wanted: Option<TableAlias>) -> TableFactor {
    if let TableFactor::Derived { alias, .. } = &mut table {
        *alias = wanted;
    }
    table
}
