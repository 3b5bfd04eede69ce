//! Runs of the command, and synthetic log lines.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Exit code and output of a run of the command.
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

/// Temporary folder with a store `s` and inputs.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap()
    }

    /// Returns the command in this folder without the environment of the caller. It is not started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tsql"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn tsql(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().unwrap())
    }

    pub(crate) fn tsql_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        ran(child.wait_with_output().unwrap())
    }

    /// Runs the command and expects success.
    pub(crate) fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.tsql(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        ran
    }

    /// Returns the CSV rows of a query, without the header.
    pub(crate) fn rows(&self, sql: &str) -> Vec<String> {
        self.ok(&[sql])
            .stdout
            .lines()
            .skip(1)
            .map(str::to_owned)
            .collect()
    }

    /// Asserts that the store is sound, and that every file below `inputs` exports unchanged.
    pub(crate) fn assert_sound(&self, inputs: &[&str]) {
        self.ok(&["check"]);
        let _ = fs::remove_dir_all(self.path().join("back"));
        self.ok(&["export", "--to", "back"]);
        for input in inputs {
            assert_eq!(
                self.read(&format!("back/{input}")),
                self.read(input),
                "{input}"
            );
        }
    }
}

fn ran(output: std::process::Output) -> Ran {
    Ran {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code(),
    }
}

/// Returns the number in an environment variable of a test campaign, or the default `usual`.
pub(crate) fn wanted(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |text| text.parse().expect("a number"))
}

/// Returns all files below a folder, sorted.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the content of all files below a folder, by relative path.
pub(crate) fn file_contents(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let named = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        (name.to_owned(), fs::read(&path).unwrap())
    };
    files_below(root).into_iter().map(named).collect()
}

/// Returns whether the name of a file has this extension.
pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Returns the folder of real logs beside some checkouts. `.ci/run` requires it.
pub(crate) fn shared() -> Option<PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    if !shared.join("data/tenset").is_dir() {
        assert!(
            std::env::var_os("TSQL_REQUIRE_SHARED").is_none(),
            "no real logs in {}",
            shared.display()
        );
        eprintln!("skipped: no real logs in {}", shared.display());
        return None;
    }
    Some(shared)
}

/// Returns a v0.6 line in the format of TVM. `tile` identifies the program, `costs` has its runtimes in seconds.
pub(crate) fn line(tile: u32, costs: &str) -> String {
    result_line(
        tile,
        &format!("[{costs}], 0, 0.5, {}", 1_700_000_000 + tile),
    )
}

/// Returns a line with this result.
pub(crate) fn result_line(tile: u32, result: &str) -> String {
    format!(
        concat!(
            r#"{{"i": [["[\"mm\", 64, 64]", "llvm -keys=cpu", [4, 32, 64, 0, 0, 0, 0, 0], "", 0, []], "#,
            r#"[[], [["SP", 1, 0, 64, [{}, 4], 1], ["FU", 1, [0, 1]], ["AN", 1, 0, 3], "#,
            r#"["PR", 1, 0, "auto_unroll_max_step$16"]]]], "r": [{}], "v": "v0.6"}}"#
        ),
        tile, result
    )
}

/// Returns `count` lines from `first`, each with a line feed.
pub(crate) fn log(first: u32, count: u32) -> String {
    (first..first + count)
        .map(|tile| line(tile, &format!("0.00{}", 1000 + tile)) + "\n")
        .collect()
}
