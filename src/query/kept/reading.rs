//! Rows of columns that are kept, or of which all is decoded to be kept.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, RecordBatch};
use arrow::compute::{BatchCoalescer, filter_record_batch};
use arrow::datatypes::SchemaRef;
use datafusion::common::pruning::PruningStatistics as _;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, lit};
use datafusion::physical_expr::projection::Projector;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use datafusion::physical_plan::ExecutionPlan as _;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::TryStreamExt as _;

use super::columns::{Bounds, FileKey, Pieces};
use super::extent::Question;
use super::ranges::Chosen;
use crate::query::best_first::in_whole;

/// Who reads what of which files.
pub(super) struct Reading {
    pub(super) question: Arc<Question>,
    /// Of the question.
    pub(super) number: u64,
    pub(super) schema: SchemaRef,
}

impl Reading {
    /// The rows of a thread: of one file after the other.
    pub(super) fn rows(
        self,
        part: usize,
        context: Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<SendableRecordBatchStream> {
        let files = self.question.scan.file_groups.get(part);
        let files = files.map(|group| in_whole(group).collect());
        let schema = Arc::clone(&self.schema);
        let rows = Rows {
            left: self.question.scan.limit.unwrap_or(usize::MAX),
            files: files.unwrap_or_default(),
            file: None,
            read: BaselineMetrics::new(self.question.scan.file_source().metrics(), part),
            reading: self,
            context,
            metrics: BaselineMetrics::new(metrics, part),
        };
        let rows = futures::stream::try_unfold(rows, |mut rows| async move {
            let batch = rows.next().await?;
            Ok(batch.map(|batch| (batch, rows)))
        });
        let rows = RecordBatchStreamAdapter::new(schema, Box::pin(rows));
        Ok(Box::pin(cooperative(rows)))
    }

    /// The values of a file, all decoded by the scan's own readers.
    fn decoded(&self, file: PartitionedFile, context: &Arc<TaskContext>) -> Result<Decoded> {
        let source = self.question.scan.file_source();
        let table = source.table_schema();
        let theirs = source.downcast_ref::<ParquetSource>();
        let theirs =
            theirs.ok_or_else(|| internal_datafusion_err!("columns are kept of Parquet"))?;
        let mut source = ParquetSource::new(table.clone())
            .with_table_parquet_options(theirs.table_parquet_options().clone())
            .with_pushdown_filters(false);
        if let Some(readers) = theirs.parquet_file_reader_factory() {
            source = source.with_parquet_file_reader_factory(Arc::clone(readers));
        }
        let values = self.question.asked.values.iter().map(|value| &value.expr);
        let places = values.clone().flat_map(collect_columns);
        let places: BTreeSet<usize> = places.map(|column| column.index()).collect();
        let scan = FileScanConfigBuilder::from(self.question.scan.clone())
            .with_file_groups(vec![FileGroup::new(vec![file])])
            .with_limit(None)
            .with_source(Arc::new(source))
            .with_projection_indices(Some(places.into_iter().collect()))?
            .build();
        let scan = DataSourceExec::from_data_source(scan);
        let read = scan.schema();
        let values = values.map(|value| reassign_expr_columns(Arc::clone(value), &read));
        Ok(Decoded {
            rows: scan.execute(0, Arc::clone(context))?,
            values: values.collect::<Result<_>>()?,
            so_far: vec![Vec::new(); self.question.asked.values.len()],
            scan,
        })
    }
}

/// Where a thread is.
struct Rows {
    reading: Reading,
    context: Arc<TaskContext>,
    files: VecDeque<PartitionedFile>,
    file: Option<OfFile>,
    /// Rows that are still wanted.
    left: usize,
    metrics: BaselineMetrics,
    /// What the scan would have counted: who asks how much was read looks there.
    read: BaselineMetrics,
}

impl Rows {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while self.left > 0 {
            let Some(file) = &mut self.file else {
                let Some(file) = self.files.pop_front() else {
                    return Ok(None);
                };
                self.file = Some(OfFile::open(&self.reading, file, &self.context)?);
                continue;
            };
            let Some(mut batch) = file.next(&self.reading).await? else {
                self.file = None;
                continue;
            };
            if batch.num_rows() > self.left {
                batch = batch.slice(0, self.left);
            }
            self.left -= batch.num_rows();
            self.metrics.record_output(batch.num_rows());
            if file.is_kept {
                self.read.record_output(batch.num_rows());
            }
            return Ok(Some(batch));
        }
        Ok(None)
    }
}

/// Where the values of a file come from.
enum From {
    Kept {
        columns: Vec<Arc<Pieces>>,
        /// The places of pieces that may have such rows.
        places: std::vec::IntoIter<usize>,
    },
    Decoded(Decoded),
    /// Nothing is left.
    End,
}

/// A file that is decoded.
struct Decoded {
    scan: Arc<DataSourceExec>,
    rows: SendableRecordBatchStream,
    /// Over those rows.
    values: Vec<Arc<dyn PhysicalExpr>>,
    so_far: Vec<Vec<ArrayRef>>,
}

/// A file of which rows are made.
struct OfFile {
    key: FileKey,
    is_kept: bool,
    from: From,
    chosen: Option<Chosen>,
    projector: Projector,
    /// Where few rows of a piece are left, those of several go together.
    together: BatchCoalescer,
}

