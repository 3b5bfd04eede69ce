//! `tsql ingest`: files into the store.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use super::append::tell_unmerged;
use super::outcome::{DONE, Failure, PARTLY};
use super::place::Place;
use super::signals::stop_on_ctrl_c;
use super::talk::{counted, talk};
use crate::error::shown::escaped;
use crate::formats::Level;
use crate::ingest::{Event, IngestOptions, Report, SkippedFile};
use crate::store::Location;

/// Refused lines of each kind that are shown.
const SHOWN: usize = 20;

/// Files of a kind that no reader takes that are shown.
const SKIPPED_SHOWN: usize = 3;

/// Platforms that are shown.
const PLATFORMS_SHOWN: usize = 8;

/// Samples that are like others that are shown for each level.
const LIKE_SHOWN: usize = 3;

/// Read tuning logs, TpuGraphs files, GraphNet samples and benchmark logs into the store
///
/// Reads auto_scheduler (Ansor, TenSet) and AutoTVM JSON lines, plain or compressed with gzip or zstd, the databases of
/// MetaSchedule (records and workloads), the pickles of TenSet's network_info, the npz files of TpuGraphs, the samples of GraphNet (a directory with graph_net.json), both also inside
/// tar, tar.gz and tar.zst, the Parquet of GraphNet's hub, and its benchmark logs. A file that the store has is skipped; of a log
/// that has grown only the new lines are read. Lines that are no records are refused one by one, with
/// their reason, and kept in `rejects`; an npz file is taken or refused as a whole. Notes tell what was
/// odd about samples and logs that were taken nevertheless. Hidden files and stores are passed over; other
/// files that no reader takes are told, and fail the run (exit code 1) only where they were named or
/// matched by a pattern.
///
/// The platform of a log is what --platform says, or the name of the directory that it was found in: a
/// log that is named itself, or lies in the working directory, has none of its own.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql ingest logs/a100 --platform a100\n  \
    tsql ingest a100_matmul.log --platform a100\n  \
    tsql ingest measure_records/                # its folders name the platforms\n  \
    tsql ingest 'measure_records/*/'            # the same\n  \
    tsql ingest k80_logs.tar.gz                 # so do those in an archive\n  \
    zcat log.json.gz | tsql ingest - --platform k80\n  \
    tsql ingest npz_layout_xla_random_train.tar # or the folder npz/ that it unpacks to\n  \
    tsql ingest samples.tar.zst logs/*.log      # GraphNet; the logs name their hardware")]
pub(super) struct Ingest {
    /// Files, directories, patterns in quotes, or `-` for standard input
    #[arg(required = true, value_name = "PATH")]
    inputs: Vec<String>,
    /// Platform of all records [default: the name of the directory that a log was found in; tpu-v3 for TpuGraphs; the hardware that a benchmark log names]
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// Stop at the first refused line
    #[arg(long)]
    strict: bool,
    /// Write nothing: say which samples of GraphNet the store has already, and at which level
    #[arg(long)]
    dry_run: bool,
    /// Threads that parse [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// No progress bar, no report
    #[arg(short, long)]
    quiet: bool,
    /// Name every file that was found and not taken
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
}

pub(super) async fn run(place: &Place, command: Ingest) -> Result<u8, Failure> {
    // Opening a store may wait for its server.
    let stop = stop_on_ctrl_c();
    let store = if command.dry_run {
        place.open_or_memory().await?
    } else {
        place.open_or_create().await?
    };
    let bar = (!command.quiet && std::io::stderr().is_terminal()).then(progress_bar);
    let heard = bar.clone();
    let options = IngestOptions {
        platform: command.platform,
        strict: command.strict,
        dry_run: command.dry_run,
        threads: command.threads,
        progress: Arc::new(move |event| show(heard.as_ref(), event)),
        stop,
        ..IngestOptions::default()
    };
    let ingested = store.ingest(&command.inputs, &options).await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let report = ingested?;
    if !command.quiet {
        tell(&report, command.verbose);
        talk(&format!("store            {}", shorter(store.location())));
    }
    tell_unmerged(&report);
    Ok(if report.is_clean() { DONE } else { PARTLY })
}

fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left  {wide_msg}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn show(bar: Option<&ProgressBar>, event: Event<'_>) {
    let Some(bar) = bar else { return };
    match event {
        Event::Planned { bytes, .. } => bar.set_length(bytes),
        Event::File(path) => bar.set_message(escaped(path).into_owned()),
        Event::Bytes(bytes) => bar.inc(bytes),
    }
}

fn tell(report: &Report, verbose: bool) {
    for (path, reason) in &report.failed_files {
        talk(&format!("{path}: {reason}"));
    }
    for line in skipped(&report.skipped_files, verbose) {
        talk(&line);
    }
    for (path, line, reason) in report.first_rejects.iter().take(SHOWN) {
        talk(&format!("{path}:{line}: {reason}"));
    }
    let unlisted = report.rejects - report.first_rejects.len() as u64;
    if unlisted > 0 {
        talk(&format!(
            "... and {unlisted} more: tsql \"SELECT name, line, reason FROM rejects\""
        ));
    }
    for (path, line, reason) in report.first_notes.iter().take(SHOWN) {
        let place = if *line > 0 {
            format!("{path}:{line}")
        } else {
            path.clone()
        };
        talk(&format!("note: {place}: {reason}"));
    }
    for (path, name) in report.renamed_files.iter().take(SHOWN) {
        talk(&format!(
            "note: {path}: the store has another one of this name; this one is {name} there"
        ));
    }
    let unlisted = report.renamed_files.len().saturating_sub(SHOWN);
    if unlisted > 0 {
        talk(&format!(
            "... and {unlisted} more that have other names in the store"
        ));
    }
    for line in known_samples(report) {
        talk(&line);
    }
    for line in summary(report) {
        talk(&line);
    }
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
            counted(like.len() as u64, "sample"),
            level.name()
        ));
        for known in like.iter().take(LIKE_SHOWN) {
            lines.push(format!("  {} as {}", known.path, known.same_as));
        }
    }
    lines
}

fn summary(report: &Report) -> Vec<String> {
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
    lines.push(format!("new graphs       {}", report.new_graphs));
    let known = report.records.saturating_sub(report.new_configurations);
    lines.push(format!(
        "new configs      {} ({known} records of known ones)",
        report.new_configurations
    ));
    lines.push(format!("rejects          {}", report.rejects));
    let seconds = report.elapsed.as_secs_f64();
    lines.push(format!(
        "bytes            {} in, {} out, {:.1} s",
        HumanBytes(report.bytes_in),
        HumanBytes(report.bytes_out),
        seconds
    ));
    if !report.platforms.is_empty() {
        let names: Vec<&str> = report.platforms.iter().map(String::as_str).collect();
        lines.push(format!(
            "platforms        {}",
            listed(&names, PLATFORMS_SHOWN)
        ));
    }
    lines
}

/// Files that no reader takes: those that were named one by one, the others by what they look like.
fn skipped(files: &[SkippedFile], verbose: bool) -> Vec<String> {
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
        let names = listed(&paths, most);
        let count = counted(paths.len() as u64, "file");
        lines.push(format!("not taken: {count}, {looks}: {names}"));
        let hint = files.iter().find_map(|file| file.hint.as_ref());
        lines.extend(hint.map(|hint| format!("hint: {hint}")));
    }
    lines
}

/// The first of some names, and how many more there are.
fn listed(names: &[&str], most: usize) -> String {
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
fn shorter(location: &Location) -> String {
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
