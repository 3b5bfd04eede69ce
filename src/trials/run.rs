//! One run: trials are built some at a time, timed one by one, and stored in groups.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::runtime::Handle;
use tsql_codecs::json;
use tsql_formats::measured;
use tsql_formats::rows::{Environment, Kernel as Known, Writer};

use super::event::Event;
use super::line::{Subject, counted, line};
use super::loaded::{Item, Loaded};
use super::options::MeasureOptions;
use super::plan::Plan;
use super::sink::Sink;
use crate::error::{Error, Result};
use crate::ingest::Report;
use crate::store::Store;
use tsql_measure::backends::Address;
use tsql_measure::device::{Device, Kernel, Options, Realtime, Setup};
use tsql_measure::trial::Outcome;
use tsql_metrics::median::median;

/// Outcomes that are looked at to see whether all fail alike.
const LOOKED_AT: usize = 50;

/// So many of them failing alike end the run: something is wrong with all of them.
const ALIKE: usize = 46;

/// What a run did.
pub(crate) struct Summary {
    pub(crate) stream: String,
    /// Limits that held for kernels.
    pub(crate) active: Vec<String>,
    pub(crate) failed: u64,
    pub(crate) interrupted: bool,
    pub(crate) report: Report,
    /// In their order.
    pub(crate) trials: Vec<Done>,
}

/// A trial that is measured, as far as it is told at the end.
pub(crate) struct Done {
    pub(crate) item: Item,
    /// The repeats that count, in nanoseconds of a call; none where it failed.
    pub(crate) times_ns: Vec<f64>,
    /// What was odd.
    pub(crate) flags: Vec<String>,
    /// TVM's number of what went wrong, 0 for nothing.
    pub(crate) error_no: i16,
    /// Largest error against the reference.
    pub(crate) check_error: Option<f64>,
    /// Why it failed.
    pub(crate) failure: Option<String>,
}

/// A kernel that is built, or what came of building it.
type Built = Result<Result<Box<dyn Kernel>, Outcome>>;

/// A run that is prepared: the device is known to work.
pub(crate) struct TrialRun<'a> {
    store: &'a Store,
    options: &'a MeasureOptions,
    device: Box<dyn Device>,
    platform: String,
    runtime: Handle,
    environments: HashMap<String, Environment>,
}

impl<'a> TrialRun<'a> {
    /// # Errors
    /// What the machine lacks: a compiler, a device, room.
    pub(crate) fn new(
        store: &'a Store,
        options: &'a MeasureOptions,
        device: Address,
        runtime: &Handle,
    ) -> Result<Self> {
        let realtime = if options.realtime {
            Realtime::Auto
        } else {
            Realtime::Off
        };
        let limits = Options {
            core: options.core,
            realtime,
            sandbox: options.sandbox,
        };
        let device = options.device(device)?.open(&Setup {
            command: &options.worker,
            scratch: &options.scratch,
            options: limits,
        })?;
        let platform = options.platform.clone();
        Ok(Self {
            platform: platform.unwrap_or_else(|| device.platform()),
            store,
            options,
            device,
            runtime: runtime.clone(),
            environments: HashMap::new(),
        })
    }

    /// The platform of the records.
    pub(crate) fn platform(&self) -> &str {
        &self.platform
    }

    /// Measures all that `plan` gives.
    ///
    /// # Errors
    /// Faults of the machine and of the store. What was measured before is in the store, or in a
    /// journal that the error names.
    pub(crate) fn all(
        mut self,
        plan: &mut dyn Plan,
        name: &str,
        mut told: impl FnMut(Event<'_>),
    ) -> Result<Summary> {
        let name = self.options.name.as_deref().unwrap_or(name);
        let stream = stream_name(name);
        let (platform, labels) = (&self.platform, &self.options.labels);
        let begun = Sink::begin(self.store, &stream, platform, false, labels);
        let mut sink = self.runtime.block_on(begun)?;
        told(Event::Started {
            total: plan.total(),
            platform: &self.platform,
            stream: &stream,
            active: self.device.active(),
        });
        let mut trials = Vec::new();
        let measured = self.measure(plan, &mut sink, &mut trials, &mut told);
        // Whatever ended it: what was measured is stored.
        let pending = sink.pending().0;
        let report = self.runtime.block_on(sink.finish())?;
        if pending > 0 {
            told(Event::Committed(pending));
        }
        let interrupted = measured?;
        let failed = trials
            .iter()
            .filter(|done: &&Done| done.failure.is_some())
            .count();
        Ok(Summary {
            stream,
            active: self.device.active().to_vec(),
            failed: failed as u64,
            interrupted,
            report,
            trials,
        })
    }

    /// Says whether it was stopped.
    fn measure(
        &mut self,
        plan: &mut dyn Plan,
        sink: &mut Sink,
        trials: &mut Vec<Done>,
        told: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool> {
        let mut recent = VecDeque::new();
        loop {
            let group: Vec<Item> = std::iter::from_fn(|| plan.next())
                .take(self.options.jobs.max(1) * 2)
                .collect();
            if group.is_empty() {
                return Ok(false);
            }
            for (item, built) in self.build(group) {
                if self.options.stop.load(Ordering::Relaxed) {
                    return Ok(true);
                }
                let outcome = match built? {
                    Ok(kernel) => kernel.time()?,
                    Err(outcome) => outcome,
                };
                let environment = self.environment(&item.loaded)?;
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let now_s = now.map_or(0, |since| since.as_secs().cast_signed());
                let subject = Subject {
                    workload_key: &item.workload_key(),
                    steps: &item.steps(),
                    // The environment says it.
                    kernel: &Known::default(),
                };
                let line = line(&subject, &outcome, &environment, now_s);
                self.runtime.block_on(sink.take(&line))?;
                let times_ns = times_ns(&outcome);
                let median_ns = median(&times_ns).map(|median| median.value);
                plan.tell(&item, median_ns);
                told(Event::Measured {
                    item: &item,
                    outcome: &outcome,
                    median_ns,
                });
                self.watch(&mut recent, &outcome)?;
                let failed = outcome.error_no != 0;
                trials.push(Done {
                    item,
                    times_ns,
                    flags: outcome.flags,
                    error_no: outcome.error_no,
                    check_error: outcome.check_error,
                    failure: failed.then(|| outcome.error_message.unwrap_or_default()),
                });
                let (pending, waited) = sink.pending();
                if pending >= self.options.commit_records || waited >= self.options.commit_every {
                    let count = self.runtime.block_on(sink.commit())?;
                    told(Event::Committed(count));
                }
            }
        }
    }

    /// Builds a group of trials, some at the same time.
    fn build(&self, group: Vec<Item>) -> Vec<(Item, Built)> {
        let next = std::sync::atomic::AtomicUsize::new(0);
        let built: Vec<_> = group.iter().map(|_| std::sync::Mutex::new(None)).collect();
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let (Some(item), Some(slot)) = (group.get(place), built.get(place)) else {
                    return;
                };
                if self.options.stop.load(Ordering::Relaxed) {
                    return;
                }
                let one = self.build_one(item);
                *slot
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(one);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.options.jobs.max(1) {
                scope.spawn(work);
            }
        });
        let built = built.into_iter().map(|slot| {
            let slot = slot.into_inner();
            slot.unwrap_or_else(std::sync::PoisonError::into_inner)
        });
        let done = group.into_iter().zip(built);
        // Those that were not begun when it was stopped are nobody's.
        done.filter_map(|(item, built)| Some((item, built?)))
            .collect()
    }

