//! Settings under which one query must have one result: threads, memory limit, layout of the store, machines.
//!
//! The reference is [`Setting::REFERENCE`], which is compared with DuckDB. Each query runs once more under [`DRAWN`]
//! settings that the seed selects. It also runs with some [rules](Rules) off, or once more in its session. These
//! results are compared with the reference.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use fastrand::Rng;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tsql::arrow::array::{AsArray as _, RecordBatch};
use tsql::cluster::Workers;
use tsql::datafusion::prelude::SessionContext;
use tsql::worker::{Worker, WorkerOptions};
use tsql::{OptimizeOptions, SessionOptions, Store};

/// Number of settings of each query besides the reference.
pub(super) const DRAWN: usize = 3;

/// Numbers of threads with different plans in DataFusion.
const THREADS: [usize; 5] = [1, 2, 8, 16, 64];

/// Number of workers of a setting with workers.
const WORKERS: usize = 2;

/// Memory limit that is too small for the sides of joins of these stores, so that rows are sorted, merged and spilled.
const TIGHT_BYTES: usize = 6 << 20;

/// Memory limit that is large enough for all queries.
const AMPLE_BYTES: usize = 4 << 30;

/// Memory limit of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Memory {
    Unlimited,
    /// A limit at which operators spill. A query may also run out of memory.
    Tight,
    Ample,
}

/// How the rows of the store are laid out in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layout {
    Fresh,
    Optimized,
}

/// Machines that run a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Machines {
    Local,
    Workers,
}

/// How a query runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setting {
    threads: usize,
    memory: Memory,
    layout: Layout,
    machines: Machines,
}

impl Setting {
    pub(super) const REFERENCE: Self = Self {
        threads: 1,
        memory: Memory::Unlimited,
        layout: Layout::Fresh,
        machines: Machines::Local,
    };

    /// All combinations, sixty of them.
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for threads in THREADS {
            for memory in [Memory::Unlimited, Memory::Tight, Memory::Ample] {
                for layout in [Layout::Fresh, Layout::Optimized] {
                    for machines in [Machines::Local, Machines::Workers] {
                        all.push(Self {
                            threads,
                            memory,
                            layout,
                            machines,
                        });
                    }
                }
            }
        }
        all
    }

    /// Different settings for one query.
    pub(super) fn draw(rng: &mut Rng) -> Vec<Self> {
        rng.choose_multiple(Self::all(), DRAWN)
    }

    /// Whether a query may run out of memory.
    pub(super) fn is_tight(self) -> bool {
        self.memory == Memory::Tight
    }
}

/// Optimizations that are off while a query runs once more. Workarounds stay on: without them results are wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rules {
    /// The session has run the query before, and may have cached columns.
    AllOnAgain,
    AllOff,
    Off(String),
}

impl fmt::Display for Rules {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllOnAgain => write!(to, "once more"),
            Self::AllOff => write!(to, "without optimizations"),
            Self::Off(rule) => write!(to, "without {rule}"),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            to,
            "{} threads, {:?} memory, {:?} store, {:?}",
            self.threads, self.memory, self.layout, self.machines
        )
    }
}

/// The same store in both layouts, workers that serve them, and a session for each setting that was used.
pub(super) struct Settings {
    fresh: Store,
    optimized: Store,
    /// Addresses of the workers of each layout.
    workers: BTreeMap<Layout, String>,
    serving: Vec<JoinHandle<tsql::Result<()>>>,
    sessions: BTreeMap<Setting, SessionContext>,
    runs: BTreeMap<Setting, u64>,
    /// Names of all optimizations.
    optimizations: Vec<String>,
    /// Number of runs by the optimizations that were off.
    rules: BTreeMap<Rules, u64>,
    distributed: u64,
    out_of_memory: u64,
}

