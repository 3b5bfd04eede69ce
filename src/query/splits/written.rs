//! What `split('NAME')` stands for: an expression over the columns of a row.

use std::fmt::Write as _;

use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::DuckDbDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::definition::{Definition, Kind, rows, texts};
use super::parts::Parts;
use super::tables::table;
use super::unit::SplitUnit;
use crate::error::{Error, Result};
use crate::query::functions::part_in_table::NAME;
use crate::query::functions::part_of_split::PARTS;

/// An expression that gives the part of a row.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The columns that it reads.
    columns: &'static [&'static str],
    /// Its text before, between and behind columns, with the number of the column that follows.
    pieces: Vec<(String, Option<usize>)>,
}

impl Written {
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

    fn column(mut self, place: usize) -> Self {
        self.pieces.push((String::new(), Some(place)));
        self
    }

    /// The columns that it reads.
    pub(crate) fn columns(&self) -> &'static [&'static str] {
        self.columns
    }

    /// The expression over the columns of the relation of this name, or over those that there are.
    ///
    /// # Errors
    /// [`Error::Internal`] for a defect.
    pub(crate) fn expr(&self, rows: Option<&str>) -> Result<Expr> {
        let mut sql = String::new();
        for (text, column) in &self.pieces {
            sql += text;
            let Some(name) = column.and_then(|place| self.columns.get(place)) else {
                continue;
            };
            // Writing into a text does not fail.
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

/// The expression for a split in a session.
///
/// # Errors
/// [`Error::Damaged`] for a split that is none, and failures of the storage.
pub(crate) async fn written(context: &SessionContext, split: &Definition) -> Result<Written> {
    let unit = split.unit;
    let empty = Written::new(unit);
    Ok(match unit {
        SplitUnit::Platform => of_platforms(context, split, empty).await?,
        SplitUnit::Time => of_times(split, empty),
        SplitUnit::Collection => empty
            .then("CASE WHEN ")
            .column(0)
            .then(" IN ('train', 'valid', 'test') THEN ")
            .column(0)
            .then(" END"),
        _ => {
            let table = table(context, split).await?;
            let mut call = String::with_capacity(2 * table.len() + 32);
            call += NAME;
            call += "(X'";
            for byte in table {
                let _ = write!(call, "{byte:02x}");
            }
            call.push('\'');
            let mut written = empty.then(call);
            for place in 0..unit.columns().len() {
                written = written.then(", ").column(place);
            }
            written.then(")")
        }
    })
}

async fn of_platforms(
    context: &SessionContext,
    split: &Definition,
    empty: Written,
) -> Result<Written> {
    let mut parts = Parts::of(split)?;
    let mut written = empty.then("CASE");
    let mut any = false;
    for batch in rows(context, "SELECT DISTINCT platform FROM records").await? {
        for platform in texts(&batch, 0)?.into_iter().flatten() {
            let Some(part) = PARTS.get(usize::from(parts.of_key(&platform))) else {
                continue;
            };
            any = true;
            let platform = platform.replace('\'', "''");
            written = written.then(" WHEN ").column(0);
            written = written.then(format!(" = '{platform}' THEN '{part}'"));
        }
    }
    Ok(match any {
        true => written.then(" END"),
        false => Written::new(split.unit)
            .then("CASE WHEN ")
            .column(0)
            .then(" = '' THEN 'train' END"),
    })
}

/// A part begins with its second; the first one with all that comes before.
fn of_times(split: &Definition, empty: Written) -> Written {
    let begins = |part: &str| {
        let mut cuts = split.stored.iter().filter(|one| one.kind == Kind::Cut);
        let cut = cuts.find(|cut| cut.key == part)?;
        let seconds: i64 = cut.value.as_ref()?.parse().ok()?;
        chrono::DateTime::from_timestamp(seconds, 0)
    };
    let mut written = empty
        .then("CASE WHEN ")
        .column(0)
        .then(" IS NULL THEN NULL");
    for part in PARTS.iter().rev() {
        if let Some(begins) = begins(part) {
            let begins = begins.format("%Y-%m-%dT%H:%M:%SZ");
            written = written.then(" WHEN ").column(0);
            written = written.then(format!(" >= TIMESTAMP '{begins}' THEN '{part}'"));
        }
    }
    written.then(" ELSE 'train' END")
}
