//! `tsql measure repeat`: chosen records measured again.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use tokio::runtime::Handle;

use super::watch::{Watch, time};
use super::{Bench, tell_resumed};
use crate::cli::{DONE, Failure, INTERRUPTED, PARTLY, counted, talk};
use crate::error::Error;
use crate::measure::manifest::Manifest;
use crate::measure::rerun::{MINIMAL_CHANGE, Verdict};
use crate::measure::trial::Language;
use crate::store::Store;
use crate::trials::bench::Target;
use crate::trials::plan::Listed;
use crate::trials::repeat::{Again, choose, compared};
use crate::trials::sink;

/// Measure chosen records again, here, and say which of them differ beyond noise
///
/// Only records that `tsql measure run` made can be built again: the store has their programs. The new
/// timings are records too. A change is one that a Mann-Whitney test finds, corrected for the number of
/// records after Holm, and that is at least `--change`. Exit code 1 where any differs.
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
        .map(|(chosen, (_, _, new_ns))| (chosen.old_ns, new_ns.clone()))
        .collect();
    let again = compared(&times, command.change.unwrap_or(MINIMAL_CHANGE));
    let mut changed = 0;
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "verdict,change,low,high,p,old,new,workload_key,steps");
    for (again, (item, ..)) in again.iter().zip(&summary.trials) {
        let line = match again {
            Again::Failed { before, now } => {
                let word = |failed: &bool| if *failed { "failed" } else { "ok" };
                changed += u64::from(before != now);
                format!(
                    "{},,,,,{},{}",
                    if before == now { "same" } else { "failed" },
                    word(before),
                    word(now)
                )
            }
            Again::Compared(found) => {
                changed += u64::from(matches!(found.verdict, Verdict::Faster | Verdict::Slower));
                format!(
                    "{},{:+.1}%,{:+.1}%,{:+.1}%,{:.2e},{},{}",
                    found.verdict.word(),
                    found.change * 100.0,
                    found.change_low * 100.0,
                    found.change_high * 100.0,
                    found.p_holm,
                    time(found.old_median_ns),
                    time(found.new_median_ns)
                )
            }
        };
        let quoted = |text: String| format!("\"{}\"", text.replace('"', "\"\""));
        let steps = quoted(Manifest::config_text(&item.config));
        let _ = writeln!(out, "{line},{},{steps}", quoted(item.workload_key()));
    }
    drop(out);
    talk(&format!(
        "{} measured again, {changed} differ",
        counted(summary.records, "record")
    ));
    if summary.interrupted {
        return Ok(INTERRUPTED);
    }
    Ok(if changed > 0 { PARTLY } else { DONE })
}
