use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};

use super::super::Format;
use super::super::fixture::{batch, printed, printed_as, styled_bytes};
use super::*;

#[test]
fn table_aligns_every_type() {
    let wanted = "\
┌──────┬────────────┬──────────────┬──────────┬────────────────────────────┬──────┬─────────────────────────────┬───────┐
│   id │ runtime_ns │ name         │ tags     │ attributes                 │ hash │ at                          │ price │
├──────┼────────────┼──────────────┼──────────┼────────────────────────────┼──────┼─────────────────────────────┼───────┤
│    1 │ 13671200.0 │ conv2d       │ [1,null] │ {\"a\":1.5,\"b\":\"x\"}          │ 00ff │ 2024-02-29T12:30:00.000250Z │ 12.50 │
│ NULL │       NULL │ NULL         │ NULL     │ NULL                       │ NULL │ NULL                        │  NULL │
│    3 │        NaN │ a,\"b\"\\tc|d\\… │ []       │ {\"a\":null,\"b\":null}        │      │ 1970-01-01T00:00:00Z        │ -0.05 │
│    4 │       1e22 │              │ [7]      │ {\"a\":15000000000.0,\"b\":\"\"} │ 0a   │ 1969-12-31T23:59:59Z        │  0.00 │
└──────┴────────────┴──────────────┴──────────┴────────────────────────────┴──────┴─────────────────────────────┴───────┘
(4 rows)
";
    assert_eq!(printed(Format::Table, &[batch()]), wanted);
}

#[test]
fn table_without_rows_shows_the_columns() {
    let wanted = "\
┌────┬────────────┬──────┬──────┬────────────┬──────┬────┬───────┐
│ id │ runtime_ns │ name │ tags │ attributes │ hash │ at │ price │
├────┼────────────┼──────┼──────┼────────────┼──────┼────┼───────┤
└────┴────────────┴──────┴──────┴────────────┴──────┴────┴───────┘
(0 rows)
";
    assert_eq!(printed(Format::Table, &[]), wanted);
}

#[test]
fn wide_characters_count_as_two_columns() {
    let names = StringArray::from(vec!["日本", "é"]);
    let batch = RecordBatch::try_from_iter([("n", Arc::new(names) as ArrayRef)]).unwrap();
    let wanted = "┌──────┐\n│ n    │\n├──────┤\n│ 日本 │\n│ é    │\n└──────┘\n(2 rows)\n";
    assert_eq!(printed_as(Format::Table, batch.schema(), &[batch]), wanted);
}

#[test]
fn rows_beyond_the_measured_ones_are_not_cut() {
    let limit = i64::try_from(MEASURED_ROWS).unwrap();
    let first = Int64Array::from_iter_values(0..limit);
    let rest = Int64Array::from_iter_values([7, 123_456_789]);
    let batches = [first, rest]
        .map(|column| RecordBatch::try_from_iter([("n", Arc::new(column) as ArrayRef)]).unwrap());
    let text = printed_as(Format::Table, batches[0].schema(), &batches);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), MEASURED_ROWS + 2 + 5);
    assert_eq!(
        lines[lines.len() - 5..],
        [
            "│ 9999 │",
            "│    7 │",
            "│ 123456789 │",
            "└──────┘",
            "(10002 rows)"
        ]
    );
}

