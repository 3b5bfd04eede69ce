//! Writes the rows of a part to its folder.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use tsql_error::Result;
use tsql_store::atomic_output::{OutputTarget, WrittenFile};

use super::key_sum::KeySum;
use super::manifest::{ManifestPart, file_entry};
use super::options::FileForm;
use super::shards::Shards;
use crate::training::file::arrow_error;

/// Column with the query number of a row.
const QUERY: &str = "query";

/// File with the rows of each query, one per line; LightGBM reads it as `.query` and `XGBoost` as `.group`.
const GROUP_SIZES: &str = "group_sizes.txt";

/// Writer of a part.
pub(super) struct PartWriter<'a> {
    target: &'a OutputTarget,
    told: ManifestPart,
    keys: KeySum,
    shards: Shards<'a>,
    schema: SchemaRef,
    /// `None` without groups.
    sizes: Option<String>,
}

impl<'a> PartWriter<'a> {
    /// Creates a writer for a part of this name, whose rows have these columns.
    pub(super) fn new(
        target: &'a OutputTarget,
        name: &str,
        form: FileForm,
        rows: &Schema,
        is_grouped: bool,
        about: &str,
    ) -> Self {
        let query = is_grouped.then(|| Arc::new(Field::new(QUERY, DataType::Int64, false)));
        let fields = query.into_iter().chain(rows.fields().iter().cloned());
        let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Self {
            target,
            told: ManifestPart {
                name: name.to_owned(),
                ..ManifestPart::default()
            },
            keys: KeySum::default(),
            shards: Shards::new(target, name, form, &schema, about),
            schema,
            sizes: is_grouped.then(String::new),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.told.name
    }

    /// Adds a query, or ungrouped rows.
    pub(super) async fn push(&mut self, rows: &RecordBatch) -> Result<()> {
        let count = rows.num_rows() as u64;
        self.keys.rows(rows)?;
        if let Some(failures) = rows.column_by_name("failed") {
            self.told.failed += failures.as_boolean().true_count() as u64;
        }
        self.told.rows += count;
        let query = self.sizes.is_some().then(|| {
            let number = i64::try_from(self.told.groups).unwrap_or(i64::MAX);
            Arc::new(Int64Array::from(vec![number; rows.num_rows()])) as ArrayRef
        });
        let columns = query.into_iter().chain(rows.columns().iter().cloned());
        let rows = RecordBatch::try_new(Arc::clone(&self.schema), columns.collect());
        self.shards.push(&rows.map_err(arrow_error)?)?;
        if let Some(sizes) = &mut self.sizes {
            let _ = writeln!(sizes, "{count}");
            self.told.groups += 1;
            self.told.largest_group = self.told.largest_group.max(count);
        }
        self.shards.end_group(count).await
    }

    /// Writes the remaining rows.
    pub(super) async fn finish(self) -> Result<(ManifestPart, Vec<WrittenFile>)> {
        let mut told = self.told;
        let mut written = self.shards.finish().await?;
        if let Some(sizes) = self.sizes {
            let path = format!("{}/{GROUP_SIZES}", told.name);
            written.push(self.target.write(path, sizes.into_bytes(), 0).await?);
        }
        told.keys = self.keys.text();
        told.files = written.iter().map(file_entry).collect();
        Ok((told, written))
    }
}
