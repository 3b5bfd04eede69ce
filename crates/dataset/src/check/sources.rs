//! Sources in the ingest log, and the files that they can be ingested from again.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::{Array as _, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_adapters::ingest_log::Labels;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema::column;

/// A segment of a source.
pub(super) struct Segment {
    pub(super) number: i32,
    pub(super) first_line: i64,
    pub(super) records: u64,
    pub(super) others: u64,
}

/// A source in the ingest log.
pub(super) struct Source {
    pub name: String,
    pub(super) dataset: String,
    pub platform: String,
    /// Original platform, if it was corrected.
    pub first_platform: Option<String>,
    pub collection: Option<String>,
    pub split: Option<String>,
    pub sample_id: Option<i64>,
    pub content_hash: String,
    pub segments: Vec<Segment>,
    /// Its own file, and other files with the same bytes.
    pub(super) files: BTreeMap<i64, SourceFile>,
}

/// A file as given.
pub(super) struct SourceFile {
    pub path: String,
    pub name: String,
    pub labels: Labels,
    pub content_hash: String,
    pub sample_id: Option<i64>,
}

impl SourceFile {
    pub(super) fn is_there(&self) -> bool {
        file_path(&self.path).is_some()
    }

    /// Returns the path to ingest again. For a file of a sample, the argument under which the whole sample was found.
    pub(super) fn argument(&self) -> &str {
        match self.sample_id {
            Some(_) => argument(&self.path, &self.name),
            None => &self.path,
        }
    }
}

impl Source {
    pub(super) fn is_there(&self) -> bool {
        let mut files = self.files.values();
        files.any(|file| file.content_hash == self.content_hash && file.is_there())
    }

    /// Returns the path to ingest again, or the source's name if all its files are gone.
    pub(super) fn argument(&self) -> &str {
        let there = self.files.values().find(|file| file.is_there());
        there.map_or(self.name.as_str(), SourceFile::argument)
    }

    /// Returns the platform that it was ingested for.
    pub(super) fn first_platform(&self) -> &str {
        self.first_platform.as_ref().unwrap_or(&self.platform)
    }

    /// Returns the SQL condition on `sources` that selects it by its bytes, for each of its names.
    pub(super) fn predicate(&self, platform: &str) -> String {
        let (hash, platform) = (&self.content_hash, platform.replace('\'', "''"));
        format!("content_hash = '{hash}' AND platform = '{platform}'")
    }

    /// Describes the rows that are lost for good, from a segment on.
    pub(super) fn lost(&self, segment: i32) -> String {
        let lost = self.segments.iter().filter(|one| one.number >= segment);
        let rows: u64 = lost.map(|one| one.records + one.others).sum();
        format!("{rows} rows of `{}`, whose file does not exist", self.name)
    }

    /// Describes the names whose files are gone, with their labels. Another file has the same bytes.
    pub(super) fn lost_names(&self) -> impl Iterator<Item = String> {
        let gone = self.files.values().filter(|file| !file.is_there());
        gone.map(|file| {
            let labels = file.labels.text().unwrap_or_default();
            let labels = match labels.as_str() {
                "" => String::new(),
                labels => format!(" with the labels {}", labels.replace('\n', ", ")),
            };
            format!(
                "the name `{}`{labels}, whose file does not exist",
                file.name
            )
        })
    }

    /// Returns the number of the segment that contains a line.
    pub(super) fn segment_of(&self, line: i64) -> i32 {
        let mut segments = self.segments.iter().rev();
        let found = segments.find(|segment| segment.first_line <= line);
        found.map_or(0, |segment| segment.number)
    }
}

/// Returns the file that a source is read from: its own, or the archive that contains it. `None` if it is gone.
pub(super) fn file_path(path: &str) -> Option<&str> {
    if path.contains("://") {
        // Buckets are not examined.
        return Some(path);
    }
    let mut files = Path::new(path).ancestors();
    files.find(|file| file.is_file()).and_then(Path::to_str)
}