impl Settings {
    /// Copies the store in the folder `from`, optimizes the copy and starts workers for both.
    pub(super) fn new(runtime: &Runtime, from: &Path) -> Self {
        let to = from.with_file_name("optimized");
        let mut copy = std::process::Command::new("cp");
        let copied = copy.arg("-r").args([from, &to]).status().unwrap();
        assert!(copied.success());
        runtime.block_on(async {
            let open = async |path: &Path| Store::open(path.to_str().unwrap()).await.unwrap();
            let (fresh, optimized) = (open(from).await, open(&to).await);
            optimized
                .optimize(&OptimizeOptions::default())
                .await
                .unwrap();
            let (mut workers, mut serving) = (BTreeMap::new(), Vec::new());
            for (layout, path) in [(Layout::Fresh, from), (Layout::Optimized, to.as_path())] {
                let mut addresses = Vec::new();
                for _ in 0..WORKERS {
                    let options = WorkerOptions::default().listen("127.0.0.1:0");
                    let worker = Worker::start(vec![open(path).await], options);
                    let worker = worker.await.unwrap();
                    addresses.push(worker.address().to_string());
                    serving.push(tokio::spawn(worker.serve(std::future::pending())));
                }
                workers.insert(layout, addresses.join(","));
            }
            let optimizations = optimizations(&fresh.session().await.unwrap()).await;
            Self {
                fresh,
                optimized,
                workers,
                serving,
                sessions: BTreeMap::new(),
                runs: BTreeMap::new(),
                optimizations,
                rules: BTreeMap::new(),
                distributed: 0,
                out_of_memory: 0,
            }
        })
    }

    /// Runs a query under a setting.
    pub(super) fn run(
        &mut self,
        runtime: &Runtime,
        setting: Setting,
        sql: &str,
    ) -> Result<Vec<RecordBatch>, String> {
        *self.runs.entry(setting).or_default() += 1;
        let context = self.session(runtime, setting);
        let (running, sql) = (context.clone(), sql.to_owned());
        let running = runtime.spawn(async move {
            let frame = tsql::query::run_sql(&running, &sql, &[]).await;
            let frame = frame.map_err(|error| error.to_string())?;
            let rows = frame.collect().await;
            rows.map_err(|error| error.to_string())
        });
        let result = runtime.block_on(running);
        let decisions = tsql::cluster::decisions(&context);
        let is_sent = decisions
            .iter()
            .any(|decision| decision.text.starts_with("sent to"));
        self.distributed += u64::from(is_sent);
        match result {
            Ok(Ok(batches)) => Ok(batches),
            Ok(Err(error)) => {
                if setting.is_tight() && is_out_of_memory(&error) {
                    self.out_of_memory += 1;
                }
                Err(error)
            }
            Err(panic) => Err(format!("panic: {panic}")),
        }
    }

    /// Draws a local setting, and the optimizations that are off in it. Some rules need a memory limit, and some need
    /// unlimited memory.
    pub(super) fn draw_rules(&self, rng: &mut Rng) -> (Setting, Rules) {
        let setting = Setting {
            threads: THREADS[rng.usize(..3)],
            memory: rng
                .choice([Memory::Unlimited, Memory::Unlimited, Memory::Ample])
                .unwrap(),
            layout: rng.choice([Layout::Fresh, Layout::Optimized]).unwrap(),
            ..Setting::REFERENCE
        };
        let rules = match rng.u8(..8) {
            0 => Rules::AllOnAgain,
            1 => Rules::AllOff,
            _ => Rules::Off(rng.choice(self.optimizations.iter()).unwrap().clone()),
        };
        (setting, rules)
    }

