//! Writes training files to a folder.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::util::display::array_value_to_string;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt as _;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::{SessionOptions, memory_guard_bytes, open_session_with, plain_schema};
use tsql_store::atomic_output::{OutputKind, OutputTarget, WrittenFile};
use tsql_store::{At, Store};

use super::features::{Feature, no_records};
use super::group::{drop_null_features, split_group};
use super::manifest::{
    ExcludedRecords, FeatureInfo, MANIFEST, TargetInfo, TrainingManifest, manifest_version,
};
use super::options::{Label, TrainingFilesOptions};
use super::part_writer::PartWriter;
use super::query::{ALL, ExportQuery};
use super::split::SplitVersion;
use crate::training::boundaries::Boundaries;
use crate::training::file::arrow_error;
use crate::training::options::RowsOptions;
use crate::training::plan_stream::project_sql;
use crate::training::selection::Selection;

/// Default memory for sorting, if there is no limit and the system does not report its memory.
const MEMORY_BYTES: usize = 1 << 30;

/// Columns of the query that are not in the files: the part, and the group columns.
const PART: &str = "part";
const GROUP: &str = "group_";

/// Training files.
pub(crate) const TRAINING_FILES: OutputKind = OutputKind {
    name: "training export",
    command: "tsql export training",
    has: |path| {
        let ends = [".parquet", ".arrow", ".npz", "/group_sizes.txt"];
        path == MANIFEST || (path.contains('/') && ends.iter().any(|end| path.ends_with(end)))
    },
};

/// Writes records as training files into a directory or a bucket (`s3://bucket/prefix`). It must be empty
/// or have an earlier export ([`TrainingFilesOptions::overwrite`]). There is a folder for each part of the
/// split, with grouped rows, labels and features. An interrupted export is not recognized as training
/// files. The same table versions and options give the same bytes; [`verify_training_files`](crate::training::verify_training_files) checks
/// this.
///
/// # Errors
/// [`Error::Unknown`] for an unknown feature, split, part or group; [`Error::Empty`] if a part has no rows;
/// [`Error::Argument`] for invalid options, for rows with a NULL feature, and for a group that exceeds the
/// size limit; [`Error::CannotCreate`] if the folder has other content, and failures of the storage.
pub async fn write_training_files(
    store: &Store,
    to: &str,
    options: &TrainingFilesOptions,
) -> Result<TrainingManifest> {
    options.validate()?;
    let versions = store.current_versions().await?;
    let records_version = versions.get("records").copied();
    let at = At::Versions(versions);
    let store = store.at(&at).await?;
    let named = "SELECT 1 FROM records, environments, splits, features";
    let context = SessionOptions::default().sql(named);
    let context = open_session_with(&store, &context).await?;
    let split = match &options.split {
        Some(name) => Some(SplitVersion::find(&context, name).await?),
        None => None,
    };
    let wanted = match &split {
        Some(split) => split.select_parts(&options.parts)?,
        None => vec![ALL],
    };
    let mut options = options.clone();
    options.split = split.as_ref().map(|split| split.told.name.clone());
    let predicate = options.predicate.as_deref().unwrap_or("true");
    let features = Feature::parse_names(&options.features, &context, predicate).await?;
    options.features = features.iter().map(Feature::full_name).collect();
    let asked = ExportQuery::new(&options, &features)?;
    let rows = RowsOptions::default();
    let memory_bytes = options.memory_limit_bytes.or_else(memory_guard_bytes);
    let memory_bytes = memory_bytes.unwrap_or(MEMORY_BYTES);
    let selection = Selection::plan_with_memory(&store, &asked.sorted, &rows, memory_bytes).await?;
    let excluded = count_excluded(&selection.context, &asked, &options, &wanted).await?;
    let sorted = Arc::clone(&selection.plan);
    let plan = project_sql(&selection.context, sorted, &asked.columns).await;
    let plan = plan.map_err(Error::Query)?;
    let mut manifest = TrainingManifest {
        manifest_version: manifest_version(),
        tsql_version: env!("CARGO_PKG_VERSION").to_owned(),
        at: at.to_string(),
        rows: Some(options.clone()),
        sql: Some(asked.text()),
        split: split.map(|split| split.told),
        features: feature_infos(&features, &plan.schema())?,
        target: Some(target_info(options.target, records_version)),
        ..TrainingManifest::default()
    };
    let target = OutputTarget::open(to, options.overwrite, TRAINING_FILES).await?;
    target.begin().await?;
    let about = serde_json::to_string(&manifest);
    let about = about.map_err(|error| Error::Internal(error.to_string()))?;
    let mut writing = ExportWriter {
        target: &target,
        options: &options,
        about: &about,
        group: &asked.group,
        features: &features,
        excluded,
        part: None,
        parts: Vec::new(),
        written: Vec::new(),
    };
    writing.write_all_groups(&selection.context, &plan).await?;
    let (parts, excluded) = (writing.parts, writing.excluded);
    let mut written = writing.written;
    if !excluded.null_features.is_empty() && !options.skip_null {
        return Err(null_features_error(&excluded.null_features));
    }
    if let Some(part) = wanted
        .iter()
        .find(|name| parts.iter().all(|part| part.name != **name))
    {
        return Err(empty_part(part, &excluded));
    }
    manifest.parts = parts;
    manifest.excluded = excluded;
    let text = serde_json::to_vec_pretty(&manifest);
    let mut text = text.map_err(|error| Error::Internal(error.to_string()))?;
    text.push(b'\n');
    written.push(target.write(MANIFEST.to_owned(), text, 0).await?);
    target.finish(&written).await?;
    Ok(manifest)
}