/// Returns all sources with rows of their own.
pub(super) async fn read_sources(context: &SessionContext) -> Result<BTreeMap<i64, Source>> {
    let sql = "SELECT source_id, segment, name, path, dataset, platform, first_platform, collection, split, labels, \
               sample_id, content_hash, same_as, first_line, record_count, other_count \
               FROM stored.sources ORDER BY same_as IS NOT NULL, source_id, segment";
    let mut sources: BTreeMap<i64, Source> = BTreeMap::new();
    for batch in collect(context, sql).await? {
        add_sources(&mut sources, &batch)?;
    }
    Ok(sources)
}

/// Adds sources with their segments, and files with the same bytes as a source.
fn add_sources(sources: &mut BTreeMap<i64, Source>, batch: &RecordBatch) -> Result<()> {
    let number = |name| column::numbers::<Int64Type>(batch, name);
    let text = |name| column::text(batch, name);
    let (ids, same_as, samples) = (
        number("source_id")?,
        number("same_as")?,
        number("sample_id")?,
    );
    let lines = number("first_line")?;
    let (records, others) = (number("record_count")?, number("other_count")?);
    let segments = column::numbers::<Int32Type>(batch, "segment")?;
    let (names, paths, labels) = (text("name")?, text("path")?, text("labels")?);
    let (datasets, platforms) = (text("dataset")?, text("platform")?);
    let (first_platforms, hashes) = (text("first_platform")?, text("content_hash")?);
    let (collections, splits) = (text("collection")?, text("split")?);
    for row in 0..batch.num_rows() {
        let own = |column| column::text_at(column, row).map(str::to_owned);
        let (id, sample_id) = (ids.value(row), column::value(samples, row));
        let is_other = same_as.is_valid(row);
        if !is_other {
            let source = sources.entry(id).or_insert_with(|| Source {
                name: names.value(row).to_owned(),
                dataset: datasets.value(row).to_owned(),
                platform: platforms.value(row).to_owned(),
                first_platform: own(first_platforms),
                collection: own(collections),
                split: own(splits),
                sample_id,
                content_hash: String::new(),
                segments: Vec::new(),
                files: BTreeMap::new(),
            });
            hashes.value(row).clone_into(&mut source.content_hash);
            source.segments.push(Segment {
                number: segments.value(row),
                first_line: lines.value(row),
                records: records.value(row).unsigned_abs(),
                others: others.value(row).unsigned_abs(),
            });
        }
        let rows_of = if is_other { same_as.value(row) } else { id };
        let Some(source) = sources.get_mut(&rows_of) else {
            continue;
        };
        let before = source.files.remove(&id).map(|file| file.labels);
        let new = Labels::parse(&own(labels).unwrap_or_default());
        let file = SourceFile {
            path: paths.value(row).to_owned(),
            name: names.value(row).to_owned(),
            labels: before.unwrap_or_default().merge(&new),
            content_hash: hashes.value(row).to_owned(),
            sample_id,
        };
        source.files.insert(id, file);
    }
    Ok(())
}

/// Returns the argument under which a file was found: its path without the components that its name has below that
/// argument.
fn argument<'a>(path: &'a str, name: &str) -> &'a str {
    let (of_path, of_name) = (path.rsplit('/'), name.rsplit('/'));
    let same = of_path.zip(of_name).take_while(|(one, other)| one == other);
    let parts = name.split('/').count();
    let below = same.count().min(parts.saturating_sub(1));
    let mut argument = path;
    for _ in 0..below {
        argument = argument.rsplit_once('/').map_or(".", |(above, _)| above);
    }
    argument
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_of_a_file_is_that_of_its_first_ingest() {
        for (path, name, wanted) in [
            ("a/b/s/model.py", "b/s/model.py", "a/b"),
            ("a/b/s/x/model.py", "s/x/model.py", "a/b/s"),
            ("b/s/x/model.py", "b/s~2/x/model.py", "b/s"),
            ("s/model.py", "here/s/model.py", "."),
            ("model.py", "model.py", "model.py"),
        ] {
            assert_eq!(argument(path, name), wanted, "{path} {name}");
        }
    }
}
