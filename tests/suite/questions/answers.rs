//! Answers as cells, and whether two of them are the same.

use std::cmp::Ordering;

use arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use serde_json::Value;

/// Numbers that differ by no more than this part of themselves are equal: engines add in different
/// orders.
const TOLERANCE: f64 = 1e-9;

/// Numbers as small as this are equal: what is left where sums cancel out.
const NOTHING: f64 = 1e-13;

/// Rows that found no partner at once and are compared with each other all the same.
const UNPAIRED: usize = 500;

/// A value, whatever the engine's type of it.
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
    pub(super) fn text(of: impl Into<String>) -> Self {
        Self::Text(of.into())
    }

    /// What `tests/python/answers.py` writes.
    pub(super) fn of_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Flag(*flag),
            Value::Number(number) => number
                .as_i64()
                .map_or_else(|| Self::Number(number.as_f64().unwrap()), Self::Whole),
            Value::String(text) => Self::text(text),
            Value::Array(cells) => Self::List(cells.iter().map(Self::of_json).collect()),
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

    fn is(&self, other: &Self) -> bool {
        if let (Self::List(left), Self::List(right)) = (self, other) {
            return are(left, right);
        }
        let both = (self.number(), other.number());
        match (self, other, both) {
            (Self::Number(_), _, (Some(a), Some(b))) | (_, Self::Number(_), (Some(a), Some(b))) => {
                let near = (a - b).abs();
                a == b
                    || (a.is_nan() && b.is_nan())
                    || near <= TOLERANCE * a.abs().max(b.abs())
                    || near <= NOTHING
            }
            _ => self == other,
        }
    }

    /// Sorts equal cells next to each other, unless rounding comes between.
    fn order(&self, other: &Self) -> Ordering {
        let rounded = |number: f64| format!("{number:.5e}").parse::<f64>().unwrap_or(number);
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) | (Self::Time(a), Self::Time(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Flag(a), Self::Flag(b)) => a.cmp(b),
            (Self::List(a), Self::List(b)) => order(a, b),
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

fn are(left: &[Cell], right: &[Cell]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(a, b)| a.is(b))
}

fn order(left: &[Cell], right: &[Cell]) -> Ordering {
    let cells = left.iter().zip(right).map(|(a, b)| a.order(b));
    let first = cells.into_iter().find(|order| order.is_ne());
    first.unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// Why the answers are not the same; `None` where they are. Without an order they are bags of rows.
pub(super) fn difference(
    mut ours: Vec<Row>,
    mut theirs: Vec<Row>,
    ordered: bool,
) -> Option<String> {
    let shown = |rows: &[Row]| format!("{:?}", &rows[..rows.len().min(3)]);
    if ours.len() != theirs.len() {
        let (a, b) = (shown(&ours), shown(&theirs));
        return Some(format!(
            "{} rows and not {}: {a} and not {b}",
            ours.len(),
            theirs.len()
        ));
    }
    if !ordered {
        ours.sort_by(|a, b| order(a, b));
        theirs.sort_by(|a, b| order(a, b));
    }
    let pairs = ours.into_iter().zip(theirs);
    let (mut ours, mut theirs): (Vec<Row>, Vec<Row>) = pairs.filter(|(a, b)| !are(a, b)).unzip();
    if !ordered && ours.len() <= UNPAIRED {
        ours.retain(|row| {
            let partner = theirs.iter().position(|other| are(row, other));
            partner.map(|place| theirs.swap_remove(place)).is_none()
        });
    }
    let (a, b) = (shown(&ours), shown(&theirs));
    (!ours.is_empty()).then(|| format!("{} rows differ: {a} and not {b}", ours.len()))
}

/// The rows of an answer of tsql.
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
fn answers_are_compared_as_bags_or_in_order() {
    let row = |number: f64, text: &str| vec![Cell::Number(number), Cell::text(text)];
    let ours = vec![row(1.0, "a"), row(2.0, "b"), row(2.0, "b")];
    let turned = vec![
        row(2.0, "b"),
        vec![Cell::Whole(1), Cell::text("a")],
        row(2.0 + 1e-10, "b"),
    ];
    assert_eq!(difference(ours.clone(), turned.clone(), false), None);
    assert!(difference(ours.clone(), turned, true).is_some());
    for (other, why) in [
        (vec![row(1.0, "a"), row(2.0, "b")], "a row is missing"),
        (
            vec![row(1.0, "a"), row(1.0, "a"), row(2.0, "b")],
            "another row stands twice",
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
        assert!(difference(ours.clone(), other, false).is_some(), "{why}");
    }
    let lists = |last: f64| vec![vec![Cell::List(vec![Cell::Null, Cell::Number(last)])]];
    assert_eq!(difference(lists(3.0), lists(3.0), false), None);
    assert!(difference(lists(3.0), lists(3.1), false).is_some());
}