    fn build_one(&self, item: &Item) -> Built {
        let manifest = &item.loaded.manifest;
        match manifest.trial(&item.params, &item.config, self.options.input_seed) {
            Ok(mut trial) => {
                if let Some(cache) = self.options.cache {
                    trial.settings.cache = cache;
                }
                Ok(self.device.build(&trial)?)
            }
            Err(refusal) => Ok(Err(Outcome {
                error_no: 1,
                error_message: Some(refusal.message),
                ..Outcome::default()
            })),
        }
    }

    /// The environment of a program's records, made once.
    pub(crate) fn environment(&mut self, loaded: &Loaded) -> Result<Environment> {
        if let Some(known) = self.environments.get(&loaded.program) {
            return Ok(known.clone());
        }
        let manifest = &loaded.manifest;
        let mut settings = manifest.settings().clone();
        if let Some(cache) = self.options.cache {
            settings.cache = cache;
        }
        let settings = serde_json::json!({
            "protocol": settings,
            "limits": self.device.active(),
            "seed": self.options.input_seed,
            "tsql": env!("CARGO_PKG_VERSION"),
        });
        let (language, flags) = (manifest.language(), manifest.flags());
        let machine = self.device.environment(language, flags)?;
        let environment = Environment {
            target: self.device.target(language),
            log_version: measured::VERSION.to_owned(),
            machine: json::canonical(&machine),
            settings: json::canonical(&settings.to_string()),
            program: Some(loaded.program.clone()),
            ..Environment::of(Writer::Python)
        };
        self.environments
            .insert(loaded.program.clone(), environment.clone());
        Ok(environment)
    }

    /// Stops a run whose trials nearly all fail alike.
    fn watch(&self, recent: &mut VecDeque<Option<String>>, outcome: &Outcome) -> Result<()> {
        let message = outcome.error_message.as_deref().unwrap_or_default();
        let kind = message.split(": ").next().unwrap_or_default().to_owned();
        recent.push_back((outcome.error_no != 0).then(|| format!("{} {kind}", outcome.error_no)));
        if recent.len() > LOOKED_AT {
            recent.pop_front();
        }
        let last = recent.back().cloned().flatten();
        let alike = recent
            .iter()
            .filter(|one| last.is_some() && **one == last)
            .count();
        if self.options.keep_going || alike < ALIKE {
            return Ok(());
        }
        Err(Error::Measuring(format!(
            "{alike} of the last {LOOKED_AT} kernels failed alike: `{message}`\n\
             hint: mend that, or go on with --keep-going"
        )))
    }
}

/// The timings that count.
fn times_ns(outcome: &Outcome) -> Vec<f64> {
    if outcome.error_no != 0 {
        return Vec::new();
    }
    let (counted, _) = counted(outcome);
    counted.iter().map(|repeat| repeat.wall_ns).collect()
}

/// `name` with the time and a random part: each run is a stream of its own.
pub(super) fn stream_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let name: String = name
        .chars()
        .map(|c| if plain(c) { c } else { '-' })
        .collect();
    let time = chrono::Utc::now().format("%Y%m%dT%H%M%SZ");
    let random = uuid::Uuid::new_v4().simple().to_string();
    let random = random.get(..8).unwrap_or_default();
    format!("measure/{name}-{time}-{random}")
}
