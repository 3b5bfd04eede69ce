//! Destination, format and layout of a result.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use arrow::array::{ArrayRef, RecordBatch};
use clap::Args;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use tsql_error::Error;
use tsql_store::atomic_output::{check_output, create_output};

use super::file_extension::{self, Packed, Packing};
use super::outcome::{DONE, Failure};
use super::pager::{self, Paged};
use super::printer::{self, Format, PrintError, Style};
use super::screen;
use super::stdout::{escaping, stdout};

/// Maximum number of rows of a table on a terminal, unless the user sets another or a pager shows all.
pub(super) const SCREEN_ROWS: usize = 40;

/// Number of rows that means `all`.
pub(super) const ALL_ROWS: usize = usize::MAX;

/// Format and destination of a result.
#[derive(Args, Debug, Clone, Default)]
pub(super) struct Output {
    /// Format of the result [default: table, or csv if piped]
    ///
    /// With --output, the name of the file decides.
    ///
    /// A table fits the width of the terminal, or `COLUMNS`. A result that is longer than the screen goes to
    /// `TSQL_PAGER` or `PAGER`, if one is set.
    #[arg(long, value_enum)]
    pub(super) format: Option<Format>,
    /// File for the result: x.parquet, x.csv.gz, x.jsonl.zst, ...
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Maximum number of rows of a table [default: 40 on a terminal]
    ///
    /// Longer tables show their first and last rows. With a pager, or in a pipe or file, the default is `all`.
    #[arg(long, value_name = "N|all", value_parser = max_rows)]
    pub(super) max_rows: Option<usize>,
    /// Print readable units in tables (`13.67 ms`, `1.2 MiB`)
    #[arg(long)]
    pub(super) units: bool,
}

/// Format of a result on standard output, for commands whose `--output` has another purpose than in [`Output`].
#[derive(Args, Debug, Clone, Default)]
pub(super) struct Layout {
    /// Format of the result [default: table on a terminal, csv elsewhere]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Maximum number of rows of a table [default: 40 on a terminal without a pager, else all]
    #[arg(long, value_name = "N|all", value_parser = max_rows)]
    max_rows: Option<usize>,
    /// Print times and sizes in tables with readable units (`13.67 ms`, `1.2 MiB`)
    #[arg(long)]
    units: bool,
}

impl Layout {
    pub(super) fn output(self) -> Output {
        Output {
            format: self.format,
            output: None,
            max_rows: self.max_rows,
            units: self.units,
        }
    }
}

impl Output {
    /// Returns the requested format, or the default format of the destination.
    ///
    /// # Errors
    /// Fails for a file with an unknown extension.
    pub(super) fn resolve_format(&self) -> Result<Format, Failure> {
        let (format, _) = self.resolve_packing()?;
        Ok(format)
    }

    fn resolve_packing(&self) -> Result<(Format, Packing), Failure> {
        let default_format = || match std::io::stdout().is_terminal() {
            true => Format::Table,
            false => Format::Csv,
        };
        match &self.output {
            Some(path) if !is_device(path) => {
                check_output(path)?;
                file_extension::format_of_path(path, self.format)
            }
            Some(_) => Ok((self.format.unwrap_or(Format::Csv), Packing::None)),
            None => Ok((self.format.unwrap_or_else(default_format), Packing::None)),
        }
    }

    /// Returns the output for a plan: the format `vertical` instead of a table, which would cut its lines.
    pub(super) fn of_plan(&self) -> Self {
        let mut output = self.clone();
        if self.is_table() {
            output.format = Some(Format::Vertical);
        }
        output
    }

    /// Returns whether the result is a table on standard output.
    pub(super) fn is_table(&self) -> bool {
        self.output.is_none()
            && self
                .resolve_format()
                .is_ok_and(|format| format == Format::Table)
    }

    fn style(&self) -> Style {
        let width = match self.output {
            None => screen::columns(),
            Some(_) => screen::columns_variable(),
        };
        Style {
            width,
            max_rows: self.max_rows.filter(|rows| *rows != ALL_ROWS),
            units: self.units,
            wraps: false,
        }
    }
}

