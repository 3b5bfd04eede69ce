//! Compilation of a CUDA trial to a CUBIN, in a separate process that is killed at the time limit.
//!
//! The target is always the device's real architecture (`sm_90`). A CUBIN needs no compilation by the
//! driver, and unlike PTX it does not depend on the driver's version. No GPU is needed.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::prctl;
use tsql_folders::Scratch;

use super::child::{Child, Received};
use super::job::{CompileRequest, Reply, failed_outcome};
use super::library::Toolkit;
use super::nvrtc::{CompileFailure, Nvrtc};
use super::probe::Probe;
use crate::error::{Error, Result};
use crate::readable_paths;
use crate::sandbox::{self, SandboxProfile};
use crate::trial::{Outcome, Trial};

/// A kernel compiled for one architecture: the ELF file that the driver loads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cubin {
    pub(crate) bytes: Vec<u8>,
    /// Compile time in seconds.
    pub(crate) cost_s: f64,
}

/// Compiles trials; usable from several threads at once.
pub(crate) struct Compiler {
    command: Vec<OsString>,
    toolkit: Toolkit,
    /// Whether to sandbox the compiling process.
    sandbox: bool,
}

impl Compiler {
    /// `command` is the command line of the hidden command: program and first argument.
    ///
    /// # Errors
    /// [`Error::Missing`] if NVRTC is missing.
    pub(crate) fn new(command: &[OsString], probe: &Probe, sandbox: bool) -> Result<Self> {
        let toolkit = probe
            .toolkit
            .clone()
            // The probe looks for the compiler last.
            .ok_or_else(|| Error::Missing(probe.missing.last().cloned().unwrap_or_default()))?;
        Ok(Self {
            command: command.to_vec(),
            toolkit,
            sandbox,
        })
    }

    /// Compiles `trial` for `architecture` (`sm_90`) within its `timeout_build_s`.
    ///
    /// A program that does not compile is an outcome. A missing component of the machine is an error.
    pub(crate) fn compile(
        &self,
        trial: &Trial,
        architecture: &str,
    ) -> Result<Result<Cubin, Outcome>> {
        let started = Instant::now();
        let limit_s = trial.settings.timeout_build_s;
        let directory = Scratch::new()?;
        let request = CompileRequest {
            trial: trial.clone(),
            toolkit: self.toolkit.clone(),
            architecture: architecture.to_owned(),
            cubin: directory.path().join("kernel.cubin"),
            sandbox: self.sandbox,
        };
        let mut child = Child::start(&self.command, &["compile"])?;
        // An exited process is detected below.
        let _ = child.send(&request);
        let mut failed = match child.receive(duration_from_secs(limit_s)) {
            Received::Reply(Reply::Compiled) => {
                let bytes = fs::read(&request.cubin).map_err(Error::io(&request.cubin))?;
                let cost_s = started.elapsed().as_secs_f64();
                return Ok(Ok(Cubin { bytes, cost_s }));
            }
            Received::Reply(Reply::Done { outcome, .. }) => outcome,
            Received::Reply(Reply::Fault(reason)) => return Err(source_error("NVRTC", reason)),
            Received::Reply(Reply::Ready) => {
                return Err(source_error(
                    "NVRTC",
                    "unexpected reply of the compiler process",
                ));
            }
            Received::TimedOut => {
                failed_outcome(6, format!("timeout: compilation took {limit_s} s"))
            }
            Received::Ended => match child.describe_exit() {
                // Some sources crash the compiler.
                crash if crash.starts_with("signal:") => {
                    failed_outcome(3, format!("nvrtc: {crash}"))
                }
                other => return Err(source_error("NVRTC", other)),
            },
        };
        failed.all_cost_s = started.elapsed().as_secs_f64();
        Ok(Err(failed))
    }
}

