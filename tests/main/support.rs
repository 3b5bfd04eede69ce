//! Runs the command in a folder of its own, and makes log lines that are nobody else's.

use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Exit codes of the command.
pub(crate) const DONE: i32 = 0;
pub(crate) const PARTLY: i32 = 1;
pub(crate) const FAILED: i32 = 2;

/// What a run of the command gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// `None` where a signal ended it.
    pub(crate) code: Option<i32>,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
            bytes: output.stdout,
        }
    }
}

impl Ran {
    /// Ended with this exit code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stderr: {}", self.stderr);
        self
    }

    /// Said this on stderr.
    #[track_caller]
    pub(crate) fn says(self, wanted: &str) -> Self {
        assert!(
            self.stderr.contains(wanted),
            "`{wanted}` is not in: {}",
            self.stderr
        );
        self
    }
}

/// A temporary folder that commands run in. Their store is its `.tsql` unless they name another.
pub(crate) struct Workspace {
    folder: TempDir,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The command with nothing of the caller's environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.program(env!("CARGO_BIN_EXE_tsql"), args)
    }

    /// Another program, run the same way.
    pub(crate) fn program(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.folder.path());
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn tsql(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// Runs with `input` on stdin.
    pub(crate) fn fed(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        match child.stdin.take().unwrap().write_all(input) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
            _ => child.wait_with_output().unwrap().into(),
        }
    }

    /// Runs and is done.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> Ran {
        self.tsql(args).expect(DONE)
    }

    /// Rows of a query as CSV, without the header.
    #[track_caller]
    pub(crate) fn ask(&self, sql: &str) -> Vec<String> {
        let ran = self.ok(&["-c", sql, "--format", "csv"]);
        ran.stdout.lines().skip(1).map(str::to_owned).collect()
    }

    /// The one number that a query gives.
    #[track_caller]
    pub(crate) fn count(&self, sql: &str) -> i64 {
        self.ask(sql)[0].parse().unwrap()
    }

    /// `tsql check` finds the store sound, and the export is these files with these bytes.
    #[track_caller]
    pub(crate) fn gives_back(&self, files: &[(&str, &[u8])]) {
        self.ok(&["check"]).says("sound");
        let folder = self.path("given-back");
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        self.ok(&["export", "--to", "given-back"]);
        let found = files_below(&folder);
        let mut wanted: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
        for (name, bytes) in files {
            let back = fs::read(folder.join(name)).unwrap();
            assert!(back == *bytes, "{name} came back with other bytes");
        }
    }
}

/// Paths of all files below a folder, relative to it, sorted.
pub(crate) fn files_below(folder: &Path) -> Vec<String> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap();
                files.push(name.to_str().unwrap().to_owned());
            }
        }
    }
    files.sort();
    files
}

/// The folder of genuine logs beside the checkout; `None`, and the reason on stderr, without.
pub(crate) fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    if folder.join("data/tenset").is_dir() {
        return Some(folder);
    }
    skip(&format!("no genuine logs in {}", folder.display()));
    None
}

/// Says why a test does nothing here.
pub(crate) fn skip(reason: &str) {
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    eprintln!("SKIPPED {name}: {reason}");
}

/// A v0.6 log line as TVM writes it. [`fmt::Display`] writes it without its line feed.
#[derive(Clone)]
pub(crate) struct Line {
    key: String,
    target: String,
    steps: String,
    costs: String,
    error_no: i64,
    all_cost: String,
    timestamp: i64,
}

impl Line {
    /// A program of workload `["mul", 96]` that is told from others by `tile` alone.
    pub(crate) fn of(tile: u32) -> Self {
        let steps = format!(
            r#"[["SP", 0, 0, 96, [{tile}, 2], 1], ["FU", 0, [0, 1]], ["AN", 0, 0, 3], ["PR", 0, 0, "auto_unroll_max_step$16"]]"#
        );
        Self {
            key: "[\\\"mul\\\", 96]".to_owned(),
            target: "llvm -keys=cpu -mcpu=core-x".to_owned(),
            steps,
            costs: "0.25".to_owned(),
            error_no: 0,
            all_cost: "0.75".to_owned(),
            timestamp: 1_700_000_000 + i64::from(tile),
        }
    }

    /// Another workload: a function's name.
    pub(crate) fn workload(mut self, name: &str) -> Self {
        self.key = format!("[\\\"{name}\\\", 96]");
        self
    }

    pub(crate) fn target(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    /// The transform steps: a JSON list.
    pub(crate) fn steps(mut self, steps: &str) -> Self {
        steps.clone_into(&mut self.steps);
        self
    }

    /// Seconds, comma separated.
    pub(crate) fn costs(mut self, costs: &str) -> Self {
        costs.clone_into(&mut self.costs);
        self
    }

    /// Failed so, as TVM writes it: one cost of 1e+10.
    pub(crate) fn failed(mut self, error_no: i64) -> Self {
        self.error_no = error_no;
        self.costs("1e+10")
    }

    pub(crate) fn all_cost(mut self, seconds: &str) -> Self {
        seconds.clone_into(&mut self.all_cost);
        self
    }

    pub(crate) fn at(mut self, timestamp: i64) -> Self {
        self.timestamp = timestamp;
        self
    }
}

impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            r#"{{"i": [["{}", "{}", [2, 32, 64, 0, 0, 0, 0, 0], "", 0, []], [[], {}]], "r": [[{}], {}, {}, {}], "v": "v0.6"}}"#,
            self.key,
            self.target,
            self.steps,
            self.costs,
            self.error_no,
            self.all_cost,
            self.timestamp
        )
    }
}

/// Lines with the programs `from..to`, each with its line feed.
pub(crate) fn log(from: u32, to: u32) -> String {
    let line = |tile| format!("{}\n", Line::of(tile).costs(&format!("0.00{}", 100 + tile)));
    (from..to).map(line).collect()
}
