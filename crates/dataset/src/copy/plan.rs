//! Plan of a copy: whether the other store knows each source, has a prefix or an alias of it, or does not have it.

use std::collections::{BTreeMap, HashMap};

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_adapters::formats::all_formats;
use tsql_adapters::ingest_log::{IngestLog, ReadPlan, Source, SourceSegment};
use tsql_codecs::identity::source_id;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_formats::naming::numbered_name;
use tsql_schema::column;

use super::job::{CopyReport, SourceIds};
use super::sources::{CopySource, PARTS, There};
use crate::line_selection::LineSelection;

/// Range of rows of a source that is copied.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceRows {
    /// Source id in the other store.
    pub(super) to: i64,
    /// Range of lines.
    pub(super) lines: (i64, i64),
    /// Range of segments.
    pub segments: (i32, i32),
    /// Number of the first segment in the other store.
    pub(super) first_segment: i32,
}

/// Plan of a copy.
pub(super) struct Plan {
    /// Ingest log of the other store, extended by the copied sources.
    ledger: IngestLog,
    pub(super) closed: Vec<SourceSegment>,
    /// Sources with rows that are copied.
    pub(super) taken: BTreeMap<i64, SourceRows>,
    /// Whether all rows of all tables are copied, and all source ids stay the same.
    pub(super) is_whole: bool,
    pub(super) copied: CopyReport,
}

/// State of a source in the other store.
enum Destination {
    Known(i64),
    Grown { source: Source, first: usize },
    Alias(Source),
    New(String),
}

impl Plan {
    pub(super) async fn new(
        files: &[CopySource],
        ledger: IngestLog,
        there: There,
        chosen: Option<&LineSelection>,
        context: &SessionContext,
    ) -> Result<Self> {
        let parts = match chosen {
            Some(chosen) => {
                let mut parts = fully_chosen_sources(context, chosen).await?;
                for room in all_formats() {
                    let referred = room.referenced_sources(context, &chosen.sources()).await?;
                    parts.extend(referred.into_iter().map(|id| (id, true)));
                }
                Some(parts)
            }
            None => None,
        };
        let samples = read_samples(context).await?;
        let mut plan = Self {
            ledger,
            closed: Vec::new(),
            taken: BTreeMap::new(),
            is_whole: chosen.is_none(),
            copied: CopyReport::default(),
        };
        // Destination ids by source id.
        let mut places = SourceIds::new();
        for file in files {
            let Some(last) = file.segments.last() else {
                let dataset = file.unknown.clone().unwrap_or_default();
                let reason = format!("this version of tsql does not know files of `{dataset}`");
                plan.add_conflict(file, reason);
                continue;
            };
            let rows_of = last.same_as.unwrap_or(file.source_id);
            if let Some(parts) = &parts {
                // The lines of a partly selected source are copied as a separate file.
                if parts.get(&rows_of) != Some(&true) {
                    continue;
                }
            }
            let sample = last.about.sample_id.and_then(|id| samples.get(&id));
            match sample.map(|(path, hash)| (path, plan.ledger.plan_sample(path, hash))) {
                Some((_, None)) => {
                    plan.copied.unchanged += 1;
                    continue;
                }
                Some((own, Some(path))) if path != *own => {
                    plan.add_conflict(
                        file,
                        "the target has another sample in its folder".to_owned(),
                    );
                    continue;
                }
                _ => {}
            }
            if let Some(same_as) = last.same_as {
                let Some(&same_as) = places.get(&same_as) else {
                    plan.add_conflict(file, "the source with its rows is not copied".to_owned());
                    continue;
                };
                plan.add_alias(file, last, same_as);
                continue;
            }
            let place = plan.destination(file, last, &there);
            let part = (
                format!("{PARTS}/{}", file.name),
                last.reading.platform.clone(),
            );
            if !matches!(place, Destination::Known(_)) && there.parts.contains(&part) {
                let name = &part.0;
                let reason = format!(
                    "the target has a part of it as {name}, and its records would count twice\n\
                     hint: `tsql retract --where \"source = '{name}'\" --why ...` in the target \
                     first"
                );
                plan.add_conflict(file, reason);
                continue;
            }
            let id = plan.add(file, last, place);
            places.insert(file.source_id, id);
        }
        plan.is_whole &= plan.copied.unchanged + plan.copied.grown == 0
            && plan.copied.renamed.is_empty()
            && plan.copied.rejected.is_empty();
        Ok(plan)
    }

    fn add_conflict(&mut self, file: &CopySource, reason: String) {
        self.copied.rejected.push((file.name.clone(), reason));
    }

    /// Returns the state of a file in the other store.
    fn destination(&self, file: &CopySource, last: &SourceSegment, there: &There) -> Destination {
        let platform = &last.reading.platform;
        let first_platform = last.reading.first_platform.as_deref().unwrap_or(platform);
        let same_name = self.ledger.sources_named(&file.name);
        let is_on = |source: &&&Source| source.is_on(platform) || source.is_on(first_platform);
        for known in same_name.iter().filter(is_on) {
            let known_ends = there.ends.get(&known.source_id);
            let has = |end: u64, hash: &str| {
                let known = known_ends.into_iter().flatten();
                known
                    .into_iter()
                    .any(|(size, known)| *size == end && known == hash)
            };
            if has(last.end_byte, &last.content_hash) {
                return Destination::Known(known.source_id);
            }
            let is_its_end = |segment: &SourceSegment| {
                segment.end_byte == known.end_byte && segment.content_hash == known.content_hash
            };
            let begun = file.segments.iter().position(is_its_end);
            if let Some(begun) = begun.filter(|_| known.same_as.is_none()) {
                return Destination::Grown {
                    source: (*known).clone(),
                    first: begun + 1,
                };
            }
        }
        let mut twins = self.ledger.sources_of_size(platform, last.end_byte);
        let twin = twins.find(|twin| {
            twin.content_hash == last.content_hash
                && twin.collection == last.about.collection
                && twin.split == last.about.split
        });
        let may_be_alias = last.end_byte > 0 && last.about.sample_id.is_none();
        match twin.filter(|_| may_be_alias) {
            Some(twin) => Destination::Alias(twin.clone()),
            None => Destination::New(numbered_name(&file.name, same_name.len() + 1)),
        }
    }