impl OfFile {
    fn open(reading: &Reading, file: PartitionedFile, context: &Arc<TaskContext>) -> Result<Self> {
        let asked = &reading.question.asked;
        let of_file = |expr: Arc<dyn PhysicalExpr>| {
            expr.transform_down(|part| {
                let Some(column) = part.downcast_ref::<Column>() else {
                    return Ok(Transformed::no(part));
                };
                let place = column.index().checked_sub(asked.values.len());
                let value = place.and_then(|place| file.partition_values.get(place));
                Ok(match value {
                    Some(value) => Transformed::yes(lit(value.clone())),
                    None => Transformed::no(part),
                })
            })
            .data()
        };
        let filter = asked.filter.clone().map(of_file).transpose()?;
        let projection = asked.projection.clone().try_map_exprs(of_file)?;
        let projector = projection.make_projector(&asked.schema)?;
        let key = reading.question.key(&file);
        let columns = reading.question.columns;
        let from = match columns.get(&key, asked.names(), reading.number) {
            Some(columns) => {
                let bounds = Bounds {
                    schema: &asked.schema,
                    columns: &columns,
                };
                let places = wanted(filter.as_ref(), &bounds, context)?;
                From::Kept {
                    columns,
                    places: places.into_iter(),
                }
            }
            None => From::Decoded(reading.decoded(file, context)?),
        };
        let together =
            BatchCoalescer::new(Arc::clone(&reading.schema), reading.question.piece_rows)
                .with_biggest_coalesce_batch_size(Some(reading.question.piece_rows / 2));
        Ok(Self {
            key,
            is_kept: matches!(from, From::Kept { .. }),
            from,
            chosen: filter.map(|filter| Chosen::of(&filter, &asked.schema)),
            projector,
            together,
        })
    }

    /// The next of its rows.
    async fn next(&mut self, reading: &Reading) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.together.next_completed_batch() {
                return Ok(Some(batch));
            }
            if matches!(self.from, From::End) {
                return Ok(None);
            }
            let Some(piece) = self.piece(reading).await? else {
                self.from = From::End;
                self.together.finish_buffered_batch()?;
                continue;
            };
            let Some(piece) = self.filtered(piece)? else {
                continue;
            };
            // Types are the same, but for what may be NULL.
            let batch = self.projector.project_batch(&piece)?;
            let batch = batch.with_schema(Arc::clone(&reading.schema))?;
            if self.chosen.is_none() {
                return Ok(Some(batch));
            }
            self.together.push_batch(batch)?;
        }
    }

    /// The next piece of its values.
    async fn piece(&mut self, reading: &Reading) -> Result<Option<RecordBatch>> {
        let piece = match &mut self.from {
            From::Kept { columns, places } => {
                let Some(place) = places.next() else {
                    return Ok(None);
                };
                let piece = columns.iter().map(|pieces| pieces.get(place));
                let piece = piece.collect::<Option<Vec<_>>>();
                piece.ok_or_else(|| internal_datafusion_err!("a piece is missing"))?
            }
            From::Decoded(decoded) => match decoded.rows.try_next().await? {
                Some(rows) => decoded.piece(&rows)?,
                None => {
                    decoded.keep(&self.key, reading);
                    return Ok(None);
                }
            },
            From::End => return Ok(None),
        };
        let schema = Arc::clone(&reading.question.asked.schema);
        Ok(Some(RecordBatch::try_new(schema, piece)?))
    }

    /// The rows that are asked for; `None` where there are none.
    fn filtered(&self, piece: RecordBatch) -> Result<Option<RecordBatch>> {
        let Some(chosen) = &self.chosen else {
            return Ok(Some(piece));
        };
        let wanted = chosen.rows(&piece)?;
        Ok(match wanted.true_count() {
            0 => None,
            all if all == piece.num_rows() => Some(piece),
            _ => Some(filter_record_batch(&piece, &wanted)?),
        })
    }
}

impl Decoded {
    /// The values of some rows.
    fn piece(&mut self, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let values = self.values.iter().zip(&mut self.so_far);
        let values = values.map(|(value, so_far)| {
            let mut value = value.evaluate(rows)?.into_array(rows.num_rows())?;
            // What is taken out of lists has room for all that is in them.
            value.shrink_to_fit();
            so_far.push(Arc::clone(&value));
            Ok(value)
        });
        values.collect()
    }

    /// Keeps all of them.
    fn keep(&mut self, file: &FileKey, reading: &Reading) {
        let counted = reading.question.scan.file_source().metrics();
        for metric in self.scan.metrics().iter().flat_map(MetricsSet::iter) {
            counted.register(Arc::clone(metric));
        }
        let values = std::mem::take(&mut self.so_far);
        for (name, pieces) in reading.question.asked.names().zip(values) {
            reading
                .question
                .columns
                .keep(file, name, pieces, reading.number);
        }
    }
}

/// The places of the pieces that may have rows which pass a filter.
fn wanted(
    filter: Option<&Arc<dyn PhysicalExpr>>,
    bounds: &Bounds<'_>,
    context: &TaskContext,
) -> Result<Vec<usize>> {
    let all = 0..bounds.num_containers();
    let Some(filter) = filter else {
        return Ok(all.collect());
    };
    let listed = &context.session_config().options().execution.parquet;
    let filter = snapshot_physical_expr(Arc::clone(filter))?;
    let wanted = PruningPredicateBuilder::new()
        .with_file_schema(Arc::clone(bounds.schema))
        .with_max_in_list_size(listed.max_in_list_size)
        .try_build(filter)?
        .prune(bounds)?;
    Ok(all
        .zip(wanted)
        .filter_map(|(place, wanted)| wanted.then_some(place))
        .collect())
}
