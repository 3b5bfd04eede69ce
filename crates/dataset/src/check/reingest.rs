//! Commands that restore the sources which a repair removes: ingest with the labels that were given, then corrections
//! and retractions.

use std::collections::{BTreeMap, BTreeSet};

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_adapters::formats::{ExportFormat, format_by_dataset};
use tsql_adapters::ingest_log::Labels;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema::column;
use tsql_store::{Store, UnlistedSource};

use super::sources::{Source, file_path};
use crate::upkeep::orphans::lost_sources;

/// Maximum number of line ranges per command.
const RANGES: usize = 1000;

/// Returns the command that ingests a file again.
pub(super) fn command(path: &str, dataset: &str, platform: &str, labels: &Labels) -> String {
    let mut command = "tsql ingest".to_owned();
    if format_by_dataset(dataset).is_some_and(ExportFormat::needs_platform) {
        command += &format!(" --platform {}", shell_word(platform));
    }
    for label in labels.text().iter().flat_map(|labels| labels.lines()) {
        command += &format!(" --label {}", shell_word(label));
    }
    format!("{command} {}", shell_word(file_path(path).unwrap_or(path)))
}

/// Returns the commands that ingest the sources again whose entry of the ingest log is lost. Labels are not known.
pub(super) async fn commands_of_lost_sources(store: &Store) -> Result<Vec<String>> {
    let commands = lost_sources(store).await?.into_iter();
    let commands = commands.map(|lost| {
        let UnlistedSource {
            path,
            dataset,
            platform,
            ..
        } = &lost;
        command(path, dataset, platform, &Labels::default())
    });
    Ok(commands.collect::<BTreeSet<_>>().into_iter().collect())
}

/// Quotes a text as one shell word (POSIX, 2.2.2 and 2.2.3).
fn shell_word(text: &str) -> String {
    // Shells expand history between double quotes as well.
    if text.contains(['"', '$', '`', '\\', '!']) {
        format!("'{}'", text.replace('\'', "'\\''"))
    } else {
        format!("\"{text}\"")
    }
}

/// Commands that restore some sources, in the order of execution.
#[derive(Default)]
pub(super) struct Commands {
    ingest: BTreeSet<String>,
    correct: BTreeSet<String>,
    retract: BTreeSet<String>,
}

impl Commands {
    /// Adds the commands of sources whose file exists.
    pub(super) async fn add(
        &mut self,
        context: &SessionContext,
        sources: &BTreeMap<i64, &Source>,
    ) -> Result<()> {
        if sources.is_empty() {
            return Ok(());
        }
        let corrected = corrected_labels(context).await?;
        for source in sources.values() {
            self.add_ingests(source);
            self.add_corrections(source, &corrected);
        }
        self.add_retractions(context, sources).await
    }

    fn add_ingests(&mut self, source: &Source) {
        let (dataset, platform) = (&source.dataset, source.first_platform());
        for file in source.files.values().filter(|file| file.is_there()) {
            let ingest = command(file.argument(), dataset, platform, &file.labels);
            self.ingest.insert(ingest);
        }
    }

    /// Adds a command that repeats the label corrections of a source. `corrected`: the labels that corrections have
    /// set.
    fn add_corrections(&mut self, source: &Source, corrected: &BTreeSet<String>) {
        let labels = [
            ("platform", Some(&source.platform)),
            ("collection", source.collection.as_ref()),
            ("split", source.split.as_ref()),
        ];
        let labels = labels.into_iter().filter(|(name, _)| match *name {
            "platform" => source.first_platform() != source.platform,
            name => source.sample_id.is_none() && corrected.contains(name),
        });
        let sets = labels.map(|(name, value)| {
            let value = value.map_or("", String::as_str);
            format!(" --set {}", shell_word(&format!("{name}={value}")))
        });
        let sets: String = sets.collect();
        if !sets.is_empty() {
            let predicate = shell_word(&source.predicate(source.first_platform()));
            let correct =
                format!("tsql correct{sets} --where {predicate} --why \"ingested again\"");
            self.correct.insert(correct);
        }
    }

