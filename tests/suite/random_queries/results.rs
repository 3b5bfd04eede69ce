//! Results as cells, and their comparison.

use std::cmp::Ordering;

use arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use serde_json::Value;

/// Maximum relative difference of equal numbers. Engines add in different orders.
const RELATIVE_TOLERANCE: f64 = 1e-9;

/// Maximum absolute difference of equal numbers, for totals that cancel out.
const ABSOLUTE_TOLERANCE: f64 = 1e-13;

/// Maximum number of unmatched rows that are compared pairwise.
const MAX_UNPAIRED: usize = 500;

/// A value, independent of the engine's data type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    /// Microseconds since 1970.
    Time(i64),
    List(Vec<Cell>),
}

pub(super) type Row = Vec<Cell>;

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Parses a cell that `tests/python/query_server.py` wrote.
    pub(super) fn from_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Flag(*flag),
            Value::Number(number) => number
                .as_i64()
                .map_or_else(|| Self::Number(number.as_f64().unwrap()), Self::Whole),
            Value::String(text) => Self::text(text),
            Value::Array(cells) => Self::List(cells.iter().map(Self::from_json).collect()),
            Value::Object(tagged) => match tagged.get("us") {
                Some(time) => Self::Time(time.as_i64().unwrap()),
                None => Self::Number(tagged["number"].as_str().unwrap().parse().unwrap()),
            },
        }
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "compared with a tolerance that is wider"
    )]
    fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(whole) => Some(*whole as f64),
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn equals(&self, other: &Self) -> bool {
        if let (Self::List(left), Self::List(right)) = (self, other) {
            return rows_are_equal(left, right);
        }
        let both = (self.number(), other.number());
        match (self, other, both) {
            (Self::Number(_), _, (Some(a), Some(b))) | (_, Self::Number(_), (Some(a), Some(b))) => {
                let distance = (a - b).abs();
                a == b
                    || (a.is_nan() && b.is_nan())
                    || distance <= RELATIVE_TOLERANCE * a.abs().max(b.abs())
                    || distance <= ABSOLUTE_TOLERANCE
            }
            _ => self == other,
        }
    }

    /// Sorts equal cells next to each other, except for cells that round differently.
    fn order(&self, other: &Self) -> Ordering {
        let rounded = |number: f64| format!("{number:.5e}").parse::<f64>().unwrap_or(number);
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) | (Self::Time(a), Self::Time(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Flag(a), Self::Flag(b)) => a.cmp(b),
            (Self::List(a), Self::List(b)) => compare_cells(a, b),
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => rounded(a).total_cmp(&rounded(b)),
                _ => self.rank().cmp(&other.rank()),
            },
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Flag(_) => 1,
            Self::Whole(_) | Self::Number(_) => 2,
            Self::Text(_) => 3,
            Self::Time(_) => 4,
            Self::List(_) => 5,
        }
    }
}

fn rows_are_equal(left: &[Cell], right: &[Cell]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(a, b)| a.equals(b))
}

fn compare_cells(left: &[Cell], right: &[Cell]) -> Ordering {
    let cells = left.iter().zip(right).map(|(a, b)| a.order(b));
    let first = cells.into_iter().find(|order| order.is_ne());
    first.unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// Describes how two results differ; `None` if they are equal. Unordered results are compared as bags of rows.
pub(super) fn difference(
    mut result: Vec<Row>,
    mut expected: Vec<Row>,
    ordered: bool,
) -> Option<String> {
    let shown = |rows: &[Row]| format!("{:?}", &rows[..rows.len().min(3)]);
    if result.len() != expected.len() {
        let (a, b) = (shown(&result), shown(&expected));
        return Some(format!(
            "{} rows and not {}: {a} and not {b}",
            result.len(),
            expected.len()
        ));
    }
    if !ordered {
        result.sort_by(|a, b| compare_cells(a, b));
        expected.sort_by(|a, b| compare_cells(a, b));
    }
    let pairs = result.into_iter().zip(expected);
    let (mut result, mut expected): (Vec<Row>, Vec<Row>) =
        pairs.filter(|(a, b)| !rows_are_equal(a, b)).unzip();
    if !ordered && result.len() <= MAX_UNPAIRED {
        result.retain(|row| {
            let partner = expected.iter().position(|other| rows_are_equal(row, other));
            partner.map(|index| expected.swap_remove(index)).is_none()
        });
    }
    let (a, b) = (shown(&result), shown(&expected));
    (!result.is_empty()).then(|| format!("{} rows differ: {a} and not {b}", result.len()))
}

/// The rows of a result of tsql.
pub(super) fn rows(batches: &[RecordBatch]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<Vec<Cell>> = batch.columns().iter().map(cells).collect();
        rows.extend(
            (0..batch.num_rows())
                .map(|row| -> Row { columns.iter().map(|column| column[row].clone()).collect() }),
        );
    }
    rows
}

