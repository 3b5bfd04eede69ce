//! A part on its way to its folder.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::manifest::{ManifestPart, file_told};
use super::options::FileForm;
use super::shards::Shards;
use super::sums::KeySum;
use crate::delivered::{Target, Written};
use crate::error::Result;
use crate::training::file::failed;

/// The column that numbers the queries of a part.
const QUERY: &str = "query";

/// How many rows each query of a part has, a line each: what LightGBM reads as `.query` and `XGBoost` as `.group`.
const GROUP_SIZES: &str = "group_sizes.txt";

/// The rows of a part so far.
pub(super) struct Part<'a> {
    target: &'a Target,
    told: ManifestPart,
    keys: KeySum,
    shards: Shards<'a>,
    schema: SchemaRef,
    /// `None` where there are no groups.
    sizes: Option<String>,
}

impl<'a> Part<'a> {
    /// A part of this name, whose rows have these columns.
    pub(super) fn new(
        target: &'a Target,
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

    /// Adds a query, or rows of no group.
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
        self.shards.push(&rows.map_err(failed)?)?;
        if let Some(sizes) = &mut self.sizes {
            let _ = writeln!(sizes, "{count}");
            self.told.groups += 1;
            self.told.largest_group = self.told.largest_group.max(count);
        }
        self.shards.end_group(count).await
    }

    /// Writes what is left.
    pub(super) async fn finish(self) -> Result<(ManifestPart, Vec<Written>)> {
        let mut told = self.told;
        let mut written = self.shards.finish().await?;
        if let Some(sizes) = self.sizes {
            let path = format!("{}/{GROUP_SIZES}", told.name);
            written.push(self.target.write(path, sizes.into_bytes(), 0).await?);
        }
        told.keys = self.keys.text();
        told.files = written.iter().map(file_told).collect();
        Ok((told, written))
    }
}
