//! Converts samples to Arrow: one row per sample, with its configuration.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, FixedSizeListArray, Float32Array, Int8Array, Int64Array, RecordBatch, UInt16Array,
};
use arrow::datatypes::{DataType, Field, Schema};
use tsql_codecs::graph::GraphKind;
use tsql_error::{Error, Result};

use super::TrainingGraph;

/// Form of configurations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// All numbers, one byte each: `(k, slots, 18)`. Tiles have larger numbers and become `Float32`.
    #[default]
    Int8,
    /// All numbers, as in the npz files.
    Float32,
    /// A code for each group of slots: `(k, groups)`. The layouts by code are in the schema's metadata
    /// (`layouts`, in the notation of `configurations.sketch`).
    Codes,
}

impl TrainingGraph {
    /// Returns these samples as a batch with the columns `sample` (index in the file), `config_id`,
    /// `runtime_ns` and `baseline_ns` (NULL if withheld), and `node_config_feat` (for tiles `config_feat`) or
    /// `codes`, a list of fixed size.
    ///
    /// # Errors
    /// [`Error::Argument`] for codes of a tile file, which do not exist.
    pub fn batch(&self, samples: &[u32], form: Form) -> Result<RecordBatch> {
        let damaged = |error: arrow::error::ArrowError| Error::damaged("batch", error.to_string());
        let (name, values, width) = self.values(samples, form)?;
        let item = Arc::new(Field::new("item", values.data_type().clone(), false));
        let size = i32::try_from(width).map_err(|error| Error::Internal(error.to_string()))?;
        let lists = FixedSizeListArray::try_new(Arc::clone(&item), size, values, None);
        let lists: ArrayRef = Arc::new(lists.map_err(damaged)?);
        let id = |&sample: &u32| self.config_ids.get(sample as usize).copied();
        let normalizer = |&sample: &u32| {
            let normalizer = self.normalizers.get(sample as usize).copied();
            normalizer.filter(|&normalizer| self.graph.kind == GraphKind::Tile && normalizer != 1)
        };
        let columns: [(&str, ArrayRef); 5] = [
            (
                "sample",
                Arc::new(Int64Array::from_iter_values(
                    samples.iter().map(|&sample| i64::from(sample)),
                )),
            ),
            (
                "config_id",
                Arc::new(samples.iter().map(id).collect::<Int64Array>()),
            ),
            (
                "runtime_ns",
                Arc::new(self.runtimes_ns(samples).collect::<Int64Array>()),
            ),
            (
                "baseline_ns",
                Arc::new(samples.iter().map(normalizer).collect::<Int64Array>()),
            ),
            (name, lists),
        ];
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, column)| Field::new(*name, column.data_type().clone(), true))
            .collect();
        let schema = Arc::new(Schema::new(fields).with_metadata(self.metadata(form)));
        RecordBatch::try_new(
            schema,
            columns.into_iter().map(|(_, column)| column).collect(),
        )
        .map_err(damaged)
    }

    fn values(&self, samples: &[u32], form: Form) -> Result<(&'static str, ArrayRef, usize)> {
        let name = match self.graph.kind {
            GraphKind::Tile => "config_feat",
            GraphKind::Layout => "node_config_feat",
        };
        let width = self.row_width();
        Ok(match (form, self.graph.kind) {
            (Form::Codes, GraphKind::Tile) => {
                let reason = format!("{} is a tile file, which has no codes", self.id);
                return Err(Error::Argument {
                    name: "form",
                    reason,
                });
            }
            (Form::Codes, GraphKind::Layout) => {
                let codes = UInt16Array::from(self.codes(samples));
                ("codes", Arc::new(codes), self.group_count())
            }
            (Form::Int8, GraphKind::Layout) => (
                name,
                Arc::new(Int8Array::from(self.expand::<i8>(samples)?)),
                width,
            ),
            _ => (
                name,
                Arc::new(Float32Array::from(self.expand::<f32>(samples)?)),
                width,
            ),
        })
    }

    fn metadata(&self, form: Form) -> HashMap<String, String> {
        let mut metadata = HashMap::from([
            ("id".to_owned(), self.id.clone()),
            ("graph_id".to_owned(), self.graph_id.to_string()),
            ("slots".to_owned(), self.slot_count().to_string()),
        ]);
        if form == Form::Codes {
            metadata.insert("layouts".to_owned(), self.layouts.text());
        }
        metadata
    }

    /// Returns the element type of configurations in a batch of this form.
    #[must_use]
    pub fn value_type(&self, form: Form) -> DataType {
        match (form, self.graph.kind) {
            (Form::Codes, _) => DataType::UInt16,
            (Form::Int8, GraphKind::Layout) => DataType::Int8,
            _ => DataType::Float32,
        }
    }
}
