//! The processor backend. C and C++ kernels are built by the system's compiler and run in separate
//! processes.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use crate::cc::Compiler;
use crate::device::{Backend, Device, Kernel, ServeResult, Setup, hardware_slug};
use crate::error::Result;
use crate::machine::{Machine, Processor, Toolchain};
use crate::runner::{PreparedTrial, Runner};
use crate::trial::{Language, Outcome, Trial};
use crate::{compiler_sandbox, worker};

/// Hidden argument of the worker process.
const WORKER: &str = "__measure-worker";

/// Hidden argument of the sandboxed compiler process.
const BUILDER: &str = "__measure-builder";

/// The processor backend. Other devices use it to run references.
#[derive(Debug)]
pub(crate) struct Cpu;

/// Creates the runner for kernels on the processor.
///
/// # Errors
/// See [`Runner::new`].
pub(crate) fn runner(setup: &Setup<'_>) -> Result<Runner> {
    let (worker, builder) = (setup.command(WORKER), setup.command(BUILDER));
    Runner::new(worker, builder, setup.scratch, setup.options)
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn noun(&self) -> &'static str {
        "the processor"
    }

    fn is_numbered(&self) -> bool {
        false
    }

    fn runs(&self, language: Language) -> bool {
        matches!(language, Language::C | Language::Cxx)
    }

    fn compiler(&self, language: Language) -> Result<String> {
        Ok(Compiler::find(language)?.path.display().to_string())
    }

    fn describe(&self) -> Vec<String> {
        let Processor {
            brand,
            architecture,
            ..
        } = Machine::read().processor;
        let brand = brand.unwrap_or(architecture);
        let sentence = |(language, name)| match Compiler::find(language) {
            Ok(compiler) => format!("cpu      {brand}; {name} by {}", compiler.version),
            Err(error) => format!("cpu      {brand}; no {name}: {error}"),
        };
        let languages = [(Language::C, "c"), (Language::Cxx, "c++")];
        languages.into_iter().map(sentence).collect()
    }

    fn facts(&self) -> Vec<serde_json::Value> {
        Vec::new()
    }

    fn serve(&self, name: &OsStr, args: &[OsString]) -> Option<ServeResult> {
        if name == WORKER {
            worker::run();
        }
        if name != BUILDER {
            return None;
        }
        match compiler_sandbox::exec_confined(args) {
            Err(error) => Some(ServeResult::NotStarted(error)),
        }
    }

    fn open(&self, _: u32, setup: &Setup<'_>) -> Result<Box<dyn Device>> {
        Ok(Box::new(CpuDevice {
            runner: Arc::new(runner(setup)?),
            machine: Machine::read(),
        }))
    }
}

/// The processor as a device.
struct CpuDevice {
    runner: Arc<Runner>,
    machine: Machine,
}

impl Device for CpuDevice {
    fn active(&self) -> &[String] {
        self.runner.active_limits()
    }

    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn toolchain(&self, language: Language, flags: &[String]) -> Result<Toolchain> {
        let compiler = self.runner.compiler(language)?;
        Ok(Toolchain::new(&compiler.path, &compiler.version, flags))
    }

    fn target(&self, language: Language) -> String {
        let name = if language == Language::Cxx {
            "c++"
        } else {
            "c"
        };
        name.to_owned()
    }

    fn platform(&self) -> String {
        platform(&self.machine.processor)
    }

    fn build(&self, trial: &Trial) -> Result<Result<Box<dyn Kernel>, Outcome>> {
        let prepared = self.runner.prepare(trial)?;
        let runner = Arc::clone(&self.runner);
        Ok(Ok(Box::new(CpuKernel { runner, prepared })))
    }
}

/// A built kernel for the processor.
struct CpuKernel {
    runner: Arc<Runner>,
    prepared: PreparedTrial,
}

impl Kernel for CpuKernel {
    fn time(self: Box<Self>) -> Result<Outcome> {
        self.runner.execute(self.prepared)
    }
}

/// Platform name of the processor. If its brand is generic (`AMD EPYC`, as clouds report it), CPUID's
/// family, model and stepping are appended.
pub(crate) fn platform(processor: &Processor) -> String {
    let name = processor.brand.as_ref().or(processor.vendor.as_ref());
    let mut name = hardware_slug(name.unwrap_or(&processor.architecture));
    let numbers = [
        ("family", processor.family),
        ("model", processor.model),
        ("stepping", processor.stepping),
    ];
    if !name.contains(|c: char| c.is_ascii_digit()) {
        for (field, number) in numbers {
            if let Some(number) = number {
                name = format!("{name}-{field}{number}");
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::{Processor, platform};

    #[test]
    fn processors_of_one_name_are_distinguished() {
        let processor = |brand: &str, model| Processor {
            brand: Some(brand.to_owned()),
            family: Some(6),
            model: Some(model),
            stepping: Some(8),
            ..Processor::default()
        };
        for (brand, name) in [
            (
                "Intel(R) Xeon(R) Processor @ 2.70GHz",
                "intel-xeon-family6-model143-stepping8",
            ),
            ("AMD EPYC 7452 32-Core Processor", "amd-epyc-7452-32-core"),
        ] {
            assert_eq!(platform(&processor(brand, 143)), name);
        }
        let unnamed = Processor {
            architecture: "riscv".to_owned(),
            ..Processor::default()
        };
        assert_eq!(platform(&unnamed), "riscv");
    }
}
