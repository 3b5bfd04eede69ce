//! Columns of lists, made row by row.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::Result;

/// How many entries each row's list has; NULL for none at all.
#[derive(Default)]
pub(super) struct Lengths {
    lengths: Vec<usize>,
    valid: Vec<bool>,
}

impl Lengths {
    /// Ends a list to which `length` entries were added; `None` is NULL.
    pub(super) fn end(&mut self, length: Option<usize>) {
        self.lengths.push(length.unwrap_or(0));
        self.valid.push(length.is_some());
    }

    /// Lists of these entries.
    pub(super) fn of(self, values: ArrayRef) -> Result<ArrayRef> {
        let field = Field::new_list_field(values.data_type().clone(), true);
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        let valid = NullBuffer::from(self.valid);
        let lists = ListArray::try_new(Arc::new(field), offsets, values, Some(valid))?;
        Ok(Arc::new(lists))
    }

    /// Lists of structs of these columns.
    pub(super) fn of_structs(self, fields: Fields, columns: Vec<ArrayRef>) -> Result<ArrayRef> {
        self.of(Arc::new(StructArray::try_new(fields, columns, None)?))
    }
}

/// Fields that may be NULL.
pub(super) fn fields<const N: usize>(named: [(&str, DataType); N]) -> Fields {
    let fields = named.map(|(name, data_type)| Field::new(name, data_type, true));
    Fields::from(fields.to_vec())
}

/// The type of lists of structs.
pub(super) fn list_type(fields: Fields) -> DataType {
    DataType::new_list(DataType::Struct(fields), true)
}
