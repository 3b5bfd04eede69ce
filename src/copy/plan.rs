//! What a source of one store means to another one: known, grown, another name, or new.

use std::collections::{BTreeMap, HashMap};

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_codecs::identity::source_id;
use tsql_formats::naming::numbered;

use super::job::{Copied, Names};
use super::sources::{File, PARTS, There};
use crate::chosen::Lines;
use crate::column;
use crate::error::Result;
use crate::formats::rooms;
use crate::ledger::{Closed, Ledger, Reading, Source};
use crate::query::collect;

/// The rows of a source that are copied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// What the source is called in the other store.
    pub(super) to: i64,
    /// From this line to that one.
    pub(super) lines: (i64, i64),
    /// From this segment to that one.
    pub(super) segments: (i32, i32),
    /// What the first of these becomes.
    pub(super) first_segment: i32,
}

/// What is to be copied.
pub(super) struct Plan {
    /// The other store's ledger, with what is copied.
    ledger: Ledger,
    pub(super) closed: Vec<Closed>,
    /// Sources that have rows which are copied.
    pub(super) taken: BTreeMap<i64, Taken>,
    /// All rows of all tables are copied, and no source has another number.
    pub(super) is_whole: bool,
    pub(super) copied: Copied,
}

/// How a source is found in the other store.
enum Place {
    Known(i64),
    Grown { source: Source, first: usize },
    Alias(Source),
    New(String),
}

impl Plan {
    pub(super) async fn of(
        files: &[File],
        ledger: Ledger,
        there: There,
        chosen: Option<&Lines>,
        context: &SessionContext,
    ) -> Result<Self> {
        let parts = match chosen {
            Some(chosen) => {
                let mut parts = whole(context, chosen).await?;
                for room in rooms() {
                    let referred = room.referred(context, &chosen.sources()).await?;
                    parts.extend(referred.into_iter().map(|id| (id, true)));
                }
                Some(parts)
            }
            None => None,
        };
        let samples = samples(context).await?;
        let mut plan = Self {
            ledger,
            closed: Vec::new(),
            taken: BTreeMap::new(),
            is_whole: chosen.is_none(),
            copied: Copied::default(),
        };
        // What becomes of the sources, by their numbers.
        let mut places = Names::new();
        for file in files {
            let Some(last) = file.segments.last() else {
                let dataset = file.unknown.clone().unwrap_or_default();
                let reason = format!("this tsql does not know files of `{dataset}`");
                plan.refuse(file, reason);
                continue;
            };
            let rows_of = last.same_as.unwrap_or(file.source_id);
            if let Some(parts) = &parts {
                // Where it is a part, its lines are copied as a file of their own.
                if parts.get(&rows_of) != Some(&true) {
                    continue;
                }
            }
            let sample = last.about.sample_id.and_then(|id| samples.get(&id));
            match sample.map(|(path, hash)| (path, plan.ledger.plan_sample(path, hash))) {
                Some((_, None)) => {
                    plan.copied.known += 1;
                    continue;
                }
                Some((own, Some(path))) if path != *own => {
                    plan.refuse(file, "another sample has its folder".to_owned());
                    continue;
                }
                _ => {}
            }
            if let Some(same_as) = last.same_as {
                let Some(&same_as) = places.get(&same_as) else {
                    plan.refuse(
                        file,
                        "the file with the same bytes is not copied".to_owned(),
                    );
                    continue;
                };
                plan.add_alias(file, last, same_as);
                continue;
            }
            let place = plan.place(file, last, &there);
            let part = (
                format!("{PARTS}/{}", file.name),
                last.reading.platform.clone(),
            );
            if !matches!(place, Place::Known(_)) && there.parts.contains(&part) {
                let name = &part.0;
                let reason = format!(
                    "a part of it is there as {name}, and its records would be there twice\nhint: `tsql retract --where \"source = '{name}'\" --why ...` in that store first"
                );
                plan.refuse(file, reason);
                continue;
            }
            let id = plan.add(file, last, place);
            places.insert(file.source_id, id);
        }
        plan.is_whole &= plan.copied.known + plan.copied.grown == 0
            && plan.copied.renamed.is_empty()
            && plan.copied.refused.is_empty();
        Ok(plan)
    }