pub(super) fn duration_from_secs(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

pub(super) fn source_error(location: impl Into<String>, reason: impl Into<String>) -> Error {
    Error::Source {
        location: location.into(),
        reason: reason.into(),
    }
}

/// Executes a compile request, in the compiling process.
pub(super) fn run_request(request: &CompileRequest) -> Reply {
    if request.sandbox {
        enter_sandbox(request);
    }
    let nvrtc = match Nvrtc::open(&request.toolkit) {
        Ok(nvrtc) => nvrtc,
        Err(reason) => return Reply::Fault(reason),
    };
    let architectures = nvrtc.architectures();
    let names: Vec<String> = architectures
        .iter()
        .map(|number| format!("sm_{number}"))
        .collect();
    // `sm_90a` is `sm_90` with the features specific to that chip.
    let plain = request.architecture.trim_end_matches(['a', 'f']);
    if !names.is_empty() && !names.iter().any(|name| name == plain) {
        return Reply::Fault(format!(
            "`{}` does not compile for `{}`, only for {}\nhint: install NVRTC of another CUDA version; \
             `TSQL_NVRTC_DIR` selects its directory",
            request.toolkit.library.display(),
            request.architecture,
            names.join(", ")
        ));
    }
    let options = compile_options(&request.trial, &request.architecture, &request.toolkit);
    match nvrtc.compile(&request.trial.program.sources, &options) {
        Ok(cubin) => match fs::write(&request.cubin, cubin) {
            Ok(()) => Reply::Compiled,
            Err(error) => Reply::Fault(format!("{}: {error}", request.cubin.display())),
        },
        Err(failure) => failure_reply(&failure),
    }
}

/// Confines NVRTC to the folder of the request, regardless of its flags.
fn enter_sandbox(request: &CompileRequest) {
    let toolkit = &request.toolkit;
    let libraries = toolkit.builtins.iter().chain([&toolkit.library]);
    let folders = libraries.filter_map(|library| library.parent());
    let readable = readable_paths::system_paths()
        .into_iter()
        .chain(folders.map(Path::to_owned))
        .chain(toolkit.headers.clone())
        .collect::<Vec<_>>();
    if let Some(folder) = request.cubin.parent()
        && prctl::set_no_new_privs().is_ok()
    {
        sandbox::enter(SandboxProfile::Kernel, folder, &readable);
    }
}

/// `NVRTC_ERROR_BUILTIN_OPERATION_FAILURE`: `nvrtc-builtins` is missing or has another version.
const BUILTIN_OPERATION_FAILURE: u32 = 7;

fn failure_reply(failure: &CompileFailure) -> Reply {
    let message = first_error(&failure.log);
    if failure.status == BUILTIN_OPERATION_FAILURE {
        return Reply::Fault(format!(
            "NVRTC does not find its built-in functions: {}\nhint: install the library \
             `libnvrtc-builtins` of the same version beside it",
            message.unwrap_or("no reason given")
        ));
    }
    let kind = match message {
        Some(line) if line.starts_with("ptxas") => "ptxas",
        _ => "nvrtc",
    };
    let message = message.map_or_else(|| format!("error {}", failure.status), str::to_owned);
    let outcome = failed_outcome(3, format!("{kind}: {message}"));
    Reply::Done {
        outcome,
        last: false,
    }
}

/// First line of a log that reports an error, else its first line.
fn first_error(log: &str) -> Option<&str> {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    lines()
        .find(|line| line.contains("error") || line.starts_with("ptxas fatal"))
        .or_else(|| lines().next())
}

/// Compiler options of a trial: architecture (unless its flags set one, such as `sm_90a`), header folder,
/// one macro per value, and its flags.
fn compile_options(trial: &Trial, architecture: &str, toolkit: &Toolkit) -> Vec<String> {
    let include = |path: &Path| format!("--include-path={}", path.display());
    let values = trial.params.iter().chain(&trial.config);
    let flags = &trial.program.flags;
    let sets_architecture =
        |flag: &String| flag.starts_with("--gpu-architecture") || flag.starts_with("-arch");
    let architecture = format!("--gpu-architecture={architecture}");
    Some(architecture)
        .filter(|_| !flags.iter().any(sets_architecture))
        .into_iter()
        .chain(toolkit.headers.as_deref().map(include))
        .chain(values.map(|(name, value)| format!("--define-macro={name}={value}")))
        .chain(flags.iter().cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_message(status: u32, log: &str) -> String {
        let log = log.to_owned();
        match failure_reply(&CompileFailure { status, log }) {
            Reply::Done { outcome, last } => {
                assert!(outcome.error_no == 3 && !last);
                outcome.error_message.unwrap()
            }
            reply => panic!("{reply:?}"),
        }
    }

    #[test]
    fn the_first_error_is_reported_without_warnings() {
        let log = "mm.cu(1): warning #177-D: variable \"u\" was declared\n  int u;\n\n\
                   mm.cu(3): error: identifier \"y\" is undefined\n 1 error detected";
        let message = "nvrtc: mm.cu(3): error: identifier \"y\" is undefined";
        assert_eq!(error_message(6, log), message);
        assert_eq!(error_message(11, ""), "nvrtc: error 11");
    }

    #[test]
    fn assembler_errors_have_their_own_kind() {
        let log = "ptxas error   : Entry function 'f' uses too much shared data (0x61a80 bytes)\n";
        let message =
            "ptxas: ptxas error   : Entry function 'f' uses too much shared data (0x61a80 bytes)";
        assert_eq!(error_message(6, log), message);
    }

    #[test]
    fn each_value_is_a_macro_and_a_flag_may_name_the_architecture() {
        let toolkit = Toolkit {
            library: "libnvrtc.so.13".into(),
            builtins: Vec::new(),
            headers: Some("/cuda/include".into()),
        };
        let mut trial = super::super::stub::trial("scale");
        let options = compile_options(&trial, "sm_90", &toolkit);
        let expected = [
            "--gpu-architecture=sm_90",
            "--include-path=/cuda/include",
            "--define-macro=N=1000",
            "--define-macro=FACTOR=2",
        ];
        assert_eq!(options, expected);
        trial.program.flags = vec!["-arch=sm_90a".to_owned()];
        let options = compile_options(&trial, "sm_90", &toolkit);
        assert_eq!(options[1..], [expected[2], expected[3], "-arch=sm_90a"]);
    }

    #[test]
    fn missing_builtins_are_a_fault_of_the_machine() {
        let reply = failure_reply(&CompileFailure {
            status: BUILTIN_OPERATION_FAILURE,
            log: String::new(),
        });
        assert!(matches!(reply, Reply::Fault(reason) if reason.contains("libnvrtc-builtins")));
    }
}
