//! Filters the rows of a group and splits or samples large groups.

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray, RecordBatch, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat_batches, filter_record_batch, take_record_batch};
use arrow::datatypes::Int64Type;
use tsql_error::{Error, Result};
use twox_hash::XxHash3_64;

use super::manifest::ExcludedRecords;
use super::options::{LargeGroups, TrainingFilesOptions};
use crate::training::file::arrow_error;

/// Hash prefix of the sampling rule: another rule needs another number.
const RULE: &[u8] = b"tsql-sample-1\0";

/// Drops rows without a value of some feature, and counts them.
pub(super) fn drop_null_features(
    batch: RecordBatch,
    features: &[usize],
    excluded: &mut ExcludedRecords,
) -> Result<RecordBatch> {
    let mut kept: Option<BooleanBuffer> = None;
    for &place in features {
        let column = batch.column(place);
        if column.null_count() == 0 {
            continue;
        }
        let name = batch.schema().field(place).name().clone();
        *excluded.null_features.entry(name).or_default() += column.null_count() as u64;
        if let Some(nulls) = column.logical_nulls() {
            let valid = nulls.inner().clone();
            kept = Some(kept.map_or_else(|| valid.clone(), |kept| &kept & &valid));
        }
    }
    match kept {
        None => Ok(batch),
        Some(kept) => {
            filter_record_batch(&batch, &BooleanArray::new(kept, None)).map_err(arrow_error)
        }
    }
}

/// Splits a group into ranking queries of at most the maximum number of rows.
///
/// # Errors
/// [`Error::Argument`] if larger groups are rejected.
pub(super) fn split_group(
    rows: Vec<RecordBatch>,
    options: &TrainingFilesOptions,
    named: impl FnOnce() -> String,
    excluded: &mut ExcludedRecords,
) -> Result<Vec<RecordBatch>> {
    let Some(first) = rows.first() else {
        return Ok(Vec::new());
    };
    let group = concat_batches(&first.schema(), &rows).map_err(arrow_error)?;
    drop(rows);
    let (count, most) = (group.num_rows() as u64, options.group_rows);
    if count == 0 {
        return Ok(Vec::new());
    }
    if count <= most {
        return Ok(vec![group]);
    }
    match options.large_groups {
        LargeGroups::Rejected => Err(Error::Argument {
            name: "group_rows",
            reason: format!(
                "the group {} has {count} rows, expected at most {most}\n\
                 hint: --large-groups sampled selects {most} of them, --large-groups cut divides \
                 the group, --group-rows raises the limit",
                named()
            ),
        }),
        LargeGroups::Cut => {
            excluded.cut_groups += 1;
            let pieces = count.div_ceil(most);
            let at = |piece: u64| usize::try_from(piece * count / pieces).unwrap_or(usize::MAX);
            let cut = (0..pieces).map(|piece| {
                let (begin, end) = (at(piece), at(piece + 1));
                group.slice(begin, end - begin)
            });
            Ok(cut.collect())
        }
        LargeGroups::Sampled => {
            excluded.over_limit += count - most;
            Ok(vec![sample_rows(&group, most, options.seed)?])
        }
    }
}

