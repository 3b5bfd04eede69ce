//! What `run` and `repeat` are told of where and how kernels are timed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tsql_measure::backends::Address;

use crate::cli::label::Label;
use crate::cli::program;
use crate::error::Result;
use crate::trials::{Cache, MeasureOptions};

/// Where and how kernels are timed.
#[derive(Args, Debug)]
pub(super) struct Bench {
    /// Device: `cpu`, or `cuda:0` for the first GPU [default: what the program is written for]
    #[arg(long, value_name = "DEVICE", value_parser = Address::parse)]
    target: Option<Address>,
    /// Platform of the records [default: the device's name in short]
    #[arg(long, value_name = "NAME", add = crate::cli::known::platforms())]
    platform: Option<String>,
    /// Name of the run, of which the source's name is made [default: the program's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    label: Label,
    /// Core to time on
    #[arg(long, value_name = "N")]
    core: Option<usize>,
    /// Leave the core to whoever else wants it: no real-time priority
    #[arg(long)]
    no_realtime: bool,
    /// Let kernels and compilers use network, other programs and all files
    #[arg(long)]
    no_sandbox: bool,
    /// What caches hold before a call [default: what the manifest says]
    #[arg(long, value_name = "STATE", value_enum)]
    cache: Option<CacheState>,
    /// Kernels that are built at the same time [default: one for each core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Time after which records are stored
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = humantime::parse_duration)]
    commit_every: Duration,
    /// Records after which they are stored
    #[arg(long, value_name = "N", default_value_t = 500)]
    commit_records: u64,
    /// What the values of inputs are drawn from
    #[arg(long, value_name = "N", default_value_t = 0)]
    input_seed: u64,
    /// Go on where nearly all kernels fail alike
    #[arg(long)]
    keep_going: bool,
    /// Say what happens as lines of JSON on standard output
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum CacheState {
    /// What the call before left there
    Warm,
    /// Nothing: arguments are flushed before every call
    Cold,
}

impl Bench {
    /// What was typed, as options; with the program that kernels run in.
    pub(super) fn options(&self, stop: &Arc<AtomicBool>) -> Result<MeasureOptions> {
        let mut options = MeasureOptions::new(program::own()?)
            .realtime(!self.no_realtime)
            .sandbox(!self.no_sandbox)
            .commit_every(self.commit_every)
            .commit_records(self.commit_records)
            .input_seed(self.input_seed)
            .keep_going(self.keep_going)
            .stop(Arc::clone(stop));
        options.target = self.target;
        options.platform.clone_from(&self.platform);
        options.name.clone_from(&self.name);
        options.labels.clone_from(&self.label.labels);
        options.core = self.core;
        options.cache = self.cache.map(|cache| match cache {
            CacheState::Warm => Cache::Warm,
            CacheState::Cold => Cache::Cold,
        });
        if let Some(jobs) = self.jobs {
            options = options.jobs(jobs);
        }
        Ok(options)
    }
}
