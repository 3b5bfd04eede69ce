//! `tsql append`: stores records while they are measured.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tsql_adapters::formats::StreamFormat;
use tsql_dataset::ingest::append;
use tsql_dataset::ingest::{AppendOptions, Position, Report};
use tsql_error::Error;

use super::label::{Label, report_unlabeled};
use super::memory;
use super::outcome::{DONE, Failure, PARTLY};
use super::signals::stop_on_ctrl_c;
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Append records from standard input while they are produced
///
/// Lines are auto_scheduler (Ansor) JSON, or with --input-format AutoTVM or MetaSchedule lines, or `measured`: JSON
/// objects whose keys are columns: workload_key, steps, repeats_ns or runtime_ns, error_no, error_message, baseline_ns,
/// metrics, all_cost_s, measured_at, environment. Records are committed in batches; queries that start later see them.
/// After a failure, send the stream again from its beginning: stored lines are skipped, so each record is stored once.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tail -n +1 -f tuning.json | tsql append --stream resnet-a100 --platform a100\n  \
    python3 tune.py | tsql append --stream night-7 --platform k80 \\\n      \
    --label night=7 --every 1s --ack\n  \
    echo '{\"workload_key\": [\"mm\", 512], \"steps\": {\"TILE\": 8}, \"repeats_ns\": [4210, 4198.5]}' |\n      \
    tsql append --stream mine --platform laptop --input-format measured")]
pub(super) struct Append {
    /// Source of the stream; `-` is standard input
    #[arg(value_name = "INPUT", default_value = "-", value_parser = ["-"], hide_possible_values = true)]
    input: String,
    /// Name of the stream, which identifies it when it is sent again
    #[arg(long, value_name = "NAME")]
    stream: String,
    /// Platform of the records
    #[arg(long, value_name = "NAME", add = super::completion_values::platforms())]
    platform: String,
    #[command(flatten)]
    label: Label,
    /// Format of the stream
    #[arg(long, value_name = "FORMAT", default_value = StreamFormat::TENSET.name(), value_parser = stream_formats())]
    input_format: StreamFormat,
    /// Maximum number of lines of a batch
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    rows: u64,
    /// Maximum size of a batch
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = memory::size)]
    bytes: usize,
    /// Maximum time until a line is committed
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = humantime::parse_duration)]
    every: Duration,
    /// Print the committed position of the stream on standard output, one line of JSON per batch
    #[arg(long)]
    ack: bool,
    /// Stop at the first rejected line
    #[arg(long)]
    strict: bool,
}

/// Parses the name of a stream format.
fn stream_formats() -> impl TypedValueParser<Value = StreamFormat> {
    let values = StreamFormat::all()
        .map(|format| PossibleValue::new(format.name()).help(format.description()));
    PossibleValuesParser::new(values)
        .map(|name| StreamFormat::by_name(&name).unwrap_or(StreamFormat::TENSET))
}

pub(super) async fn run(place: &StoreOptions, command: Append) -> Result<u8, Failure> {
    let stop = stop_on_ctrl_c();
    let store = place.open_or_create().await?;
    let options = AppendOptions::new(command.stream.clone(), command.platform)
        .format(command.input_format)
        .group_lines(command.rows)
        .group_bytes(command.bytes as u64)
        .group_time(command.every)
        .strict(command.strict)
        .labels(command.label.labels)
        .stop(Arc::clone(&stop));
    let (ack, stream) = (command.ack, command.stream);
    let durable = move |position: Position| {
        if ack {
            let Position { lines, bytes, .. } = position;
            let line = serde_json::json!({"stream": stream, "lines": lines, "bytes": bytes});
            let mut out = std::io::stdout().lock();
            // The records are stored even if the reader of the acknowledgements is gone.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    };
    let report = append(&store, std::io::stdin(), &options, durable).await;
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted.into());
    }
    let report = report?;
    store.ensure_created().await?;
    report_unmerged(&report);
    report_unlabeled(&report);
    for (path, line, reason) in &report.first_rejects {
        print_message(&format!("{path}:{line}: {reason}"));
    }
    print_message(&format!(
        "{} in {}, {} new, {} rejected, {:.1} s",
        count_noun(report.lines, "line"),
        if report.files == 1 {
            "1 batch".to_owned()
        } else {
            format!("{} batches", report.files)
        },
        count_noun(report.records, "record"),
        report.rejects,
        report.elapsed.as_secs_f64()
    ));
    Ok(if report.is_clean() { DONE } else { PARTLY })
}

/// Reports that small files could not be merged.
pub(super) fn report_unmerged(report: &Report) {
    if let Some(reason) = &report.merge_error {
        print_message(&format!("note: small files were not merged: {reason}"));
    }
}
