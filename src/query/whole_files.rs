//! A file whose rows lie together is read by one thread, and threads read as many bytes as they can of such files.
//!
//! DataFusion divides the bytes of a scan evenly among threads. A row group is read by whoever has its first byte, and the files
//! of a store have one each: of two files, of which the second is some bytes longer, the first thread reads the first
//! file and the first bytes of the second, which is both, and the second thread nothing.
//!
//! ```text
//! thread 1  |----- a -----|-|                     |----- a -----|
//! thread 2                  |------ b ------|  ─▶              |------- b -------|
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use object_store::path::Path;

use crate::store::{ROW_GROUP_ROWS, scan_of_store};

/// The rule that puts files together again, after the one that divides them.
#[derive(Debug)]
pub(super) struct WholeFiles;

impl PhysicalOptimizerRule for WholeFiles {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let groups = scan_of_store(&node).and_then(|scan| Some((scan, whole(scan)?)));
            let Some((scan, groups)) = groups else {
                return Ok(Transformed::no(node));
            };
            let scan = FileScanConfigBuilder::from(scan.clone());
            let scan = DataSourceExec::from_data_source(scan.with_file_groups(groups).build());
            Ok(Transformed::yes(scan as Arc<dyn ExecutionPlan>))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "whole_files"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The same groups, in which no file of one row group is divided; `None` where none was.
fn whole(scan: &FileScanConfig) -> Option<Vec<FileGroup>> {
    let bytes = |file: &PartitionedFile| {
        file.range
            .as_ref()
            .map_or(0, |range| range.end - range.start)
    };
    // Who has most of each divided file, and the least place if several have.
    let mut most: HashMap<&Path, (usize, i64, usize)> = HashMap::new();
    for (group, files) in scan.file_groups.iter().enumerate() {
        for file in files.iter().filter(|file| has_one_row_group(file)) {
            let (of, had, pieces) = most.entry(file.path()).or_insert((group, 0, 0));
            *pieces += 1;
            if bytes(file) > *had {
                (*of, *had) = (group, bytes(file));
            }
        }
    }
    most.retain(|_, (_, _, pieces)| *pieces > 1);
    if most.is_empty() {
        return None;
    }
    let mut groups = Vec::with_capacity(scan.file_groups.len());
    for (group, files) in scan.file_groups.iter().enumerate() {
        let own = files.iter().filter_map(|file| match most.get(file.path()) {
            None => Some(file.clone()),
            Some((of, ..)) if *of == group => {
                let mut file = file.clone();
                file.range = None;
                Some(file)
            }
            Some(_) => None,
        });
        // A group without files stays: the plan above counts on as many.
        groups.push(FileGroup::new(own.collect()));
    }
    Some(groups)
}

/// Does the file have as few rows as one row group has at most?
fn has_one_row_group(file: &PartitionedFile) -> bool {
    let rows = file.statistics.as_ref().map(|known| known.num_rows);
    let rows = rows.and_then(|rows| rows.get_value().copied());
    rows.is_some_and(|rows| rows <= ROW_GROUP_ROWS)
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Schema;
    use datafusion::common::Statistics;
    use datafusion::common::stats::Precision;
    use datafusion::datasource::physical_plan::ParquetSource;
    use datafusion::execution::object_store::ObjectStoreUrl;

    use super::*;

    /// A piece of a file: its name, rows, first byte and end.
    type Piece = (&'static str, usize, i64, i64);

    fn scan(store: &str, groups: &[&[Piece]]) -> Arc<dyn ExecutionPlan> {
        let schema = Arc::new(Schema::empty());
        let file = |(name, rows, start, end): &Piece| {
            let mut statistics = Statistics::new_unknown(&schema);
            statistics.num_rows = Precision::Exact(*rows);
            PartitionedFile::new(*name, 100)
                .with_range(*start, *end)
                .with_statistics(Arc::new(statistics))
        };
        let groups = groups
            .iter()
            .map(|files| FileGroup::new(files.iter().map(file).collect()));
        let source = Arc::new(ParquetSource::new(Arc::clone(&schema)));
        let scan = FileScanConfigBuilder::new(ObjectStoreUrl::parse(store).unwrap(), source);
        DataSourceExec::from_data_source(scan.with_file_groups(groups.collect()).build())
    }

    /// Names and ranges of the files of each group.
    fn groups(store: &str, of: &[&[Piece]]) -> Vec<Vec<String>> {
        let plan = WholeFiles
            .optimize(scan(store, of), &ConfigOptions::default())
            .unwrap();
        let scan = plan.downcast_ref::<DataSourceExec>().unwrap().data_source();
        let scan = scan.downcast_ref::<FileScanConfig>().unwrap();
        let shown = |file: &PartitionedFile| match &file.range {
            Some(range) => format!("{} {}-{}", file.path(), range.start, range.end),
            None => file.path().to_string(),
        };
        let groups = scan.file_groups.iter();
        groups
            .map(|group| group.iter().map(shown).collect())
            .collect()
    }

    #[test]
    fn who_has_most_of_a_file_reads_it() {
        const MANY: usize = ROW_GROUP_ROWS + 1;
        let own = "tsql://store-1";
        let two: [&[Piece]; 2] = [&[("a", 9, 0, 40), ("b", 9, 0, 1)], &[("b", 9, 1, 42)]];
        assert_eq!(groups(own, &two), [["a 0-40"], ["b"]]);
        // Files that others have written may have many row groups, and large ones have.
        assert_eq!(
            groups("file:///", &two),
            [vec!["a 0-40", "b 0-1"], vec!["b 1-42"]]
        );
        let large: [&[Piece]; 2] = [&[("a", 9, 0, 40), ("b", MANY, 0, 1)], &[("b", MANY, 1, 42)]];
        assert_eq!(
            groups(own, &large),
            [vec!["a 0-40", "b 0-1"], vec!["b 1-42"]]
        );
        // One file is read by one of three, and the others are still there.
        let one: [&[Piece]; 3] = [&[("a", 9, 0, 30)], &[("a", 9, 30, 60)], &[("a", 9, 60, 90)]];
        assert_eq!(groups(own, &one), [vec!["a"], vec![], vec![]]);
        let whole: [&[Piece]; 2] = [&[("a", 9, 0, 40)], &[("b", 9, 0, 41)]];
        assert_eq!(groups(own, &whole), [["a 0-40"], ["b 0-41"]]);
    }
}
