//! C and C++ compilers of the system: finds them and builds libraries.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::compiler_sandbox::{self, CompilerSandbox};
use super::environment::{self, ProcessKind};
use super::job::failed_outcome;
use super::process::{self, ExitKind, FinishedProcess, StderrLimit};
use super::shim;
use super::trial::{Argument, Language, Outcome, Program};
use crate::error::{Error, Result};

/// Maximum bytes of compiler messages that are read.
const MESSAGE_BYTES: usize = 64 << 10;
/// Maximum characters of a compiler message in a record.
const LINE_CHARACTERS: usize = 500;

/// A compiler for one language.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    pub(crate) language: Language,
    /// Path of the program.
    pub(crate) path: PathBuf,
    /// First line of its `--version` output.
    pub(crate) version: String,
    /// Arguments after the program in the environment variable, e.g. `gcc` in `ccache gcc`.
    leading: Vec<String>,
}

/// A shared library produced by a compiler.
#[derive(Clone, Debug)]
pub(crate) struct CompiledLibrary {
    pub(crate) library: PathBuf,
}

/// Input of a build, with all values bound.
pub(crate) struct BuildRequest<'a> {
    pub(crate) program: &'a Program,
    pub(crate) arguments: &'a [Argument],
    /// `-DNAME=value`.
    pub(crate) macros: Vec<(&'a str, i64)>,
    pub(crate) timeout: Duration,
    /// Sandbox of the compiler; `None` if it runs unconfined.
    pub(crate) builder: Option<CompilerSandbox<'a>>,
}

impl Compiler {
    /// Finds the compiler in `CC` (`CXX` for C++), or the first of the usual names.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is none, or for CUDA, which has another compiler.
    pub(crate) fn find(language: Language) -> Result<Self> {
        let (variable, usual): (_, &[&str]) = match language {
            Language::C => ("CC", &["cc", "gcc", "clang"]),
            Language::Cxx => ("CXX", &["c++", "g++", "clang++"]),
            Language::Cuda => {
                let reason = "CUDA is not compiled by a C compiler";
                return Err(Error::argument("language", reason));
            }
        };
        let configured = env::var(variable)
            .ok()
            .filter(|value| !value.trim().is_empty());
        let compiler = match &configured {
            Some(command) => Self::query_version(language, command),
            None => usual
                .iter()
                .find_map(|command| Self::query_version(language, command)),
        };
        compiler.ok_or_else(|| {
            Error::Missing(match configured {
                Some(command) => format!(
                    "`{variable}` names the compiler `{command}`, which does not run\nhint: `{variable}=gcc`, or leave it unset"
                ),
                None => format!(
                    "no compiler found: none of {} runs\nhint: install gcc or clang, or name one in `{variable}`",
                    usual.join(", ")
                ),
            })
        })
    }

    fn query_version(language: Language, command: &str) -> Option<Self> {
        let mut words = command.split_whitespace().map(str::to_owned);
        let path = PathBuf::from(words.next()?);
        let leading: Vec<String> = words.collect();
        let mut version_command = Command::new(&path);
        version_command
            .args(&leading)
            .arg("--version")
            .stdin(Stdio::null())
            .env("LC_ALL", "C");
        let limit = Duration::from_secs(10);
        let finished = process::run(
            &mut version_command,
            limit,
            StderrLimit::First(MESSAGE_BYTES),
            None,
        )
        .ok()?;
        let output = String::from_utf8_lossy(&finished.stdout).into_owned();
        let version = output.lines().next()?.trim().to_owned();
        (finished.end == ExitKind::Exited(0)).then_some(Self {
            language,
            path,
            version,
            leading,
        })
    }

