//! Builders of list columns, filled row by row.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::Result;

/// Length of the list of each row, with NULLs.
#[derive(Default)]
pub(super) struct ListLengths {
    lengths: Vec<usize>,
    valid: Vec<bool>,
}

impl ListLengths {
    /// Ends the list of a row, with `length` entries; `None` is NULL.
    pub(super) fn push(&mut self, length: Option<usize>) {
        self.lengths.push(length.unwrap_or(0));
        self.valid.push(length.is_some());
    }

    /// Builds lists of these entries.
    pub(super) fn into_lists(self, values: ArrayRef) -> Result<ArrayRef> {
        let field = Field::new_list_field(values.data_type().clone(), true);
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        let valid = NullBuffer::from(self.valid);
        let lists = ListArray::try_new(Arc::new(field), offsets, values, Some(valid))?;
        Ok(Arc::new(lists))
    }

    /// Builds lists of structs of these columns.
    pub(super) fn into_struct_lists(
        self,
        fields: Fields,
        columns: Vec<ArrayRef>,
    ) -> Result<ArrayRef> {
        self.into_lists(Arc::new(StructArray::try_new(fields, columns, None)?))
    }
}

/// Nullable fields.
pub(super) fn nullable_fields<const N: usize>(named: [(&str, DataType); N]) -> Fields {
    let fields = named.map(|(name, data_type)| Field::new(name, data_type, true));
    Fields::from(fields.to_vec())
}

/// Type of lists of structs.
pub(super) fn list_type(fields: Fields) -> DataType {
    DataType::new_list(DataType::Struct(fields), true)
}
