//! Registry of backends. Each kind of device has its own folder and one line in [`BACKENDS`].

use std::ffi::OsString;

use crate::cc::Compiler;
use crate::cpu::{self, Cpu};
use crate::cuda::Cuda;
use crate::device::{Backend, Device, ServeResult, Setup};
use crate::error::Result;
use crate::machine::{Machine, Toolchain};
use crate::trial::Language;

/// All backends, in the order in which they are listed.
pub const BACKENDS: &[&dyn Backend] = &[&Cpu, &Cuda];

/// Describes this machine: its C compiler, if there is one, and its devices.
pub fn describe_machine() -> Machine {
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

/// Describes this machine with the given toolchain, and the GPU with this number, if one is used.
pub fn describe_host(toolchain: Toolchain, gpu: Option<usize>) -> Machine {
    let mut machine = Machine::read();
    machine.toolchain = Some(toolchain);
    if let Some(number) = gpu {
        let facts = BACKENDS.iter().flat_map(|backend| backend.facts());
        machine.gpus = facts.skip(number).take(1).collect();
    }
    machine
}

/// Default platform name for records of the machine's processor.
pub fn platform(machine: &Machine) -> String {
    cpu::platform(&machine.processor)
}

/// Runs as a build or worker process if the arguments of this process (without its name) request it.
pub fn serve_process(args: &[OsString]) -> Option<ServeResult> {
    let (name, args) = args.split_first()?;
    BACKENDS
        .iter()
        .find_map(|backend| backend.serve(name, args))
}

/// Address of a device: its backend and number.
#[derive(Clone, Copy, Debug)]
pub struct DeviceAddress {
    /// Backend of the device.
    pub backend: &'static dyn Backend,
    number: u32,
}

impl DeviceAddress {
    /// Returns the first device that runs programs in `language`.
    pub fn for_language(language: Language) -> Self {
        let found = BACKENDS.iter().find(|backend| backend.runs(language));
        Self {
            backend: found.copied().unwrap_or(&Cpu),
            number: 0,
        }
    }

    /// Parses an address: `cpu`, `cuda`, `cuda:1`.
    ///
    /// # Errors
    /// A message with the expected forms.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let mut backends = BACKENDS.iter().copied();
        let matches_name = |backend: &&dyn Backend| {
            backend.name() == name && (number.is_none() || backend.is_numbered())
        };
        let backend = backends.find(matches_name).ok_or_else(expected_message)?;
        let number = number.map_or(Ok(0), |number| {
            let wrong = |_| format!("`{number}` is not a number of {}", backend.noun());
            number.parse().map_err(wrong)
        })?;
        Ok(Self { backend, number })
    }

    /// Returns whether both devices have the same backend.
    pub fn has_same_backend(self, other: Self) -> bool {
        self.backend.name() == other.backend.name()
    }

    /// Opens the device.
    ///
    /// # Errors
    /// See [`Backend::open`].
    pub fn open(self, setup: &Setup<'_>) -> Result<Box<dyn Device>> {
        self.backend.open(self.number, setup)
    }
}

fn expected_message() -> String {
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
            let address = DeviceAddress::parse(text).unwrap();
            assert_eq!((address.backend.name(), address.number), (backend, number));
        }
        for text in ["gpu", "cpu:0", "", "cuda0", ":0"] {
            assert_eq!(
                DeviceAddress::parse(text).unwrap_err(),
                "expected `cpu` or `cuda:0`"
            );
        }
        let wrong = DeviceAddress::parse("cuda:x").unwrap_err();
        assert_eq!(wrong, "`x` is not a number of a GPU");
    }

    #[test]
    fn each_language_is_for_one_backend() {
        for language in [Language::C, Language::Cxx, Language::Cuda] {
            let found = BACKENDS.iter().filter(|backend| backend.runs(language));
            assert_eq!(found.count(), 1, "{language:?}");
        }
        let (c, cuda) = (
            DeviceAddress::for_language(Language::C),
            DeviceAddress::for_language(Language::Cuda),
        );
        assert_eq!((c.backend.name(), cuda.backend.name()), ("cpu", "cuda"));
        assert!(
            !c.has_same_backend(cuda)
                && c.has_same_backend(DeviceAddress::for_language(Language::Cxx))
        );
    }
}