    /// Compiles into `folder`, which must be empty.
    ///
    /// The outer error is a fault of the machine. The inner error is the outcome of a program that does not
    /// compile.
    pub(crate) fn build(
        &self,
        plan: &BuildRequest,
        folder: &Path,
    ) -> Result<Result<CompiledLibrary, Outcome>> {
        write_sources(plan, self.language, folder)?;
        let library = folder.join("kernel.so");
        let mut command = self.command(plan, folder, &library)?;
        let finished = process::run(
            &mut command,
            plan.timeout,
            StderrLimit::First(MESSAGE_BYTES),
            None,
        )
        .map_err(Error::io(&self.path))?;
        if let Some(outcome) = check_exit(&finished, plan.timeout, folder)? {
            return Ok(Err(outcome));
        }
        Ok(Ok(CompiledLibrary { library }))
    }

    fn command(&self, plan: &BuildRequest, folder: &Path, library: &Path) -> Result<Command> {
        let words = self.leading.iter().map(OsStr::new);
        let words: Vec<&OsStr> = std::iter::once(self.path.as_os_str())
            .chain(words)
            .collect();
        let mut command = match plan.builder {
            Some(builder) => builder.confine(&words, folder)?,
            None => {
                let mut command = Command::new(&self.path);
                command.args(&self.leading);
                command
            }
        };
        command.args(["-shared", "-fPIC", "-o"]).arg(library);
        let macros = plan
            .macros
            .iter()
            .map(|(name, value)| format!("-D{name}={value}"));
        command.args(macros);
        // The linker resolves symbols from libraries only for objects that precede them.
        let (libraries, flags): (Vec<&String>, Vec<&String>) = plan
            .program
            .flags
            .iter()
            .partition(|flag| flag.starts_with("-l"));
        command.args(flags).arg(shim_name(self.language));
        let others = plan
            .program
            .sources
            .iter()
            .skip(1)
            .map(|source| source.name.as_str());
        command.args(others.filter(|name| is_compiled(name)));
        command.args(libraries).arg("-lm");
        command.current_dir(folder).stdin(Stdio::null());
        // Messages in one language, and temporary files in a folder that is removed after a timeout.
        environment::set_environment(&mut command, ProcessKind::Compilers);
        command.env("LC_ALL", "C").env("TMPDIR", folder);
        // The cache is inaccessible in the sandbox, and each kernel differs.
        command.env("CCACHE_DISABLE", "1");
        Ok(command)
    }
}

fn shim_name(language: Language) -> &'static str {
    match language {
        Language::Cxx => "tsql_entry.cpp",
        Language::C | Language::Cuda => "tsql_entry.c",
    }
}

fn is_compiled(name: &str) -> bool {
    let extension = Path::new(name)
        .extension()
        .and_then(|extension| extension.to_str());
    matches!(extension, Some("c" | "cc" | "cpp" | "cxx"))
}

fn write_sources(plan: &BuildRequest, language: Language, folder: &Path) -> Result<()> {
    let Some(first) = plan.program.sources.first() else {
        return Err(Error::argument("sources", "a program needs a source"));
    };
    for source in &plan.program.sources {
        let name = Path::new(&source.name);
        let plain = name
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        // Compilers read names with these prefixes as flags or as files with flags.
        let is_flag = source.name.starts_with(['-', '@']);
        if source.name.is_empty() || !plain || is_flag || source.name.contains(['"', '\n', '\\']) {
            let reason = format!(
                "source `{}` must have a relative path inside its program's folder",
                source.name
            );
            return Err(Error::argument("sources", reason));
        }
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::io(parent))?;
        }
        fs::write(&path, &source.text).map_err(Error::io(&path))?;
    }
    let text = shim::generate_shim(language, &first.name, &plan.program.entry, plan.arguments);
    let path = folder.join(shim_name(language));
    fs::write(&path, text).map_err(Error::io(&path))
}

