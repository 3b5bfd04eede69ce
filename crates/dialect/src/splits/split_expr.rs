//! The expression that replaces `split('NAME')`, over the columns of a row.

use std::fmt::Write as _;

use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::DuckDbDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::definition::{SplitDefinition, StoredKind, run_internal, text_column};
use super::parts::SplitParts;
use super::tables::part_table;
use super::unit::SplitUnit;
use tsql_error::{Error, Result};
use tsql_functions::part_in_table::NAME;
use tsql_functions::part_of_split::PARTS;

/// An expression that returns the part of a row.
#[derive(Clone, Debug)]
pub struct SplitExpr {
    /// Columns that it reads.
    columns: &'static [&'static str],
    /// Text before, between and after columns, each with the index of the column that follows.
    pieces: Vec<(String, Option<usize>)>,
}

impl SplitExpr {
    fn new(unit: SplitUnit) -> Self {
        Self {
            columns: unit.columns(),
            pieces: Vec::new(),
        }
    }

    fn then(mut self, text: impl Into<String>) -> Self {
        self.pieces.push((text.into(), None));
        self
    }

    fn push_column(mut self, place: usize) -> Self {
        self.pieces.push((String::new(), Some(place)));
        self
    }

    /// Columns that it reads.
    pub fn columns(&self) -> &'static [&'static str] {
        self.columns
    }

    /// Builds the expression over the columns of the relation `rows`, or over unqualified columns.
    ///
    /// # Errors
    /// [`Error::Internal`] for a defect.
    pub fn expr(&self, rows: Option<&str>) -> Result<Expr> {
        let mut sql = String::new();
        for (text, column) in &self.pieces {
            sql += text;
            let Some(name) = column.and_then(|place| self.columns.get(place)) else {
                continue;
            };
            // Writing to a string cannot fail.
            let _ = match rows {
                Some(rows) => write!(sql, "\"{}\".\"{name}\"", rows.replace('"', "\"\"")),
                None => write!(sql, "\"{name}\""),
            };
        }
        let parsed = Parser::new(&DuckDbDialect {}).try_with_sql(&sql);
        let parsed = parsed.and_then(|mut parser| parser.parse_expr());
        parsed.map_err(|error| Error::Internal(error.to_string()))
    }
}

/// Builds the expression of a split in a session.
///
/// # Errors
/// [`Error::Damaged`] for an invalid split, and storage failures.
pub async fn split_expr(context: &SessionContext, split: &SplitDefinition) -> Result<SplitExpr> {
    let unit = split.unit;
    let empty = SplitExpr::new(unit);
    Ok(match unit {
        SplitUnit::Platform => platform_expr(context, split, empty).await?,
        SplitUnit::Time => time_expr(split, empty),
        SplitUnit::Collection => empty
            .then("CASE WHEN ")
            .push_column(0)
            .then(" IN ('train', 'valid', 'test') THEN ")
            .push_column(0)
            .then(" END"),
        _ => {
            let table = part_table(context, split).await?;
            let mut call = String::with_capacity(2 * table.len() + 32);
            call += NAME;
            call += "(X'";
            for byte in table {
                let _ = write!(call, "{byte:02x}");
            }
            call.push('\'');
            let mut written = empty.then(call);
            for place in 0..unit.columns().len() {
                written = written.then(", ").push_column(place);
            }
            written.then(")")
        }
    })
}

async fn platform_expr(
    context: &SessionContext,
    split: &SplitDefinition,
    empty: SplitExpr,
) -> Result<SplitExpr> {
    let mut parts = SplitParts::from_definition(split)?;
    let mut written = empty.then("CASE");
    let mut any = false;
    for batch in run_internal(context, "SELECT DISTINCT platform FROM records").await? {
        for platform in text_column(&batch, 0)?.into_iter().flatten() {
            let Some(part) = PARTS.get(usize::from(parts.part_of_key(&platform))) else {
                continue;
            };
            any = true;
            let platform = platform.replace('\'', "''");
            written = written.then(" WHEN ").push_column(0);
            written = written.then(format!(" = '{platform}' THEN '{part}'"));
        }
    }
    Ok(match any {
        true => written.then(" END"),
        false => SplitExpr::new(split.unit)
            .then("CASE WHEN ")
            .push_column(0)
            .then(" = '' THEN 'train' END"),
    })
}

/// A part begins with its second, and the first part also contains everything before.
fn time_expr(split: &SplitDefinition, empty: SplitExpr) -> SplitExpr {
    let begins = |part: &str| {
        let mut cuts = split
            .stored
            .iter()
            .filter(|one| one.kind == StoredKind::Cut);
        let cut = cuts.find(|cut| cut.key == part)?;
        let seconds: i64 = cut.value.as_ref()?.parse().ok()?;
        chrono::DateTime::from_timestamp(seconds, 0)
    };
    let mut written = empty
        .then("CASE WHEN ")
        .push_column(0)
        .then(" IS NULL THEN NULL");
    for part in PARTS.iter().rev() {
        if let Some(begins) = begins(part) {
            let begins = begins.format("%Y-%m-%dT%H:%M:%SZ");
            written = written.then(" WHEN ").push_column(0);
            written = written.then(format!(" >= '{begins}' THEN '{part}'"));
        }
    }
    written.then(" ELSE 'train' END")
}
