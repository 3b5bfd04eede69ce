//! Repeating the measurement of stored records.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::Serialize;
use tokio::runtime::Handle;
use tsql_codecs::identity::ContentHasher;
use tsql_error::{Error, Result};
use tsql_measure::backends::DeviceAddress;
use tsql_measure::trial::Program;
use tsql_store::Store;

use super::event::Event;
use super::loaded_program::TrialSpec;
use super::machine_difference::{Difference, differences};
use super::measure::{Measured, run_blocking};
use super::options::MeasureOptions;
use super::plan::FixedPlan;
use super::record_comparison::{
    RepeatOutcome, SelectedRecord, StoredTiming, compare_timings, select_records,
};
use super::record_sink;
use super::trial_run::TrialRun;

/// Records that can be measured again, because the store has their programs.
///
/// A store may be untrusted: [`programs`](Self::programs) lists the programs that would be built and run.
pub struct RepeatableRecords {
    chosen: Vec<SelectedRecord>,
    device: DeviceAddress,
    /// Number of records that cannot be built, because the store lacks their program.
    pub skipped: u64,
}

impl std::fmt::Debug for RepeatableRecords {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Repeatable")
            .field("records", &self.records())
            .field("skipped", &self.skipped)
            .finish_non_exhaustive()
    }
}

impl RepeatableRecords {
    /// Number of records; at least one.
    pub fn records(&self) -> u64 {
        self.chosen.len() as u64
    }

    /// Lists the programs that would be built and run: compiler, flags, and sources with their hash.
    ///
    /// # Errors
    /// If a compiler is missing.
    pub fn programs(&self) -> Result<String> {
        let named =
            |one: &SelectedRecord| (one.item.loaded.program.clone(), one.item.loaded.clone());
        let programs: BTreeMap<_, _> = self.chosen.iter().map(named).collect();
        let mut compilers = BTreeMap::new();
        let mut lines = vec![
            "the store contains programs that would be built and run on this machine:".to_owned(),
        ];
        for loaded in programs.values() {
            lines.push(format!("  {}", loaded.manifest.name()));
            for program in loaded.manifest.programs() {
                let language = program.language;
                let compiler = match compilers.entry(language) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => place.insert(
                        DeviceAddress::for_language(language)
                            .backend
                            .compiler(language)?,
                    ),
                };
                let (flags, sources) = (program.flags.join(" "), describe_sources(program));
                lines.push(format!("    {compiler} {flags}: {sources}"));
            }
        }
        // Text from the store must not start a line of its own.
        let lines: Vec<String> = lines.iter().map(|line| line.replace('\n', "\\n")).collect();
        Ok(lines.join("\n"))
    }
}

fn describe_sources(program: &Program) -> String {
    let sources = program.sources.iter().map(|source| {
        let hash = ContentHasher::hash_bytes(source.text.as_bytes());
        let lines = source.text.lines().count();
        let noun = if lines == 1 { "line" } else { "lines" };
        format!("{} ({lines} {noun}, xxh3 {hash})", source.name)
    });
    sources.collect::<Vec<_>>().join(", ")
}

/// Results of repeated measurements.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MeasuredAgain {
    /// The run; its timings are records, too.
    pub run: Measured,
    /// Number of selected records that cannot be built.
    pub skipped: u64,
    /// Results of the other records, newest first.
    pub records: Vec<RepeatedRecord>,
}

/// A record that was measured again. Changes are fractions: -0.1 is 10 % less time.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RepeatedRecord {
    /// Workload key of the graph.
    pub workload_key: String,
    /// Steps of the configuration.
    pub steps: String,
    /// `same`, `faster`, `slower`, `unclear`; `failed` if only the new measurement failed, `fixed` if only
    /// the old one did.
    pub verdict: &'static str,
    /// Change of the median. This and the following fields are `None` if one of the measurements failed.
    pub change: Option<f64>,
    /// Lower bound of the 95 % confidence interval of `change`.
    pub change_low: Option<f64>,
    /// Upper bound of the 95 % confidence interval of `change`.
    pub change_high: Option<f64>,
    /// Change of the minimum repeat.
    pub minimum_change: Option<f64>,
    /// p-value of a Mann-Whitney test, with Holm's correction for the number of records.
    pub p: Option<f64>,
    /// Old median, in ns per call.
    pub old_ns: Option<f64>,
    /// New median, in ns per call.
    pub new_ns: Option<f64>,
    /// Differences of machine and compiler, which can explain a change.
    pub machine_differences: Vec<Difference>,
}

impl RepeatedRecord {
    fn new(again: &RepeatOutcome, item: &TrialSpec, machine_differences: Vec<Difference>) -> Self {
        let found = again.comparison();
        Self {
            workload_key: item.workload_key(),
            steps: item.steps(),
            verdict: again.as_str(),
            change: found.map(|found| found.change),
            change_low: found.map(|found| found.change_low),
            change_high: found.map(|found| found.change_high),
            minimum_change: found.map(|found| found.minimum_change),
            p: found.map(|found| found.p_corrected),
            old_ns: found.map(|found| found.old_median_ns),
            new_ns: found.map(|found| found.new_median_ns),
            machine_differences,
        }
    }

    /// Returns whether the result differs.
    pub fn is_changed(&self) -> bool {
        !matches!(self.verdict, "same" | "unclear")
    }

