//! Where a result goes, and in which format.

use std::fs::File;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use arrow::array::{ArrayRef, RecordBatch};
use clap::Args;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;

use super::outcome::{DONE, Failure};
use super::printer::{self, Format, PrintError};
use super::stdout::stdout;
use crate::error::Error;

/// How and where a result is printed.
#[derive(Args, Debug, Clone)]
pub(super) struct Output {
    /// Format of the result [default: table on a terminal, csv elsewhere]
    #[arg(long, value_enum)]
    pub(super) format: Option<Format>,
    /// Write the result to this file
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

impl Output {
    /// The format that is said, or follows from where the result goes.
    pub(super) fn chosen(&self) -> Format {
        let ending = self.output.as_ref().map(|path| path.extension());
        let usual = match ending.map(|ending| ending.and_then(|ending| ending.to_str())) {
            None if std::io::stdout().is_terminal() => Format::Table,
            Some(Some("parquet")) => Format::Parquet,
            Some(Some("arrow" | "arrows")) => Format::Arrow,
            Some(Some("json")) => Format::Json,
            Some(Some("jsonl")) => Format::Jsonl,
            Some(Some("tsv")) => Format::Tsv,
            Some(Some("md")) => Format::Markdown,
            _ => Format::Csv,
        };
        self.format.unwrap_or(usual)
    }

    /// The same for a plan, whose lines a table would cut.
    pub(super) fn of_plan(&self) -> Self {
        let mut output = self.clone();
        if self.is_table() {
            output.format = Some(Format::Vertical);
        }
        output
    }

    /// Is it for people to read, as a table?
    pub(super) fn is_table(&self) -> bool {
        self.output.is_none() && self.chosen() == Format::Table
    }
}

/// Prints a result where and how it is wanted; returns its rows.
pub(super) async fn print(
    stream: SendableRecordBatchStream,
    output: &Output,
) -> Result<u64, Failure> {
    let format = output.chosen();
    let Some(path) = &output.output else {
        let printed = if format.is_text() {
            printer::print(stream, format, stdout()).await
        } else {
            printer::print(stream, format, std::io::stdout()).await
        };
        return Ok(printed?);
    };
    let file = File::create(path).map_err(Error::io(path))?;
    match printer::print(stream, format, file).await {
        Err(PrintError::Io(error)) => Err(Error::io(path)(error).into()),
        other => Ok(other?),
    }
}

/// Prints columns that were made here like the result of a query.
pub(super) async fn show<'a>(
    columns: impl IntoIterator<Item = (&'a str, ArrayRef)>,
    output: &Output,
) -> Result<u8, Failure> {
    let batch = RecordBatch::try_from_iter(columns)
        .map_err(|error| Error::damaged("result", error.to_string()))?;
    let frame = SessionContext::new()
        .read_batch(batch)
        .map_err(Error::Query)?;
    print(frame.execute_stream().await.map_err(Error::Query)?, output).await?;
    Ok(DONE)
}