/// Returns texts with wide, joined, combining and control characters, a long text, numbers and NULL.
fn odd() -> RecordBatch {
    let names = [
        "日本語",
        "👩\u{200d}🔬 lab",
        "e\u{301}te\u{301}",
        &"long ".repeat(60),
        "\u{1b}[2J",
    ];
    let numbers = (0..5).map(|number| (number != 1).then_some(number * 123_456_789));
    let columns: [(&str, ArrayRef); 3] = [
        ("name", Arc::new(StringArray::from(names.to_vec()))),
        ("runtime_ns", Arc::new(numbers.collect::<Int64Array>())),
        ("note", Arc::new(StringArray::from(names.to_vec()))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

fn styled(style: Style, batches: &[RecordBatch]) -> String {
    let schema = batches[0].schema();
    String::from_utf8(styled_bytes(Format::Table, style, schema, batches).unwrap()).unwrap()
}

fn width(width: usize) -> Style {
    Style {
        width: Some(width),
        ..Style::default()
    }
}

#[test]
fn no_line_is_wider_than_the_screen_and_no_number_is_cut() {
    for columns in [80, 120, 200] {
        for wraps in [false, true] {
            let style = Style {
                wraps,
                ..width(columns)
            };
            for batches in [
                vec![odd()],
                vec![odd().slice(0, 0)],
                vec![odd().slice(0, 1)],
                vec![batch()],
            ] {
                let text = styled(style, &batches);
                let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap();
                assert!(widest <= columns, "{text}");
                let borders = text.lines().filter(|line| !line.starts_with('('));
                let mut widths: Vec<usize> = borders.map(UnicodeWidthStr::width).collect();
                widths.dedup();
                assert_eq!(widths.len(), 1, "{text}");
            }
            let text = styled(style, &[odd()]);
            assert!(text.contains(" 493827156 │"), "{text}");
            assert_eq!(wraps, text.matches("long").count() == 120, "{text}");
        }
    }
}

#[test]
fn columns_beyond_the_screen_are_counted() {
    let column = |name: String| {
        (
            name,
            Arc::new(Int64Array::from(vec![1_234_567_890])) as ArrayRef,
        )
    };
    let columns = (0..20).map(|number| column(format!("c{number}")));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let wanted = "\
┌────────────┬────────────┬────────────┬───┬────────────┬────────────┐
│         c0 │         c1 │         c2 │ … │        c18 │        c19 │
├────────────┼────────────┼────────────┼───┼────────────┼────────────┤
│ 1234567890 │ 1234567890 │ 1234567890 │ … │ 1234567890 │ 1234567890 │
└────────────┴────────────┴────────────┴───┴────────────┴────────────┘
(1 row; 5 of 20 columns, --format vertical shows all)
";
    assert_eq!(styled(width(80), &[batch]), wanted);
}

#[test]
fn null_columns_give_way_to_columns_with_values() {
    let column = |number: i64| {
        let value = (number % 5 == 4).then_some(1_234_567_890 + number);
        let values = Arc::new(Int64Array::from(vec![value])) as ArrayRef;
        (format!("column_{number}"), values, true)
    };
    let batch = RecordBatch::try_from_iter_with_nullable((0..20).map(column)).unwrap();
    let text = styled(width(80), std::slice::from_ref(&batch));
    for number in [4, 9, 14, 19] {
        assert!(text.contains(&format!("column_{number} │")), "{text}");
    }
    let footer = "(1 row; 4 of 20 columns (16 are NULL), --format vertical shows all)";
    assert!(text.contains(footer), "{text}");
    // All columns are shown if they fit.
    let few = batch.project(&[0, 4]).unwrap();
    assert!(styled(width(80), &[few]).contains("column_0"));
}

#[test]
fn rows_in_the_middle_are_counted() {
    let batch = |rows: std::ops::Range<i64>| {
        let column = Arc::new(Int64Array::from_iter_values(rows)) as ArrayRef;
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    };
    let shown = |rows: usize, batches: &[RecordBatch]| {
        let style = Style {
            max_rows: Some(rows),
            ..Style::default()
        };
        let text = styled(style, batches);
        let lines = text.lines().skip(3).filter(|line| !line.starts_with('└'));
        lines
            .map(|line| line.trim_matches(['│', ' ']).to_owned())
            .collect::<Vec<_>>()
    };
    let wanted = ["0", "1", "2", "⋮", "998", "999", "(1000 rows, 5 shown)"];
    assert_eq!(shown(5, &[batch(0..1000)]), wanted);
    assert_eq!(
        shown(5, &[batch(0..3), batch(3..500), batch(500..1000)]),
        wanted
    );
    assert_eq!(
        shown(4, &[batch(0..5)]),
        ["0", "1", "⋮", "3", "4", "(5 rows, 4 shown)"]
    );
    assert_eq!(shown(2, &[batch(0..2)]), ["0", "1", "(2 rows)"]);
    assert_eq!(shown(1, &[batch(0..9)]), ["0", "⋮", "(9 rows, 1 shown)"]);
    assert_eq!(shown(0, &[batch(0..9)]), ["⋮", "(9 rows, 0 shown)"]);
}

#[test]
fn times_are_shown_in_units() {
    let style = Style {
        units: true,
        ..Style::default()
    };
    let text = styled(style, &[odd().slice(1, 2)]);
    assert!(
        text.contains("│       NULL │") && text.contains("│   246.9 ms │"),
        "{text}"
    );
}

#[test]
fn floats_are_rounded_before_a_column_is_left_out() {
    let floats = |name: &str| {
        let column = Float64Array::from(vec![1026513.3333333334, 0.008603040300485643]);
        (name.to_owned(), Arc::new(column) as ArrayRef)
    };
    let batch = |columns: usize| {
        let names = (0..columns).map(|number| floats(&format!("c{number}")));
        RecordBatch::try_from_iter(names).unwrap()
    };
    let fitting = styled(width(80), &[batch(3)]);
    assert!(fitting.contains("1026513.3333333334 │"), "{fitting}");
    assert!(fitting.ends_with("(2 rows)\n"), "{fitting}");
    let rounded = styled(width(80), &[batch(5)]);
    let row = "│  1026513.3 │  1026513.3 │  1026513.3 │  1026513.3 │  1026513.3 │";
    assert!(rounded.contains(row), "{rounded}");
    assert!(rounded.contains("│ 0.00860304 │"), "{rounded}");
    let footer = "(2 rows; floats rounded, --format vertical shows all)\n";
    assert!(rounded.ends_with(footer), "{rounded}");
}

#[test]
fn the_runtime_is_shown_on_a_narrow_screen() {
    let id = -7_773_659_707_213_937_057;
    let integer = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
    let columns = [
        (
            "dataset",
            Arc::new(StringArray::from(vec!["tenset"])) as ArrayRef,
        ),
        ("platform", Arc::new(StringArray::from(vec!["epyc-1t"]))),
        ("graph_id", integer(id)),
        ("config_id", integer(0)),
        (
            "runtime_ns",
            Arc::new(Float64Array::from(vec![1026513.3333333334])),
        ),
        ("repeat_count", integer(3)),
        ("environment_id", integer(id)),
        ("source_id", integer(id)),
        ("line", integer(3)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let wanted = "\
┌─────────┬──────────┬──────────────────────┬───────────┬────────────┬───┐
│ dataset │ platform │             graph_id │ config_id │ runtime_ns │ … │
├─────────┼──────────┼──────────────────────┼───────────┼────────────┼───┤
│ tenset  │ epyc-1t  │ -7773659707213937057 │         0 │  1026513.3 │ … │
└─────────┴──────────┴──────────────────────┴───────────┴────────────┴───┘
(1 row; 5 of 9 columns, floats rounded, --format vertical shows all)
";
    assert_eq!(styled(width(80), &[batch]), wanted);
}
