//! Pieces of SQL that are put in place of others.

use datafusion::sql::sqlparser::ast::{Expr, Ident, Value};

/// An expression that stands for the one that was taken out.
pub(super) fn nothing() -> Expr {
    Expr::Value(Value::Null.into())
}

/// An identifier that is taken as it is.
pub(super) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}
