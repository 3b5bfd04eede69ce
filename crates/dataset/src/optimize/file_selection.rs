//! Selection of the files of a partition that are rewritten, so that there are few files and rows are rarely moved.
//!
//! A *run* is a list of files whose ranges of the first sort column do not overlap. New data becomes a run of its own.
//! A run is merged if it is not much larger than all smaller ones together, as in log-structured merge trees (O'Neil et
//! al.: The Log-Structured Merge-Tree, 1996). So a row is moved a few times for each fourfold growth of its table, and
//! a lookup reads few runs.

use tsql_schema::Table;
use tsql_store::file::{DataFile, StatValue};

/// Maximum number of rows of an optimized file: about 20 MB of records. All files of a partition have about the same
/// number.
pub(super) const FILE_ROWS: u64 = 1 << 20;

/// A run with more than this many times the rows of all smaller ones is not rewritten.
const GROWTH: u64 = 4;

/// Returns the number of files for this number of rows.
pub(super) fn file_count(rows: u64) -> u64 {
    rows.div_ceil(FILE_ROWS).max(1)
}

/// Returns the total number of rows of these files.
pub(super) fn row_count<'a>(files: impl IntoIterator<Item = &'a DataFile>) -> u64 {
    let rows = files.into_iter().map(|file| file.stats.num_records);
    rows.sum()
}

/// Returns the files of a partition that are rewritten together. Empty if none need it.
pub(super) fn files_to_rewrite(table: &Table, files: Vec<DataFile>) -> Vec<DataFile> {
    let rows = row_count(&files);
    let count = files.len() as u64;
    let is_new = |file: &DataFile| !file.is_optimized();
    if rows <= FILE_ROWS {
        let is_done = count <= file_count(rows) + 1 && !files.iter().any(is_new);
        return if is_done { Vec::new() } else { files };
    }
    let (mut due, optimized): (Vec<_>, Vec<_>) = files.into_iter().partition(is_new);
    let runs = sorted_runs(table, optimized);
    let most = |run: &Vec<DataFile>| file_count(row_count(run)) + 1;
    if count - due.len() as u64 > runs.iter().map(most).sum() {
        due.extend(runs.into_iter().flatten());
        return due;
    }
    let has_new = !due.is_empty();
    let mut merged = 0_usize;
    for run in runs {
        let is_first = due.is_empty();
        if !is_first && row_count(&run) > GROWTH * row_count(&due) {
            break;
        }
        due.extend(run);
        merged += 1;
    }
    if has_new || merged > 1 {
        due
    } else {
        Vec::new()
    }
}

/// Groups the files to runs, smallest first.
fn sorted_runs(table: &Table, files: Vec<DataFile>) -> Vec<Vec<DataFile>> {
    let first = table.sort.first().map_or("", String::as_str);
    let bound = |file: &DataFile, greatest: bool| {
        let values = if greatest {
            &file.stats.max_values
        } else {
            &file.stats.min_values
        };
        values.get(first).and_then(Bound::from_stat)
    };
    let mut files: Vec<(Option<Bound>, Option<Bound>, DataFile)> = files
        .into_iter()
        .map(|file| (bound(&file, false), bound(&file, true), file))
        .collect();
    files.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    // Upper bound of each run. Nothing follows a file with unknown bounds.
    let mut runs: Vec<(Option<Bound>, Vec<DataFile>)> = Vec::new();
    for (least, greatest, file) in files {
        let before = runs
            .iter_mut()
            .filter(|(end, _)| end.is_some() && *end < least)
            .max_by(|a, b| a.0.cmp(&b.0));
        match before {
            Some((end, run)) => {
                *end = greatest;
                run.push(file);
            }
            None => runs.push((greatest, vec![file])),
        }
    }
    let mut runs: Vec<Vec<DataFile>> = runs.into_iter().map(|(_, run)| run).collect();
    runs.sort_by_key(|run| row_count(run));
    runs
}

/// The minimum or maximum of a column in a file.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Bound {
    Number(i64),
    Text(String),
}

