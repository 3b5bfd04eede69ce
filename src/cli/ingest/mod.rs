//! `tsql ingest`: files into the store.

mod told;

use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use indicatif::{ProgressBar, ProgressStyle};
use tsql_formats::Named;

use super::append::tell_unmerged;
use super::label::{Label, tell_unlabelled};
use super::outcome::{DONE, Failure, PARTLY};
use super::place::Place;
use super::signals::stop_on_ctrl_c;
use super::talk::talk;
use crate::error::Error;
use crate::error::redact::escaped;
use crate::ingest::{Event, IngestOptions};
use crate::part::Part;
use crate::store::Store;

/// Read tuning logs, TpuGraphs files, GraphNet samples and benchmark logs into the store
///
/// Reads auto_scheduler (Ansor, TenSet) and AutoTVM JSON lines, plain or compressed with gzip or zstd, the databases of
/// MetaSchedule (records and workloads), the pickles of TenSet's network_info, the npz files of TpuGraphs, the samples of GraphNet (a directory with graph_net.json), both also inside
/// tar, tar.gz and tar.zst, the Parquet of GraphNet's hub, and its benchmark logs. Each file is told by its content, and the
/// report says what they were taken as, so one call takes a folder in which all of these lie; --format says it instead.
/// A file that the store has is skipped; of a log
/// that has grown only the new lines are read. Lines that are no records are refused one by one, with
/// their reason, and kept in `rejects`; an npz file is taken or refused as a whole. Notes tell what was
/// odd about samples and logs that were taken nevertheless. Hidden files and stores are passed over; other
/// files that no reader takes are named, and fail the run (exit code 1) only where they were named or
/// matched by a pattern.
///
/// --dry-run writes nothing, and makes no store. It reads and parses everything, and reports and exits as the
/// run would, but does not say how many graphs and configurations are new, and compares what compressed archives hold
/// beyond their first 256 MiB with the store only, not with what is given beside it.
///
/// The platform of a log is what --platform says, or the name of the directory that it was found in: a
/// log that is named itself, or lies in the working directory, has none of its own.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql ingest logs/a100 --platform a100\n  \
    tsql ingest a100_matmul.log --platform a100\n  \
    tsql ingest night-7/ --label night=7 --label driver=550.54\n  \
    tsql ingest measure_records/                # its folders name the platforms\n  \
    tsql ingest 'measure_records/*/'            # the same\n  \
    tsql ingest k80_logs.tar.gz                 # so do those in an archive\n  \
    zcat log.json.gz | tsql ingest - --platform k80\n  \
    tsql ingest npz_layout_xla_random_train.tar # or npz/, the folder in it\n  \
    tsql ingest samples.tar.zst \\\n      \
    logs/*.log      # GraphNet; the logs name their hardware\n  \
    tsql ingest --dry-run \\\n      \
    data/                 # what of all this would be taken, and as what?\n  \
    tsql ingest --replace logs/a100/tuning.json   # it was edited\n  \
    tsql ingest --format autotvm odd.txt --platform k80\n  \
    tsql ingest --part $SLURM_ARRAY_TASK_ID/8 s3://measurements/logs/")]
pub(super) struct Ingest {
    /// Files, pipes, directories, patterns in quotes, or `-` for standard input
    #[arg(required = true, value_name = "PATH")]
    inputs: Vec<String>,
    /// Platform of all records [default: the name of the directory that a log was found in; tpu-v3 for TpuGraphs; the hardware that a benchmark log names]
    #[arg(long, value_name = "NAME", add = super::known::platforms())]
    platform: Option<String>,
    #[command(flatten)]
    label: Label,
    /// Stop at the first refused line
    #[arg(long)]
    strict: bool,
    /// Format of all files, whatever they look like [default: that of each file's content]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<String>,
    /// Write nothing: read everything, and say what would be taken, refused and passed over
    #[arg(long)]
    dry_run: bool,
    /// Let each file take the place of its earlier versions: those that were ingested from the same path and differ from
    /// how it begins. Their records are retracted as the new ones come; `tsql restore` puts them back
    #[arg(long, conflicts_with = "dry_run")]
    replace: bool,
    /// Take one of N parts of the files: `--part 3/8`, one for each task of a Slurm array or a Kubernetes job. All at
    /// once may write to the same store
    #[arg(long, value_name = "I/N")]
    part: Option<Part>,
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
    for input in &command.inputs {
        is_there(input)?;
    }
    let opened = if command.dry_run {
        // What is there already counts; where nothing is, nothing is made.
        place.open_if_any().await?
    } else {
        Some(place.open_or_create().await?)
    };
    let shown = match &opened {
        Some(store) => told::shorter(store.location()),
        None => format!("none yet, it would be {}", place.new_location()),
    };
    let store = match opened {
        Some(store) => store,
        None => Store::create("memory:").await?,
    };
    let bar = (!command.quiet && std::io::stderr().is_terminal()).then(progress_bar);
    let heard = bar.clone();
    let options = IngestOptions {
        platform: command.platform,
        format: command.format,
        strict: command.strict,
        dry_run: command.dry_run,
        threads: place.threads.map(NonZeroUsize::get),
        part: command.part,
        labels: command.label.labels,
        progress: Arc::new(move |event| show(heard.as_ref(), event)),
        stop,
        ..IngestOptions::default()
    };
    let ingested = if command.replace {
        store.ingest_replacing(&command.inputs, &options).await
    } else {
        store.ingest(&command.inputs, &options).await
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let report = ingested?;
    if !command.quiet {
        told::tell(&report, command.verbose, command.dry_run);
        talk(&format!("store            {shown}"));
    }
    tell_unmerged(&report);
    tell_unlabelled(&report);
    let nothing = report.is_empty() && command.part.is_none();
    if nothing {
        talk("nothing was found that tsql reads");
    }
    let clean = report.is_clean() && !nothing;
    Ok(if clean { DONE } else { PARTLY })
}

/// Is there what was named on this machine? A mistyped name makes no store.
fn is_there(input: &str) -> Result<(), Failure> {
    if input != tsql_formats::STDIN && !input.contains("://") && !Path::new(input).exists() {
        tsql_formats::find(input).map_err(Error::from)?;
    }
    Ok(())
}

/// The names of all formats.
fn formats() -> PossibleValuesParser {
    let all = Named::all().into_iter();
    let value = |format: Named| PossibleValue::new(format.name()).help(format.described());
    PossibleValuesParser::new(all.map(value))
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