fn cells(array: &ArrayRef) -> Vec<Cell> {
    fn some<T>(values: impl Iterator<Item = Option<T>>, cell: impl Fn(T) -> Cell) -> Vec<Cell> {
        values
            .map(|value| value.map_or(Cell::Null, &cell))
            .collect()
    }
    let to = |kind: &DataType| cast(array, kind).unwrap();
    match array.data_type() {
        DataType::Null => vec![Cell::Null; array.len()],
        DataType::Boolean => some(array.as_boolean().iter(), Cell::Flag),
        DataType::List(_) => some(array.as_list::<i32>().iter(), |list| {
            Cell::List(cells(&list))
        }),
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => some(array.as_primitive::<TimestampSecondType>().iter(), |time| {
                Cell::Time(time * 1_000_000)
            }),
            TimeUnit::Millisecond => some(
                array.as_primitive::<TimestampMillisecondType>().iter(),
                |time| Cell::Time(time * 1000),
            ),
            TimeUnit::Microsecond => some(
                array.as_primitive::<TimestampMicrosecondType>().iter(),
                Cell::Time,
            ),
            TimeUnit::Nanosecond => some(
                array.as_primitive::<TimestampNanosecondType>().iter(),
                |time| Cell::Time(time.div_euclid(1000)),
            ),
        },
        DataType::Date32 => some(
            to(&DataType::Int32)
                .as_primitive::<arrow::datatypes::Int32Type>()
                .iter(),
            |day| Cell::Time(i64::from(day) * 86_400_000_000),
        ),
        kind if kind.is_integer() => some(
            to(&DataType::Int64).as_primitive::<Int64Type>().iter(),
            Cell::Whole,
        ),
        kind if kind.is_numeric() => some(
            to(&DataType::Float64).as_primitive::<Float64Type>().iter(),
            Cell::Number,
        ),
        _ => some(to(&DataType::Utf8).as_string::<i32>().iter(), Cell::text),
    }
}

#[test]
#[ignore = "full tier"]
fn results_are_compared_as_bags_or_in_order() {
    let row = |number: f64, text: &str| vec![Cell::Number(number), Cell::text(text)];
    let result = vec![row(1.0, "a"), row(2.0, "b"), row(2.0, "b")];
    let turned = vec![
        row(2.0, "b"),
        vec![Cell::Whole(1), Cell::text("a")],
        row(2.0 + 1e-10, "b"),
    ];
    assert_eq!(difference(result.clone(), turned.clone(), false), None);
    assert!(difference(result.clone(), turned, true).is_some());
    for (other, why) in [
        (vec![row(1.0, "a"), row(2.0, "b")], "a row is missing"),
        (
            vec![row(1.0, "a"), row(1.0, "a"), row(2.0, "b")],
            "another row occurs twice",
        ),
        (
            vec![row(1.0 + 1e-8, "a"), row(2.0, "b"), row(2.0, "b")],
            "another number",
        ),
        (
            vec![
                vec![Cell::Null, Cell::text("a")],
                row(2.0, "b"),
                row(2.0, "b"),
            ],
            "a NULL",
        ),
    ] {
        assert!(difference(result.clone(), other, false).is_some(), "{why}");
    }
    let lists = |last: f64| vec![vec![Cell::List(vec![Cell::Null, Cell::Number(last)])]];
    assert_eq!(difference(lists(3.0), lists(3.0), false), None);
    assert!(difference(lists(3.0), lists(3.1), false).is_some());
}