impl Bound {
    fn from_stat(value: &StatValue) -> Option<Self> {
        let number = value.as_i64().map(Self::Number);
        number.or_else(|| value.as_str().map(|text| Self::Text(text.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use tsql_schema as schema;
    use tsql_store::file::Stats;

    fn file(optimized: bool, rows: u64, range: (i64, i64)) -> DataFile {
        let kind = if optimized { "optimized" } else { "part" };
        let values = |value: i64| {
            let values = [("graph_id".to_owned(), StatValue::Integer(value))];
            values.into_iter().collect()
        };
        DataFile {
            path: format!("{kind}-{}-{}-{rows}.parquet", range.0, range.1),
            partition: Vec::new(),
            size_bytes: rows,
            stats: Arc::new(Stats {
                num_records: rows,
                min_values: values(range.0),
                max_values: values(range.1),
                ..Stats::default()
            }),
            rollup: None,
            checksums: None,
            counts: None,
            written_at_ms: 0,
        }
    }

    fn base(files: i64) -> Vec<DataFile> {
        let files = (0..files).map(|at| file(true, FILE_ROWS, (at * 10, at * 10 + 9)));
        files.collect()
    }

    fn rewritten_rows(files: &[DataFile]) -> (usize, u64) {
        let due = files_to_rewrite(schema::table("configurations").unwrap(), files.to_vec());
        (due.len(), row_count(&due))
    }

    #[test]
    fn what_is_new_moves_nothing_else() {
        let mut files = base(40);
        assert_eq!(rewritten_rows(&files), (0, 0));
        files.extend([file(false, 1000, (0, 399)), file(false, 2000, (5, 300))]);
        assert_eq!(rewritten_rows(&files), (2, 3000));
    }

    #[test]
    fn runs_are_merged_where_they_are_not_much_larger() {
        let mut files = base(40);
        // Two runs of earlier times, and new data.
        files.push(file(true, 12_000, (0, 399)));
        files.push(file(true, 100_000, (3, 390)));
        assert_eq!(rewritten_rows(&files), (0, 0));
        files.push(file(false, 1000, (0, 399)));
        assert_eq!(rewritten_rows(&files), (1, 1000));
        files.push(file(false, 2000, (0, 399)));
        assert_eq!(rewritten_rows(&files), (3, 15_000));
        files.push(file(false, 20_000, (0, 399)));
        assert_eq!(rewritten_rows(&files), (5, 135_000));
        files.push(file(false, 11 * FILE_ROWS, (0, 399)));
        assert_eq!(rewritten_rows(&files).1, row_count(&files));
    }

    #[test]
    fn a_store_that_grows_has_few_runs_and_moves_rows_seldom() {
        let (mut files, mut moved, mut deepest) = (base(10), 0, 0);
        for _ in 0..1000 {
            files.push(file(false, 100_000, (0, 399)));
            let due = files_to_rewrite(schema::table("configurations").unwrap(), files.clone());
            files.retain(|file| !due.contains(file));
            let rows = row_count(&due);
            moved += rows;
            let count = i64::try_from(file_count(rows)).unwrap();
            let width = 400 / count;
            files.extend((0..count).map(|at| {
                let rows = rows / count.unsigned_abs();
                file(true, rows, (at * width, at * width + width - 1))
            }));
            deepest = deepest
                .max(sorted_runs(schema::table("configurations").unwrap(), files.clone()).len());
        }
        assert!(deepest <= 7, "{deepest} runs");
        assert!(moved < 20 * 1000 * 100_000, "{moved} rows moved");
    }

    #[test]
    fn many_files_of_few_rows_are_merged() {
        let files: Vec<DataFile> = (0..30)
            .map(|at| file(true, FILE_ROWS / 10, (at * 10, at * 10 + 9)))
            .collect();
        assert_eq!(rewritten_rows(&files), (30, row_count(&files)));
        let two = [file(true, 10, (0, 1)), file(true, 10, (5, 6))];
        assert_eq!(rewritten_rows(&two), (0, 0));
        assert_eq!(rewritten_rows(&[file(false, 10, (0, 1))]), (1, 10));
    }

    #[test]
    fn files_without_bounds_come_first() {
        let mut files = base(3);
        for file in &mut files {
            file.stats = Arc::new(Stats {
                num_records: FILE_ROWS,
                ..Stats::default()
            });
        }
        let table = schema::table("configurations").unwrap();
        assert_eq!(sorted_runs(table, files.clone()).len(), 3);
        assert_eq!(rewritten_rows(&files).0, 3);
    }
}
