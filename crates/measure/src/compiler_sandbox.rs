//! Sandboxed compilers: a process of this program confines itself and then executes the compiler.
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

use super::readable_paths;
use super::sandbox::{self, SandboxProfile};
use crate::error::{Error, Result};

/// Exit code if the compiler could not be started; compilers themselves use small codes.
pub const NOT_STARTED: u8 = 125;

/// Maximum bytes that a compiler may write to one file.
const FILE_BYTES: u64 = 1 << 30;

/// Helper programs of compilers, which can be in another folder.
const HELPER_PROGRAMS: [&str; 2] = ["as", "ld"];

/// Command that runs compilers in the sandbox.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompilerSandbox<'a> {
    /// Command line of the hidden command: program and first argument.
    pub(crate) command: &'a [OsString],
}

impl CompilerSandbox<'_> {
    /// Returns the command that runs `words` (a compiler and its first arguments) confined to `folder`.
    pub(super) fn confine(&self, words: &[&OsStr], folder: &Path) -> Result<Command> {
        let mut command_words = self.command.iter();
        let mut command = Command::new(command_words.next().cloned().unwrap_or_default());
        let programs = words
            .iter()
            .filter(|word| !word.to_string_lossy().starts_with('-'));
        let programs = programs.copied().chain(HELPER_PROGRAMS.map(OsStr::new));
        let toolchains =
            programs.flat_map(|program| readable_paths::toolchain_paths(Path::new(program)));
        let readable: Vec<PathBuf> = readable_paths::system_paths()
            .into_iter()
            .chain(toolchains)
            .collect();
        // A path with a separator in its name cannot be passed, and is not needed.
        let plain = readable
            .iter()
            .filter(|path| !path.to_string_lossy().contains(':'));
        let joined =
            std::env::join_paths(plain).map_err(|error| Error::Worker(error.to_string()))?;
        command
            .args(command_words)
            .arg(folder)
            .arg(joined)
            .args(words);
        Ok(command)
    }
}

/// Executes the program in `arguments`; returns only on failure.
///
/// # Errors
/// If the program cannot be started.
pub(crate) fn exec_confined(arguments: &[OsString]) -> Result<Infallible> {
    let [folder, readable, program, arguments @ ..] = arguments else {
        return Err(Error::Worker("this command is internal to tsql".to_owned()));
    };
    // These calls handle a killed parent and runaway processes. If they fail, the time limit remains.
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    let _ = setrlimit(Resource::RLIMIT_FSIZE, FILE_BYTES, FILE_BYTES);
    if prctl::set_no_new_privs().is_ok() {
        let readable: Vec<PathBuf> = std::env::split_paths(readable).collect();
        sandbox::enter(SandboxProfile::Compiler, Path::new(folder), &readable);
    }
    let error = Command::new(program).args(arguments).exec();
    Err(Error::io(program)(error))
}

/// Hides this process from kernels. Without Landlock, a kernel could otherwise read its environment.
pub fn hide_process() {
    let _ = prctl::set_dumpable(false);
}
