//! Progress of a running query on a terminal, and its statistics for `--stats`.
//!
//! Both come from the metrics of the operators of a plan. A plan that runs on other machines has its metrics there.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::dataframe::DataFrame;
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};
use futures::{Stream, StreamExt as _};
use indicatif::{HumanBytes, HumanCount, ProgressBar};
use tsql_error::{Error, Result};

use super::progress_bar::spinner;
use super::stderr::{print_message, shows_progress};

/// Delay before the progress line appears.
const DELAY: Duration = Duration::from_secs(2);

/// Time between updates of the progress line.
const UPDATE_INTERVAL: Duration = Duration::from_millis(250);

const STYLE: &str = "{spinner} {msg}, {elapsed}";

/// Plan of a running query.
pub(super) struct TrackedPlan {
    plan: Arc<dyn ExecutionPlan>,
}

/// Function that runs a plan, and returns its rows.
pub(super) type Execute =
    fn(Arc<dyn ExecutionPlan>, Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream>;

/// Starts a query. Returns its plan, for the statistics, and its rows.
pub(super) async fn run(
    frame: DataFrame,
    execute: Execute,
) -> Result<(TrackedPlan, SendableRecordBatchStream)> {
    let context = Arc::new(frame.task_ctx());
    let plan = frame.create_physical_plan().await.map_err(Error::Query)?;
    let rows = execute(Arc::clone(&plan), context).map_err(Error::Query)?;
    let watched = TrackedPlan { plan };
    let rows = if shows_progress() {
        watched.with_progress(rows)
    } else {
        rows
    };
    Ok((watched, rows))
}

impl TrackedPlan {
    /// Returns the rows. A progress line is shown until the first ones arrive.
    fn with_progress(&self, rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
        let plan = Arc::clone(&self.plan);
        let line = Arc::new(Mutex::new(Line::Waiting));
        let shown = Arc::clone(&line);
        let begun = Instant::now();
        tokio::spawn(async move {
            tokio::time::sleep(DELAY).await;
            while shown.update(&Read::from_plan(&plan).describe(begun.elapsed())) {
                tokio::time::sleep(UPDATE_INTERVAL).await;
            }
        });
        Box::pin(Shown { rows, line })
    }

    /// Prints the statistics of the query.
    pub(super) fn print_stats(&self) {
        let read = Read::from_plan(&self.plan);
        let format_part = |part: usize, all: usize| {
            format!("{} of {}", HumanCount(part as u64), HumanCount(all as u64))
        };
        print_message(&format!(
            "read: {} rows, {}, {} files, {} row groups",
            HumanCount(read.rows as u64),
            HumanBytes(read.bytes as u64),
            format_part(read.files.matched, read.files.all),
            format_part(read.row_groups.matched, read.row_groups.all),
        ));
        let most = peak_memory_bytes().map_or_else(String::new, |bytes| {
            format!("memory: {} at most, ", HumanBytes(bytes))
        });
        print_message(&format!(
            "{most}spilled: {}",
            HumanBytes(read.spilled_bytes as u64)
        ));
    }
}

/// State of the progress line.
enum Line {
    /// Not shown yet.
    Waiting,
    /// Shown.
    Shown(ProgressBar),
    /// Removed: rows have arrived, or the stream was dropped.
    Over,
}

/// A progress line that a task updates and the stream of rows removes.
trait ProgressLine {
    /// Shows the text; returns false once the line is removed.
    fn update(&self, text: &str) -> bool;
    /// Removes the line.
    fn end(&self);
}

impl ProgressLine for Mutex<Line> {
    fn update(&self, text: &str) -> bool {
        let mut line = self.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*line, Line::Waiting) {
            *line = Line::Shown(spinner(STYLE));
        }
        match &*line {
            Line::Shown(bar) => bar.set_message(text.to_owned()),
            Line::Waiting | Line::Over => return false,
        }
        true
    }

    fn end(&self) {
        let mut line = self.lock().unwrap_or_else(PoisonError::into_inner);
        if let Line::Shown(bar) = std::mem::replace(&mut *line, Line::Over) {
            bar.finish_and_clear();
        }
    }
}