/// Counts the records that are left out, by status and part.
async fn count_excluded(
    context: &SessionContext,
    asked: &ExportQuery,
    options: &TrainingFilesOptions,
    wanted: &[&str],
) -> Result<ExcludedRecords> {
    let (mut excluded, mut all) = (ExcludedRecords::default(), 0);
    for batch in collect(context, &asked.counts).await? {
        let counts = column::numbers::<Int64Type>(&batch, "records")?;
        let costless = column::numbers::<Int64Type>(&batch, "invalid_runtime")?;
        let texts = |name| {
            let column = batch
                .column_by_name(name)
                .map(|texts| cast(texts, &DataType::Utf8));
            let column = column
                .ok_or_else(|| Error::Internal(format!("the counts have no column `{name}`")))?;
            column.map_err(arrow_error)
        };
        let (parts, states) = (texts(PART)?, texts("status")?);
        let (parts, states) = (parts.as_string::<i32>(), states.as_string::<i32>());
        for row in 0..batch.num_rows() {
            let count = counts.value(row).cast_unsigned();
            all += count;
            if parts.is_null(row) {
                excluded.without_part += count;
            } else if !wanted.contains(&parts.value(row)) {
                excluded.other_parts += count;
            } else {
                match (states.value(row), options.target) {
                    ("unmeasured", _) => excluded.unmeasured += count,
                    ("failed", Label::Valid | Label::Metaschedule) => excluded.failed += count,
                    _ => excluded.invalid_runtime += costless.value(row).cast_unsigned(),
                }
            }
        }
    }
    if all == 0 {
        return Err(no_records(options.predicate.as_deref().unwrap_or("true")));
    }
    Ok(excluded)
}

fn empty_part(part: &str, excluded: &ExcludedRecords) -> Error {
    let of_part = if part == ALL {
        String::new()
    } else {
        format!(" of `{part}`")
    };
    let hint = if part == ALL {
        "hint: `tsql queries failures-by-kind` shows why records failed"
    } else {
        "hint: --parts selects parts; another seed or ratio gives another split"
    };
    Error::Empty(format!(
        "no record{of_part} has a target and all features: {} failed, {} were not measured, {} \
         have no cost, {} are in no part, {} lack a feature\n{hint}",
        excluded.failed,
        excluded.unmeasured,
        excluded.invalid_runtime,
        excluded.without_part,
        excluded.null_features.values().sum::<u64>()
    ))
}

