//! A compiler within the sandbox: a process of this program confines itself, and becomes the compiler.
//!
//! ```text
//! tsql <hidden command> FOLDER READABLE PROGRAM ARGUMENTS...     READABLE as in PATH
//! ```

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;

use super::readable;
use super::sandbox::{self, Confined};
use crate::error::{Error, Result};

/// Exit code where the compiler could not be started; compilers have small ones.
pub const NOT_STARTED: u8 = 125;

/// Bytes that a compiler may write to a file.
const FILE_BYTES: u64 = 1 << 30;

/// Passes of compilers that may lie elsewhere.
const PASSES: [&str; 2] = ["as", "ld"];

/// What confines compilers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Builder<'a> {
    /// The hidden command's line: program and first argument.
    pub(crate) command: &'a [OsString],
}

impl Builder<'_> {
    /// The command that becomes `words`, a compiler and its first arguments, confined to `folder`.
    pub(super) fn confine(&self, words: &[&OsStr], folder: &Path) -> Result<Command> {
        let mut own = self.command.iter();
        let mut command = Command::new(own.next().cloned().unwrap_or_default());
        let programs = words
            .iter()
            .filter(|word| !word.to_string_lossy().starts_with('-'));
        let programs = programs.copied().chain(PASSES.map(OsStr::new));
        let toolchains = programs.flat_map(|program| readable::toolchain(Path::new(program)));
        let readable: Vec<PathBuf> = readable::installed()
            .into_iter()
            .chain(toolchains)
            .collect();
        // What has a separator in its name cannot be told, and is not needed.
        let plain = readable
            .iter()
            .filter(|path| !path.to_string_lossy().contains(':'));
        let joined =
            std::env::join_paths(plain).map_err(|error| Error::Worker(error.to_string()))?;
        command.args(own).arg(folder).arg(joined).args(words);
        Ok(command)
    }
}

/// Becomes what `arguments` say; only failures come back.
///
/// # Errors
/// Where the program cannot be started.
pub(crate) fn become_confined(arguments: &[OsString]) -> Result<Infallible> {
    let [folder, readable, program, arguments @ ..] = arguments else {
        return Err(Error::Worker("this command is for tsql itself".to_owned()));
    };
    // Each is for the case that somebody is killed or runs wild; without it, the limit on time is left.
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    let _ = setrlimit(Resource::RLIMIT_FSIZE, FILE_BYTES, FILE_BYTES);
    if prctl::set_no_new_privs().is_ok() {
        let readable: Vec<PathBuf> = std::env::split_paths(readable).collect();
        sandbox::enter(Confined::Compiler, Path::new(folder), &readable);
    }
    let error = Command::new(program).args(arguments).exec();
    Err(Error::io(program)(error))
}

/// Hides this process from kernels: without Landlock one could read its environment otherwise.
pub fn hide_process() {
    let _ = prctl::set_dumpable(false);
}