    fn refuse(&mut self, file: &File, reason: String) {
        self.copied.refused.push((file.name.clone(), reason));
    }

    /// How the other store knows a file.
    fn place(&self, file: &File, last: &Closed, there: &There) -> Place {
        let platform = &last.reading.platform;
        let first_platform = last.reading.first_platform.as_deref().unwrap_or(platform);
        let same_name = self.ledger.of_name(&file.name);
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
                return Place::Known(known.source_id);
            }
            let is_its_end = |segment: &Closed| {
                segment.end_byte == known.end_byte && segment.content_hash == known.content_hash
            };
            let begun = file.segments.iter().position(is_its_end);
            if let Some(begun) = begun.filter(|_| known.same_as.is_none()) {
                return Place::Grown {
                    source: (*known).clone(),
                    first: begun + 1,
                };
            }
        }
        let mut twins = self.ledger.of_size(platform, last.end_byte);
        let twin = twins.find(|twin| {
            twin.content_hash == last.content_hash
                && twin.collection == last.about.collection
                && twin.split == last.about.split
        });
        let may_be_alias = last.end_byte > 0 && last.about.sample_id.is_none();
        match twin.filter(|_| may_be_alias) {
            Some(twin) => Place::Alias(twin.clone()),
            None => Place::New(numbered(&file.name, same_name.len() + 1)),
        }
    }

    /// Adds a file with rows of its own; its number in the other store.
    fn add(&mut self, file: &File, last: &Closed, place: Place) -> i64 {
        let (to, name, first, segment) = match place {
            Place::Known(id) => {
                self.copied.known += 1;
                return id;
            }
            Place::Alias(twin) => {
                let id = twin.source_id;
                // Its rows are there.
                self.is_whole = false;
                self.add_alias(file, last, id);
                return id;
            }
            Place::Grown { source, first } => {
                self.copied.grown += 1;
                (source.source_id, source.name, first, source.segments)
            }
            Place::New(name) => {
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
            let reading = Reading {
                source_id: to,
                name: name.clone(),
                segment: next,
                ..own.reading.clone()
            };
            self.closed.push(Closed {
                reading,
                ..own.clone()
            });
        }
        if let Some(begin) = new.clone().next() {
            let taken = Taken {
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
            Source::being_read(&last.reading, last.end_byte, last.content_hash.clone());
        source.source_id = to;
        source.name = name;
        source.collection.clone_from(&last.about.collection);
        source.split.clone_from(&last.about.split);
        self.ledger.add(source);
        to
    }

    /// Adds another name of what the other store has, or will have.
    fn add_alias(&mut self, file: &File, last: &Closed, same_as: i64) {
        let known = self.ledger.of_name(&file.name);
        let platform = &last.reading.platform;
        let is_same =
            |known: &&Source| known.is_on(platform) && known.content_hash == last.content_hash;
        if known.iter().any(is_same) {
            self.copied.known += 1;
            return;
        }
        let name = numbered(&file.name, known.len() + 1);
        if name != file.name {
            self.copied.renamed.push((file.name.clone(), name.clone()));
        }
        self.copied.other_names += 1;
        let to = self.number(last, &name);
        let mut source =
            Source::being_read(&last.reading, last.end_byte, last.content_hash.clone());
        source.source_id = to;
        source.name.clone_from(&name);
        source.same_as = Some(same_as);
        self.ledger.add(source);
        self.closed.push(Closed {
            reading: Reading {
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

    /// What a file of this name is called.
    fn number(&self, file: &Closed, name: &str) -> i64 {
        let platform = file.reading.first_platform.as_ref();
        let platform = platform.unwrap_or(&file.reading.platform);
        source_id(file.dataset, platform, name)
    }
}

/// The sources that have chosen records; are they all of theirs?
pub(super) async fn whole(context: &SessionContext, chosen: &Lines) -> Result<HashMap<i64, bool>> {
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

/// Folder and hash of the files of each sample.
async fn samples(context: &SessionContext) -> Result<HashMap<i64, (String, String)>> {
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