/// Parses `all`, or a number of rows.
pub(super) fn max_rows(text: &str) -> Result<usize, String> {
    match text {
        "all" => Ok(ALL_ROWS),
        number => number
            .parse()
            .map_err(|_| "expected a number of rows, or `all`".to_owned()),
    }
}

/// Returns whether a path is a device or a pipe, whose extension means nothing.
fn is_device(path: &std::path::Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Prints a result to its destination; returns the number of rows.
pub(super) async fn print(
    stream: SendableRecordBatchStream,
    output: &Output,
) -> Result<u64, Failure> {
    let mut style = output.style();
    let is_watched = output.output.is_none() && std::io::stdout().is_terminal();
    if output.max_rows.is_none() && is_watched && pager::command().is_none() {
        style.max_rows = Some(SCREEN_ROWS);
    }
    print_with_style(stream, output, style).await
}

async fn print_with_style(
    stream: SendableRecordBatchStream,
    output: &Output,
    style: Style,
) -> Result<u64, Failure> {
    let (format, packing) = output.resolve_packing()?;
    let Some(path) = &output.output else {
        return Ok(on_stdout(stream, format, style).await?);
    };
    let (target, file) = create_output(path)?;
    let mut packed = Packed::new(file, packing).map_err(Error::io(path))?;
    let printed = printer::print(stream, format, style, &mut packed).await;
    let rows = match printed {
        Err(PrintError::Io(error)) => return Err(Error::io(path)(error).into()),
        other => other?,
    };
    packed.finish().map_err(Error::io(path))?;
    target.finish().map_err(Error::from)?;
    Ok(rows)
}

async fn on_stdout(
    stream: SendableRecordBatchStream,
    format: Format,
    style: Style,
) -> Result<u64, PrintError> {
    if !format.is_text() {
        return printer::print(stream, format, style, std::io::stdout()).await;
    }
    let (Some(command), Some(lines)) = (pager::command(), screen::lines()) else {
        return printer::print(stream, format, style, stdout()).await;
    };
    let mut paged = Paged::new(std::io::stdout(), command, lines);
    let printed = printer::print(stream, format, style, escaping(&mut paged)).await;
    let finished = paged.finish().map_err(PrintError::Io);
    let rows = printed?;
    finished.map(|()| rows)
}

/// Writes a report that was converted to JSON.
pub(super) fn write_json(
    report: serde_json::Result<String>,
    output: &Output,
) -> Result<(), Failure> {
    let text = report
        .map_err(|error| Error::Internal(format!("a report cannot be written as JSON: {error}")))?;
    write_text(&(text + "\n"), output)
}

/// Writes a text that already has the requested format.
pub(super) fn write_text(text: &str, output: &Output) -> Result<(), Failure> {
    let (_, packing) = output.resolve_packing()?;
    let Some(path) = &output.output else {
        let written = stdout().write_all(text.as_bytes());
        return Ok(written.map_err(PrintError::Io)?);
    };
    let (target, file) = create_output(path)?;
    let mut packed = Packed::new(file, packing).map_err(Error::io(path))?;
    let written = packed.write_all(text.as_bytes());
    written
        .and_then(|()| packed.finish())
        .map_err(Error::io(path))?;
    Ok(target.finish().map_err(Error::from)?)
}

/// Prints columns as the result of a query; long texts are wrapped, not cut.
pub(super) async fn show<'a>(
    columns: impl IntoIterator<Item = (&'a str, ArrayRef)>,
    output: &Output,
) -> Result<u8, Failure> {
    let batch = RecordBatch::try_from_iter(columns)
        .map_err(|error| Error::damaged("result", error.to_string()))?;
    let frame = SessionContext::new()
        .read_batch(batch)
        .map_err(Error::Query)?;
    let stream = frame.execute_stream().await.map_err(Error::Query)?;
    let style = Style {
        wraps: true,
        ..output.style()
    };
    print_with_style(stream, output, style).await?;
    Ok(DONE)
}
