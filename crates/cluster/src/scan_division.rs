//! Divides scans of a store's files between tasks.
//!
//! Each file group is cut into one slice per task, of about equal bytes. A slice keeps the order of the group,
//! and every task has the same number of groups. A cut falls between two files if one begins nearby. Otherwise
//! it falls inside a file, whose row groups then belong to two tasks.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedLeafExec,
    ScaleUpLeafNodeEvent, ScaleUpLeafNodeEventResponse,
};
use tsql_store::{ExpectedRows, scan_of_store};

/// Number of tasks of the smallest distributed query.
const MIN_TASKS: f64 = 8.0;

/// Number of rows per task.
pub(super) struct RowsPerTask(f64);

impl RowsPerTask {
    /// Computes it from the smallest number of rows that is distributed.
    pub(super) fn new(least_rows: f64) -> Self {
        Self(least_rows / MIN_TASKS)
    }
}

/// Maximum shift of a cut to the beginning of a file, as a fraction of a slice.
const MAX_CUT_SHIFT: f64 = 0.15;

/// Returns the byte range of a file that is read.
fn byte_range(file: &PartitionedFile) -> (i64, i64) {
    match &file.range {
        Some(range) => (range.start, range.end),
        None => (0, i64::try_from(file.object_meta.size).unwrap_or(i64::MAX)),
    }
}

/// Estimates the output rows of a scan: the rows of its files, reduced by its filters.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(super) fn expected_rows(scan: &FileScanConfig) -> f64 {
    let files = scan.file_groups.iter().flat_map(FileGroup::files);
    let rows = files.map(|file| {
        let whole = file
            .extension::<ExpectedRows>()
            .map_or(0.0, |expected| expected.rows);
        let (begin, end) = byte_range(file);
        whole * (end - begin) as f64 / (file.object_meta.size.max(1)) as f64
    });
    let rows: f64 = rows.sum();
    scan.limit.map_or(rows, |limit| rows.min(limit as f64))
}

/// Returns the number of tasks for a scan.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, above 0"
)]
pub(super) fn desired_tasks(
    event: DesiredTaskCountEvent<'_>,
) -> Option<Result<DesiredTaskCountEventResponse>> {
    let share = event.session_config.get_extension::<RowsPerTask>()?;
    let rows = expected_rows(scan_of_store(event.plan)?);
    let wanted = (rows / share.0).ceil().clamp(1.0, 1e6) as usize;
    Some(Ok(DesiredTaskCountEventResponse::desired(wanted)))
}

/// Divides a scan into one scan per task.
pub(super) fn divide_scan(
    event: ScaleUpLeafNodeEvent<'_>,
) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
    let scan = scan_of_store(event.plan)?;
    let mut of_tasks = vec![Vec::with_capacity(scan.file_groups.len()); event.task_count];
    for group in &scan.file_groups {
        let slices = slice_files(group.files(), event.task_count);
        for (of_task, slice) in of_tasks.iter_mut().zip(slices) {
            of_task.push(FileGroup::new(slice));
        }
    }
    let variants = of_tasks.into_iter().map(|groups| {
        let mut scan = scan.clone();
        scan.file_groups = groups;
        DataSourceExec::from_data_source(scan) as Arc<dyn ExecutionPlan>
    });
    let leaf = DistributedLeafExec::try_new(Arc::clone(event.plan), variants);
    Some(leaf.map(|leaf| ScaleUpLeafNodeEventResponse::new(Arc::new(leaf))))
}

/// Cuts the files of a group into `count` slices of about equal bytes, in order.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "positions of cuts need not be exact, all are rounded in the same way"
)]
fn slice_files(files: &[PartitionedFile], count: usize) -> Vec<Vec<PartitionedFile>> {
    let total: i64 = files
        .iter()
        .map(|file| byte_range(file).1 - byte_range(file).0)
        .sum();
    let share = total as f64 / count.max(1) as f64;
    let mut begins = vec![0];
    for file in files {
        let (begin, end) = byte_range(file);
        begins.push(begins.last().copied().unwrap_or(0) + end - begin);
    }
    let cut = |place: usize| {
        let wanted = share * place as f64;
        let near = begins
            .iter()
            .min_by_key(|begin| (**begin as f64 - wanted).abs() as i64);
        let near = near
            .copied()
            .filter(|near| (*near as f64 - wanted).abs() <= share * MAX_CUT_SHIFT);
        near.unwrap_or(wanted as i64)
    };
    let mut slices = Vec::with_capacity(count);
    for place in 0..count {
        let (from, to) = (
            cut(place),
            if place + 1 == count {
                total
            } else {
                cut(place + 1)
            },
        );
        let parts = files.iter().zip(&begins).filter_map(|(file, at)| {
            let (begin, end) = byte_range(file);
            let (first, last) = (
                (from - at).max(0) + begin,
                (to - at).min(end - begin) + begin,
            );
            if first >= last {
                return None;
            }
            let mut part = file.clone();
            if (first, last) != (begin, end) {
                part.range = Some(FileRange {
                    start: first,
                    end: last,
                });
            }
            Some(part)
        });
        slices.push(parts.collect());
    }
    slices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(slices: &[Vec<PartitionedFile>]) -> Vec<String> {
        let part = |file: &PartitionedFile| {
            let name = file.object_meta.location.to_string();
            match &file.range {
                None => name,
                Some(range) => format!("{name}[{}..{}]", range.start, range.end),
            }
        };
        let slice =
            |slice: &Vec<PartitionedFile>| slice.iter().map(part).collect::<Vec<_>>().join(" ");
        slices.iter().map(slice).collect()
    }

    #[test]
    fn cuts_go_between_files_where_one_begins_nearby() {
        let file = |name: &str, size| PartitionedFile::new(name, size);
        let files = [file("a", 100), file("b", 104), file("c", 96)];
        assert_eq!(describe(&slice_files(&files, 3)), ["a", "b", "c"]);
        let two = describe(&slice_files(&files, 2));
        assert_eq!(two, ["a b[0..50]", "b[50..104] c"]);
        assert_eq!(
            describe(&slice_files(&files[..1], 4)),
            ["a[0..25]", "a[25..50]", "a[50..75]", "a[75..100]"]
        );
        assert_eq!(describe(&slice_files(&[], 2)), ["", ""]);
    }

    #[test]
    fn every_byte_goes_to_one_task_whatever_the_sizes() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..500 {
            let count = random.usize(0..6);
            let files: Vec<PartitionedFile> = (0..count)
                .map(|place| {
                    let most = 1 << random.u32(1..30);
                    let size = random.u64(1..most);
                    let file = PartitionedFile::new(format!("{place}"), size);
                    let begin = random.u64(0..size);
                    let end = random.u64(begin..size) + 1;
                    if random.bool() {
                        file
                    } else {
                        file.with_range(begin.cast_signed(), end.cast_signed())
                    }
                })
                .collect();
            let parts: Vec<PartitionedFile> = slice_files(&files, random.usize(1..9))
                .into_iter()
                .flatten()
                .collect();
            let mut parts = parts.iter();
            for file in &files {
                let (begin, end) = byte_range(file);
                let mut at = begin;
                while at < end {
                    let part = parts.next().unwrap();
                    assert_eq!(part.object_meta.location, file.object_meta.location);
                    assert_eq!(byte_range(part).0, at);
                    at = byte_range(part).1;
                }
                assert_eq!(at, end);
            }
            assert!(parts.next().is_none());
        }
    }
}