    /// Returns whether the test is inconclusive.
    pub fn is_unclear(&self) -> bool {
        self.verdict == "unclear"
    }

    /// Returns whether the record was measured on another machine.
    pub fn is_from_other_machine(&self) -> bool {
        self.machine_differences.iter().any(Difference::is_hardware)
    }
}

/// Finds records that can be measured again: those selected by `predicate` (SQL over the columns of
/// `records`), newest first, at most `limit`.
///
/// Each configuration of a program is included once, with its newest record. Only records of
/// [`measure`](crate::trials::measure) qualify, because the store has their programs.
///
/// # Errors
/// [`Error::Argument`] if there is none, or if some are for the GPU and some for the processor.
/// [`Error::Query`] if the predicate is invalid.
pub async fn find_repeatable(
    store: &Store,
    predicate: &str,
    limit: u64,
) -> Result<RepeatableRecords> {
    let (chosen, skipped) = select_records(store, predicate, limit).await?;
    let wrong = |reason: &str| Error::Argument {
        name: "predicate",
        reason: reason.to_owned(),
    };
    let device_of =
        |one: &SelectedRecord| DeviceAddress::for_language(one.item.loaded.manifest.language());
    let Some(device) = chosen.first().map(device_of) else {
        let hint = "hint: only records of `tsql measure run` can be measured again";
        return Err(wrong(&match skipped {
            0 => format!("no selected record can be measured again\n{hint}"),
            skipped => format!(
                "no selected record can be measured again: the store has no program for \
                 {skipped} of them\n{hint}"
            ),
        }));
    };
    if !chosen
        .iter()
        .all(|one| device_of(one).has_same_backend(device))
    {
        return Err(wrong(
            "some records are for the GPU, and some for the CPU\n\
             hint: select the records of one platform",
        ));
    }
    Ok(RepeatableRecords {
        chosen,
        device,
        skipped,
    })
}

/// Builds and times the programs of these records on this machine, like [`measure`](crate::trials::measure), and
/// compares the results. The new records have the platform of the old ones, unless `options` has one, the old ones have
/// several, or another machine measured them.
///
/// A difference is reported if it is statistically significant (Mann-Whitney test), and if both the
/// repeats as a whole and the minimum changed by at least `minimum_change` (0.02 is 2 %).
///
/// # Errors
/// See [`measure`](crate::trials::measure).
pub async fn measure_again(
    store: &Store,
    records: RepeatableRecords,
    options: &MeasureOptions,
    minimum_change: f64,
) -> Result<MeasuredAgain> {
    let (store, options) = (store.clone(), options.clone());
    run_blocking(move |runtime| {
        measure_again_blocking(&store, records, &options, minimum_change, runtime)
    })
    .await
}

fn measure_again_blocking(
    store: &Store,
    records: RepeatableRecords,
    options: &MeasureOptions,
    minimum_change: f64,
    runtime: &Handle,
) -> Result<MeasuredAgain> {
    let resumed = runtime.block_on(record_sink::resume(store))?;
    options.report(Event::Resumed(&resumed));
    let RepeatableRecords {
        chosen,
        device,
        skipped,
    } = records;
    let mut run = TrialRun::new(store, options, device, runtime)?;
    let elsewhere = find_differences(&mut run, &chosen)?;
    if options.platform.is_none()
        && let Some(platform) = platform_of_records(&chosen, &elsewhere)
    {
        run.set_platform(platform);
    }
    let platform = run.platform().to_owned();
    options.report(Event::Elsewhere(&elsewhere));
    let items = chosen.iter().map(|one| one.item.clone()).collect();
    let summary = run.run(&mut FixedPlan::new(items), "repeat", |event| {
        options.report(event);
    })?;
    let times: Vec<_> = chosen
        .into_iter()
        .zip(&summary.trials)
        .map(|(one, done)| {
            (
                one.old,
                StoredTiming::new(done.times_ns.clone(), &done.flags),
            )
        })
        .collect();
    let again = compare_timings(&times, minimum_change);
    let items = summary.trials.iter().map(|done| &done.item);
    let records = again.iter().zip(items).zip(elsewhere);
    let records = records.map(|((again, item), differs)| RepeatedRecord::new(again, item, differs));
    Ok(MeasuredAgain {
        records: records.collect(),
        skipped,
        run: Measured::new(summary, platform, None, resumed),
    })
}

/// Returns the platform of the records if all have the same, and this machine measured them.
fn platform_of_records<'a>(
    chosen: &'a [SelectedRecord],
    elsewhere: &[Vec<Difference>],
) -> Option<&'a str> {
    let platform = chosen.first()?.platform.as_str();
    let is_same = chosen.iter().all(|one| one.platform == platform);
    let is_here = !elsewhere.iter().flatten().any(Difference::is_hardware);
    (is_same && is_here).then_some(platform)
}

/// Differences between this machine and that of each record.
fn find_differences(
    run: &mut TrialRun<'_>,
    chosen: &[SelectedRecord],
) -> Result<Vec<Vec<Difference>>> {
    let mut elsewhere = Vec::with_capacity(chosen.len());
    for one in chosen {
        let now = run.environment(&one.item.loaded)?.machine;
        let machines = one.machine.as_deref().zip(now.as_deref());
        elsewhere.push(machines.map_or_else(Vec::new, |(then, now)| differences(then, now)));
    }
    Ok(elsewhere)
}
