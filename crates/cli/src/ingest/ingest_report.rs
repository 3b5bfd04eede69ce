//! Messages about an ingest or a dry run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use indicatif::HumanBytes;
use tsql_adapters::formats::Level;
use tsql_dataset::ingest::{RepeatedFile, Report, SkippedFile};
use tsql_store::Location;

use super::super::stderr::{count_noun, print_message};

/// Maximum number of listed lines or files of each kind.
const SHOWN: usize = 20;

/// Maximum number of listed files of each unsupported kind.
const SKIPPED_SHOWN: usize = 10;

/// Maximum number of listed platforms.
const PLATFORMS_SHOWN: usize = 8;

/// Maximum number of listed samples that are similar to others, for each level.
const LIKE_SHOWN: usize = 3;

/// Prints the report of an ingest, or with `dry_run` of a dry run.
pub(super) fn print(report: &Report, verbose: bool, dry_run: bool) {
    for (path, reason) in &report.failed_files {
        print_message(&format!("{path}: {reason}"));
    }
    for line in skipped_lines(&report.skipped_files, verbose) {
        print_message(&line);
    }
    for (path, line, reason) in report.first_rejects.iter().take(SHOWN) {
        print_message(&format!("{path}:{line}: {reason}"));
    }
    let unlisted = report.rejects - report.first_rejects.len() as u64;
    if unlisted > 0 {
        let all = if dry_run {
            ""
        } else {
            ": tsql \"SELECT name, line, reason FROM rejects\""
        };
        print_message(&format!("... and {unlisted} more{all}"));
    }
    for (path, line, reason) in report.first_warnings.iter().take(SHOWN) {
        let place = if *line > 0 {
            format!("{path}:{line}")
        } else {
            path.clone()
        };
        print_message(&format!("note: {place}: {reason}"));
    }
    for (path, name) in report.renamed_files.iter().take(SHOWN) {
        print_message(&format!(
            "note: {path}: the store has another source of this name; this one is stored as {name}"
        ));
    }
    let unlisted = report.renamed_files.len().saturating_sub(SHOWN);
    if unlisted > 0 {
        print_message(&format!(
            "... and {unlisted} more with other names in the store"
        ));
    }
    for line in repeated_lines(report) {
        print_message(&line);
    }
    for line in similar_samples(report) {
        print_message(&line);
    }
    if dry_run {
        print_message("dry run: nothing was written; an ingest would report:");
    }
    for line in summary(report, dry_run) {
        print_message(&line);
    }
}

/// Returns messages about files that repeat or replace earlier versions.
fn repeated_lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for file in report.repeated_files.iter().take(SHOWN) {
        let RepeatedFile {
            path,
            earlier,
            records,
            repeated,
            ..
        } = file;
        lines.push(format!(
            "{path}: {repeated} of its {records} records are also in the earlier version \
             `{earlier}`, and count twice"
        ));
        lines.push(if file.is_replaceable {
            "hint: the same command with --replace keeps the new version only".to_owned()
        } else {
            let name = earlier.replace('\'', "''");
            format!("hint: `tsql retract --where \"source = '{name}'\" --why ...` keeps the new version only")
        });
    }
    let more = report.repeated_files.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!(
            "... and {more} more that repeat an earlier version"
        ));
    }
    for file in report.replaced_files.iter().take(SHOWN) {
        let (path, earlier) = (&file.path, file.earlier.join(", "));
        let records = count_noun(file.records, "record");
        lines.push(format!(
            "{path}: replaces {earlier}, of which {records} were retracted"
        ));
    }
    let more = report.replaced_files.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("... and {more} more replace earlier versions"));
    }
    lines
}

/// Returns messages about samples that are similar to others, by level.
fn similar_samples(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for level in Level::ALL {
        let like = report.similar_samples.iter();
        let like: Vec<_> = like.filter(|known| known.level == level).collect();
        if like.is_empty() {
            continue;
        }
        lines.push(format!(
            "{} with the same {} as an earlier one, for example:",
            count_noun(like.len() as u64, "sample"),
            level.name()
        ));
        for known in like.iter().take(LIKE_SHOWN) {
            lines.push(format!("  {} as {}", known.path, known.same_as));
        }
    }
    lines
}

