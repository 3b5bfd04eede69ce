//! `tsql measure repeat`: chosen records measured again.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::array::{ArrayRef, Float64Array, StringArray};
use clap::Args;
use tokio::runtime::Handle;

use super::watch::Watch;
use super::{Bench, tell_resumed};
use crate::cli::tables::show;
use crate::cli::{DONE, Failure, INTERRUPTED, Output, PARTLY, counted, talk};
use crate::error::Error;
use crate::measure::manifest::Manifest;
use crate::measure::rerun::{Comparison, MINIMAL_CHANGE};
use crate::measure::trial::Language;
use crate::store::Store;
use crate::trials::bench::Target;
use crate::trials::plan::Listed;
use crate::trials::repeat::{Again, Timing, choose, compared};
use crate::trials::{Item, sink};

/// Measure chosen records again, here, and say which of them differ beyond noise
///
/// Only records that `tsql measure run` made can be built again: the store has their programs. The new
/// timings are records too. A change is one that a Mann-Whitney test finds, corrected for the number of
/// records after Holm, and that is at least `--change`, for the repeats as a whole and for the least of
/// them. Timings of a busy or throttled machine, and those that did not converge, leave it unclear.
/// Shown are the change as a share of the old time with its 95 % interval, that of the least repeat, p,
/// and both medians. Exit code 1 where any differs.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql measure repeat --where \"platform = 'amd-epyc' AND error_no = 0\" --limit 20\n  \
    tsql measure repeat --where \"measured_at < '2026-11-01'\" --change 5%")]
pub(super) struct Repeat {
    /// Which records: SQL over the columns of `records`
    #[arg(
        long = "where",
        value_name = "SQL",
        default_value = "dataset = 'measured'"
    )]
    predicate: String,
    /// Records at most, the newest first
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
    /// The least change that counts
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    change: Option<f64>,
    #[command(flatten)]
    bench: Bench,
    #[command(flatten)]
    output: Output,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let number = number.ok().filter(|number| (0.0..1000.0).contains(number));
    number
        .map(|number| number / 100.0)
        .ok_or_else(|| format!("`{text}` is no percentage, expected one like 5%"))
}

pub(super) fn run(
    store: &Store,
    command: &Repeat,
    stop: &Arc<AtomicBool>,
    runtime: &Handle,
) -> Result<u8, Failure> {
    tell_resumed(&sink::resume(store, runtime)?);
    let (chosen, foreign) = runtime.block_on(choose(store, &command.predicate, command.limit))?;
    if foreign > 0 {
        talk(&format!(
            "note: {} left out: the store has no program to build",
            counted(foreign, "record")
        ));
    }
    let Some(first) = chosen.first() else {
        let reason = "no record that can be measured again\nhint: `tsql measure run` makes such";
        return Err(Error::Usage(reason.to_owned()).into());
    };
    let is_cuda = |language: Language| language == Language::Cuda;
    let cuda = is_cuda(first.item.loaded.manifest.language());
    let other = |chosen: &&crate::trials::repeat::Chosen| {
        is_cuda(chosen.item.loaded.manifest.language()) != cuda
    };
    if chosen.iter().any(|one| other(&one)) {
        let reason =
            "some are for the GPU, some for the processor\nhint: choose those of one platform";
        return Err(Error::Usage(reason.to_owned()).into());
    }
    let device = if cuda { Target::Cuda(0) } else { Target::Cpu };
    let options = command.bench.options(device, stop)?;
    let run = crate::trials::run::Run::new(store, &options, runtime)?;
    let items = chosen.iter().map(|chosen| chosen.item.clone()).collect();
    let mut watch = Watch::new(command.bench.json);
    let ended = run.all(&mut Listed::new(items), "repeat", |event| {
        watch.hear(&event)
    });
    watch.end();
    let summary = ended?;
    let times: Vec<_> = chosen
        .into_iter()
        .zip(&summary.trials)
        .map(|(chosen, done)| {
            let flags = done.flags.iter().map(String::as_str);
            (chosen.old, Timing::new(done.times_ns.clone(), flags))
        })
        .collect();
    let again = compared(&times, command.change.unwrap_or(MINIMAL_CHANGE));
    let changed = again.iter().filter(|again| again.differs()).count();
    let unclear = again.iter().filter(|again| again.is_unclear()).count();
    let rows: Vec<_> = again
        .iter()
        .zip(summary.trials.iter().map(|done| &done.item))
        .collect();
    if command.bench.json {
        say(&rows);
    } else {
        runtime.block_on(show(columns(&rows), &command.output))?;
    }
    talk(&format!(
        "{} measured again, {changed} differ, {unclear} unclear",
        counted(summary.records, "record")
    ));
    if unclear > 0 {
        talk(
            "hint: those are too noisy, or were taken on a busy machine; `tsql measure doctor` says what spoils timings here",
        );
    }
    if summary.interrupted {
        return Ok(INTERRUPTED);
    }
    Ok(if changed > 0 { PARTLY } else { DONE })
}

/// What became of each record, as columns; changes are shares.
fn columns(rows: &[(&Again, &Item)]) -> [(&'static str, ArrayRef); 10] {
    let numbers = |of: fn(&Comparison) -> f64| -> ArrayRef {
        let found = rows.iter().map(|(again, _)| Some(of(again.comparison()?)));
        Arc::new(found.collect::<Float64Array>())
    };
    let texts = |of: &dyn Fn(&Again, &Item) -> String| -> ArrayRef {
        let found = rows.iter().map(|(again, item)| of(again, item));
        Arc::new(StringArray::from_iter_values(found))
    };
    [
        ("verdict", texts(&|again, _| again.word().to_owned())),
        ("change", numbers(|found| found.change)),
        ("change_low", numbers(|found| found.change_low)),
        ("change_high", numbers(|found| found.change_high)),
        ("least_change", numbers(|found| found.least_change)),
        ("p", numbers(|found| found.p_holm)),
        ("old_ns", numbers(|found| found.old_median_ns)),
        ("new_ns", numbers(|found| found.new_median_ns)),
        ("workload_key", texts(&|_, item| item.workload_key())),
        (
            "steps",
            texts(&|_, item| Manifest::config_text(&item.config)),
        ),
    ]
}

/// The same as lines of JSON.
fn say(rows: &[(&Again, &Item)]) {
    let mut out = std::io::stdout().lock();
    for (again, item) in rows {
        let found = again.comparison();
        let line = serde_json::json!({
            "event": "compared",
            "workload_key": item.workload_key(),
            "steps": Manifest::config_text(&item.config),
            "verdict": again.word(),
            "change": found.map(|found| found.change),
            "change_low": found.map(|found| found.change_low),
            "change_high": found.map(|found| found.change_high),
            "least_change": found.map(|found| found.least_change),
            "p": found.map(|found| found.p_holm),
            "old_ns": found.map(|found| found.old_median_ns),
            "new_ns": found.map(|found| found.new_median_ns),
        });
        let _ = writeln!(out, "{line}");
    }
}
