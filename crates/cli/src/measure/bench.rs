//! Options of `tsql measure run` and `repeat`: device and conditions of the timings.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_dataset::trials::{Cache, MeasureOptions};
use tsql_error::Result;
use tsql_measure::backends::DeviceAddress;

use crate::label::Label;
use crate::program;

/// Device and conditions of measurements.
#[derive(Args, Debug)]
pub(super) struct Bench {
    /// Device: `cpu`, or `cuda:0` for the first GPU [default: the device of the program]
    #[arg(long, value_name = "DEVICE", value_parser = DeviceAddress::parse)]
    target: Option<DeviceAddress>,
    /// Platform of the records [default: the short name of the device]
    #[arg(long, value_name = "NAME", add = crate::completion_values::platforms())]
    platform: Option<String>,
    /// Name of the run, which becomes part of the name of the source [default: the name of the program]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    label: Label,
    /// Processor core for the timing
    #[arg(long, value_name = "N")]
    core: Option<usize>,
    /// Run without real-time priority
    #[arg(long)]
    no_realtime: bool,
    /// Allow kernels and compilers to use the network, other programs and all files
    #[arg(long)]
    no_sandbox: bool,
    /// State of the caches before a call [default: from the manifest]
    #[arg(long, value_name = "STATE", value_enum)]
    cache: Option<CacheState>,
    /// Number of kernels to build in parallel [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Maximum time between commits
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = humantime::parse_duration)]
    commit_every: Duration,
    /// Maximum number of records of a commit
    #[arg(long, value_name = "N", default_value_t = 500)]
    commit_records: u64,
    /// Seed of the input values
    #[arg(long, value_name = "N", default_value_t = 0)]
    input_seed: u64,
    /// Continue even if nearly all kernels fail in the same way
    #[arg(long)]
    keep_going: bool,
    /// Print events as JSON lines on standard output
    #[arg(long = "events", alias = "json")]
    pub(super) json: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum CacheState {
    /// As the previous call left them
    Warm,
    /// Arguments are flushed before each call
    Cold,
}

impl Bench {
    /// Returns the options of the command line, with the program that runs the kernels.
    pub(super) fn options(&self, stop: &Arc<AtomicBool>) -> Result<MeasureOptions> {
        Ok(MeasureOptions::new(program::own()?)
            .realtime(!self.no_realtime)
            .sandbox(!self.no_sandbox)
            .commit_every(self.commit_every)
            .commit_records(self.commit_records)
            .input_seed(self.input_seed)
            .keep_going(self.keep_going)
            .labels(self.label.labels.clone())
            .stop(Arc::clone(stop))
            .set_if(self.target, MeasureOptions::device_address)
            .set_if(self.platform.as_deref(), MeasureOptions::platform)
            .set_if(self.name.as_deref(), MeasureOptions::name)
            .set_if(self.core, MeasureOptions::core)
            .set_if(self.jobs, MeasureOptions::jobs)
            .set_if(self.cache, |options, cache| match cache {
                CacheState::Warm => options.cache(Cache::Warm),
                CacheState::Cold => options.cache(Cache::Cold),
            }))
    }
}
