//! Prints the result of a query in the format of `--format`.
//!
//! Writes a stream of record batches to an output, and returns the number of rows. Formats for programs are written
//! batch by batch, and are complete. The table for people buffers its first rows to measure the widths, and shortens
//! long values. The [`Style`] may leave out more. There are no colors, no paging and no thousands separators.

mod sink;

mod style;

mod kind;

mod units;

mod value;

mod text;

mod binary;

mod cell;

mod layout;

mod rounding;

mod table;

mod markdown;

mod latex;

mod vertical;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod snapshots;

use std::fmt;
use std::io::{self, Write};

use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use clap::ValueEnum;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;
use tsql_error::query_message;

use sink::{Nothing, Outlet, Sink};

pub(crate) use style::Style;

/// Output formats of `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A bordered table; long values are shortened
    Table,
    /// Comma-separated values (RFC 4180) with a header; NULL is empty
    Csv,
    /// Tab-separated values with a header; tab, line end and backslash as \t \n \r \\
    Tsv,
    /// One JSON array of objects
    Json,
    /// One JSON object per line
    Jsonl,
    /// A Markdown table
    Markdown,
    /// A LaTeX table (`tabular`, with the rules of `booktabs`)
    Latex,
    /// One line per value
    Vertical,
    /// An Arrow IPC file
    Arrow,
    /// An Arrow IPC stream
    Arrows,
    /// A Parquet file
    Parquet,
    /// Nothing: the query runs and its rows are counted
    None,
}

impl Format {
    /// Returns whether a terminal can show the format.
    pub(crate) fn is_text(self) -> bool {
        !matches!(self, Self::Arrow | Self::Arrows | Self::Parquet)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_possible_value() {
            Some(value) => f.write_str(value.get_name()),
            None => Ok(()),
        }
    }
}

/// Reason for which a result was not printed completely. Rows before the failure may have been written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrintError {
    /// The query failed while it ran.
    #[error("{}", query_message(.0))]
    Query(#[source] DataFusionError),
    /// The output failed; [`io::ErrorKind::BrokenPipe`] means that its reader has closed it.
    #[error("cannot write the result: {0}")]
    Io(#[source] io::Error),
    /// The format cannot represent a type or a value of the result.
    #[error(
        "`{format}` cannot represent this result: {source}\n\
         hint: cast the column to text, or use another `--format`"
    )]
    Unsupported {
        /// The requested format.
        format: Format,
        /// The error of the writer.
        source: ArrowError,
    },
}

/// Writes every batch of `stream` to `out` in `format`; returns the number of rows written.
///
/// Nothing is written before the first batch arrives, so that a query that fails at once leaves the output empty.
///
/// # Errors
///
/// [`PrintError::Io`] contains the error of `out` itself, for all formats.
pub(crate) async fn print<W: Write + Send>(
    stream: SendableRecordBatchStream,
    format: Format,
    style: Style,
    out: W,
) -> Result<u64, PrintError> {
    let mut out = Outlet::new(out);
    let result = drain(stream, format, style, &mut out).await;
    match out.into_failure() {
        Some(failure) => Err(PrintError::Io(failure)),
        None => result,
    }
}

async fn drain<W: Write + Send>(
    mut stream: SendableRecordBatchStream,
    format: Format,
    style: Style,
    out: &mut Outlet<W>,
) -> Result<u64, PrintError> {
    let unsupported = |source| PrintError::Unsupported { format, source };
    let schema = stream.schema();
    let mut next = stream.next().await.transpose().map_err(PrintError::Query)?;
    let mut sink = open(format, style, &schema, out).map_err(unsupported)?;
    let mut rows = 0;
    while let Some(batch) = next {
        sink.write(&batch).map_err(unsupported)?;
        rows += batch.num_rows() as u64;
        next = stream.next().await.transpose().map_err(PrintError::Query)?;
    }
    sink.finish(rows).map_err(unsupported)?;
    Ok(rows)
}

