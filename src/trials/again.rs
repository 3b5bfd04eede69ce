//! Measuring chosen records again as a call of a store.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::Serialize;
use tokio::runtime::Handle;
use tsql_codecs::identity::ContentHasher;
use tsql_measure::backends::Address;
use tsql_measure::trial::Program;

use super::elsewhere::{Difference, differences};
use super::event::Event;
use super::loaded::Item;
use super::measure::{Measured, aside};
use super::options::MeasureOptions;
use super::plan::Listed;
use super::repeat::{Again, Chosen, Timing, choose, compared};
use super::run::TrialRun;
use super::sink;
use crate::error::{Error, Result};
use crate::store::Store;

/// Records whose programs the store has, so that they can be built and measured again.
///
/// A store may come from anybody: [`programs`](Self::programs) says what would be built and run.
pub struct Repeatable {
    chosen: Vec<Chosen>,
    device: Address,
    /// Records that cannot be built again: the store has no program of theirs.
    pub left_out: u64,
}

impl std::fmt::Debug for Repeatable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Repeatable")
            .field("records", &self.records())
            .field("left_out", &self.left_out)
            .finish_non_exhaustive()
    }
}

impl Repeatable {
    /// How many they are; at least one.
    pub fn records(&self) -> u64 {
        self.chosen.len() as u64
    }

    /// What would be built and run, in lines: each program with its compiler, flags, and sources with the hash of their text.
    ///
    /// # Errors
    /// Where a compiler is missing.
    pub fn programs(&self) -> Result<String> {
        let named = |one: &Chosen| (one.item.loaded.program.clone(), one.item.loaded.clone());
        let programs: BTreeMap<_, _> = self.chosen.iter().map(named).collect();
        let mut compilers = BTreeMap::new();
        let mut lines = vec![
            "the store names programs, which would be built and run on this machine:".to_owned(),
        ];
        for loaded in programs.values() {
            lines.push(format!("  {}", loaded.manifest.name()));
            for program in loaded.manifest.programs() {
                let language = program.language;
                let compiler = match compilers.entry(language) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => {
                        place.insert(Address::of(language).backend.compiler(language)?)
                    }
                };
                let (flags, sources) = (program.flags.join(" "), sources(program));
                lines.push(format!("    {compiler} {flags}: {sources}"));
            }
        }
        // Nothing that the store says begins a line of its own.
        let lines: Vec<String> = lines.iter().map(|line| line.replace('\n', "\\n")).collect();
        Ok(lines.join("\n"))
    }
}

fn sources(program: &Program) -> String {
    let sources = program.sources.iter().map(|source| {
        let hash = ContentHasher::of(source.text.as_bytes());
        let lines = source.text.lines().count();
        let noun = if lines == 1 { "line" } else { "lines" };
        format!("{} ({lines} {noun}, xxh3 {hash})", source.name)
    });
    sources.collect::<Vec<_>>().join(", ")
}

/// What became of records that were measured again.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MeasuredAgain {
    /// The run: the new timings are records, too.
    pub run: Measured,
    /// Records that were chosen and cannot be built again.
    pub left_out: u64,
    /// The others, the newest first.
    pub records: Vec<RepeatedRecord>,
}

/// A record that was measured again. Changes are shares: -0.1 is 10 % less time.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RepeatedRecord {
    /// The graph.
    pub workload_key: String,
    /// The configuration.
    pub steps: String,
    /// `same`, `faster`, `slower`, `unclear`; `failed` where it fails now and did not before, `mended` the other way round.
    pub verdict: &'static str,
    /// Change of the median; `None`, as all that follows, where it failed then or now.
    pub change: Option<f64>,
    /// Lower end of the 95 % interval of `change`.
    pub change_low: Option<f64>,
    /// Upper end.
    pub change_high: Option<f64>,
    /// Change of the least repeat.
    pub least_change: Option<f64>,
    /// Of a Mann-Whitney test, corrected for the number of records after Holm.
    pub p: Option<f64>,
    /// Median then, in nanoseconds of a call.
    pub old_ns: Option<f64>,
    /// Median now, in nanoseconds of a call.
    pub new_ns: Option<f64>,
    /// What of the machine and of the compiler is another now: the verdict is on these, too.
    pub differs: Vec<Difference>,
}