fn null_features_error(lacking: &BTreeMap<String, u64>) -> Error {
    let each = lacking
        .iter()
        .map(|(name, rows)| format!("{rows} rows without `{name}`"));
    let each: Vec<String> = each.collect();
    Error::Argument {
        name: "features",
        reason: format!(
            "{}: the feature cannot be computed for them\n\
             hint: --skip-null skips and counts them; --where selects other records",
            each.join(", ")
        ),
    }
}

fn target_info(label: Label, records_version: Option<u64>) -> TargetInfo {
    TargetInfo {
        name: label.name().to_owned(),
        version: 1,
        relative_to: "the best of the task (graph and platform) among the rows of the part"
            .to_owned(),
        records_version,
    }
}

/// Returns the manifest entries of the features.
fn feature_infos(features: &[Feature], schema: &Schema) -> Result<Vec<FeatureInfo>> {
    let one = |feature: &Feature| {
        let field = schema
            .field_with_name(feature.column())
            .map_err(arrow_error)?;
        let element_type = match field.data_type() {
            DataType::FixedSizeList(item, _) => item.data_type().to_string(),
            other => other.to_string(),
        };
        Ok(FeatureInfo {
            name: feature.full_name(),
            column: feature.column().to_owned(),
            version: feature.version(),
            sql: feature.sql(),
            element_type,
            elements: feature.elements()?,
        })
    };
    features.iter().map(one).collect()
}

/// State of an export.
struct ExportWriter<'a> {
    target: &'a OutputTarget,
    options: &'a TrainingFilesOptions,
    about: &'a str,
    group: &'a [String],
    features: &'a [Feature],
    excluded: ExcludedRecords,
    part: Option<PartWriter<'a>>,
    parts: Vec<super::manifest::ManifestPart>,
    written: Vec<WrittenFile>,
}

/// Roles of the columns of the query result.
struct Layout {
    /// Schema of the file rows, without the query column.
    schema: SchemaRef,
    /// Indices of those columns.
    places: Vec<usize>,
    /// Indices of the features among them.
    features: Vec<usize>,
    part: usize,
    groups: Vec<usize>,
}

impl Layout {
    fn new(answer: &Schema, features: &[Feature]) -> Result<Self> {
        let all = plain_schema(answer);
        let is_own = |name: &str| name != PART && !name.starts_with(GROUP);
        let numbered = all.fields().iter().enumerate();
        let own = numbered.clone().filter(|(_, field)| is_own(field.name()));
        let is_feature = |name: &str| features.iter().any(|one| one.column() == name);
        let fields = own.clone().map(|(_, field)| {
            // Rows with a NULL feature are left out.
            let may_be_null = field.name() == "runtime_ns";
            Field::clone(field).with_nullable(may_be_null)
        });
        let of_features = own.clone().enumerate();
        let of_features = of_features.filter(|(_, (_, field))| is_feature(field.name()));
        let groups = numbered.filter(|(_, field)| field.name().starts_with(GROUP));
        Ok(Self {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            features: of_features.map(|(place, _)| place).collect(),
            groups: groups.map(|(place, _)| place).collect(),
            places: own.map(|(place, _)| place).collect(),
            part: all.index_of(PART).map_err(arrow_error)?,
        })
    }

    /// Returns the file columns of a batch, in which features may be NULL.
    fn file_columns(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.places.iter().zip(self.schema.fields());
        let columns = columns.map(|(&place, field)| cast(batch.column(place), field.data_type()));
        let columns = columns.collect::<Result<_, _>>().map_err(arrow_error)?;
        let open = self.schema.fields().iter();
        let open = open.map(|field| Field::clone(field).with_nullable(true));
        let open = Arc::new(Schema::new(open.collect::<Vec<_>>()));
        RecordBatch::try_new(open, columns).map_err(arrow_error)
    }
}

/// A group that is being read.
#[derive(Default)]
struct OpenGroup {
    part: String,
    /// Values of the group columns.
    named: Vec<String>,
    rows: Vec<RecordBatch>,
}

