//! What an ingest did, or would do, in words.

use std::collections::BTreeMap;
use std::path::PathBuf;

use indicatif::HumanBytes;

use super::super::stderr::{count_noun, print_message};
use crate::formats::Level;
use crate::ingest::{RepeatedFile, Report, SkippedFile};
use crate::store::Location;

/// Refused lines of each kind that are shown.
const SHOWN: usize = 20;

/// Files of a kind that no reader takes that are shown.
const SKIPPED_SHOWN: usize = 10;

/// Platforms that are shown.
const PLATFORMS_SHOWN: usize = 8;

/// Samples that are like others that are shown for each level.
const LIKE_SHOWN: usize = 3;

/// Says what happened, or with `dry_run` what would have.
pub(super) fn tell(report: &Report, verbose: bool, dry_run: bool) {
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
    for (path, line, reason) in report.first_notes.iter().take(SHOWN) {
        let place = if *line > 0 {
            format!("{path}:{line}")
        } else {
            path.clone()
        };
        print_message(&format!("note: {place}: {reason}"));
    }
    for (path, name) in report.renamed_files.iter().take(SHOWN) {
        print_message(&format!(
            "note: {path}: the store has another one of this name; this one is {name} there"
        ));
    }
    let unlisted = report.renamed_files.len().saturating_sub(SHOWN);
    if unlisted > 0 {
        print_message(&format!(
            "... and {unlisted} more that have other names in the store"
        ));
    }
    for line in repeated_lines(report) {
        print_message(&line);
    }
    for line in known_samples(report) {
        print_message(&line);
    }
    if dry_run {
        print_message("dry run: nothing was written; an ingest would do this:");
    }
    for line in summary(report, dry_run) {
        print_message(&line);
    }
}

/// Which files repeat what an earlier version says, and which took the place of one.
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
            "{path}: {repeated} of its {records} records are those of `{earlier}`, an earlier version, and count twice"
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
            "{path}: in the place of {earlier}, of which {records} were retracted"
        ));
    }
    let more = report.replaced_files.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!(
            "... and {more} more in the place of earlier versions"
        ));
    }
    lines
}

/// Which samples are like others, at which level.
fn known_samples(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for level in Level::ALL {
        let like = report.known_samples.iter();
        let like: Vec<_> = like.filter(|known| known.level == level).collect();
        if like.is_empty() {
            continue;
        }
        lines.push(format!(
            "{} with the same {} as one before, for example:",
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
        (report.unchanged_files, "already there"),
        (report.same_files, "with the bytes of another"),
        (report.exported_files, "taken as tsql-export.json says"),
        (report.skipped_files.len() as u64, "not taken"),
        (report.failed_files.len() as u64, "not read to the end"),
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
        let kinds: Vec<String> = kinds.map(|(kind, count)| of_kind(*count, kind)).collect();
        lines.push(format!("taken as         {}", kinds.join(", ")));
    }
    if report.samples > 0 {
        lines.push(format!(
            "samples          {} ({} like another, {} notes)",
            report.samples,
            report.known_samples.len(),
            report.notes
        ));
    }
    lines.push(format!("lines            {}", report.lines));
    let mut kinds = Vec::new();
    for (count, what) in [
        (report.failed_records, "failed when measured"),
        (report.unmeasured_records, "unmeasured"),
        (report.verbatim_records, "kept verbatim"),
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
            "replaced         {} rows that an interrupted run had left",
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

/// So many of what is said in words of one: `2 files of network_info` of `a file of network_info`. What has
/// no article are several already.
fn of_kind(count: u64, described: &str) -> String {
    let one = described
        .strip_prefix("an ")
        .or(described.strip_prefix("a "));
    let Some(one) = one else {
        return format!("{} of {described}", count_noun(count, "file"));
    };
    match one.split_once(" of ") {
        Some((one, whole)) => format!("{} of {whole}", count_noun(count, one)),
        None => count_noun(count, one),
    }
}

/// Files that no reader takes: those that were named one by one, the others by what they look like.
fn skipped_lines(files: &[SkippedFile], verbose: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for file in files.iter().filter(|file| file.named) {
        lines.push(format!("{}: {}, not taken", file.path, file.looks_like));
        lines.extend(file.hint.iter().map(|hint| format!("hint: {hint}")));
    }
    let mut kinds: BTreeMap<&str, Vec<&SkippedFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.named) {
        kinds.entry(&file.looks_like).or_default().push(file);
    }
    for (looks, files) in kinds {
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let most = if verbose { paths.len() } else { SKIPPED_SHOWN };
        let names = join_names(&paths, most);
        let count = count_noun(paths.len() as u64, "file");
        let rest = if most < paths.len() {
            " (--verbose names them)"
        } else {
            ""
        };
        lines.push(format!("not taken: {count}, {looks}: {names}{rest}"));
        let hint = files.iter().find_map(|file| file.hint.as_ref());
        lines.extend(hint.map(|hint| format!("hint: {hint}")));
    }
    lines
}

/// The first of some names, and how many more there are.
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

/// How a store is named from here, where that is shorter.
pub(super) fn shorter(location: &Location) -> String {
    let whole = location.as_str().to_owned();
    let (Some(store), Ok(here)) = (location.local_directory(), std::env::current_dir()) else {
        return whole;
    };
    let Some((above, common)) = here
        .ancestors()
        .enumerate()
        .find(|(_, folder)| store.starts_with(folder))
    else {
        return whole;
    };
    let mut path: PathBuf = std::iter::repeat_n("..", above).collect();
    path.extend(store.strip_prefix(common));
    let path = path.to_string_lossy().into_owned();
    if path.is_empty() {
        ".".to_owned()
    } else if path.len() < whole.len() {
        path
    } else {
        whole
    }
}
