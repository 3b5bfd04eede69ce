//! The commands of the README run: each block in a folder of its own, which has what the text around it speaks of.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{Place, log};

/// Commands that are not run here, by how they begin, and why.
const LEFT_OUT: [(&str, &str); 22] = [
    ("cargo test", "it is what runs"),
    ("cargo install", "builds for an hour"),
    (
        "tsql ingest network_info",
        "needs TenSet's files: the tests of `networks`",
    ),
    ("tsql \"SELECT min(computation)", "as the one before it"),
    (
        "tsql ingest npz",
        "needs files of TpuGraphs: the tests of `tpugraphs`",
    ),
    ("tsql queries tpugraphs", "as the one before it"),
    (
        "tsql \"SELECT op, count(*) AS nodes, max(",
        "as the one before it",
    ),
    ("tsql batch layout", "as the one before it"),
    ("tsql split", "needs TenSet's logs: the tests of `splits`"),
    (
        "tsql ingest samples.tar.zst",
        "needs samples of GraphNet: the tests of `graphnet`",
    ),
    (
        "tsql \"SELECT op, count(*) AS nodes, count(DISTINCT",
        "as the one before it",
    ),
    ("tsql export --to back/ --where", "as the one before it"),
    ("tsql report graphnet", "as the one before it"),
    ("tsql store check s3:", "needs a bucket: the tests of `s3`"),
    ("tsql --store s3:", "needs a bucket: the tests of `s3`"),
    ("tsql copy all s3:", "needs a bucket: the tests of `s3`"),
    ("export AWS_", "needs a bucket: the tests of `s3`"),
    ("tsql --workers", "needs workers: the tests of `workers`"),
    ("tsql --sample\n", "the shell: the tests of `terminal`"),
    ("tsql ui", "serves until it is stopped: the tests of `ui`"),
    (
        "tsql worker",
        "serves until it is stopped: the tests of `workers`",
    ),
    (
        "tsql measure run",
        "needs a compiler and a minute: the tests of `measure`",
    ),
];

/// Commands that end otherwise than with 0: they are wrong on purpose, or have found something.
const ENDS: [(&str, i32); 3] = [
    ("tsql \"SELECT platfrom", 1),
    ("tsql ingst", 2),
    ("tsql compare label:night=7", 3),
];

/// What has to be there before a block, by how the block begins.
const BEFORE: [(&str, &str); 6] = [
    (
        "tsql tables",
        "tsql 'SELECT 1 AS prediction' -o predictions.parquet",
    ),
    ("tsql tag create", "tsql init other"),
    (
        "tsql copy lab-a",
        "tsql --store lab-a/.tsql ingest -q logs/k80; tsql --store lab-b/.tsql ingest -q logs/x86",
    ),
    (
        "python3 tune.py",
        "echo 'print(open(\"logs/k80/k.json\").read(), end=\"\")' > tune.py",
    ),
    (
        "tsql --sample compare",
        "tsql tag create v1.0; tsql ingest -q nights/8 --platform a100 --label night=8; tsql tag create v1.1",
    ),
    ("tsql ingest -q logs/a100 --label", "rm -r .tsql"),
];

/// A folder with logs, and a store of three platforms.
fn laboratory() -> Place {
    let place = Place::new();
    place.write("logs/a100/a.json", log(1, 30));
    // The fan broke later.
    place.write(
        "logs/a100/work.json",
        log(40, 10).replace("0.5, 1700", "0.5, 1711"),
    );
    place.write("logs/x86/x.json", log(1, 20));
    place.write("logs/x86/work.json", log(60, 5));
    place.write("logs/k80/k.json", log(1, 20));
    let slower = log(1, 30).replace("0.00", "0.01");
    let slower = slower.replace("0.5, 1700", "0.5, 1710");
    place.write("nights/8/a.json", slower);
    place.ok(&["ingest", "-q", "logs/a100", "--label", "night=7"]);
    place.ok(&["ingest", "-q", "logs/x86", "logs/k80"]);
    place
}

