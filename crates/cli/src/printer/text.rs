//! Text for programs: CSV, TSV, JSON and JSON lines, written batch by batch.
//!
//! CSV and TSV do not distinguish NULL from the empty text. The JSON and binary formats do.

use std::io::Write;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::csv;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::json::EncoderOptions;
use arrow::json::writer::{JsonArray, JsonFormat, LineDelimited, Writer, WriterBuilder};
use tsql_engine::text_values::{TsqlEncoders, flatten_columns, json_options};

use super::sink::Sink;
use super::value::Column;

/// Writer of CSV by RFC 4180, with `\n` as line end.
pub(super) struct Csv<O: Write> {
    writer: csv::Writer<O>,
    options: EncoderOptions,
}

impl<O: Write> Csv<O> {
    /// Creates the writer, and writes the header.
    pub(super) fn new(schema: &SchemaRef, out: O) -> Result<Self, ArrowError> {
        let mut sink = Self {
            writer: csv::Writer::new(out),
            options: json_options(),
        };
        sink.write(&RecordBatch::new_empty(Arc::clone(schema)))?;
        Ok(sink)
    }
}

impl<O: Write> Sink for Csv<O> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.writer.write(&flatten_columns(batch, &self.options)?)
    }

    fn finish(&mut self, _rows: u64) -> Result<(), ArrowError> {
        Ok(())
    }
}

/// Writer of one line per row, with tabs between values. Tabs, line ends and backslashes are escaped as `\t`, `\n`,
/// `\r` and `\\`.
pub(super) struct Tsv<O> {
    out: O,
    options: EncoderOptions,
}

impl<O: Write> Tsv<O> {
    /// Creates the writer, and writes the header.
    pub(super) fn new(schema: &SchemaRef, mut out: O) -> Result<Self, ArrowError> {
        let mut line = String::new();
        for field in schema.fields() {
            escape_tsv(field.name(), &mut line);
            line.push('\t');
        }
        write_tsv_line(&mut line, &mut out)?;
        Ok(Self {
            out,
            options: json_options(),
        })
    }
}

impl<O: Write> Sink for Tsv<O> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let mut columns = Column::from_batch(batch, &self.options, "")?;
        let (mut line, mut value) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            for column in &mut columns {
                value.clear();
                column.write(row, &mut value)?;
                escape_tsv(&value, &mut line);
                line.push('\t');
            }
            write_tsv_line(&mut line, &mut self.out)?;
        }
        Ok(self.out.flush()?)
    }

    fn finish(&mut self, _rows: u64) -> Result<(), ArrowError> {
        Ok(self.out.flush()?)
    }
}

/// Writes `line` with a line end in place of its last tab, and clears it.
fn write_tsv_line(line: &mut String, out: &mut impl Write) -> Result<(), ArrowError> {
    line.pop();
    line.push('\n');
    out.write_all(line.as_bytes())?;
    line.clear();
    Ok(())
}

