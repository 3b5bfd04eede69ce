//! The backends: a kind of device is a folder of its own and a line in [`BACKENDS`].

use std::ffi::OsString;

use crate::cc::Compiler;
use crate::cpu::{self, Cpu};
use crate::cuda::Cuda;
use crate::device::{Backend, Device, Served, Setup};
use crate::error::Result;
use crate::machine::{Machine, Toolchain};
use crate::trial::Language;

/// All of them, in the order in which they are listed.
pub const BACKENDS: &[&dyn Backend] = &[&Cpu, &Cuda];

/// This machine with its compiler for C, where there is one, and its devices.
pub fn machine() -> Machine {
    let compiler = Compiler::find(Language::C).ok();
    let mut machine = Machine::read();
    machine.toolchain =
        compiler.map(|compiler| Toolchain::new(&compiler.path, &compiler.version, &[]));
    machine.gpus = BACKENDS
        .iter()
        .flat_map(|backend| backend.facts())
        .collect();
    machine
}

/// This machine with what calls on it, and the GPU of this number where one is used.
pub fn host(toolchain: Toolchain, gpu: Option<usize>) -> Machine {
    let mut machine = Machine::read();
    machine.toolchain = Some(toolchain);
    if let Some(number) = gpu {
        let facts = BACKENDS.iter().flat_map(|backend| backend.facts());
        machine.gpus = facts.skip(number).take(1).collect();
    }
    machine
}

/// The platform that records of a machine's processor name where nobody says: the processor in short.
pub fn platform(machine: &Machine) -> String {
    cpu::platform(&machine.processor)
}

/// Runs as one of the processes that kernels are built and timed in, where the arguments of this
/// process (its name left out) say so.
pub fn serve(args: &[OsString]) -> Option<Served> {
    let (name, args) = args.split_first()?;
    BACKENDS
        .iter()
        .find_map(|backend| backend.serve(name, args))
}

/// A device by its backend and its number.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// What it is.
    pub backend: &'static dyn Backend,
    number: u32,
}

impl Address {
    /// The first device that programs in `language` are for.
    pub fn of(language: Language) -> Self {
        let found = BACKENDS.iter().find(|backend| backend.runs(language));
        Self {
            backend: found.copied().unwrap_or(&Cpu),
            number: 0,
        }
    }

    /// A device as it is typed: `cpu`, `cuda`, `cuda:1`.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let mut backends = BACKENDS.iter().copied();
        let named =
            |one: &&dyn Backend| one.name() == name && (number.is_none() || one.is_numbered());
        let backend = backends.find(named).ok_or_else(expected)?;
        let number = number.map_or(Ok(0), |number| {
            let wrong = |_| format!("`{number}` is no number of {}", backend.noun());
            number.parse().map_err(wrong)
        })?;
        Ok(Self { backend, number })
    }

    /// Is the other of the same backend?
    pub fn is_like(self, other: Self) -> bool {
        self.backend.name() == other.backend.name()
    }

    /// The device, ready for kernels.
    ///
    /// # Errors
    /// As [`Backend::open`].
    pub fn open(self, setup: &Setup<'_>) -> Result<Box<dyn Device>> {
        self.backend.open(self.number, setup)
    }
}

fn expected() -> String {
    let names = BACKENDS.iter().map(|backend| {
        let number = if backend.is_numbered() { ":0" } else { "" };
        format!("`{}{number}`", backend.name())
    });
    format!("expected {}", names.collect::<Vec<_>>().join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_by_backend_and_number() {
        for (text, backend, number) in [
            ("cpu", "cpu", 0),
            ("cuda", "cuda", 0),
            ("cuda:3", "cuda", 3),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!((address.backend.name(), address.number), (backend, number));
        }
        for text in ["gpu", "cpu:0", "", "cuda0", ":0"] {
            assert_eq!(
                Address::parse(text).unwrap_err(),
                "expected `cpu` or `cuda:0`"
            );
        }
        let wrong = Address::parse("cuda:x").unwrap_err();
        assert_eq!(wrong, "`x` is no number of a GPU");
    }

    #[test]
    fn each_language_is_for_one_backend() {
        for language in [Language::C, Language::Cxx, Language::Cuda] {
            let found = BACKENDS.iter().filter(|backend| backend.runs(language));
            assert_eq!(found.count(), 1, "{language:?}");
        }
        let (c, cuda) = (Address::of(Language::C), Address::of(Language::Cuda));
        assert_eq!((c.backend.name(), cuda.backend.name()), ("cpu", "cuda"));
        assert!(!c.is_like(cuda) && c.is_like(Address::of(Language::Cxx)));
    }
}
