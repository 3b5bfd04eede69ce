//! `tsql ingest`: ingests files into the store.

mod ingest_report;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use indicatif::{ProgressBar, ProgressStyle};
use tsql_dataset::corrections::ingest_replacing;
use tsql_dataset::ingest::ingest;
use tsql_dataset::ingest::{Event, IngestOptions};
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_error::Error;
use tsql_error::redact::escape_control_characters;
use tsql_formats::NamedFormat;
use tsql_schema::shard::Shard;
use tsql_store::Store;

use super::append::report_unmerged;
use super::label::{Label, report_unlabeled};
use super::outcome::{DONE, Failure, PARTLY};
use super::signals::stop_on_ctrl_c;
use super::stderr::{print_message, shows_progress};
use super::store_options::StoreOptions;

/// Read tuning logs, results of autotuners and benchmark tools, TpuGraphs files and GraphNet samples into the store
///
/// Formats are detected by content, so one call reads a folder with files of all formats: auto_scheduler (Ansor,
/// TenSet) and AutoTVM JSON lines, plain or compressed with gzip or zstd; MetaSchedule databases; TenSet's network_info
/// pickles; TpuGraphs npz files; GraphNet samples (folders with graph_net.json), their hub's Parquet files and
/// benchmark logs; files of Kernel Tuner (also T4 and T1), KTT, Helion, MIOpen, tokamax, AITER, Triton, FlashInfer,
/// FlashInfer-Bench, Inductor, TunableOp, nvbench, KernelBench and AutoTVM 0.1; results of Google Benchmark, Criterion,
/// cargo-criterion, pytest-benchmark, hyperfine, asv, JMH, BenchmarkDotNet, github-action-benchmark, Liger-Kernel,
/// SGLang and the benchmarks of PyTorch and Triton. Files may be compressed with gzip, zstd,
/// bzip2 or xz. Npz files and samples may be inside tar, tar.gz and tar.zst archives.
///
/// Files that the store has are skipped; of a log that has grown, only the new lines are read. Lines that are no
/// records are rejected one by one, with a reason, and stored in `rejects`. Hidden files and stores are skipped. Other
/// files that no reader accepts are listed; the exit code is 1 only if such a file was named or matched a pattern.
///
/// The platform of a log comes from --platform, or from the name of its folder. Graph and platform of an autotuner file
/// come from the file, or from its path by the rule of its format; --graph, --platform and --map win over both.
///
/// --map FILE is TOML: a list `file` of patterns of paths with `graph`, `platform` and `table`, the mapping of the columns
/// of a CSV file in no known format. Keys of a mapping outside of the list are for all other CSV files.
///
/// --dry-run parses everything and reports as the run would, but does not count new graphs and configurations. It
/// compares compressed archives beyond their first 256 MiB with the store only, not with the other inputs.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql ingest logs/a100 --platform a100\n  \
    tsql ingest a100_matmul.log --platform a100\n  \
    tsql ingest night-7/ --label night=7 --label driver=550.54\n  \
    tsql ingest measure_records/                # a folder per platform\n  \
    tsql ingest k80_logs.tar.gz                 # the same in an archive\n  \
    zcat log.json.gz | tsql ingest - --platform k80\n  \
    tsql ingest npz_layout_xla_random_train.tar # or its folder npz/\n  \
    tsql ingest samples.tar.zst \\\n      \
    logs/*.log      # GraphNet; the logs contain the hardware\n  \
    tsql ingest --dry-run data/                 # report formats, write nothing\n  \
    tsql ingest --replace logs/a100/tuning.json # after editing the file\n  \
    tsql ingest --input-format autotvm odd.txt --platform k80\n  \
    tsql ingest kernel_tuner/ helion/ --map names.toml\n  \
    tsql ingest softmax.csv --graph softmax --platform a100\n  \
    tsql ingest target/criterion --platform epyc --commit 1f3a\n  \
    tsql ingest hyperfine/ --measured-at 2026-03-01T12:00:00Z\n  \
    tsql ingest gbench.json --graph-parameters n,m\n  \
    tsql ingest --shard $SLURM_ARRAY_TASK_ID/8 s3://measurements/logs/")]
pub(super) struct Ingest {
    /// Files, pipes, directories, patterns in quotes, or `-` for standard input
    #[arg(required = true, value_name = "PATH")]
    inputs: Vec<String>,
    /// Platform of all records [default: the name of the log's folder; tpu-v3 for TpuGraphs; the hardware in a
    /// benchmark log]
    #[arg(long, value_name = "NAME", add = super::completion_values::platforms())]
    platform: Option<String>,
    /// Graph of all records of autotuner files: a name, or a list such as ["gemm", {"M": 512}] [default: what the file
    /// or its path states]
    #[arg(long, value_name = "NAME")]
    graph: Option<String>,
    /// Graphs, platforms and columns of tables by patterns of paths, as TOML
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    map: Option<PathBuf>,
    /// Commit of the code that autotuners or benchmark tools measured, such as 1f3a; also the label `commit` of the files
    /// [default: what the file states]
    #[arg(long, value_name = "TEXT")]
    commit: Option<String>,
    /// Time of the measurements of autotuners or benchmark tools, with its zone, such as 2026-03-01T12:00:00Z [default:
    /// what the file states]
    #[arg(long, value_name = "TIME")]
    measured_at: Option<String>,
    /// Parameters of autotuners or benchmark tools that belong to the graph and not to the configuration, such as
    /// size,dim
    #[arg(long, value_name = "NAMES")]
    graph_parameters: Option<String>,
    #[command(flatten)]
    label: Label,
    /// Stop at the first rejected line
    #[arg(long)]
    strict: bool,
    /// Format of all files [default: detected from the content of each file]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    input_format: Option<String>,
    /// Parse everything and report, but write nothing
    #[arg(long)]
    dry_run: bool,
    /// Retract the records of earlier versions of each file: files that were ingested from the same path and are not a
    /// beginning of it. `tsql restore` undoes it
    #[arg(long, conflicts_with = "dry_run")]
    replace: bool,
    /// Ingest one of N shards of the files, such as `3/8`: one for each task of a Slurm array or a Kubernetes job. All
    /// may write to one store at the same time
    #[arg(long, alias = "part", value_name = "I/N")]
    shard: Option<Shard>,
}

pub(super) async fn run(
    place: &StoreOptions,
    command: Ingest,
    verbose: bool,
) -> Result<u8, Failure> {
    // Ctrl-C has to work before the store is open, because opening may wait for a server.
    let stop = stop_on_ctrl_c();
    for input in &command.inputs {
        check_input(input)?;
    }
    let naming = naming_options(&command)?;
    let opened = if command.dry_run {
        // The report compares with an existing store; a dry run creates none.
        place.open_if_any().await?
    } else {
        Some(place.open_or_create().await?)
    };
    let shown = match &opened {
        Some(store) => ingest_report::shorter(store.location()),
        None => format!("none yet, it would be {}", place.new_location()),
    };
    let store = match opened {
        Some(store) => store,
        None => Store::create("memory:").await?,
    };
    let bar = shows_progress().then(progress_bar);
    let event_bar = bar.clone();
    let options = naming
        .strict(command.strict)
        .dry_run(command.dry_run)
        .progress(move |event| show(event_bar.as_ref(), event))
        .stop(stop)
        .labels(command.label.labels)
        .set_if(command.platform, IngestOptions::platform)
        .set_if(command.input_format, IngestOptions::format)
        .set_if(place.threads.map(NonZeroUsize::get), IngestOptions::threads)
        .set_if(command.shard, IngestOptions::shard);
    let ingested = if command.replace {
        ingest_replacing(&store, &command.inputs, &options).await
    } else {
        ingest(&store, &command.inputs, &options).await
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let report = ingested?;
    ingest_report::print(&report, verbose, command.dry_run);
    let nothing = report.is_empty() && command.shard.is_none();
    let clean = report.is_clean() && !nothing;
    if clean {
        store.ensure_created().await?;
    }
    if store.location().is_created() {
        print_message(&format!("store            {shown}"));
    } else {
        print_message(&format!(
            "store            none: nothing was stored in {shown}"
        ));
    }
    report_unmerged(&report);
    report_unlabeled(&report);
    if nothing {
        print_message("found no file in a format that tsql reads");
    }
    if report.records > 0 && !command.dry_run {
        print_message(
            "next: `tsql queries platform-summary`, or `tsql queries` for other built-in queries",
        );
    }
    Ok(if clean { DONE } else { PARTLY })
}

/// Returns options with the names that the user gives to files.
fn naming_options(command: &Ingest) -> Result<IngestOptions, Failure> {
    let mut options = IngestOptions::default();
    if let Some(graph) = &command.graph {
        options = options.graph(graph)?;
    }
    if let Some(commit) = &command.commit {
        options = options.commit(commit)?;
    }
    if let Some(time) = &command.measured_at {
        options = options.measured_at(time)?;
    }
    if let Some(names) = &command.graph_parameters {
        options = options.graph_parameters(names)?;
    }
    if let Some(file) = &command.map {
        let text = std::fs::read_to_string(file).map_err(Error::io(file))?;
        options = options.map(&text).map_err(|error| match error {
            Error::Argument { reason, .. } => Error::Source {
                location: file.display().to_string(),
                reason,
            },
            other => other,
        })?;
    }
    Ok(options)
}

/// Checks that an input exists on this machine, so that a mistyped name creates no store.
fn check_input(input: &str) -> Result<(), Failure> {
    if input != tsql_formats::STDIN && !input.contains("://") && !Path::new(input).exists() {
        tsql_formats::find_inputs(input).map_err(Error::from)?;
    }
    Ok(())
}

/// Returns the names of all formats with their descriptions.
fn formats() -> PossibleValuesParser {
    let all = NamedFormat::all().into_iter();
    let value = |format: NamedFormat| PossibleValue::new(format.name()).help(format.description());
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
        Event::File(path) => bar.set_message(escape_control_characters(path).into_owned()),
        Event::Bytes(bytes) => bar.inc(bytes),
        _ => {}
    }
}
