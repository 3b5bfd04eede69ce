//! The device that kernels are timed on.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tsql_measure::cuda;
use tsql_measure::machine::{Machine, Processor, Toolchain};
use tsql_measure::runner::{Options, Prepared, Runner};
use tsql_measure::trial::{Language, Outcome, Trial};

use crate::error::{Error, Result};

/// Arguments of this program that make it a worker for C and C++.
pub(crate) const CPU_WORKER: &str = "__measure-worker";

/// Arguments of this program that make it a confined compiler.
pub(crate) const BUILDER: &str = "__measure-builder";

/// Arguments of this program that make it a worker for CUDA.
pub(crate) const CUDA_WORKER: &str = "__measure-cuda-worker";

/// What is timed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Cpu,
    /// The GPU of this number.
    Cuda(u32),
}

/// Builds and times kernels, one device at a time.
pub(crate) struct Bench {
    runner: Runner,
    gpu: Option<Gpu>,
    machine: Machine,
}

/// A GPU, with what compiles for it.
struct Gpu {
    compiler: cuda::Compiler,
    /// One kernel at a time.
    worker: Mutex<cuda::Worker>,
    device: cuda::DeviceFacts,
    /// Version of NVRTC.
    nvrtc: String,
}

impl Gpu {
    /// # Errors
    /// What is missing, and where it was looked for.
    fn open(command: &[OsString], number: u32, sandbox: bool) -> Result<Self> {
        let mut probe = cuda::probe();
        if !probe.is_ready() {
            return Err(Error::Usage(probe.missing.join("\n")));
        }
        let compiler = cuda::Compiler::new(command, &probe, sandbox)?;
        let place = probe
            .devices
            .iter()
            .position(|device| device.ordinal == number);
        let device = place.map(|place| probe.devices.swap_remove(place));
        let device = device.ok_or_else(|| {
            let hint = "hint: `tsql measure devices` lists those there are";
            Error::Usage(format!("no GPU has the number {number}\n{hint}"))
        })?;
        Ok(Self {
            compiler,
            worker: Mutex::new(cuda::Worker::start(command, number)?),
            device,
            nvrtc: probe.nvrtc.unwrap_or_default(),
        })
    }
}

/// A trial that is ready to be timed, or failed before.
pub(crate) enum Ready {
    Cpu(Box<Prepared>),
    Cuda(Box<(Trial, cuda::Cubin)>),
    Failed(Outcome),
}

impl Bench {
    /// `worker` is the program that is started for each measurement: this one.
    pub(crate) fn new(
        worker: &Path,
        scratch: &Path,
        target: Target,
        options: Options,
    ) -> Result<Self> {
        let command =
            |argument: &str| vec![worker.as_os_str().to_owned(), OsString::from(argument)];
        let runner = Runner::new(command(CPU_WORKER), command(BUILDER), scratch, options)?;
        let mut machine = Machine::read();
        let gpu = match target {
            Target::Cpu => None,
            Target::Cuda(number) => {
                Some(Gpu::open(&command(CUDA_WORKER), number, options.sandbox)?)
            }
        };
        if let Some(gpu) = &gpu {
            machine.gpus = vec![gpu.device.facts.clone()];
        }
        Ok(Self {
            runner,
            gpu,
            machine,
        })
    }

    /// The limits that hold for kernels.
    pub(crate) fn active(&self) -> &[String] {
        self.runner.active()
    }

    /// The machine with the compiler of `language`, as a canonical JSON object.
    pub(crate) fn machine(&self, language: Language, flags: &[String]) -> Result<String> {
        let mut machine = self.machine.clone();
        machine.toolchain = match (&self.gpu, language) {
            (Some(gpu), _) => Some(Toolchain::new(Path::new("nvrtc"), &gpu.nvrtc, flags)),
            (None, language) => {
                let compiler = self.runner.compiler(language)?;
                Some(Toolchain::new(&compiler.path, &compiler.version, flags))
            }
        };
        Ok(machine.to_json())
    }

    /// The environment's target: `c`, `c++` or `cuda -arch=sm_90`.
    pub(crate) fn target(&self, language: Language) -> String {
        match (&self.gpu, language) {
            (Some(gpu), _) => format!("cuda -arch={}", gpu.device.architecture),
            (None, Language::Cxx) => "c++".to_owned(),
            (None, _) => "c".to_owned(),
        }
    }

