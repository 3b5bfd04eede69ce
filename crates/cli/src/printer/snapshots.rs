//! Complete output of each format, compared with the files in `tests/snapshots`.
//! `TSQL_WRITE_SNAPSHOTS=1 cargo test --lib snapshots` updates the files, for review.
//!
//! The results have no row, one row and many rows, with NULL, nested values, bytes, long text, wide characters and many
//! columns. They are printed for a pipe, and tables also for screens of 80, 120 and 200 columns.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, ListArray, MapBuilder, RecordBatch};
use arrow::array::{Int64Builder, StringArray, StringBuilder};
use arrow::compute::concat_batches;
use arrow::datatypes::Int64Type;
use arrow::ipc::reader::{FileReader, StreamReader};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::fixture::{self, batch, empty, schema, styled_bytes};
use super::{Format, Style};

/// Variable that updates the files.
const WRITES: &str = "TSQL_WRITE_SNAPSHOTS";

/// Returns the results with their descriptions.
fn results() -> Vec<(&'static str, RecordBatch)> {
    let three = [batch(), batch(), batch()];
    vec![
        ("no row", empty()),
        ("one row", batch().slice(0, 1)),
        ("rows with NULL, nested values and bytes", batch()),
        ("many rows", concat_batches(&schema(), &three).unwrap()),
        ("many columns", wide()),
        ("long text and wide characters", long()),
        ("maps and long lists", nested()),
    ]
}

/// Returns a result with more columns than fit on any screen.
fn wide() -> RecordBatch {
    let column = |number: i64| {
        let values: ArrayRef = match number % 3 {
            0 => Arc::new(Int64Array::from(vec![number * 1_000_003, -number])),
            1 => Arc::new(StringArray::from(vec![Some("conv2d_nhwc"), None])),
            _ => Arc::new(Float64Array::from(vec![0.1, 1e15])),
        };
        (format!("column_{number}"), values)
    };
    RecordBatch::try_from_iter((0..20).map(column)).unwrap()
}

fn long() -> RecordBatch {
    let words = "the quick brown fox jumps over the lazy dog ".repeat(6);
    let texts = StringArray::from(vec![
        words.as_str(),
        "a line\nand another\n\tindented",
        "漢字とひらがな、カタカナも。".repeat(4).as_str(),
        "e\u{301} 👩‍🚀 größe",
        "",
    ]);
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5]))),
        ("text", Arc::new(texts)),
        (
            "runtime_ns",
            Arc::new(Float64Array::from(vec![
                1.0,
                999.5,
                1e4,
                12_345_678.9,
                9e12,
            ])),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn nested() -> RecordBatch {
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for (key, value) in [("ok", 4153), ("failed", 86)] {
        map.keys().append_value(key);
        map.values().append_value(value);
    }
    map.append(true).unwrap();
    map.append(true).unwrap();
    map.append(false).unwrap();
    let numbers = |count: i64| Some((0..count).map(Some));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([numbers(60), numbers(0), None]);
    let columns: [(&str, ArrayRef); 2] = [
        ("histogram", Arc::new(map.finish())),
        ("slots", Arc::new(lists)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

/// Prints all results in a format and style.
fn printed(format: Format, style: Style) -> String {
    let mut text = String::new();
    for (name, batch) in results() {
        let out = styled_bytes(format, style, batch.schema(), &[batch]).unwrap();
        let out = String::from_utf8(out).unwrap();
        let _ = writeln!(text, "== {name} ==\n{out}");
    }
    text
}

fn screen(width: usize) -> Style {
    Style {
        width: Some(width),
        max_rows: Some(6),
        ..Style::default()
    }
}

#[test]
fn each_format_prints_its_snapshot() {
    let pipe = Style::default();
    let units = Style {
        units: true,
        wraps: true,
        ..screen(100)
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/snapshots");
    let mut wrong = Vec::new();
    for (file, format, style) in [
        ("csv.txt", Format::Csv, pipe),
        ("tsv.txt", Format::Tsv, pipe),
        ("json.txt", Format::Json, pipe),
        ("jsonl.txt", Format::Jsonl, pipe),
        ("markdown.txt", Format::Markdown, pipe),
        ("latex.txt", Format::Latex, pipe),
        ("vertical.txt", Format::Vertical, pipe),
        ("table_pipe.txt", Format::Table, pipe),
        ("table_80.txt", Format::Table, screen(80)),
        ("table_120.txt", Format::Table, screen(120)),
        ("table_200.txt", Format::Table, screen(200)),
        ("table_units_wrapped.txt", Format::Table, units),
        ("none.txt", Format::None, pipe),
    ] {
        let found = printed(format, style);
        let path = folder.join(file);
        if std::env::var_os(WRITES).is_some() {
            fs::write(&path, &found).unwrap();
        }
        let wanted = fs::read_to_string(&path).unwrap_or_default();
        if found != wanted {
            let lines = found.lines().zip(wanted.lines());
            let differ = lines.clone().position(|(one, other)| one != other);
            let first = differ.and_then(|line| found.lines().nth(line));
            wrong.push(format!("{file}, line {differ:?}: {first:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\n({WRITES}=1 rewrites them)",
        wrong.join("\n")
    );
}

#[test]
fn no_line_of_a_table_is_wider_than_the_screen() {
    for width in [80, 120, 200] {
        for line in printed(Format::Table, screen(width)).lines() {
            let own = unicode_width::UnicodeWidthStr::width(line);
            assert!(own <= width, "{own} of {width}: {line}");
        }
    }
}

#[test]
fn binary_formats_read_back_as_what_was_printed() {
    for (name, batch) in results() {
        let out =
            |format| fixture::bytes(format, batch.schema(), std::slice::from_ref(&batch)).unwrap();
        let file = FileReader::try_new(std::io::Cursor::new(out(Format::Arrow)), None).unwrap();
        let stream =
            StreamReader::try_new(std::io::Cursor::new(out(Format::Arrows)), None).unwrap();
        let parquet = bytes::Bytes::from(out(Format::Parquet));
        let parquet = ParquetRecordBatchReaderBuilder::try_new(parquet).unwrap();
        let all: [(&str, Vec<RecordBatch>); 3] = [
            ("arrow", file.map(Result::unwrap).collect()),
            ("arrows", stream.map(Result::unwrap).collect()),
            (
                "parquet",
                parquet.build().unwrap().map(Result::unwrap).collect(),
            ),
        ];
        for (format, batches) in all {
            let found = concat_batches(&batch.schema(), &batches).unwrap();
            assert_eq!(found, batch, "{format}: {name}");
        }
    }
}