/// Creates the writer of `format`. A statement without columns (`CREATE VIEW`) has no header.
fn open<'a, W: Write + Send>(
    format: Format,
    style: Style,
    schema: &SchemaRef,
    out: &'a mut Outlet<W>,
) -> Result<Box<dyn Sink + Send + 'a>, ArrowError> {
    let without_columns = schema.fields().is_empty();
    Ok(match format {
        Format::Csv | Format::Tsv | Format::Markdown | Format::Latex | Format::Vertical
            if without_columns =>
        {
            Box::new(Nothing)
        }
        Format::Table => Box::new(table::Table::new(schema, style, out)),
        Format::Csv => Box::new(text::Csv::new(schema, out)?),
        Format::Tsv => Box::new(text::Tsv::new(schema, out)?),
        Format::Json => Box::new(text::Json::array(out)),
        Format::Jsonl => Box::new(text::JsonLines::lines(out)),
        Format::Markdown => Box::new(markdown::Markdown::new(schema, style.units, out)?),
        Format::Latex => Box::new(latex::Latex::new(schema, style.units, out)?),
        Format::Vertical => Box::new(vertical::Vertical::new(schema, style.units, out)),
        Format::Arrow => Box::new(binary::ArrowFile::new(schema, out)?),
        Format::Arrows => Box::new(binary::ArrowStream::new(schema, out)?),
        Format::Parquet => Box::new(binary::Parquet::new(schema, out)?),
        Format::None => Box::new(Nothing),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        Array, ArrayRef, DictionaryArray, Float32Array, Int32Array, Int64Array, Int64Builder,
        IntervalMonthDayNanoArray, MapBuilder, RecordBatch, StringArray, StringBuilder,
        TimestampSecondArray, UnionArray,
    };
    use arrow::buffer::ScalarBuffer;
    use arrow::datatypes::{DataType, Field, Int32Type, IntervalMonthDayNano, Schema, UnionFields};

    use super::fixture::{batch, bytes, printed, printed_as, schema, stream};
    use super::*;

    /// Accepts `left` bytes, then fails with a broken pipe.
    struct Pipe {
        left: usize,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.left == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::BrokenPipe,
                    "the reader has gone",
                ));
            }
            let accepted = bytes.len().min(self.left);
            self.left -= accepted;
            Ok(accepted)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn one(name: &str, array: impl Array + 'static) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([(name, Arc::new(array) as ArrayRef, true)])
            .unwrap()
    }

    #[test]
    fn every_format_reports_a_closed_pipe() {
        for format in Format::value_variants() {
            if *format == Format::None {
                continue;
            }
            for left in [0, 20] {
                let batches = vec![Ok(batch()), Ok(batch())];
                let result = print(
                    stream(schema(), batches),
                    *format,
                    Style::default(),
                    Pipe { left },
                );
                let error = futures::executor::block_on(result).unwrap_err();
                let PrintError::Io(error) = error else {
                    panic!("{format}: {error}")
                };
                assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{format}");
                assert_eq!(error.to_string(), "the reader has gone", "{format}");
            }
        }
    }

    #[test]
    fn a_query_that_fails_keeps_the_rows_before() {
        let mut out = Vec::new();
        let batches = vec![
            Ok(one("n", Int32Array::from(vec![1]))),
            Err(DataFusionError::Plan("no".into())),
        ];
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, true)]));
        let result = futures::executor::block_on(print(
            stream(schema, batches),
            Format::Csv,
            Style::default(),
            &mut out,
        ));
        assert!(
            matches!(result, Err(PrintError::Query(DataFusionError::Plan(_)))),
            "{result:?}"
        );
        assert_eq!(out, b"n\n1\n");
    }

    #[test]
    fn a_query_that_fails_at_once_writes_nothing() {
        for format in Format::value_variants() {
            let mut out = Vec::new();
            let batches = vec![Err(DataFusionError::Plan("no".into()))];
            let result = futures::executor::block_on(print(
                stream(schema(), batches),
                *format,
                Style::default(),
                &mut out,
            ));
            assert!(
                matches!(result, Err(PrintError::Query(_))),
                "{format}: {result:?}"
            );
            assert!(out.is_empty(), "{format}");
        }
    }

    #[test]
    fn none_counts_and_writes_nothing() {
        assert_eq!(printed(Format::None, &[batch(), batch()]), "");
    }

    #[test]
    fn a_statement_without_columns_prints_no_header() {
        let nothing = Arc::new(Schema::empty());
        for format in Format::value_variants() {
            let text = bytes(*format, Arc::clone(&nothing), &[]).unwrap();
            match format {
                Format::Arrow | Format::Arrows | Format::Parquet => {
                    assert!(!text.is_empty(), "{format}")
                }
                Format::Table => assert_eq!(text, b"(0 rows)\n"),
                Format::Json => assert_eq!(text, b"[]\n"),
                _ => assert!(text.is_empty(), "{format}"),
            }
        }
    }

    #[test]
    fn floats_read_back_as_they_were() {
        let batch = one(
            "f",
            Float32Array::from(vec![0.1, 16_777_216.0, 1e-7, f32::NEG_INFINITY]),
        );
        let schema = batch.schema();
        assert_eq!(
            printed_as(
                Format::Csv,
                Arc::clone(&schema),
                std::slice::from_ref(&batch)
            ),
            "f\n0.1\n16777216.0\n1e-7\n-inf\n"
        );
        let wanted = "[{\"f\":0.1},{\"f\":16777216.0},{\"f\":1e-7},{\"f\":null}]\n";
        assert_eq!(printed_as(Format::Json, schema, &[batch]), wanted);
    }

    #[test]
    fn dictionaries_may_hold_null_among_their_values() {
        let values = Arc::new(StringArray::from(vec![Some("gpu"), None]));
        let keys = Int32Array::from(vec![Some(0), Some(1), None]);
        let batch = one("d", DictionaryArray::<Int32Type>::new(keys, values));
        let schema = batch.schema();
        let wanted = "{\"d\":\"gpu\"}\n{\"d\":null}\n{\"d\":null}\n";
        assert_eq!(
            printed_as(
                Format::Jsonl,
                Arc::clone(&schema),
                std::slice::from_ref(&batch)
            ),
            wanted
        );
        assert_eq!(printed_as(Format::Tsv, schema, &[batch]), "d\ngpu\n\n\n");
    }

    #[test]
    fn maps_are_objects_whatever_their_keys() {
        let mut map = MapBuilder::new(None, Int64Builder::new(), StringBuilder::new());
        map.keys().append_value(1);
        map.values().append_value("x");
        map.keys().append_value(-2);
        map.values().append_null();
        map.append(true).unwrap();
        map.append(false).unwrap();
        let batch = one("m", map.finish());
        let schema = batch.schema();
        let wanted = "{\"m\":{\"1\":\"x\",\"-2\":null}}\n{\"m\":null}\n";
        assert_eq!(
            printed_as(
                Format::Jsonl,
                Arc::clone(&schema),
                std::slice::from_ref(&batch)
            ),
            wanted
        );
        assert_eq!(
            printed_as(Format::Tsv, schema, &[batch]),
            "m\n{\"1\":\"x\",\"-2\":null}\n\n"
        );
    }

    #[test]
    fn unions_are_text() {
        let fields: UnionFields = [(0, Arc::new(Field::new("i", DataType::Int32, true)))]
            .into_iter()
            .collect();
        let children: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![5]))];
        let union =
            UnionArray::try_new(fields, ScalarBuffer::from(vec![0_i8]), None, children).unwrap();
        let batch = one("u", union);
        let schema = batch.schema();
        assert_eq!(
            printed_as(
                Format::Csv,
                Arc::clone(&schema),
                std::slice::from_ref(&batch)
            ),
            "u\n{i=5}\n"
        );
        assert_eq!(
            printed_as(
                Format::Json,
                Arc::clone(&schema),
                std::slice::from_ref(&batch)
            ),
            "[{\"u\":\"{i=5}\"}]\n"
        );
        let error = bytes(Format::Parquet, schema, &[batch]).unwrap_err();
        assert!(
            matches!(
                error,
                PrintError::Unsupported {
                    format: Format::Parquet,
                    ..
                }
            ),
            "{error}"
        );
        let wanted =
            "`parquet` cannot represent this result: Schema error: column `u` is a union\n";
        assert!(error.to_string().starts_with(wanted), "{error}");
    }

    #[test]
    fn ids_are_text_in_json_and_numbers_elsewhere() {
        let ids = Arc::new(Int64Array::from(vec![Some(7), None, Some(i64::MAX)])) as ArrayRef;
        let columns = [("graph_id", Arc::clone(&ids), true), ("line", ids, true)];
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let rows = std::slice::from_ref(&batch);
        assert_eq!(
            printed_as(Format::Jsonl, batch.schema(), rows),
            "{\"graph_id\":\"7\",\"line\":7}\n{\"graph_id\":null,\"line\":null}\n\
             {\"graph_id\":\"9223372036854775807\",\"line\":9223372036854775807}\n"
        );
        assert_eq!(
            printed_as(Format::Csv, batch.schema(), rows),
            "graph_id,line\n7,7\n,\n9223372036854775807,9223372036854775807\n"
        );
    }

    #[test]
    fn intervals_are_text_and_no_parquet() {
        let batch = one(
            "i",
            IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, 2, 0)]),
        );
        assert_eq!(
            printed_as(Format::Jsonl, batch.schema(), std::slice::from_ref(&batch)),
            "{\"i\":\"1 mons 2 days\"}\n"
        );
        let error = bytes(Format::Parquet, batch.schema(), &[batch]).unwrap_err();
        assert!(matches!(error, PrintError::Unsupported { .. }), "{error}");
    }

    #[test]
    fn an_instant_beyond_the_calendar_is_no_wrong_date() {
        let batch = one("at", TimestampSecondArray::from(vec![i64::MAX]));
        for format in [
            Format::Csv,
            Format::Tsv,
            Format::Json,
            Format::Jsonl,
            Format::Table,
        ] {
            let error = bytes(format, batch.schema(), std::slice::from_ref(&batch)).unwrap_err();
            assert!(
                matches!(error, PrintError::Unsupported { .. }),
                "{format}: {error}"
            );
        }
    }
}
