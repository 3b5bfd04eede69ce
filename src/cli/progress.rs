//! A question while it runs: how much it has read, on a terminal, and what it took, for `--stats`.
//!
//! Both come from what the operators of a plan count. A plan that runs on other machines counts there.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::dataframe::DataFrame;
use datafusion::error::Result as Answer;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};
use futures::{Stream, StreamExt as _};
use indicatif::{HumanBytes, HumanCount, ProgressBar};

use super::progress_bar::spinner;
use super::stderr::{print_message, shows_progress};
use crate::error::{Error, Result};

/// How long a question runs before it is told that it does.
const SILENT: Duration = Duration::from_secs(2);

/// How often it is told how far it is.
const TOLD: Duration = Duration::from_millis(250);

const STYLE: &str = "{spinner} {msg}, {elapsed}";

/// A question that runs.
pub(super) struct TrackedPlan {
    plan: Arc<dyn ExecutionPlan>,
}

/// Runs a plan: its rows.
pub(super) type Execute =
    fn(Arc<dyn ExecutionPlan>, Arc<TaskContext>) -> Answer<SendableRecordBatchStream>;

/// Starts a question; its rows, and what counts for it.
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
    /// The rows; until the first come, a line says how far the question is.
    fn with_progress(&self, rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
        let plan = Arc::clone(&self.plan);
        let line = Arc::new(Mutex::new(Line::Waiting));
        let shown = Arc::clone(&line);
        let begun = Instant::now();
        tokio::spawn(async move {
            tokio::time::sleep(SILENT).await;
            while shown.is_told(&Read::of_plan(&plan).describe(begun.elapsed())) {
                tokio::time::sleep(TOLD).await;
            }
        });
        Box::pin(Shown { rows, line })
    }

    /// Says what the question took.
    pub(super) fn tell_stats(&self) {
        let read = Read::of_plan(&self.plan);
        let of = |part: usize, all: usize| {
            format!("{} of {}", HumanCount(part as u64), HumanCount(all as u64))
        };
        print_message(&format!(
            "read: {} rows, {}, {} files, {} row groups",
            HumanCount(read.rows as u64),
            HumanBytes(read.bytes as u64),
            of(read.files.matched, read.files.all),
            of(read.row_groups.matched, read.row_groups.all),
        ));
        let most = most_memory_bytes().map_or_else(String::new, |bytes| {
            format!("memory: {} at most, ", HumanBytes(bytes))
        });
        print_message(&format!(
            "{most}spilled: {}",
            HumanBytes(read.spilled_bytes as u64)
        ));
    }
}

/// The line that says how far it is.
enum Line {
    /// The question has not run for long.
    Waiting,
    /// It is shown.
    Shown(ProgressBar),
    /// Rows have come, or nobody waits any more.
    Over,
}

/// A line that is told by one, and ended by another.
trait Told {
    /// Shows it; false once it is over.
    fn is_told(&self, text: &str) -> bool;
    /// Takes it away.
    fn end(&self);
}

impl Told for Mutex<Line> {
    fn is_told(&self, text: &str) -> bool {
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

/// Rows of a question that says how far it is until they come.
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
    type Item = Answer<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.rows.poll_next_unpin(context);
        if next.is_ready() {
            // Nothing is printed before the line is gone.
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

/// Of how many there are, how many were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Part {
    matched: usize,
    all: usize,
}

/// What the operators of a plan have counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Read {
    rows: usize,
    bytes: usize,
    files: Part,
    row_groups: Part,
    spilled_bytes: usize,
}

impl Read {
    fn of_plan(plan: &Arc<dyn ExecutionPlan>) -> Self {
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

    /// What a scan of files says.
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

    /// `1,234,567 rows and 12 MiB read, 6 MiB/s`
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

/// The most memory that the process has had; `None` where the system does not say.
fn most_memory_bytes() -> Option<u64> {
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

    use super::*;
    use crate::store::Store;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_a_question_reads_is_counted() {
        let store = Store::demo().await.unwrap();
        let context = store.session().await.unwrap();
        let sql = "SELECT line, runtime_ns FROM records WHERE platform = 'epyc-1t' AND line > 3";
        let frame = context.sql(sql).await.unwrap();
        let (watched, mut rows) = run(frame, execute_stream).await.unwrap();
        let mut count = 0;
        while let Some(batch) = rows.next().await {
            count += batch.unwrap().num_rows();
        }
        let read = Read::of_plan(&watched.plan);
        assert!(read.rows >= count && count > 0, "{read:?}");
        assert!(read.bytes > 0 && read.files.matched > 0, "{read:?}");
        assert!(read.row_groups.all >= read.row_groups.matched, "{read:?}");
        assert_eq!(read.spilled_bytes, 0);
        let told = read.describe(Duration::from_secs(2));
        assert!(told.contains(" rows and ") && told.contains("/s"), "{told}");
    }
}