fn escape_tsv(value: &str, line: &mut String) {
    for character in value.chars() {
        match character {
            '\t' => line.push_str("\\t"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\\' => line.push_str("\\\\"),
            other => line.push(other),
        }
    }
}

/// Writer of an array with one object per row, and a line end.
pub(super) type Json<O> = Objects<O, JsonArray>;

/// Writer of one object per line.
pub(super) type JsonLines<O> = Objects<O, LineDelimited>;

/// Writer of one JSON object per row, joined as `F` defines.
pub(super) struct Objects<O: Write, F: JsonFormat> {
    writer: Writer<O, F>,
    /// Text after the last byte that Arrow writes.
    end: &'static str,
}

impl<O: Write, F: JsonFormat> Objects<O, F> {
    fn with_end(out: O, end: &'static str) -> Self {
        let builder = WriterBuilder::new()
            .with_explicit_nulls(true)
            .with_encoder_factory(Arc::new(TsqlEncoders));
        Self {
            writer: builder.build(out),
            end,
        }
    }
}

impl<O: Write> Json<O> {
    pub(super) fn array(out: O) -> Self {
        Self::with_end(out, "\n")
    }
}

impl<O: Write> JsonLines<O> {
    pub(super) fn lines(out: O) -> Self {
        Self::with_end(out, "")
    }
}

impl<O: Write, F: JsonFormat> Sink for Objects<O, F> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.writer.write(batch)?;
        Ok(self.writer.get_mut().flush()?)
    }

    fn finish(&mut self, _rows: u64) -> Result<(), ArrowError> {
        self.writer.finish()?;
        self.writer.get_mut().write_all(self.end.as_bytes())?;
        Ok(self.writer.get_mut().flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::fixture::{batch, empty, printed};

    #[test]
    fn csv_follows_rfc_4180() {
        let wanted = concat!(
            "id,runtime_ns,name,tags,attributes,hash,at,price\n",
            "1,13671200.0,conv2d,\"[1,null]\",\"{\"\"a\"\":1.5,\"\"b\"\":\"\"x\"\"}\",00ff,2024-02-29T12:30:00.000250Z,12.50\n",
            ",,,,,,,\n",
            "3,NaN,\"a,\"\"b\"\"\tc|d\\\ne\",[],\"{\"\"a\"\":null,\"\"b\"\":null}\",,1970-01-01T00:00:00Z,-0.05\n",
            "4,1e22,,[7],\"{\"\"a\"\":15000000000.0,\"\"b\"\":\"\"\"\"}\",0a,1969-12-31T23:59:59Z,0.00\n",
        );
        assert_eq!(printed(Format::Csv, &[batch()]), wanted);
    }

    #[test]
    fn tsv_keeps_a_row_on_a_line() {
        let wanted = concat!(
            "id\truntime_ns\tname\ttags\tattributes\thash\tat\tprice\n",
            "1\t13671200.0\tconv2d\t[1,null]\t{\"a\":1.5,\"b\":\"x\"}\t00ff\t2024-02-29T12:30:00.000250Z\t12.50\n",
            "\t\t\t\t\t\t\t\n",
            "3\tNaN\ta,\"b\"\\tc|d\\\\\\ne\t[]\t{\"a\":null,\"b\":null}\t\t1970-01-01T00:00:00Z\t-0.05\n",
            "4\t1e22\t\t[7]\t{\"a\":15000000000.0,\"b\":\"\"}\t0a\t1969-12-31T23:59:59Z\t0.00\n",
        );
        assert_eq!(printed(Format::Tsv, &[batch()]), wanted);
    }

    const OBJECTS: [&str; 4] = [
        r#"{"id":1,"runtime_ns":13671200.0,"name":"conv2d","tags":[1,null],"attributes":{"a":1.5,"b":"x"},"hash":"00ff","at":"2024-02-29T12:30:00.000250Z","price":12.50}"#,
        r#"{"id":null,"runtime_ns":null,"name":null,"tags":null,"attributes":null,"hash":null,"at":null,"price":null}"#,
        r#"{"id":3,"runtime_ns":null,"name":"a,\"b\"\tc|d\\\ne","tags":[],"attributes":{"a":null,"b":null},"hash":"","at":"1970-01-01T00:00:00Z","price":-0.05}"#,
        r#"{"id":4,"runtime_ns":1e22,"name":"","tags":[7],"attributes":{"a":15000000000.0,"b":""},"hash":"0a","at":"1969-12-31T23:59:59Z","price":0.00}"#,
    ];

    #[test]
    fn json_is_one_array_over_all_batches() {
        let wanted = format!("[{},{}]\n", OBJECTS.join(","), OBJECTS.join(","));
        assert_eq!(printed(Format::Json, &[batch(), empty(), batch()]), wanted);
    }

    #[test]
    fn jsonl_is_an_object_a_line() {
        assert_eq!(
            printed(Format::Jsonl, &[batch()]),
            format!("{}\n", OBJECTS.join("\n"))
        );
    }

    #[test]
    fn results_without_rows_have_their_columns() {
        let names = [
            "id",
            "runtime_ns",
            "name",
            "tags",
            "attributes",
            "hash",
            "at",
            "price",
        ];
        assert_eq!(printed(Format::Csv, &[]), names.join(",") + "\n");
        assert_eq!(printed(Format::Tsv, &[]), names.join("\t") + "\n");
        assert_eq!(printed(Format::Json, &[]), "[]\n");
        assert_eq!(printed(Format::Json, &[empty()]), "[]\n");
        assert_eq!(printed(Format::Jsonl, &[]), "");
    }
}
