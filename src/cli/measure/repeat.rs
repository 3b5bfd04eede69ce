//! `tsql measure repeat`: chosen records measured again.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use tokio::runtime::Handle;
use tsql_measure::backends::Address;
use tsql_metrics::change::MINIMAL_CHANGE;

use super::bench::Bench;
use super::compared::{self, Compared};
use super::resume::tell_resumed;
use super::trust;
use super::watch::Watch;
use crate::cli::outcome::{DONE, Failure, INTERRUPTED, PARTLY};
use crate::cli::output::{Output, show};
use crate::cli::percent::percent;
use crate::cli::talk::{counted, talk};
use crate::error::Result;
use crate::store::Store;
use crate::trials::elsewhere::{Difference, differences};
use crate::trials::plan::Listed;
use crate::trials::repeat::{Chosen, Timing, choose, compared as compare};
use crate::trials::run::TrialRun;

/// Measure chosen records again, here, and say which of them differ beyond noise
///
/// Only records that `tsql measure run` made can be built again: the store has their programs. The new
/// timings are records too. What would be built is shown first, and asked for (`--trust` says yes): a store
/// may come from anybody. A change is one that a Mann-Whitney test finds, corrected for the number of
/// records after Holm, and that is at least `--change`, for the repeats as a whole and for the least of
/// them. Timings of a busy or throttled machine, and those that did not converge, leave it unclear.
/// Shown are the change as a share of the old time with its 95 % interval, that of the least repeat, p,
/// and both medians. A verdict on a record of another machine, or of another compiler, says so: it compares
/// these, and not only the kernel. Exit code 1 where any differs.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql measure repeat --where \"platform = 'amd-epyc' AND error_no = 0\" \\\n      \
    --limit 20\n  \
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
    /// Build and run the programs that the store names without asking
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    bench: Bench,
    #[command(flatten)]
    output: Output,
}

pub(super) fn run(
    store: &Store,
    command: &Repeat,
    stop: &Arc<AtomicBool>,
    runtime: &Handle,
) -> Result<u8, Failure> {
    tell_resumed(&runtime.block_on(store.resume_measured())?);
    let (chosen, foreign) = runtime.block_on(choose(store, &command.predicate, command.limit))?;
    if foreign > 0 {
        talk(&format!(
            "note: {} left out: the store has no program to build",
            counted(foreign, "record")
        ));
    }
    let Some(first) = chosen.first() else {
        let reason = "no record that can be measured again\nhint: `tsql measure run` makes such";
        return Err(Failure::Usage(reason.to_owned()));
    };
    let device_of = |chosen: &Chosen| Address::of(chosen.item.loaded.manifest.language());
    let device = device_of(first);
    if !chosen.iter().all(|one| device_of(one).is_like(device)) {
        let reason =
            "some are for the GPU, some for the processor\nhint: choose those of one platform";
        return Err(Failure::Usage(reason.to_owned()));
    }
    trust::ask(&chosen, command.trust)?;
    let options = command.bench.options(stop)?;
    let mut run = TrialRun::new(store, &options, device, runtime)?;
    let elsewhere = elsewhere(&mut run, &chosen)?;
    compared::warn(&elsewhere);
    let items = chosen.iter().map(|chosen| chosen.item.clone()).collect();
    let mut watch = Watch::new(command.bench.json, None);
    let ended = run.all(&mut Listed::new(items), "repeat", |event| {
        watch.hear(&event)
    });
    watch.end();
    let summary = ended?;
    let times: Vec<_> = chosen
        .into_iter()
        .zip(&summary.trials)
        .map(|(chosen, done)| (chosen.old, Timing::new(done.times_ns.clone(), &done.flags)))
        .collect();
    let again = compare(&times, command.change.unwrap_or(MINIMAL_CHANGE));
    let changed = again.iter().filter(|again| again.differs()).count();
    let unclear = again.iter().filter(|again| again.is_unclear()).count();
    let items = summary.trials.iter().map(|done| &done.item);
    let rows = again.iter().zip(items).zip(&elsewhere);
    let rows: Vec<_> = rows
        .map(|((again, item), differs)| Compared {
            again,
            item,
            differs,
        })
        .collect();
    if command.bench.json {
        compared::say(&rows);
    } else {
        runtime.block_on(show(compared::columns(&rows), &command.output))?;
    }
    let others = rows.iter().filter(|row| row.is_elsewhere()).count();
    let others = if others > 0 {
        format!(", {others} of another machine")
    } else {
        String::new()
    };
    talk(&format!(
        "{} measured again, {changed} differ, {unclear} unclear{others}",
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

/// What of the machine was different when each record was taken.
fn elsewhere(run: &mut TrialRun<'_>, chosen: &[Chosen]) -> Result<Vec<Vec<Difference>>> {
    let mut elsewhere = Vec::with_capacity(chosen.len());
    for one in chosen {
        let now = run.environment(&one.item.loaded)?.machine;
        let machines = one.machine.as_deref().zip(now.as_deref());
        elsewhere.push(machines.map_or_else(Vec::new, |(then, now)| differences(then, now)));
    }
    Ok(elsewhere)
}