    /// Adds commands that retract lines of a source again.
    fn add_retracted(&mut self, source: &Source, why: &str, lines: &[i64]) {
        let of_source = source.predicate(&source.platform);
        for ranges in ranges(lines).chunks(RANGES) {
            let predicate = format!(
                "source_id IN (SELECT source_id FROM sources WHERE {of_source}) AND ({})",
                ranges.join(" OR ")
            );
            let (predicate, why) = (shell_word(&predicate), shell_word(why));
            self.retract
                .insert(format!("tsql retract --where {predicate} --why {why}"));
        }
    }

    /// Adds commands that repeat the retractions of sources.
    async fn add_retractions(
        &mut self,
        context: &SessionContext,
        sources: &BTreeMap<i64, &Source>,
    ) -> Result<()> {
        let ids: Vec<String> = sources.keys().map(i64::to_string).collect();
        let sql = format!(
            "SELECT r.source_id, r.line, r.retraction_id, c.why FROM stored.retracted AS r \
             LEFT JOIN stored.corrections AS c ON c.correction_id = r.retraction_id WHERE r.source_id IN ({}) \
             ORDER BY r.source_id, r.retraction_id, r.line",
            ids.join(", ")
        );
        let mut retracted: BTreeMap<(i64, String), (String, Vec<i64>)> = BTreeMap::new();
        for batch in collect(context, &sql).await? {
            let number = |name| column::numbers::<Int64Type>(&batch, name);
            let (ids, lines) = (number("source_id")?, number("line")?);
            let retractions = column::text(&batch, "retraction_id")?;
            let reasons = column::text(&batch, "why")?;
            for row in 0..batch.num_rows() {
                let retraction = retractions.value(row).to_owned();
                let why = column::text_at(reasons, row).unwrap_or(&retraction);
                retracted
                    .entry((ids.value(row), retraction.clone()))
                    .or_insert_with(|| (why.to_owned(), Vec::new()))
                    .1
                    .push(lines.value(row));
            }
        }
        for ((id, _), (why, lines)) in &retracted {
            if let Some(source) = sources.get(id) {
                self.add_retracted(source, why, lines);
            }
        }
        Ok(())
    }

    /// Returns all commands.
    pub(super) fn into_vec(self) -> Vec<String> {
        let all = self.ingest.into_iter().chain(self.correct);
        all.chain(self.retract).collect()
    }
}

/// Returns the labels that corrections have set for any source.
async fn corrected_labels(context: &SessionContext) -> Result<BTreeSet<String>> {
    let sql = "SELECT DISTINCT changes FROM stored.corrections WHERE changes IS NOT NULL";
    let mut names = BTreeSet::new();
    for batch in collect(context, sql).await? {
        let changes = column::text(&batch, "changes")?;
        for row in 0..batch.num_rows() {
            let changes = changes.value(row).lines();
            let changed = changes.filter_map(|change| change.split_once('='));
            names.extend(changed.map(|(name, _)| name.to_owned()));
        }
    }
    Ok(names)
}

/// Converts sorted lines to conditions, one for each range without gaps.
fn ranges(lines: &[i64]) -> Vec<String> {
    let ranges = lines.chunk_by(|line, next| line + 1 == *next);
    let ranges = ranges.filter_map(|range| match range {
        [] => None,
        [line] => Some(format!("line = {line}")),
        [first, .., last] => Some(format!("line BETWEEN {first} AND {last}")),
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_shell_reads_words_as_they_were() {
        for text in [
            "",
            "a b",
            "a'b\"c",
            "$HOME `id` \\ !x",
            "line\nbreak",
            "*?[~#;&|<>",
            "-x=é",
        ] {
            let script = format!("printf %s {}", shell_word(text));
            let ran = std::process::Command::new("sh")
                .args(["-c", &script])
                .output();
            assert_eq!(
                String::from_utf8(ran.unwrap().stdout).unwrap(),
                text,
                "{script}"
            );
        }
    }

    #[test]
    fn lines_without_a_gap_are_one_range() {
        assert_eq!(
            ranges(&[1, 3, 4, 5, 9]),
            ["line = 1", "line BETWEEN 3 AND 5", "line = 9"]
        );
    }
}
