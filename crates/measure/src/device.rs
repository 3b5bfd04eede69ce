//! What kernels are timed on.
//!
//! ```text
//! Backend ── open ─▶ Device ── build (many at once) ─▶ Kernel ── time (one at a time) ─▶ Outcome
//! ```

use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::path::Path;

use crate::error::{Error, Result};
use crate::machine::{Machine, Toolchain};
pub use crate::runner::{Options, Realtime};
use crate::trial::{Language, Outcome, Trial};

/// A kind of device.
pub trait Backend: Debug + Sync {
    /// Its name: `cpu`.
    fn name(&self) -> &'static str;

    /// One of them: `the processor`, `a GPU`.
    fn noun(&self) -> &'static str;

    /// May a machine have several, so that each has a number?
    fn is_numbered(&self) -> bool;

    /// Are programs in this language for it?
    fn runs(&self, language: Language) -> bool;

    /// What programs in `language` are compiled by.
    ///
    /// # Errors
    /// [`Error::Missing`] where there is no such compiler.
    fn compiler(&self, language: Language) -> Result<String>;

    /// What there is of it on this machine, and what is missing, in lines for a reader.
    fn sentences(&self) -> Vec<String>;

    /// What the environment says of each on this machine; nothing of the processor, which it has anyway.
    fn facts(&self) -> Vec<serde_json::Value>;

    /// Runs as one of its processes, where `name`, the first argument of this process, says so.
    fn serve(&self, name: &OsStr, args: &[OsString]) -> Option<Served>;

    /// The device of this number, ready for kernels.
    ///
    /// # Errors
    /// What is missing, and where it was looked for.
    fn open(&self, number: u32, setup: &Setup<'_>) -> Result<Box<dyn Device>>;
}

/// A device that is ready for kernels.
pub trait Device: Send + Sync {
    /// The limits that hold for kernels: `rlimits`, `landlock`, `seccomp`, `pinned`, `realtime`.
    fn active(&self) -> &[String];

    /// The machine with the device, without a compiler.
    fn machine(&self) -> &Machine;

    /// The compiler of `language`, as the environment names it.
    ///
    /// # Errors
    /// [`Error::Missing`] where there is none.
    fn toolchain(&self, language: Language, flags: &[String]) -> Result<Toolchain>;

    /// The environment's target: `c`, `c++` or `cuda -arch=sm_90`.
    fn target(&self, language: Language) -> String;

    /// The platform that records name where nobody says: the device in short.
    fn platform(&self) -> String;

    /// Builds a kernel, and what it is checked with. Many may be built at once. What does not build is an
    /// outcome.
    ///
    /// # Errors
    /// What the machine lacks: a compiler, room; a reference that does not build.
    fn build(&self, trial: &Trial) -> Result<Result<Box<dyn Kernel>, Outcome>>;

    /// The machine with the compiler of `language`, as a canonical JSON object.
    ///
    /// # Errors
    /// As [`Device::toolchain`].
    fn environment(&self, language: Language, flags: &[String]) -> Result<String> {
        let mut machine = self.machine().clone();
        machine.toolchain = Some(self.toolchain(language, flags)?);
        Ok(machine.to_json())
    }
}

/// A kernel that is built.
pub trait Kernel: Send {
    /// Checks and times it, while nothing else is timed.
    ///
    /// # Errors
    /// A fault of the machine or of the reference; what the kernel does wrong is an outcome.
    fn time(self: Box<Self>) -> Result<Outcome>;
}

/// What a device is opened with.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The command line of this program, which is started as worker with further arguments.
    pub command: &'a [OsString],
    /// Where builds lie while they are needed.
    pub scratch: &'a Path,
    /// How kernels are run.
    pub options: Options,
}

impl Setup<'_> {
    /// The command line that makes this program the process of this name.
    pub(crate) fn command(&self, name: &str) -> Vec<OsString> {
        let own = self.command.iter().cloned();
        own.chain([OsString::from(name)]).collect()
    }
}

/// How a process ended that served.
#[derive(Debug)]
pub enum Served {
    /// It has done what it was asked.
    Done,
    /// It could not.
    Failed(Error),
    /// It could not become the compiler that it was to become.
    NotStarted(Error),
}

/// A name of hardware in small letters, digits and dashes, without trade marks.
pub fn short(name: &str) -> String {
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
    use super::short;

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