impl ExportWriter<'_> {
    async fn write_all_groups(
        &mut self,
        context: &SessionContext,
        plan: &Arc<dyn ExecutionPlan>,
    ) -> Result<()> {
        let layout = Layout::new(&plan.schema(), self.features)?;
        let mut by = vec![layout.part];
        by.extend(&layout.groups);
        let mut boundaries = Boundaries::new(by);
        let mut reading = OpenGroup::default();
        for part in 0..plan.output_partitioning().partition_count() {
            let stream = plan.execute(part, context.task_ctx());
            let mut stream = stream.map_err(Error::Query)?;
            while let Some(batch) = stream.try_next().await.map_err(Error::Query)? {
                let starts = boundaries.find(&batch)?;
                let own = layout.file_columns(&batch)?;
                let own = BatchRows {
                    all: &batch,
                    own: &own,
                };
                let mut at = 0;
                for start in starts {
                    reading.rows.push(own.own.slice(at, start - at));
                    self.end_group(&layout, std::mem::take(&mut reading))
                        .await?;
                    reading = own.start_group(&layout, start)?;
                    at = start;
                }
                reading
                    .rows
                    .push(own.own.slice(at, own.own.num_rows() - at));
                if self.group.is_empty() {
                    // Such rows have no group boundaries.
                    let rows = std::mem::take(&mut reading.rows);
                    let part = reading.part.clone();
                    let named = Vec::new();
                    self.end_group(&layout, OpenGroup { part, named, rows })
                        .await?;
                }
            }
        }
        self.end_group(&layout, reading).await?;
        self.end_part().await
    }

    /// Writes a group.
    async fn end_group(&mut self, layout: &Layout, group: OpenGroup) -> Result<()> {
        let mut rows = Vec::with_capacity(group.rows.len());
        for batch in group.rows {
            let kept = drop_null_features(batch, &layout.features, &mut self.excluded)?;
            if kept.num_rows() > 0 {
                rows.push(kept);
            }
        }
        // Remaining rows are not written: NULL features are an error, which reports their number.
        if !self.excluded.null_features.is_empty() && !self.options.skip_null {
            return Ok(());
        }
        if rows.is_empty() {
            return Ok(());
        }
        let strict = rows.into_iter().map(|batch| {
            let columns = batch.columns().to_vec();
            RecordBatch::try_new(Arc::clone(&layout.schema), columns).map_err(arrow_error)
        });
        let rows: Vec<RecordBatch> = strict.collect::<Result<_>>()?;
        let is_grouped = !self.group.is_empty();
        let queries = if is_grouped {
            let values = self.group.iter().zip(&group.named);
            let named = || {
                let each = values.map(|(name, value)| format!("{name} = {value}"));
                format!(
                    "{} of `{}`",
                    each.collect::<Vec<_>>().join(", "),
                    group.part
                )
            };
            split_group(rows, self.options, named, &mut self.excluded)?
        } else {
            rows
        };
        if self
            .part
            .as_ref()
            .is_none_or(|part| part.name() != group.part)
        {
            self.end_part().await?;
            let form = self.options.file_format;
            self.part = Some(PartWriter::new(
                self.target,
                &group.part,
                form,
                &layout.schema,
                is_grouped,
                self.about,
            ));
        }
        if let Some(part) = &mut self.part {
            for query in &queries {
                part.push(query).await?;
            }
        }
        Ok(())
    }

    async fn end_part(&mut self) -> Result<()> {
        if let Some(part) = self.part.take() {
            let (told, written) = part.finish().await?;
            self.parts.push(told);
            self.written.extend(written);
        }
        Ok(())
    }
}

/// A batch of the query result, and its file columns.
struct BatchRows<'a> {
    all: &'a RecordBatch,
    own: &'a RecordBatch,
}

impl BatchRows<'_> {
    /// Starts the group at a row.
    fn start_group(&self, layout: &Layout, row: usize) -> Result<OpenGroup> {
        let text =
            |place: usize| array_value_to_string(self.all.column(place), row).map_err(arrow_error);
        Ok(OpenGroup {
            part: text(layout.part)?,
            named: layout
                .groups
                .iter()
                .map(|&place| text(place))
                .collect::<Result<_>>()?,
            rows: Vec::new(),
        })
    }
}
