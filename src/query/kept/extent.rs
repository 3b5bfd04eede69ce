//! What part of its files a scan reads, which is known when it has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt as _, stream};

use super::asked::{Asked, Extent};
use super::columns::{Columns, FileKey};
use crate::query::best_first::in_whole;

/// What scans choose: parts of files, row groups of these, rows of pages of these.
const CHOICES: [&str; 3] = [
    "files_ranges_pruned_statistics",
    "row_groups_pruned_statistics",
    "page_index_rows_pruned",
];

/// Who reads so many percent of the rows may as well read all of them.
const MUCH_PERCENT: usize = 25;

/// A question for columns of some files.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) scan: FileScanConfig,
    pub(super) columns: &'static Columns,
    pub(super) asked: Arc<Asked>,
    pub(super) piece_rows: usize,
    /// Threads that have not ended.
    running: AtomicUsize,
}

impl Question {
    pub(super) fn of(
        scan: &FileScanConfig,
        columns: &'static Columns,
        asked: &Arc<Asked>,
        piece_rows: usize,
    ) -> Self {
        Self {
            running: AtomicUsize::new(scan.file_groups.len()),
            scan: scan.clone(),
            columns,
            asked: Arc::clone(asked),
            piece_rows,
        }
    }

    /// Its number, if its columns are kept or are to be.
    pub(super) fn ask(&self) -> Option<u64> {
        let is_whole = match &self.asked.extent {
            Extent::Whole => true,
            Extent::Pages(condition) => self.columns.is_wide(condition),
            Extent::Least => false,
        };
        let files = self.scan.file_groups.iter().flat_map(in_whole);
        let files = files.map(|file| self.key(&file));
        self.columns.ask(files, self.asked.names(), is_whole)
    }

    /// What a file's columns are kept by.
    pub(super) fn key(&self, file: &PartitionedFile) -> FileKey {
        FileKey::new(&self.scan.object_store_url, file, self.piece_rows)
    }

    /// The rows of one of the threads that scan; when all have ended it is remembered whether they have read much.
    pub(super) fn watched(
        self: Arc<Self>,
        rows: SendableRecordBatchStream,
    ) -> SendableRecordBatchStream {
        let Extent::Pages(_) = self.asked.extent else {
            return rows;
        };
        let schema = rows.schema();
        let end = stream::poll_fn(move |_| {
            self.end();
            Poll::Ready(None)
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, rows.chain(end)))
    }

    fn end(&self) {
        let is_last = self.running.fetch_sub(1, Ordering::AcqRel) == 1;
        if let Extent::Pages(condition) = &self.asked.extent
            && is_last
            && read_percent(&self.scan.file_source().metrics().clone_inner()) >= MUCH_PERCENT
        {
            self.columns.remember_wide(condition);
            self.ask();
        }
    }
}

/// Percent of the rows of its files that a scan has read. Where nothing was chosen, nothing was left out.
fn read_percent(metrics: &MetricsSet) -> usize {
    let percent = |percent: usize, choice: &&str| {
        let found = metrics.iter().filter_map(|metric| match metric.value() {
            MetricValue::PruningMetrics {
                name,
                pruning_metrics,
            } if name == choice => Some((pruning_metrics.matched(), pruning_metrics.pruned())),
            _ => None,
        });
        let (read, left) = found.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        match read + left {
            0 => percent,
            all => percent * read / all,
        }
    };
    CHOICES.iter().fold(100, percent)
}

#[cfg(test)]
mod tests {
    use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};

    use super::*;

    #[test]
    fn what_was_read_is_a_part_of_all_choices() {
        let metrics = ExecutionPlanMetricsSet::new();
        let percent = || read_percent(&metrics.clone_inner());
        let chosen = |choice: &'static str, part, read, left| {
            let chosen = MetricBuilder::new(&metrics).pruning_metrics(choice, part);
            chosen.add_matched(read);
            chosen.add_pruned(left);
        };
        assert_eq!(percent(), 100);
        chosen(CHOICES[2], 0, 900, 100);
        assert_eq!(percent(), 90);
        chosen(CHOICES[2], 1, 100, 900);
        assert_eq!(percent(), 50);
        chosen(CHOICES[1], 0, 1, 3);
        assert_eq!(percent(), 12);
        chosen("predicate_evaluation_errors", 0, 1, 9);
        assert_eq!(percent(), 12);
        chosen(CHOICES[0], 0, 0, 9);
        assert_eq!(percent(), 0);
    }
}
