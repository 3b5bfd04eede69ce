//! Selection of the arrays of a file that become columns of a table.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use tsql_formats::npz::Array;

use super::element::ElementType;
use tsql_error::nearest;

/// Maximum number of elements per row. An array with more is a table of its own rather than a column.
const MAX_ROW_ELEMENTS: usize = 1 << 24;

/// Maximum number of rows of a table whose rows have no bytes, because the array shape alone determines that number.
const MAX_EMPTY_ROWS: u64 = 1 << 24;

/// Maximum number of arrays per group, and of groups, in a message.
const MAX_LISTED: usize = 20;

/// An array as a column.
#[derive(Clone, Debug)]
pub(super) struct ArrayColumn {
    pub(super) name: String,
    pub(super) element: ElementType,
    /// Lengths of the dimensions after the first one.
    pub(super) inner: Vec<i32>,
    /// Whether one value applies to all rows.
    pub(super) is_scalar: bool,
}

/// The selected columns of a file.
#[derive(Clone, Debug)]
pub(super) struct ColumnSelection {
    pub(super) rows: u64,
    pub(super) columns: Vec<ArrayColumn>,
}

impl ArrayColumn {
    fn from_array(array: &Array) -> Result<Self, String> {
        let element = ElementType::parse(&array.described.descr);
        let element = element.map_err(|reason| format!("array `{}` has {reason}", array.name))?;
        let shape = array.described.shape.get(1..).unwrap_or_default();
        let inner = shape.iter().map(|&size| i32::try_from(size));
        let inner: Option<Vec<i32>> = inner.collect::<Result<_, _>>().ok();
        let large = || {
            format!(
                "array `{}`: rows of more than {MAX_ROW_ELEMENTS} numbers",
                array.name
            )
        };
        let column = Self {
            name: array.name.clone(),
            element,
            inner: inner.ok_or_else(large)?,
            is_scalar: array.described.shape.is_empty(),
        };
        let numbers = column
            .row_elements()
            .filter(|count| *count <= MAX_ROW_ELEMENTS);
        let numbers = numbers.ok_or_else(large)?;
        let rows = array.described.shape.first().copied().unwrap_or(1);
        let row_bytes = numbers.checked_mul(column.element.bytes);
        let row_bytes = row_bytes.and_then(|bytes| u64::try_from(bytes).ok());
        let bytes = row_bytes.and_then(|bytes| bytes.checked_mul(rows));
        if bytes != Some(array.content_bytes) {
            let wanted = match bytes {
                Some(bytes) => format!("{bytes} bytes"),
                None => "more bytes than a file can have".to_owned(),
            };
            return Err(format!(
                "array `{}`: its header states {wanted}, found {}",
                array.name, array.content_bytes
            ));
        }
        Ok(column)
    }

    /// Number of elements per row.
    pub(super) fn row_elements(&self) -> Option<usize> {
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

impl ColumnSelection {
    pub(super) fn fields(&self) -> Vec<Field> {
        let columns = self.columns.iter();
        columns
            .map(|column| Field::new(&column.name, column.data_type(), true))
            .collect()
    }

    /// The columns at these positions.
    pub(super) fn project(&self, places: &[usize]) -> Self {
        let columns = places.iter().filter_map(|&place| self.columns.get(place));
        Self {
            rows: self.rows,
            columns: columns.cloned().collect(),
        }
    }
}

/// Selects the requested arrays, or all arrays, as columns.
///
/// # Errors
/// The reason why they do not form a table, with a list of all arrays of the file.
pub(super) fn select_columns(
    arrays: &[Array],
    wanted: Option<&[String]>,
) -> Result<ColumnSelection, String> {
    let own: Vec<&Array> = match wanted {
        None => arrays.iter().collect(),
        Some(names) => find_arrays(arrays, names)?,
    };
    if own.is_empty() {
        return Err("the file has no arrays".to_owned());
    }
    let columns: Result<Vec<ArrayColumn>, String> = own
        .iter()
        .map(|array| ArrayColumn::from_array(array))
        .collect();
    let columns = columns.map_err(|reason| format!("{reason}\n{}", describe_arrays(arrays)))?;
    let lengths = own.iter().filter_map(|array| array.described.shape.first());
    let mut lengths: Vec<u64> = lengths.copied().collect();
    lengths.sort_unstable();
    lengths.dedup();
    let is_empty = |column: &ArrayColumn| {
        column.is_scalar || column.element.bytes == 0 || column.row_elements() == Some(0)
    };
    if columns.iter().all(is_empty)
        && let Some(rows) = lengths.iter().find(|rows| **rows > MAX_EMPTY_ROWS)
    {
        return Err(format!(
            "{rows} rows without data, expected at most {MAX_EMPTY_ROWS}\n{}",
            describe_arrays(arrays)
        ));
    }
    match lengths.as_slice() {
        [] => Ok(ColumnSelection { rows: 1, columns }),
        [rows] => Ok(ColumnSelection {
            rows: *rows,
            columns,
        }),
        several => Err(format!(
            "arrays of {} different lengths do not form a table\n{}",
            several.len(),
            describe_arrays(arrays)
        )),
    }
}

fn find_arrays<'a>(arrays: &'a [Array], names: &[String]) -> Result<Vec<&'a Array>, String> {
    let find = |name: &String| {
        let found = arrays.iter().find(|array| array.name == *name);
        found.ok_or_else(|| {
            let known = arrays.iter().map(|array| array.name.as_str());
            let meant = match nearest(name, known) {
                Some(meant) => format!("\nhint: did you mean `{meant}`?"),
                None => format!("\n{}", describe_arrays(arrays)),
            };
            format!("no array named `{name}`{meant}")
        })
    };
    names.iter().map(find).collect()
}

/// Describes all arrays with their types and shapes, grouped by length with semicolons, and explains how to select
/// some.
fn describe_arrays(arrays: &[Array]) -> String {
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
        .max_by_key(|(_, members)| column_names(members).len());
    let together = largest.map_or_else(Vec::new, |(_, members)| column_names(members));
    let shown = groups.iter().take(MAX_LISTED).map(|(_, members)| {
        let arrays = members.iter().take(MAX_LISTED).map(|array| {
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
    format!(
        "hint: read_npz('...', arrays => '{together}') selects arrays of equal length; the \
        file has {shown}"
    )
}

/// Names of the arrays that can be columns.
fn column_names<'a>(arrays: &[&'a Array]) -> Vec<&'a str> {
    let columns = arrays
        .iter()
        .filter(|array| ArrayColumn::from_array(array).is_ok());
    columns.map(|array| array.name.as_str()).collect()
}
