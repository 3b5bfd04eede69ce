//! `tsql append`: records into the store while they are measured.

use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::label::{Label, tell_unlabelled};
use super::memory;
use super::outcome::{DONE, Failure, PARTLY};
use super::place::Place;
use super::signals::stop_on_ctrl_c;
use super::talk::{counted, talk};
use crate::error::Error;
use crate::formats::StreamFormat;
use crate::ingest::{AppendOptions, Position, Report};

/// Take records from standard input into the store while they come
///
/// Lines are auto_scheduler's (Ansor's) JSON, with `--format autotvm` AutoTVM's, with `--format metaschedule` MetaSchedule's or, with `--format measured`, records as JSON objects whose
/// keys are columns: workload_key, steps, repeats_ns or runtime_ns, error_no, error_message, baseline_ns,
/// all_cost_s, measured_at, environment. They are stored in groups; a query that begins after that sees
/// them. After a failure send the stream again from its beginning: what the
/// store has is left out, so each record is stored once.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tail -n +1 -f tuning.json | tsql append --stream resnet-a100 --platform a100\n  \
    python3 tune.py | tsql append --stream night-7 --platform k80 \\\n      \
    --label night=7 --every 1s --ack\n  \
    echo '{\"workload_key\": [\"mm\", 512], \"steps\": {\"TILE\": 8}, \"repeats_ns\": [4210, 4198.5]}' |\n      \
    tsql append --stream mine --platform laptop --format measured")]
pub(super) struct Append {
    /// Where the stream comes from; `-` is standard input
    #[arg(value_name = "INPUT", default_value = "-", value_parser = ["-"], hide_possible_values = true)]
    input: String,
    /// Name of the stream, by which it is known when it is sent again
    #[arg(long, value_name = "NAME")]
    stream: String,
    /// Platform of its records
    #[arg(long, value_name = "NAME", add = super::known::platforms())]
    platform: String,
    #[command(flatten)]
    label: Label,
    /// What the stream looks like
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = StreamFormat::Tenset)]
    format: StreamFormat,
    /// Lines that are stored together at most
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    rows: u64,
    /// Bytes that are stored together at most
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = memory::size)]
    bytes: usize,
    /// How long a line may wait to be stored
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = humantime::parse_duration)]
    every: Duration,
    /// Say on standard output how far the stream is stored, a line of JSON for each group
    #[arg(long)]
    ack: bool,
    /// Stop at the first refused line
    #[arg(long)]
    strict: bool,
}

impl ValueEnum for StreamFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.described()))
    }
}

pub(super) async fn run(place: &Place, command: Append) -> Result<u8, Failure> {
    let stop = stop_on_ctrl_c();
    let store = place.open_or_create().await?;
    let mut options = AppendOptions::new(command.stream, command.platform);
    options.format = command.format;
    options.group_lines = command.rows;
    options.group_bytes = command.bytes as u64;
    options.group_time = command.every;
    options.strict = command.strict;
    options.labels = command.label.labels;
    options.stop = stop;
    let (ack, stream) = (command.ack, options.stream.clone());
    let durable = move |position: Position| {
        if ack {
            let Position { lines, bytes, .. } = position;
            let line = serde_json::json!({"stream": stream, "lines": lines, "bytes": bytes});
            let mut out = std::io::stdout().lock();
            // Who does not listen any more still wants the records stored.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    };
    let report = store.append(std::io::stdin(), &options, durable).await;
    if options.stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted.into());
    }
    let report = report?;
    tell_unmerged(&report);
    tell_unlabelled(&report);
    for (path, line, reason) in &report.first_rejects {
        talk(&format!("{path}:{line}: {reason}"));
    }
    talk(&format!(
        "{} in {}, {} new, {} refused, {:.1} s",
        counted(report.lines, "line"),
        counted(report.files, "group"),
        counted(report.records, "record"),
        report.rejects,
        report.elapsed.as_secs_f64()
    ));
    Ok(if report.is_clean() { DONE } else { PARTLY })
}

/// Tells that small files could not be merged.
pub(super) fn tell_unmerged(report: &Report) {
    if let Some(reason) = &report.unmerged {
        talk(&format!("note: small files were not folded: {reason}"));
    }
}