    /// Runs a query in a session in which some optimizations are off.
    pub(super) fn run_with(
        &mut self,
        runtime: &Runtime,
        (setting, rules): &(Setting, Rules),
        sql: &str,
    ) -> Result<Vec<RecordBatch>, String> {
        *self.rules.entry(rules.clone()).or_default() += 1;
        let off = match rules {
            Rules::AllOnAgain => {
                self.run(runtime, *setting, sql)?;
                Vec::new()
            }
            Rules::AllOff => self.optimizations.clone(),
            Rules::Off(rule) => vec![rule.clone()],
        };
        let context = self.session(runtime, *setting);
        let switch = |is_on: bool| {
            for rule in &off {
                let sql = format!("SET tsql.rules.{rule} = {is_on}");
                runtime.block_on(context.sql(&sql)).unwrap();
            }
        };
        switch(false);
        let result = self.run(runtime, *setting, sql);
        switch(true);
        result
    }

    fn session(&mut self, runtime: &Runtime, setting: Setting) -> SessionContext {
        if let Some(context) = self.sessions.get(&setting) {
            return context.clone();
        }
        let options = SessionOptions::default().threads(setting.threads);
        let options = match setting.memory {
            Memory::Unlimited => options,
            Memory::Tight => options.memory_limit_bytes(TIGHT_BYTES),
            Memory::Ample => options.memory_limit_bytes(AMPLE_BYTES),
        };
        let options = match setting.machines {
            Machines::Local => options,
            Machines::Workers => {
                let workers = Workers::parse(&self.workers[&setting.layout]);
                options.workers(workers.unwrap().least_rows(1))
            }
        };
        let store = match setting.layout {
            Layout::Fresh => &self.fresh,
            Layout::Optimized => &self.optimized,
        };
        let context = runtime.block_on(store.session_with(&options)).unwrap();
        self.sessions.insert(setting, context.clone());
        context
    }

    /// One line with the runs by setting, and the numbers of queries that workers ran or that ran out of memory.
    pub(super) fn summary(&self) -> String {
        let runs = || self.runs.iter().filter(|(s, _)| **s != Setting::REFERENCE);
        let of_all = Setting::all().len();
        format!(
            "{} runs under {} of {of_all} settings, at least {} under each used one; {} in stages on workers; {} out of memory; \
             {} with all optimizations off, at least {} with each off alone",
            runs().map(|(_, runs)| runs).sum::<u64>(),
            runs().count(),
            runs().map(|(_, runs)| *runs).min().unwrap_or_default(),
            self.distributed,
            self.out_of_memory,
            self.rules.get(&Rules::AllOff).copied().unwrap_or_default(),
            self.optimizations
                .iter()
                .map(|rule| self
                    .rules
                    .get(&Rules::Off(rule.clone()))
                    .copied()
                    .unwrap_or_default())
                .min()
                .unwrap_or_default(),
        )
    }

    /// Whether workers were used, and most queries with a tight limit returned a result.
    pub(super) fn is_meaningful(&self) -> bool {
        let tight = self.runs.iter().filter(|(setting, _)| setting.is_tight());
        let tight: u64 = tight.map(|(_, runs)| runs).sum();
        let runs: u64 = self.runs.values().sum();
        self.distributed * 8 > runs && self.out_of_memory * 2 <= tight
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for serving in &self.serving {
            serving.abort();
        }
    }
}

/// Names of the rules of a session, without workarounds.
async fn optimizations(context: &SessionContext) -> Vec<String> {
    let sql = "SELECT arrow_cast(substr(name, 7), 'Utf8View') FROM information_schema.df_settings \
               WHERE starts_with(name, 'rules.') AND NOT starts_with(description, 'Workaround')";
    let rows = tsql::query::run_sql(context, sql, &[]).await.unwrap();
    let mut names = Vec::new();
    for batch in rows.collect().await.unwrap() {
        let column = batch.column(0).as_string_view();
        names.extend(column.iter().flatten().map(str::to_owned));
    }
    assert!(names.len() > 10, "{names:?}");
    names
}

/// Whether an error reports that a query exceeds its memory limit.
pub(super) fn is_out_of_memory(error: &str) -> bool {
    error.contains("Resources exhausted") || error.contains("memory limit")
}
