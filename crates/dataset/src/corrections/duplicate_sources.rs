//! Rejection of corrections after which records would count twice: files with the same bytes under the same labels, or
//! files that have a part of their measurements in common.

use std::collections::{BTreeMap, BTreeSet};

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_adapters::formats::identifying_name;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;

use super::label::Label;

/// A source with rows of its own.
struct LabelledSource {
    source_id: i64,
    name: String,
    dataset: String,
    /// Platform, collection and split.
    labels: [Option<String>; 3],
    /// Size and hash after each ingest.
    ends: BTreeSet<(i64, String)>,
    /// The last of them.
    end: (i64, String),
}

/// Label columns.
const LABELS: [&str; 3] = ["platform", "collection", "split"];

impl LabelledSource {
    /// Returns its labels after a correction.
    fn labels_after(&self, labels: &[Label]) -> [Option<String>; 3] {
        let mut corrected = self.labels.clone();
        for (name, value) in labels.iter().map(Label::column_and_value) {
            let own = LABELS
                .iter()
                .zip(&mut corrected)
                .find(|(own, _)| **own == name);
            if let Some((_, own)) = own {
                *own = value.map(str::to_owned);
            }
        }
        corrected
    }

    /// Returns whether one is a prefix of the other.
    fn shares_rows_with(&self, other: &Self) -> bool {
        self.dataset == other.dataset
            && self.end.0 > 0
            && other.end.0 > 0
            && (self.ends.contains(&other.end) || other.ends.contains(&self.end))
            && identifying_name(&self.dataset, &self.name)
                == identifying_name(&other.dataset, &other.name)
    }
}

/// Rejects labels that would make these sources duplicates of others in the store.
///
/// # Errors
/// [`Error::Argument`], which names one of them.
pub(super) async fn reject_duplicates(
    context: &SessionContext,
    ids: &BTreeSet<i64>,
    labels: &[Label],
) -> Result<()> {
    let all = labelled_sources(context).await?;
    let mut others: BTreeMap<[Option<String>; 3], Vec<&LabelledSource>> = BTreeMap::new();
    for source in &all {
        let labels = if ids.contains(&source.source_id) {
            source.labels_after(labels)
        } else {
            source.labels.clone()
        };
        others.entry(labels).or_default().push(source);
    }
    let mut doubled: Vec<(&LabelledSource, &LabelledSource)> = Vec::new();
    let mut pairs = BTreeMap::new();
    for source in all.iter().filter(|source| ids.contains(&source.source_id)) {
        let same_labels = others
            .get(&source.labels_after(labels))
            .into_iter()
            .flatten();
        let same_labels = same_labels.filter(|other| {
            // Sources that were duplicates before are not reported.
            other.source_id != source.source_id && other.labels != source.labels
        });
        let same_labels: Vec<&LabelledSource> = same_labels.copied().collect();
        let twin = same_labels
            .iter()
            .find(|other| source.shares_rows_with(other));
        doubled.extend(twin.map(|twin| (source, *twin)));
        let others = same_labels.iter();
        let others = others.filter(|other| other.dataset == source.dataset);
        pairs.extend(others.map(|other| ((source.source_id, other.source_id), (source, *other))));
    }
    let set: Vec<String> = labels.iter().map(Label::to_string).collect();
    let rejected = |(source, twin): (&LabelledSource, &LabelledSource), what: &str, more: &str| {
        let (name, other, set) = (&source.name, &twin.name, set.join(", "));
        Err(Error::Argument {
            name: "label",
            reason: format!(
                "`{name}` has {what} `{other}`: with `{set}` they would count twice{more}\n\
                 hint: `tsql retract --where \"source = '{}'\" --why ...` removes one of both \
                 from all results",
                name.replace('\'', "''")
            ),
        })
    };
    if let Some(pair) = doubled.first() {
        let more = match doubled.len() - 1 {
            0 => String::new(),
            count => format!(", and those of {count} more sources too"),
        };
        return rejected(*pair, "the same records as", &more);
    }
    for (ids, count) in common_measurements(context, pairs.keys()).await? {
        if let Some(pair) = pairs.get(&ids) {
            let what = format!("{count} measurements in common with");
            return rejected(*pair, &what, "");
        }
    }
    Ok(())
}

/// Returns pairs of sources that have measurements in common, with their numbers, in descending order. Equal
/// measurements have the same configuration, time of measuring and repeats. Those without a time are not compared.
async fn common_measurements(
    context: &SessionContext,
    pairs: impl Iterator<Item = &(i64, i64)>,
) -> Result<Vec<((i64, i64), i64)>> {
    let (moved, others): (BTreeSet<i64>, BTreeSet<i64>) = pairs.copied().unzip();
    if moved.is_empty() {
        return Ok(Vec::new());
    }
    let list = |ids: BTreeSet<i64>| {
        let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
        ids.join(", ")
    };
    let sql = format!(
        "SELECT a.source_id AS moved, b.source_id AS other, count(*) AS n \
         FROM stored.records AS a JOIN stored.records AS b \
         ON a.config_id = b.config_id AND a.measured_at_s = b.measured_at_s \
         WHERE a.source_id IN ({}) AND b.source_id IN ({}) \
         AND a.runtime_ns IS NOT DISTINCT FROM b.runtime_ns AND a.repeats IS NOT DISTINCT FROM b.repeats \
         GROUP BY a.source_id, b.source_id ORDER BY n DESC, moved, other",
        list(moved),
        list(others)
    );
    let mut found = Vec::new();
    for batch in collect(context, &sql).await? {
        let numbers = |name| column::numbers::<Int64Type>(&batch, name);
        let (moved, others, counts) = (numbers("moved")?, numbers("other")?, numbers("n")?);
        let ids = moved
            .values()
            .iter()
            .copied()
            .zip(others.values().iter().copied());
        found.extend(ids.zip(counts.values().iter().copied()));
    }
    Ok(found)
}

/// Returns the sources that have rows of their own.
async fn labelled_sources(context: &SessionContext) -> Result<Vec<LabelledSource>> {
    let mut found: BTreeMap<i64, LabelledSource> = BTreeMap::new();
    let sql = "SELECT source_id, name, dataset, platform, collection, split, end_byte, content_hash \
               FROM stored.sources WHERE same_as IS NULL ORDER BY source_id, segment";
    for batch in collect(context, sql).await? {
        let numbers = |name| column::numbers::<Int64Type>(&batch, name);
        let (ids, sizes) = (numbers("source_id")?, numbers("end_byte")?);
        let text = |name| column::text(&batch, name);
        let (names, datasets, hashes) = (text("name")?, text("dataset")?, text("content_hash")?);
        let (platforms, collections, splits) =
            (text("platform")?, text("collection")?, text("split")?);
        for row in 0..batch.num_rows() {
            let own = |column| column::text_at(column, row).map(str::to_owned);
            let end = (sizes.value(row), hashes.value(row).to_owned());
            let source = found
                .entry(ids.value(row))
                .or_insert_with(|| LabelledSource {
                    source_id: ids.value(row),
                    name: names.value(row).to_owned(),
                    dataset: datasets.value(row).to_owned(),
                    labels: [own(platforms), own(collections), own(splits)],
                    ends: BTreeSet::new(),
                    end: end.clone(),
                });
            source.ends.insert(end.clone());
            source.end = end;
        }
    }
    Ok(found.into_values().collect())
}