    /// Adds a file with rows of its own. Returns its id in the other store.
    fn add(&mut self, file: &CopySource, last: &SourceSegment, place: Destination) -> i64 {
        let (to, name, first, segment) = match place {
            Destination::Known(id) => {
                self.copied.unchanged += 1;
                return id;
            }
            Destination::Alias(twin) => {
                let id = twin.source_id;
                // The other store has its rows.
                self.is_whole = false;
                self.add_alias(file, last, id);
                return id;
            }
            Destination::Grown { source, first } => {
                self.copied.grown += 1;
                (source.source_id, source.name, first, source.segments)
            }
            Destination::New(name) => {
                self.copied.sources += 1;
                (self.number(last, &name), name, 0, 0)
            }
        };
        if name != file.name {
            self.copied.renamed.push((file.name.clone(), name.clone()));
        }
        let new = file.segments.iter().skip(first);
        for (next, own) in (segment..).zip(new.clone()) {
            self.copied.records += own.records;
            let reading = ReadPlan {
                source_id: to,
                name: name.clone(),
                segment: next,
                ..own.reading.clone()
            };
            self.closed.push(SourceSegment {
                reading,
                ..own.clone()
            });
        }
        if let Some(begin) = new.clone().next() {
            let taken = SourceRows {
                to,
                lines: (
                    begin.reading.first_line.cast_signed(),
                    (last.reading.first_line + last.line_count).cast_signed(),
                ),
                segments: (begin.reading.segment, last.reading.segment),
                first_segment: segment,
            };
            self.taken.insert(file.source_id, taken);
        }
        let mut source =
            Source::new_uncommitted(&last.reading, last.end_byte, last.content_hash.clone());
        source.source_id = to;
        source.name = name;
        source.collection.clone_from(&last.about.collection);
        source.split.clone_from(&last.about.split);
        self.ledger.add(source);
        to
    }

    /// Adds an alias of a source that the other store has, or will have.
    fn add_alias(&mut self, file: &CopySource, last: &SourceSegment, same_as: i64) {
        let known = self.ledger.sources_named(&file.name);
        let platform = &last.reading.platform;
        let is_same =
            |known: &&Source| known.is_on(platform) && known.content_hash == last.content_hash;
        if known.iter().any(is_same) {
            self.copied.unchanged += 1;
            return;
        }
        let name = numbered_name(&file.name, known.len() + 1);
        if name != file.name {
            self.copied.renamed.push((file.name.clone(), name.clone()));
        }
        self.copied.other_names += 1;
        let to = self.number(last, &name);
        let mut source =
            Source::new_uncommitted(&last.reading, last.end_byte, last.content_hash.clone());
        source.source_id = to;
        source.name.clone_from(&name);
        source.same_as = Some(same_as);
        self.ledger.add(source);
        self.closed.push(SourceSegment {
            reading: ReadPlan {
                source_id: to,
                name,
                segment: 0,
                first_byte: 0,
                first_line: 1,
                ..last.reading.clone()
            },
            line_count: 0,
            records: 0,
            rejects: 0,
            verbatim: 0,
            other_count: 0,
            open_line: None,
            same_as: Some(same_as),
            ..last.clone()
        });
    }

    /// Returns the source id of a file with this name.
    fn number(&self, file: &SourceSegment, name: &str) -> i64 {
        let platform = file.reading.first_platform.as_ref();
        let platform = platform.unwrap_or(&file.reading.platform);
        source_id(file.dataset, platform, name)
    }
}

/// Returns the sources with selected records, and whether all their records are selected.
pub(super) async fn fully_chosen_sources(
    context: &SessionContext,
    chosen: &LineSelection,
) -> Result<HashMap<i64, bool>> {
    let mut counts: HashMap<i64, u64> = HashMap::new();
    let sql = "SELECT source_id, count(*) AS rows FROM records GROUP BY source_id";
    for batch in collect(context, sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let rows = column::numbers::<Int64Type>(&batch, "rows")?;
        let rows = rows.values().iter().map(|rows| rows.unsigned_abs());
        counts.extend(ids.values().iter().copied().zip(rows));
    }
    let chosen = chosen.counts();
    Ok(chosen
        .map(|(id, rows)| (id, counts.get(&id) == Some(&rows)))
        .collect())
}

/// Returns folder and hash of the files of each sample.
async fn read_samples(context: &SessionContext) -> Result<HashMap<i64, (String, String)>> {
    let mut samples = HashMap::new();
    let sql = "SELECT sample_id, path, files_hash FROM stored.samples";
    for batch in collect(context, sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "sample_id")?;
        let (paths, hashes) = (
            column::text(&batch, "path")?,
            column::text(&batch, "files_hash")?,
        );
        for row in 0..batch.num_rows() {
            let sample = (paths.value(row).to_owned(), hashes.value(row).to_owned());
            samples.insert(ids.value(row), sample);
        }
    }
    Ok(samples)
}