fn summary(report: &Report, dry_run: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut also = Vec::new();
    for (count, what) in [
        (report.grown_files, "grown"),
        (report.unchanged_files, "already ingested"),
        (report.duplicate_files, "identical to another source"),
        (report.exported_files, "ingested as tsql-export.json states"),
        (report.skipped_files.len() as u64, "skipped"),
        (report.failed_files.len() as u64, "not completely read"),
    ] {
        if count > 0 {
            also.push(format!("{count} {what}"));
        }
    }
    let also = if also.is_empty() {
        String::new()
    } else {
        format!(" ({})", also.join(", "))
    };
    lines.push(format!("files            {}{also}", report.files));
    if !report.kinds.is_empty() {
        let kinds = report.kinds.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, count)| count_kind(*count, kind))
            .collect();
        lines.push(format!("formats          {}", kinds.join(", ")));
    }
    if report.samples > 0 {
        lines.push(format!(
            "samples          {} ({} similar to another, {} warnings)",
            report.samples,
            report.similar_samples.len(),
            report.warnings
        ));
    }
    lines.push(format!("lines            {}", report.lines));
    let mut kinds = Vec::new();
    for (count, what) in [
        (report.failed_records, "failed when measured"),
        (report.unmeasured_records, "unmeasured"),
        (report.verbatim_records, "stored verbatim"),
    ] {
        if count > 0 {
            kinds.push(format!("{count} {what}"));
        }
    }
    let kinds = if kinds.is_empty() {
        String::new()
    } else {
        format!(" ({})", kinds.join(", "))
    };
    lines.push(format!("records          {}{kinds}", report.records));
    if report.replaced_rows > 0 {
        lines.push(format!(
            "replaced         {} rows of an interrupted run",
            report.replaced_rows
        ));
    }
    if !dry_run {
        lines.push(format!("new graphs       {}", report.new_graphs));
        let known = report.records.saturating_sub(report.new_configurations);
        lines.push(format!(
            "new configs      {} ({known} records of known ones)",
            report.new_configurations
        ));
    }
    lines.push(format!("rejects          {}", report.rejects));
    let out = if dry_run {
        String::new()
    } else {
        format!(" {} out,", HumanBytes(report.bytes_out))
    };
    lines.push(format!(
        "bytes            {} in,{out} {:.1} s",
        HumanBytes(report.bytes_in),
        report.elapsed.as_secs_f64()
    ));
    if !report.platforms.is_empty() {
        let names: Vec<&str> = report.platforms.iter().map(String::as_str).collect();
        lines.push(format!(
            "platforms        {}",
            join_names(&names, PLATFORMS_SHOWN)
        ));
    }
    lines
}

/// Returns a count of described files: `2 files of network_info` for `a file of network_info`. A description without an
/// article is a plural.
fn count_kind(count: u64, described: &str) -> String {
    let one = described
        .strip_prefix("an ")
        .or(described.strip_prefix("a "));
    let Some(one) = one else {
        return format!("{} of {described}", count_noun(count, "file"));
    };
    match one.split_once(" of ") {
        Some((one, rest)) => format!("{} of {rest}", count_noun(count, one)),
        None => count_noun(count, one),
    }
}

/// Returns messages about files without a supported format: named files one by one, the others by kind.
fn skipped_lines(files: &[SkippedFile], verbose: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for file in files.iter().filter(|file| file.is_explicit) {
        lines.push(format!("{}: {}, skipped", file.path, file.looks_like));
        lines.extend(file.hint.iter().map(|hint| format!("hint: {hint}")));
    }
    let mut kinds: BTreeMap<&str, Vec<&SkippedFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_explicit) {
        kinds.entry(&file.looks_like).or_default().push(file);
    }
    for (looks, files) in kinds {
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let most = if verbose { paths.len() } else { SKIPPED_SHOWN };
        let names = join_names(&paths, most);
        let count = count_noun(paths.len() as u64, "file");
        let rest = if most < paths.len() {
            " (--verbose lists them)"
        } else {
            ""
        };
        lines.push(format!("skipped: {count}, {looks}: {names}{rest}"));
        let hint = files.iter().find_map(|file| file.hint.as_ref());
        lines.extend(hint.map(|hint| format!("hint: {hint}")));
    }
    lines
}

/// Joins the first `most` names, and adds the number of the others.
fn join_names(names: &[&str], most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let mut text = names
        .iter()
        .take(most)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// Returns the location of a store, relative to the working directory if that is shorter.
pub(super) fn shorter(location: &Location) -> String {
    let absolute = location.as_str().to_owned();
    let (Some(store), Ok(here)) = (location.local_directory(), std::env::current_dir()) else {
        return absolute;
    };
    let Some((above, common)) = here
        .ancestors()
        .enumerate()
        .find(|(_, folder)| store.starts_with(folder))
    else {
        return absolute;
    };
    let mut path: PathBuf = std::iter::repeat_n("..", above).collect();
    path.extend(store.strip_prefix(common));
    let path = path.to_string_lossy().into_owned();
    if path.is_empty() {
        ".".to_owned()
    } else if path.len() < absolute.len() {
        path
    } else {
        absolute
    }
}