/// Rows of a query with a progress line until they arrive.
struct Shown {
    rows: SendableRecordBatchStream,
    line: Arc<Mutex<Line>>,
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.line.end();
    }
}

impl Stream for Shown {
    type Item = DataFusionResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.rows.poll_next_unpin(context);
        if next.is_ready() {
            // The line is removed before any row is printed.
            self.line.end();
        }
        next
    }
}

impl RecordBatchStream for Shown {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}

/// Number of matched files or row groups, and of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Part {
    matched: usize,
    all: usize,
}

/// Sums of the metrics of the operators of a plan so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Read {
    rows: usize,
    bytes: usize,
    files: Part,
    row_groups: Part,
    spilled_bytes: usize,
}

impl Read {
    fn from_plan(plan: &Arc<dyn ExecutionPlan>) -> Self {
        let mut read = Self::default();
        read.add(plan);
        read
    }

    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        let children = plan.children();
        if let Some(counted) = plan.metrics() {
            self.spilled_bytes += counted.spilled_bytes().unwrap_or(0);
            if children.is_empty() {
                self.rows += counted.output_rows().unwrap_or(0);
                self.add_scan(&counted);
            }
        }
        children.into_iter().for_each(|child| self.add(child));
    }

    /// Adds the metrics of a scan of files.
    fn add_scan(&mut self, counted: &MetricsSet) {
        for metric in counted.iter() {
            match metric.value() {
                MetricValue::Count { name, count } if name == "bytes_scanned" => {
                    self.bytes += count.value();
                }
                MetricValue::PruningMetrics {
                    name,
                    pruning_metrics,
                } => {
                    let (pruned, matched) = (pruning_metrics.pruned(), pruning_metrics.matched());
                    let part = match name.as_ref() {
                        "files_ranges_pruned_statistics" => &mut self.files,
                        "row_groups_pruned_statistics" => &mut self.row_groups,
                        _ => continue,
                    };
                    part.matched += matched;
                    part.all += matched + pruned;
                }
                _ => {}
            }
        }
    }

    /// Formats the progress: `1,234,567 rows and 12 MiB read, 6 MiB/s`.
    fn describe(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs().max(1);
        let rate = self.bytes as u64 / seconds;
        let rows = HumanCount(self.rows as u64);
        if self.bytes == 0 {
            return format!("{rows} rows so far");
        }
        format!(
            "{rows} rows and {} read, {}/s",
            HumanBytes(self.bytes as u64),
            HumanBytes(rate)
        )
    }
}

/// Returns the peak memory of the process; `None` if the system does not report it.
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use datafusion::physical_plan::execute_stream;
    use tsql_dataset::demo::create_demo;
    use tsql_session::open_session;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn rows_and_files_of_a_query_are_counted() {
        let store = create_demo().await.unwrap();
        let context = open_session(&store).await.unwrap();
        let sql = "SELECT line, runtime_ns FROM records WHERE platform = 'epyc-1t' AND line > 3";
        let frame = context.sql(sql).await.unwrap();
        let (watched, mut rows) = run(frame, execute_stream).await.unwrap();
        let mut count = 0;
        while let Some(batch) = rows.next().await {
            count += batch.unwrap().num_rows();
        }
        let read = Read::from_plan(&watched.plan);
        assert!(read.rows >= count && count > 0, "{read:?}");
        assert!(read.bytes > 0 && read.files.matched > 0, "{read:?}");
        assert!(read.row_groups.all >= read.row_groups.matched, "{read:?}");
        assert_eq!(read.spilled_bytes, 0);
        let text = read.describe(Duration::from_secs(2));
        assert!(text.contains(" rows and ") && text.contains("/s"), "{text}");
    }
}
