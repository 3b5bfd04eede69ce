//! The processor: kernels in C and C++, each built by the system's compiler and called in a process of
//! its own.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use crate::cc::Compiler;
use crate::device::{Backend, Device, Kernel, Served, Setup, short};
use crate::error::Result;
use crate::machine::{Machine, Processor, Toolchain};
use crate::runner::{Prepared, Runner};
use crate::trial::{Language, Outcome, Trial};
use crate::{confined, worker};

/// The argument that makes this program a worker.
const WORKER: &str = "__measure-worker";

/// The argument that makes it a confined compiler.
const BUILDER: &str = "__measure-builder";

/// The processor; whoever times on another device runs references on this one.
#[derive(Debug)]
pub(crate) struct Cpu;

/// What runs kernels on the processor.
///
/// # Errors
/// As [`Runner::new`].
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

    fn sentences(&self) -> Vec<String> {
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

    fn serve(&self, name: &OsStr, args: &[OsString]) -> Option<Served> {
        if name == WORKER {
            worker::run();
        }
        if name != BUILDER {
            return None;
        }
        match confined::become_confined(args) {
            Err(error) => Some(Served::NotStarted(error)),
        }
    }

    fn open(&self, _: u32, setup: &Setup<'_>) -> Result<Box<dyn Device>> {
        Ok(Box::new(Host {
            runner: Arc::new(runner(setup)?),
            machine: Machine::read(),
        }))
    }
}

/// This machine's processor.
struct Host {
    runner: Arc<Runner>,
    machine: Machine,
}

impl Device for Host {
    fn active(&self) -> &[String] {
        self.runner.active()
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
        Ok(Ok(Box::new(Called { runner, prepared })))
    }
}

/// A kernel that is called.
struct Called {
    runner: Arc<Runner>,
    prepared: Prepared,
}

impl Kernel for Called {
    fn time(self: Box<Self>) -> Result<Outcome> {
        self.runner.execute(self.prepared)
    }
}

/// The processor in short. Where its name is that of many (`AMD EPYC`, as clouds tell it), CPUID's numbers
/// for family, model and stepping follow.
pub(crate) fn platform(processor: &Processor) -> String {
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

#[cfg(test)]
mod tests {
    use super::{Processor, platform};

    #[test]
    fn processors_of_one_name_are_told_apart() {
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