/// Outcome of a compiler that failed; `None` on success. A full disk is an error.
fn check_exit(
    finished: &FinishedProcess,
    timeout: Duration,
    folder: &Path,
) -> Result<Option<Outcome>> {
    if finished.stderr.contains("No space left on device") {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        return Err(Error::io(folder)(full));
    }
    Ok(match finished.end {
        ExitKind::Exited(0) => None,
        ExitKind::TimedOut => {
            let seconds = timeout.as_secs_f64();
            let message = format!("timeout: the compiler did not end within {seconds} s");
            Some(failed_outcome(6, message))
        }
        ExitKind::Signalled(signal) => {
            Some(failed_outcome(2, format!("cc: ended by signal {signal}")))
        }
        ExitKind::Exited(code) if code == i32::from(compiler_sandbox::NOT_STARTED) => {
            return Err(Error::Worker(finished.stderr.trim().to_owned()));
        }
        ExitKind::Exited(_) => Some(failed_outcome(2, summarize_errors(&finished.stderr))),
    })
}

/// Formats a compiler's messages as `<kind>: <first error line>`.
fn summarize_errors(stderr: &str) -> String {
    let is_linker_error =
        |line: &&str| line.contains("ld: ") || line.contains("undefined reference");
    let is_linker_summary =
        |line: &&str| line.contains("collect2:") || line.contains("linker command");
    let is_error =
        |line: &&str| line.contains("error:") && !is_linker_summary(line) && !is_linker_error(line);
    let (kind, line) = if let Some(line) = stderr.lines().find(is_error) {
        let undeclared = line.starts_with(shim::FILE_STEM) && line.contains("declar");
        (if undeclared { "missing_symbol" } else { "cc" }, line)
    } else if let Some(line) = stderr.lines().rfind(is_linker_error) {
        ("link", line)
    } else {
        let first_line = stderr.lines().find(|line| !line.trim().is_empty());
        ("cc", first_line.unwrap_or("failed without a message"))
    };
    let line: String = line.trim().chars().take(LINE_CHARACTERS).collect();
    format!("{kind}: {line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_line_is_the_message() {
        let stderr = "mm.c: In function 'f':\nmm.c:2:1: warning: unused\nmm.c:3:5: error: expected ';'\nmm.c:9:1: error: other\n";
        assert_eq!(
            summarize_errors(stderr),
            "cc: mm.c:3:5: error: expected ';'"
        );
    }

    #[test]
    fn linker_errors_are_classified() {
        let stderr = "/usr/bin/ld: cannot find -lnothing: No such file\ncollect2: error: ld returned 1 exit status\n";
        assert_eq!(
            summarize_errors(stderr),
            "link: /usr/bin/ld: cannot find -lnothing: No such file"
        );
    }

    #[test]
    fn an_entry_that_the_source_does_not_declare_is_a_missing_symbol() {
        let stderr = "tsql_entry:3:5: error: implicit declaration of function 'matmul'\n";
        assert!(summarize_errors(stderr).starts_with("missing_symbol: "));
    }

    #[test]
    fn a_silent_failure_has_a_message_too() {
        assert_eq!(summarize_errors("\n"), "cc: failed without a message");
    }

    #[test]
    fn a_compiler_that_does_not_run_is_not_found() {
        assert!(Compiler::query_version(Language::C, "/nonexistent/cc").is_none());
        assert!(Compiler::query_version(Language::C, "false").is_none());
    }

    #[test]
    fn a_source_must_stay_in_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["../x.c", "/x.c", "", "a\"b.c", "-wrapper.c", "@x.c"] {
            let program = Program {
                language: Language::C,
                sources: vec![super::super::trial::Source {
                    name: name.into(),
                    text: String::new(),
                }],
                entry: "f".into(),
                flags: Vec::new(),
            };
            let plan = BuildRequest {
                program: &program,
                arguments: &[],
                macros: Vec::new(),
                timeout: Duration::from_secs(1),
                builder: None,
            };
            assert!(
                write_sources(&plan, Language::C, folder.path()).is_err(),
                "{name}"
            );
        }
    }
}
