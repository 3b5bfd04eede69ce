//! GPUs as devices, each with a compiler for its architecture and its own worker. References run on the
//! processor.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::compiler::{Compiler, Cubin};
use super::probe::{DeviceFacts, probe};
use super::serve;
use super::worker::Worker;
use crate::cpu::runner;
use crate::device::{Backend, Device, Kernel, ServeResult, Setup, hardware_slug};
use crate::error::{Error, Result};
use crate::machine::{Machine, Toolchain};
use crate::runner::Runner;
use crate::trial::{Language, Outcome, Trial};

/// Hidden argument of the compiler and worker processes.
const WORKER: &str = "__measure-cuda-worker";

/// The CUDA backend.
#[derive(Debug)]
pub(crate) struct Cuda;

impl Backend for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn noun(&self) -> &'static str {
        "a GPU"
    }

    fn is_numbered(&self) -> bool {
        true
    }

    fn runs(&self, language: Language) -> bool {
        language == Language::Cuda
    }

    fn compiler(&self, _: Language) -> Result<String> {
        Ok("nvrtc".to_owned())
    }

    fn describe(&self) -> Vec<String> {
        probe().describe()
    }

    fn facts(&self) -> Vec<serde_json::Value> {
        let devices = probe().devices.into_iter();
        devices.map(|device| device.facts).collect()
    }

    fn serve(&self, name: &OsStr, args: &[OsString]) -> Option<ServeResult> {
        if name != WORKER {
            return None;
        }
        let args: Vec<&OsStr> = args.iter().map(OsString::as_os_str).collect();
        Some(serve::serve(&args).map_or_else(ServeResult::Failed, |()| ServeResult::Done))
    }

    fn open(&self, number: u32, setup: &Setup<'_>) -> Result<Box<dyn Device>> {
        let host = runner(setup)?;
        let mut machine = Machine::read();
        let mut probe = probe();
        if !probe.is_ready() {
            return Err(Error::Missing(probe.missing.join("\n")));
        }
        let command = setup.command(WORKER);
        let compiler = Compiler::new(&command, &probe, setup.options.sandbox)?;
        let index = probe
            .devices
            .iter()
            .position(|device| device.ordinal == number);
        let device = index.map(|index| probe.devices.swap_remove(index));
        let facts = device.ok_or_else(|| {
            let hint = "hint: `tsql measure devices` lists the GPUs";
            Error::Missing(format!("no GPU has the number {number}\n{hint}"))
        })?;
        machine.gpus = vec![facts.facts.clone()];
        Ok(Box::new(CudaDevice {
            compiler,
            facts,
            nvrtc: probe.nvrtc.unwrap_or_default(),
            machine,
            workers: Arc::new(Workers {
                gpu: Mutex::new(Worker::start(&command, number)?),
                host,
            }),
        }))
    }
}

/// A GPU and the compiler for it.
struct CudaDevice {
    compiler: Compiler,
    facts: DeviceFacts,
    /// Version of NVRTC.
    nvrtc: String,
    machine: Machine,
    workers: Arc<Workers>,
}

/// Processes that check and time kernels.
struct Workers {
    /// Runs one kernel at a time.
    gpu: Mutex<Worker>,
    /// Runs references on the processor.
    host: Runner,
}

impl Device for CudaDevice {
    fn active(&self) -> &[String] {
        self.workers.host.active_limits()
    }

    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn toolchain(&self, _: Language, flags: &[String]) -> Result<Toolchain> {
        Ok(Toolchain::new(Path::new("nvrtc"), &self.nvrtc, flags))
    }

    fn target(&self, _: Language) -> String {
        format!("cuda -arch={}", self.facts.architecture)
    }

    fn platform(&self) -> String {
        hardware_slug(&self.facts.name)
    }

    fn build(&self, trial: &Trial) -> Result<Result<Box<dyn Kernel>, Outcome>> {
        let compiled = self.compiler.compile(trial, &self.facts.architecture)?;
        Ok(compiled.map(|cubin| -> Box<dyn Kernel> {
            Box::new(CudaKernel {
                workers: Arc::clone(&self.workers),
                trial: trial.clone(),
                cubin,
            })
        }))
    }
}

/// A built CUDA kernel.
struct CudaKernel {
    workers: Arc<Workers>,
    trial: Trial,
    cubin: Cubin,
}

impl Kernel for CudaKernel {
    fn time(self: Box<Self>) -> Result<Outcome> {
        let outputs = self.workers.host.expected_outputs(&self.trial)?;
        let worker = self.workers.gpu.lock();
        let mut worker = worker.unwrap_or_else(PoisonError::into_inner);
        let timed = worker.run(&self.trial, &self.cubin, outputs.as_deref())?;
        Ok(Outcome {
            all_cost_s: timed.all_cost_s + self.cubin.cost_s,
            ..timed
        })
    }
}
