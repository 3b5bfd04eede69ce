//! `tsql measure repeat`: measures selected records again.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use tsql_dataset::trials::{Event, RepeatedRecord};
use tsql_dataset::trials::{find_repeatable, measure_again};
use tsql_metrics::change::MINIMAL_CHANGE;
use tsql_store::Store;

use super::bench::Bench;
use super::change_table;
use super::resume::report_resumed;
use super::run_events::Watch;
use super::trust;
use crate::outcome::{DONE, Failure, INTERRUPTED, PARTLY};
use crate::output::{Output, show};
use crate::percent::percent;
use crate::stderr::{count_noun, print_message};

/// Measure records again on this machine, and test which of them changed
///
/// Only records of `tsql measure run` can be built again, because the store has their programs. The new timings become
/// records too, of the same platform if this machine measured the old ones. The programs are shown, and built only with
/// consent (`--trust`): a store may come from anybody. A record changed if a Mann-Whitney test is significant,
/// corrected for the number of records (Holm), and the median and the minimum of the repeats both change by at least
/// --change. Timings of a busy or throttled machine, and timings that did not converge, are unclear. The table shows
/// the relative change with its 95 % interval, the change of the minimum, p, and both medians. Records of another
/// machine or compiler are marked. Exit code 1 if any record changed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql measure repeat --where \"platform = 'amd-epyc' AND error_no = 0\" \\\n      \
    --limit 20\n  \
    tsql measure repeat --where \"measured_at < '2026-11-01'\" --change 5%")]
pub(super) struct Repeat {
    /// SQL condition over `records`
    #[arg(
        long = "where",
        value_name = "SQL",
        default_value = "dataset = 'measured'"
    )]
    predicate: String,
    /// Maximum number of records, newest first
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
    /// Minimum relevant change
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    change: Option<f64>,
    /// Build and run the programs of the store without asking
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    bench: Bench,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(
    store: &Store,
    command: &Repeat,
    stop: &Arc<AtomicBool>,
) -> Result<u8, Failure> {
    let records = find_repeatable(store, &command.predicate, command.limit).await?;
    if records.skipped > 0 {
        print_message(&format!(
            "note: {} left out: the store has no program to build",
            count_noun(records.skipped, "record")
        ));
    }
    trust::confirm(&records, command.trust)?;
    let watch = Arc::new(Mutex::new(Watch::new(command.bench.json, None)));
    let watching = Arc::clone(&watch);
    let options = command.bench.options(stop)?.progress(move |event| {
        match &event {
            Event::Resumed(resumed) => report_resumed(resumed),
            Event::Elsewhere(differences) => change_table::warn(differences),
            _ => {}
        }
        let mut watch = watching.lock().unwrap_or_else(PoisonError::into_inner);
        watch.hear(&event);
    });
    let minimum_change = command.change.unwrap_or(MINIMAL_CHANGE);
    let ended = measure_again(store, records, &options, minimum_change).await;
    watch.lock().unwrap_or_else(PoisonError::into_inner).end();
    let again = ended?;
    let count =
        |is: fn(&RepeatedRecord) -> bool| again.records.iter().filter(|one| is(one)).count();
    let changed = count(RepeatedRecord::is_changed);
    let unclear = count(RepeatedRecord::is_unclear);
    let elsewhere = match count(RepeatedRecord::is_from_other_machine) {
        0 => String::new(),
        count => format!(", {count} from another machine"),
    };
    if command.bench.json {
        change_table::print_json(&again.records);
    } else {
        show(change_table::columns(&again.records), &command.output).await?;
    }
    print_message(&format!(
        "{} measured again, {changed} differ, {unclear} unclear{elsewhere}",
        count_noun(again.records.len() as u64, "record")
    ));
    if unclear > 0 {
        print_message(
            "hint: unclear records are too noisy, possibly because the machine was busy; `tsql \
             measure doctor` reports sources of noise",
        );
    }
    if again.run.interrupted {
        return Ok(INTERRUPTED);
    }
    Ok(if changed > 0 { PARTLY } else { DONE })
}
