//! Devices that kernels are timed on.
//!
//! ```text
//! Backend ── open ─▶ Device ── build (many at once) ─▶ Kernel ── time (one at a time) ─▶ Outcome
//! ```

use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::path::Path;

use crate::error::{Error, Result};
use crate::machine::{Machine, Toolchain};
pub use crate::runner::{Realtime, RunnerOptions};
use crate::trial::{Language, Outcome, Trial};

/// A kind of device.
pub trait Backend: Debug + Sync {
    /// Name, e.g. `cpu`.
    fn name(&self) -> &'static str;

    /// Noun for messages: `the processor`, `a GPU`.
    fn noun(&self) -> &'static str;

    /// Returns whether a machine can have several, so that each has a number.
    fn is_numbered(&self) -> bool;

    /// Returns whether programs in this language run on it.
    fn runs(&self, language: Language) -> bool;

    /// Name of the compiler for `language`.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is no such compiler.
    fn compiler(&self, language: Language) -> Result<String>;

    /// Human-readable lines about available and missing parts on this machine.
    fn describe(&self) -> Vec<String>;

    /// Facts about each device for the environment of a record. Empty for the processor, which the
    /// environment already contains.
    fn facts(&self) -> Vec<serde_json::Value>;

    /// Runs as one of the backend's processes if `name`, the first argument of this process, requests it.
    fn serve(&self, name: &OsStr, args: &[OsString]) -> Option<ServeResult>;

    /// Opens the device with this number.
    ///
    /// # Errors
    /// The missing part, and the searched locations.
    fn open(&self, number: u32, setup: &Setup<'_>) -> Result<Box<dyn Device>>;
}

/// An open device.
pub trait Device: Send + Sync {
    /// Active limits of kernels: `rlimits`, `landlock`, `seccomp`, `pinned`, `realtime`.
    fn active(&self) -> &[String];

    /// The machine and the device, without a compiler.
    fn machine(&self) -> &Machine;

    /// The compiler of `language`, as recorded in the environment.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is none.
    fn toolchain(&self, language: Language, flags: &[String]) -> Result<Toolchain>;

    /// Target in the environment: `c`, `c++` or `cuda -arch=sm_90`.
    fn target(&self, language: Language) -> String;

    /// Default platform name of records: a short name of the device.
    fn platform(&self) -> String;

    /// Builds a kernel and its reference. Several kernels can be built at once. A kernel that does not
    /// build is an outcome.
    ///
    /// # Errors
    /// If the machine lacks a compiler or disk space, or if a reference does not build.
    fn build(&self, trial: &Trial) -> Result<Result<Box<dyn Kernel>, Outcome>>;

    /// Returns the machine with the compiler of `language` as a canonical JSON object.
    ///
    /// # Errors
    /// See [`Device::toolchain`].
    fn environment(&self, language: Language, flags: &[String]) -> Result<String> {
        let mut machine = self.machine().clone();
        machine.toolchain = Some(self.toolchain(language, flags)?);
        Ok(machine.to_json())
    }
}

/// A built kernel.
pub trait Kernel: Send {
    /// Checks and times the kernel. Nothing else may be timed meanwhile.
    ///
    /// # Errors
    /// A fault of the machine or of the reference. A failure of the kernel is an outcome.
    fn time(self: Box<Self>) -> Result<Outcome>;
}

/// Configuration for opening a device.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Command line of this program, which starts workers with further arguments.
    pub command: &'a [OsString],
    /// Folder for temporary build files.
    pub scratch: &'a Path,
    /// How kernels are run.
    pub options: RunnerOptions,
}

impl Setup<'_> {
    /// Command line for starting this program with the hidden argument `name`.
    pub(crate) fn command(&self, name: &str) -> Vec<OsString> {
        let command = self.command.iter().cloned();
        command.chain([OsString::from(name)]).collect()
    }
}

/// Result of a helper process.
#[derive(Debug)]
pub enum ServeResult {
    /// It completed its work.
    Done,
    /// It failed.
    Failed(Error),
    /// The compiler could not be executed.
    NotStarted(Error),
}

/// Converts a hardware name to lower case letters, digits and dashes, without trade marks.
pub fn hardware_slug(name: &str) -> String {
    let lower = name.to_lowercase().replace("(r)", " ").replace("(tm)", " ");
    let lower = lower
        .split(" @")
        .next()
        .unwrap_or_default()
        .replace("processor", " ");
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let significant: Vec<&str> = words
        .filter(|word| !word.is_empty() && *word != "cpu")
        .collect();
    if significant.is_empty() {
        "unknown".to_owned()
    } else {
        significant.join("-")
    }
}

#[cfg(test)]
mod tests {
    use super::hardware_slug;

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
            assert_eq!(hardware_slug(name), platform);
        }
    }
}
