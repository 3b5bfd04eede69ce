//! Which arrays of a file are the columns of a table.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use tsql_formats::npz::Array;

use super::element::Element;
use crate::error::nearest;

/// Most numbers of a row: more are no row, but a table by themselves.
const MAX_ROW: usize = 1 << 24;

/// Most rows of a table whose rows have no bytes: nothing but the shape of an array says how many they are.
const MAX_EMPTY_ROWS: u64 = 1 << 24;

/// Most arrays of a group, and groups, that a message lists.
const LISTED: usize = 20;

/// An array that is a column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) element: Element,
    /// Lengths behind the first dimension.
    pub(super) inner: Vec<i32>,
    /// One value for all rows.
    pub(super) is_scalar: bool,
}

/// The columns of a file.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) rows: u64,
    pub(super) columns: Vec<Column>,
}

impl Column {
    fn of(array: &Array) -> Result<Self, String> {
        let element = Element::parse(&array.described.descr);
        let element = element.map_err(|reason| format!("array `{}` has {reason}", array.name))?;
        let shape = array.described.shape.get(1..).unwrap_or_default();
        let inner = shape.iter().map(|&size| i32::try_from(size));
        let inner: Option<Vec<i32>> = inner.collect::<Result<_, _>>().ok();
        let large = || {
            format!(
                "array `{}`: rows of more than {MAX_ROW} numbers",
                array.name
            )
        };
        let column = Self {
            name: array.name.clone(),
            element,
            inner: inner.ok_or_else(large)?,
            is_scalar: array.described.shape.is_empty(),
        };
        let numbers = column.numbers().filter(|count| *count <= MAX_ROW);
        let numbers = numbers.ok_or_else(large)?;
        let rows = array.described.shape.first().copied().unwrap_or(1);
        let row_bytes = numbers.checked_mul(column.element.bytes);
        let row_bytes = row_bytes.and_then(|bytes| u64::try_from(bytes).ok());
        let bytes = row_bytes.and_then(|bytes| bytes.checked_mul(rows));
        if bytes != Some(array.content_bytes) {
            let wanted = match bytes {
                Some(bytes) => format!("{bytes} bytes"),
                None => "more bytes than can be counted".to_owned(),
            };
            return Err(format!(
                "array `{}`: its header says {wanted}, {} are there",
                array.name, array.content_bytes
            ));
        }
        Ok(column)
    }

    /// Elements of a row.
    pub(super) fn numbers(&self) -> Option<usize> {
        let mut sizes = self.inner.iter();
        sizes.try_fold(1_usize, |count, &size| {
            count.checked_mul(usize::try_from(size).ok()?)
        })
    }

    pub(super) fn data_type(&self) -> DataType {
        let mut of = self.element.data_type();
        for &size in self.inner.iter().rev() {
            of = DataType::FixedSizeList(Arc::new(Field::new_list_field(of, true)), size);
        }
        of
    }
}

impl Chosen {
    pub(super) fn fields(&self) -> Vec<Field> {
        let columns = self.columns.iter();
        columns
            .map(|column| Field::new(&column.name, column.data_type(), true))
            .collect()
    }

    /// The columns at these places.
    pub(super) fn projected(&self, places: &[usize]) -> Self {
        let columns = places.iter().filter_map(|&place| self.columns.get(place));
        Self {
            rows: self.rows,
            columns: columns.cloned().collect(),
        }
    }
}

/// The arrays that are wanted, or all, as columns.
///
/// # Errors
/// Why they are none together, with all arrays of the file.
pub(super) fn chosen(arrays: &[Array], wanted: Option<&[String]>) -> Result<Chosen, String> {
    let own: Vec<&Array> = match wanted {
        None => arrays.iter().collect(),
        Some(names) => named(arrays, names)?,
    };
    if own.is_empty() {
        return Err("there is no array in it".to_owned());
    }
    let columns: Result<Vec<Column>, String> = own.iter().map(|array| Column::of(array)).collect();
    let columns = columns.map_err(|reason| format!("{reason}\n{}", listed(arrays)))?;
    let lengths = own.iter().filter_map(|array| array.described.shape.first());
    let mut lengths: Vec<u64> = lengths.copied().collect();
    lengths.sort_unstable();
    lengths.dedup();
    let is_empty = |column: &Column| {
        column.is_scalar || column.element.bytes == 0 || column.numbers() == Some(0)
    };
    if columns.iter().all(is_empty)
        && let Some(rows) = lengths.iter().find(|rows| **rows > MAX_EMPTY_ROWS)
    {
        return Err(format!(
            "{rows} rows without a byte: at most {MAX_EMPTY_ROWS} are read\n{}",
            listed(arrays)
        ));
    }
    match lengths.as_slice() {
        [] => Ok(Chosen { rows: 1, columns }),
        [rows] => Ok(Chosen {
            rows: *rows,
            columns,
        }),
        several => Err(format!(
            "arrays of {} lengths are no table together\n{}",
            several.len(),
            listed(arrays)
        )),
    }
}

fn named<'a>(arrays: &'a [Array], names: &[String]) -> Result<Vec<&'a Array>, String> {
    let find = |name: &String| {
        let found = arrays.iter().find(|array| array.name == *name);
        found.ok_or_else(|| {
            let known = arrays.iter().map(|array| array.name.as_str());
            let meant = match nearest(name, known) {
                Some(meant) => format!("\nhint: did you mean `{meant}`?"),
                None => format!("\n{}", listed(arrays)),
            };
            format!("there is no array `{name}`{meant}")
        })
    };
    names.iter().map(find).collect()
}

/// All arrays with their types and shapes, those that go together between semicolons, and how to choose some.
fn listed(arrays: &[Array]) -> String {
    let mut groups: Vec<(Option<u64>, Vec<&Array>)> = Vec::new();
    for array in arrays {
        let rows = array.described.shape.first().copied();
        match groups.iter_mut().find(|(known, _)| *known == rows) {
            Some((_, members)) => members.push(array),
            None => groups.push((rows, vec![array])),
        }
    }
    let largest = groups
        .iter()
        .max_by_key(|(_, members)| names(members).len());
    let together = largest.map_or_else(Vec::new, |(_, members)| names(members));
    let shown = groups.iter().take(LISTED).map(|(_, members)| {
        let arrays = members.iter().take(LISTED).map(|array| {
            let shape: Vec<String> = array.described.shape.iter().map(u64::to_string).collect();
            format!(
                "{} {} ({})",
                array.name,
                array.described.descr,
                shape.join(", ")
            )
        });
        arrays.collect::<Vec<_>>().join(", ")
    });
    let shown = shown.collect::<Vec<_>>().join("; ");
    let together = together.join(", ");
    format!("hint: read_npz('...', arrays => '{together}') takes some that go together of: {shown}")
}

/// Those of some arrays that can be columns.
fn names<'a>(arrays: &[&'a Array]) -> Vec<&'a str> {
    let columns = arrays.iter().filter(|array| Column::of(array).is_ok());
    columns.map(|array| array.name.as_str()).collect()
}