/// Returns the rows whose keys have the smallest hashes, in their order.
fn sample_rows(group: &RecordBatch, most: u64, seed: u64) -> Result<RecordBatch> {
    let number = |name: &str| -> Result<ArrayRef> {
        let column = group.column_by_name(name).cloned();
        column.ok_or_else(|| Error::Internal(format!("rows without `{name}`")))
    };
    let (sources, lines) = (number("source_id")?, number("line")?);
    let sources = sources.as_primitive::<Int64Type>().values();
    let lines = lines.as_primitive::<Int64Type>().values();
    let hash = |(source, line): (&i64, &i64)| {
        let mut text = [RULE, &seed.to_le_bytes()].concat();
        text.extend_from_slice(&source.to_le_bytes());
        text.extend_from_slice(&line.to_le_bytes());
        XxHash3_64::oneshot(&text)
    };
    let mut places: Vec<(u64, u64)> = sources.iter().zip(lines).map(hash).zip(0..).collect();
    places.sort_unstable();
    places.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let mut places: Vec<u64> = places.into_iter().map(|(_, place)| place).collect();
    places.sort_unstable();
    take_record_batch(group, &UInt64Array::from(places)).map_err(arrow_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{FixedSizeListArray, Int64Array};
    use arrow::datatypes::Float32Type;
    use std::sync::Arc;

    fn group(rows: i64) -> RecordBatch {
        let lines: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        let sources: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|_| 7)));
        RecordBatch::try_from_iter([("source_id", sources), ("line", lines)]).unwrap()
    }

    fn lines(batch: &RecordBatch) -> Vec<i64> {
        batch
            .column(1)
            .as_primitive::<Int64Type>()
            .values()
            .to_vec()
    }

    fn split_with(large: LargeGroups, seed: u64) -> (Vec<RecordBatch>, ExcludedRecords) {
        let options = TrainingFilesOptions::new(["x"])
            .group_rows(4, large)
            .seed(seed);
        let mut excluded = ExcludedRecords::default();
        let rows = vec![group(10).slice(0, 3), group(10).slice(3, 7)];
        let made = split_group(rows, &options, || "x".to_owned(), &mut excluded);
        (made.unwrap(), excluded)
    }

    #[test]
    fn large_groups_are_truncated_sampled_or_rejected() {
        let (cut, excluded) = split_with(LargeGroups::Cut, 0);
        let cut: Vec<Vec<i64>> = cut.iter().map(lines).collect();
        assert_eq!(cut, [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7, 8, 9]]);
        assert_eq!((excluded.cut_groups, excluded.over_limit), (1, 0));
        let (sample, excluded) = split_with(LargeGroups::Sampled, 1);
        let sample = lines(&sample[0]);
        assert!(sample.len() == 4 && sample.is_sorted_by(|a, b| a < b));
        assert_eq!(excluded.over_limit, 6);
        assert_eq!(lines(&split_with(LargeGroups::Sampled, 1).0[0]), sample);
        assert!((2..9).any(|seed| lines(&split_with(LargeGroups::Sampled, seed).0[0]) != sample));
        let options = TrainingFilesOptions::new(["x"]).group_rows(4, LargeGroups::Rejected);
        let told = split_group(
            vec![group(5)],
            &options,
            || "g".to_owned(),
            &mut ExcludedRecords::default(),
        );
        let told = told.unwrap_err().to_string();
        assert!(
            told.starts_with("the group g has 5 rows, expected at most 4"),
            "{told}"
        );
        let whole = split_group(
            vec![group(4)],
            &options,
            || "g".to_owned(),
            &mut ExcludedRecords::default(),
        );
        assert_eq!(whole.unwrap().len(), 1);
    }

    #[test]
    fn rows_without_a_feature_are_left_out_and_counted() {
        let lists = |there: [bool; 4]| -> ArrayRef {
            let rows = there.map(|there| there.then(|| vec![Some(1.0)]));
            Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows, 1))
        };
        let columns = [
            (
                "n",
                Arc::new(Int64Array::from(vec![1, 2, 3, 4])) as ArrayRef,
            ),
            ("a", lists([true, false, true, true])),
            ("b", lists([true, false, false, true])),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut excluded = ExcludedRecords::default();
        let kept = drop_null_features(batch.clone(), &[1, 2], &mut excluded).unwrap();
        assert_eq!(kept.column(0).as_primitive::<Int64Type>().values(), &[1, 4]);
        let told: Vec<_> = excluded.null_features.into_iter().collect();
        assert_eq!(told, [("a".to_owned(), 1), ("b".to_owned(), 2)]);
        let mut none = ExcludedRecords::default();
        assert_eq!(
            drop_null_features(batch.clone(), &[], &mut none).unwrap(),
            batch
        );
    }
}
