//! Formats of a comparison: those of all results, and a comment for a pull request.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use crate::output::{Output, max_rows};
use crate::printer::Format;

/// Format and destination of a comparison.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct CompareOutput {
    /// Format of the result [default: table, or csv if piped]
    ///
    /// With --output, the name of the file decides. `github` is a comment for a pull request.
    #[arg(long, value_enum)]
    format: Option<CompareFormat>,
    /// File for the result: x.json, x.csv, x.parquet, ...
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Maximum number of rows of a table [default: 40 on a terminal]
    ///
    /// Longer tables show their first and last rows. With a pager, or in a pipe or file, the default is `all`.
    #[arg(long, value_name = "N|all", value_parser = max_rows)]
    max_rows: Option<usize>,
    /// Print readable units in tables (`13.67 ms`, `1.2 MiB`)
    #[arg(long)]
    units: bool,
}

/// Format of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompareFormat {
    /// Markdown with a hidden marker in its first line.
    Github,
    /// A format of all results.
    Printed(Format),
}

/// All formats, `github` first.
static FORMATS: [CompareFormat; 13] = [
    CompareFormat::Github,
    CompareFormat::Printed(Format::Table),
    CompareFormat::Printed(Format::Csv),
    CompareFormat::Printed(Format::Tsv),
    CompareFormat::Printed(Format::Json),
    CompareFormat::Printed(Format::Jsonl),
    CompareFormat::Printed(Format::Markdown),
    CompareFormat::Printed(Format::Latex),
    CompareFormat::Printed(Format::Vertical),
    CompareFormat::Printed(Format::Arrow),
    CompareFormat::Printed(Format::Arrows),
    CompareFormat::Printed(Format::Parquet),
    CompareFormat::Printed(Format::None),
];

impl ValueEnum for CompareFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &FORMATS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Github => Some(PossibleValue::new("github").help(
                "A comment for a pull request: Markdown of at most 65,536 characters with a hidden marker",
            )),
            Self::Printed(format) => format.to_possible_value(),
        }
    }
}

impl CompareOutput {
    /// Returns whether the result is a comment.
    pub(crate) fn is_github(&self) -> bool {
        self.format == Some(CompareFormat::Github)
    }

    /// Returns the destination with a format of all results.
    pub(crate) fn output(&self) -> Output {
        Output {
            format: self.format.map(|format| match format {
                CompareFormat::Github => Format::Markdown,
                CompareFormat::Printed(format) => format,
            }),
            output: self.output.clone(),
            max_rows: self.max_rows,
            units: self.units,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_has_all_formats_of_results() {
        let printed: Vec<Format> = FORMATS
            .iter()
            .filter_map(|format| match format {
                CompareFormat::Printed(format) => Some(*format),
                CompareFormat::Github => None,
            })
            .collect();
        assert_eq!(printed, Format::value_variants());
    }
}