impl RepeatedRecord {
    fn of(again: &Again, item: &Item, differs: Vec<Difference>) -> Self {
        let found = again.comparison();
        Self {
            workload_key: item.workload_key(),
            steps: item.steps(),
            verdict: again.word(),
            change: found.map(|found| found.change),
            change_low: found.map(|found| found.change_low),
            change_high: found.map(|found| found.change_high),
            least_change: found.map(|found| found.least_change),
            p: found.map(|found| found.p_corrected),
            old_ns: found.map(|found| found.old_median_ns),
            new_ns: found.map(|found| found.new_median_ns),
            differs,
        }
    }

    /// It is no longer what it was.
    pub fn is_changed(&self) -> bool {
        !matches!(self.verdict, "same" | "unclear")
    }

    /// Nothing can be said.
    pub fn is_unclear(&self) -> bool {
        self.verdict == "unclear"
    }

    /// It was taken on another machine.
    pub fn is_elsewhere(&self) -> bool {
        self.differs.iter().any(Difference::is_of_machine)
    }
}

impl Store {
    /// The records that `predicate` (SQL over the columns of `records`) selects and that can be measured again, `limit` at
    /// most, the newest first: each program's configuration once, by its newest record.
    ///
    /// Only records that [`Store::measure`] made can be built again: the store has their programs.
    ///
    /// # Errors
    /// [`Error::Argument`] where there is none, or some are for the GPU and some for the processor; [`Error::Query`] for a
    /// predicate that is no SQL.
    pub async fn repeatable(&self, predicate: &str, limit: u64) -> Result<Repeatable> {
        let (chosen, left_out) = choose(self, predicate, limit).await?;
        let wrong = |reason: &str| Error::Argument {
            name: "predicate",
            reason: reason.to_owned(),
        };
        let device_of = |one: &Chosen| Address::of(one.item.loaded.manifest.language());
        let Some(device) = chosen.first().map(device_of) else {
            let hint = "hint: records that `measure run` made can be";
            return Err(wrong(&match left_out {
                0 => format!("no record that can be measured again\n{hint}"),
                left_out => format!(
                    "no record that can be measured again: of {left_out} the store has no program to build\n{hint}"
                ),
            }));
        };
        if !chosen.iter().all(|one| device_of(one).is_like(device)) {
            return Err(wrong(
                "some are for the GPU, some for the processor\nhint: choose those of one platform",
            ));
        }
        Ok(Repeatable {
            chosen,
            device,
            left_out,
        })
    }

    /// Builds and times these records' programs on this machine, as [`Store::measure`] does, and says which of them differ
    /// beyond noise: by a Mann-Whitney test, and by at least `minimal_change` (0.02 is 2 %) for the repeats as a whole and
    /// for the least of them.
    ///
    /// # Errors
    /// As [`Store::measure`].
    pub async fn measure_again(
        &self,
        records: Repeatable,
        options: &MeasureOptions,
        minimal_change: f64,
    ) -> Result<MeasuredAgain> {
        let (store, options) = (self.clone(), options.clone());
        aside(move |runtime| measure_again(&store, records, &options, minimal_change, runtime))
            .await
    }
}

fn measure_again(
    store: &Store,
    records: Repeatable,
    options: &MeasureOptions,
    minimal_change: f64,
    runtime: &Handle,
) -> Result<MeasuredAgain> {
    let resumed = runtime.block_on(sink::resume(store))?;
    options.tell(Event::Resumed(&resumed));
    let Repeatable {
        chosen,
        device,
        left_out,
    } = records;
    let mut run = TrialRun::new(store, options, device, runtime)?;
    let platform = run.platform().to_owned();
    let elsewhere = elsewhere(&mut run, &chosen)?;
    options.tell(Event::Elsewhere(&elsewhere));
    let items = chosen.iter().map(|one| one.item.clone()).collect();
    let summary = run.all(&mut Listed::new(items), "repeat", |event| {
        options.tell(event);
    })?;
    let times: Vec<_> = chosen
        .into_iter()
        .zip(&summary.trials)
        .map(|(one, done)| (one.old, Timing::new(done.times_ns.clone(), &done.flags)))
        .collect();
    let again = compared(&times, minimal_change);
    let items = summary.trials.iter().map(|done| &done.item);
    let records = again.iter().zip(items).zip(elsewhere);
    let records = records.map(|((again, item), differs)| RepeatedRecord::of(again, item, differs));
    Ok(MeasuredAgain {
        records: records.collect(),
        left_out,
        run: Measured::of(summary, platform, None, resumed),
    })
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