    /// The platform that records name where nobody says: the device in short.
    pub(crate) fn platform(&self) -> String {
        let name = match &self.gpu {
            Some(gpu) => gpu.device.name.clone(),
            None => {
                return of_processor(&self.machine.processor);
            }
        };
        short(&name)
    }

    /// Builds a kernel. Many may be built at once.
    pub(crate) fn prepare(&self, trial: &Trial) -> Result<Ready> {
        let Some(gpu) = &self.gpu else {
            let built = self.runner.prepare(trial)?;
            return Ok(Ready::Cpu(Box::new(built)));
        };
        Ok(
            match gpu.compiler.compile(trial, &gpu.device.architecture)? {
                Ok(cubin) => Ready::Cuda(Box::new((trial.clone(), cubin))),
                Err(outcome) => Ready::Failed(outcome),
            },
        )
    }

    /// Times a kernel, while nothing else does.
    pub(crate) fn execute(&mut self, ready: Ready) -> Result<Outcome> {
        match ready {
            Ready::Cpu(prepared) => Ok(self.runner.execute(*prepared)?),
            Ready::Cuda(built) => {
                let (trial, cubin) = *built;
                let outputs = self.runner.expected_outputs(&trial)?;
                let Some(gpu) = &mut self.gpu else {
                    return Err(Error::Usage("a kernel for a GPU, and no GPU".to_owned()));
                };
                let worker = gpu.worker.get_mut().unwrap_or_else(PoisonError::into_inner);
                let timed = worker.run(&trial, &cubin, outputs.as_deref())?;
                Ok(Outcome {
                    all_cost_s: timed.all_cost_s + cubin.cost_s,
                    ..timed
                })
            }
            Ready::Failed(outcome) => Ok(outcome),
        }
    }
}

/// The processor in short. Where its name is that of many (`AMD EPYC`, as clouds tell it), CPUID's numbers
/// for family, model and stepping follow.
fn of_processor(processor: &Processor) -> String {
    let name = processor.brand.as_ref().or(processor.vendor.as_ref());
    let mut name = short(name.unwrap_or(&processor.architecture));
    let numbers = [
        ("family", processor.family),
        ("model", processor.model),
        ("stepping", processor.stepping),
    ];
    if !name.contains(|c: char| c.is_ascii_digit()) {
        for (of, number) in numbers {
            if let Some(number) = number {
                name = format!("{name}-{of}{number}");
            }
        }
    }
    name
}

/// A name of hardware in small letters, digits and dashes, without trade marks.
fn short(name: &str) -> String {
    let lower = name.to_lowercase().replace("(r)", " ").replace("(tm)", " ");
    let lower = lower
        .split(" @")
        .next()
        .unwrap_or_default()
        .replace("processor", " ");
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let kept: Vec<&str> = words
        .filter(|word| !word.is_empty() && *word != "cpu")
        .collect();
    if kept.is_empty() {
        "unknown".to_owned()
    } else {
        kept.join("-")
    }
}

#[cfg(test)]
mod tests {
    use super::{Processor, of_processor, short};

    #[test]
    fn processors_of_one_name_are_told_apart() {
        let processor = |brand: &str, model| Processor {
            brand: Some(brand.to_owned()),
            family: Some(6),
            model: Some(model),
            stepping: Some(8),
            ..Processor::default()
        };
        for (brand, platform) in [
            (
                "Intel(R) Xeon(R) Processor @ 2.70GHz",
                "intel-xeon-family6-model143-stepping8",
            ),
            ("AMD EPYC 7452 32-Core Processor", "amd-epyc-7452-32-core"),
        ] {
            assert_eq!(of_processor(&processor(brand, 143)), platform);
        }
        let unnamed = Processor {
            architecture: "riscv".to_owned(),
            ..Processor::default()
        };
        assert_eq!(of_processor(&unnamed), "riscv");
    }

    #[test]
    fn platforms_are_short_names() {
        for (name, platform) in [
            ("AMD EPYC", "amd-epyc"),
            (
                "Intel(R) Xeon(R) CPU E5-2673 v4 @ 2.30GHz",
                "intel-xeon-e5-2673-v4",
            ),
            ("AMD EPYC 7452 32-Core Processor", "amd-epyc-7452-32-core"),
            ("NVIDIA H200", "nvidia-h200"),
            ("", "unknown"),
        ] {
            assert_eq!(short(name), platform);
        }
    }
}