/// A command of a block, and what the block shows that it prints.
struct Shown {
    command: String,
    printed: String,
}

/// The blocks of commands.
fn blocks(text: &str) -> Vec<Vec<Shown>> {
    let mut blocks = Vec::new();
    let mut block: Option<Vec<Shown>> = None;
    for line in text.lines() {
        match (&mut block, line) {
            (None, "```console" | "```sh") => block = Some(Vec::new()),
            (Some(_), "```") => blocks.extend(block.take()),
            (Some(block), _) => match (line.strip_prefix("$ "), block.last_mut()) {
                (Some(command), _) => block.push(Shown {
                    command: command.to_owned(),
                    printed: String::new(),
                }),
                (None, Some(last)) => {
                    let open = last.command.matches('"').count() % 2 == 1;
                    let of = if open {
                        &mut last.command
                    } else {
                        &mut last.printed
                    };
                    let before = if open { "\n" } else { "" };
                    *of = format!("{of}{before}{line}{}", if open { "" } else { "\n" });
                }
                (None, None) => panic!("a block begins with {line}"),
            },
            (None, _) => {}
        }
    }
    blocks
}

fn bash(folder: &Path, command: &str) -> Output {
    let tsql = Path::new(env!("CARGO_BIN_EXE_tsql"));
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        tsql.parent().unwrap().display()
    );
    let mut bash = Command::new("bash");
    bash.args(["-c", command]).current_dir(folder);
    bash.env_clear().env("PATH", path).env("HOME", folder);
    bash.output().unwrap()
}

/// Is it run, and how does it end?
fn ending(command: &str) -> Option<i32> {
    let line = format!("{command}\n");
    let left_out = LEFT_OUT.iter().any(|(begin, _)| line.starts_with(begin));
    let ends = ENDS.iter().find(|(begin, _)| command.starts_with(begin));
    (!left_out).then_some(ends.map_or(0, |(_, code)| *code))
}

#[test]
fn commands_of_the_readme_run() {
    let text = include_str!("../../README.md");
    let (mut ran, mut wrong) = (0, Vec::new());
    for block in blocks(text) {
        if block.iter().all(|shown| ending(&shown.command).is_none()) {
            continue;
        }
        let place = laboratory();
        let first = block.first().map_or("", |shown| shown.command.as_str());
        for (_, before) in BEFORE.iter().filter(|(begin, _)| first.starts_with(begin)) {
            let made = bash(place.path(), before);
            let stderr = String::from_utf8_lossy(&made.stderr);
            assert!(made.status.success(), "{before}: {stderr}");
        }
        for shown in &block {
            if let Some(file) = shown.command.strip_prefix("cat ") {
                fs::write(place.path().join(file), &shown.printed).unwrap();
            }
            let Some(code) = ending(&shown.command) else {
                continue;
            };
            let command = shown.command.replace("cargo run -- ", "tsql ");
            let output = bash(place.path(), &command);
            ran += 1;
            if output.status.code() != Some(code) {
                let stderr = String::from_utf8_lossy(&output.stderr);
                wrong.push(format!("{command}\n{:?}: {stderr}", output.status.code()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran > 25, "{ran} commands ran");
}

#[test]
fn what_is_left_out_is_in_the_readme() {
    let text = include_str!("../../README.md");
    let commands: Vec<String> = blocks(text)
        .into_iter()
        .flatten()
        .map(|shown| shown.command)
        .collect();
    let begins = LEFT_OUT.iter().map(|(begin, _)| begin);
    for begin in begins.chain(ENDS.iter().map(|(begin, _)| begin)) {
        let is_there = commands
            .iter()
            .any(|command| format!("{command}\n").starts_with(begin));
        assert!(is_there, "no command begins with `{begin}`");
    }
}
