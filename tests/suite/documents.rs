//! Runs the console blocks of README.md and of the documentation, each in a separate folder.
//!
//! Comments directly above a block control its run:
//! - `<!-- test: skip, REASON -->`: not at all.
//! - `<!-- test: empty -->`: without the store of the folder.
//! - `<!-- test: setup COMMAND -->`: the command runs first.
//! - `<!-- test: data SOURCE as NAME -->`: real files are copied to the folder; without them the block is skipped.
//! - `<!-- test: exit N -->`: the last command ends with this code.
//! - `<!-- test: output -->`: the output is compared; `...` matches any text.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::support::{Place, files_below, has_extension, log, shared};

/// Console block of a page.
struct Block {
    /// `PAGE:LINE` of the fence.
    position: String,
    marks: Vec<String>,
    commands: Vec<Shown>,
}

/// Command with the output that the page shows.
struct Shown {
    command: String,
    output: String,
}

impl Block {
    fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let marks = self.marks.iter();
        marks.filter_map(move |mark| mark.strip_prefix(key)?.strip_prefix(' '))
    }

    fn has(&self, key: &str) -> bool {
        self.marks.iter().any(|mark| mark == key)
    }

    fn is_skipped(&self) -> bool {
        self.marks.iter().any(|mark| mark.starts_with("skip, "))
    }
}

/// Returns whether the next line belongs to the command.
fn is_continued(command: &str) -> bool {
    command.ends_with('\\') || command.matches('"').count() % 2 == 1
}

/// Returns the console blocks of a text.
fn blocks(name: &str, text: &str) -> Vec<Block> {
    let (mut blocks, mut marks, mut open) = (Vec::new(), Vec::new(), None::<Block>);
    for (index, line) in text.lines().enumerate() {
        let Some(block) = &mut open else {
            if let Some(mark) = line.strip_prefix("<!-- test: ") {
                marks.push(mark.strip_suffix(" -->").unwrap().to_owned());
            } else if line == "```console" {
                open = Some(Block {
                    position: format!("{name}:{}", index + 1),
                    marks: std::mem::take(&mut marks),
                    commands: Vec::new(),
                });
            } else if !line.is_empty() {
                assert!(marks.is_empty(), "{name}:{}: marks of no block", index + 1);
            }
            continue;
        };
        if line == "```" {
            blocks.extend(open.take());
            continue;
        }
        match (line.strip_prefix("$ "), block.commands.last_mut()) {
            (Some(command), _) => block.commands.push(Shown {
                command: command.to_owned(),
                output: String::new(),
            }),
            (None, Some(last)) if is_continued(&last.command) => {
                last.command = format!("{}\n{line}", last.command);
            }
            (None, Some(last)) => last.output += &format!("{line}\n"),
            (None, None) => panic!("{}: a block begins with `{line}`", block.position),
        }
    }
    blocks
}

/// Returns the pages of the user documentation, by path in the checkout.
fn pages() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![root.join("README.md"), root.join("data/README.md")];
    let docs = files_below(&root.join("docs"));
    let user_pages = docs
        .into_iter()
        .filter(|path| has_extension(path, "md") && !path.starts_with(root.join("docs/dev")));
    found.extend(user_pages);
    let names = found.iter().map(|path| path.strip_prefix(root).unwrap());
    let mut names: Vec<String> = names.map(|path| path.display().to_string()).collect();
    names.sort();
    names
}

fn blocks_of(pages: &[String]) -> Vec<Block> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let blocks = pages
        .iter()
        .flat_map(|page| blocks(page, &fs::read_to_string(root.join(page)).unwrap()));
    blocks.collect()
}

/// Returns a copy of a folder with logs and a store of three platforms.
fn laboratory() -> Place {
    static GENERATED: OnceLock<Place> = OnceLock::new();
    let place = Place::new();
    copy(GENERATED.get_or_init(make_laboratory).path(), place.path());
    place
}

fn make_laboratory() -> Place {
    let place = Place::new();
    place.write("logs/a100/a.json", log(1, 30));
    // Records of a later time, after the fan broke.
    let later = log(40, 10).replace("0.5, 1700", "0.5, 1711");
    place.write("logs/a100/work.json", later);
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

fn bash(folder: &Path, command: &str) -> Output {
    let tsql = Path::new(env!("CARGO_BIN_EXE_tsql"));
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        tsql.parent().unwrap().display()
    );
    let mut bash = Command::new("bash");
    bash.args(["-c", command]).current_dir(folder);
    bash.stdin(Stdio::null());
    bash.env_clear().env("PATH", path).env("HOME", folder);
    bash.env("COLUMNS", "160").output().unwrap()
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            copy(&path, &to.join(path.file_name().unwrap()));
        }
    } else {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
}

/// Returns whether the output contains the shown parts between `...` in order.
fn is_shown(shown: &str, output: &str) -> bool {
    let (shown, output) = (shown.trim(), output.trim());
    let mut parts = shown.split("...");
    let Some(mut rest) = parts
        .next()
        .and_then(|first| output.strip_prefix(first.trim_end_matches('\n')))
    else {
        return false;
    };
    let parts: Vec<&str> = parts.map(|part| part.trim_matches('\n')).collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Runs the commands of a block. Returns their failures.
fn faults_of(block: &Block) -> Vec<String> {
    let place = laboratory();
    for data in block.values("data") {
        let (source, name) = data.split_once(" as ").unwrap();
        let Some(shared) = shared() else {
            return Vec::new();
        };
        copy(&shared.join("data").join(source), &place.path().join(name));
    }
    if block.has("empty") {
        fs::remove_dir_all(place.path().join(".tsql")).unwrap();
    }
    for setup in block.values("setup") {
        let output = bash(place.path(), setup);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let position = &block.position;
        assert!(output.status.success(), "{position}: {setup}: {stderr}");
    }
    let last_code = block
        .values("exit")
        .next()
        .map_or(0, |code| code.parse().unwrap());
    let mut faults = Vec::new();
    for (index, shown) in block.commands.iter().enumerate() {
        let file = shown.command.strip_prefix("cat ");
        if let Some(file) = file.filter(|file| !file.contains(' ')) {
            fs::write(place.path().join(file), &shown.output).unwrap();
            continue;
        }
        let command = shown.command.replace("cargo run -- ", "tsql ");
        let output = bash(place.path(), &command);
        let is_last = index + 1 == block.commands.len();
        let code = if is_last { last_code } else { 0 };
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        if output.status.code() != Some(code) {
            let status = output.status;
            faults.push(format!("{}: {command}\n{status}: {text}", block.position));
        } else if block.has("output") && !shown.output.is_empty() && !is_shown(&shown.output, &text)
        {
            let (position, shown) = (&block.position, &shown.output);
            faults.push(format!(
                "{position}: {command}\nshown:\n{shown}\nprinted:\n{text}"
            ));
        }
    }
    faults
}

/// Runs the blocks of pages with one of these path prefixes.
fn run_pages(begins: &[&str], least: usize) {
    let pages = pages().into_iter();
    let pages: Vec<String> = pages
        .filter(|page| begins.iter().any(|begin| page.starts_with(begin)))
        .collect();
    let blocks = blocks_of(&pages).into_iter();
    let blocks: Vec<Block> = blocks.filter(|block| !block.is_skipped()).collect();
    assert!(blocks.len() >= least, "{} blocks", blocks.len());
    let faults: Vec<String> = blocks.iter().flat_map(faults_of).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
#[ignore = "full tier"]
fn blocks_of_the_readme_run() {
    run_pages(
        &[
            "README.md",
            "data/README.md",
            "docs/index.md",
            "docs/install.md",
        ],
        5,
    );
}

#[test]
#[ignore = "full tier"]
fn blocks_of_the_formats_run() {
    run_pages(&["docs/formats/"], 15);
}

#[test]
#[ignore = "full tier"]
fn blocks_of_the_tutorials_run() {
    run_pages(&["docs/tutorials/"], 10);
}

#[test]
#[ignore = "full tier"]
fn blocks_of_the_guides_for_stores_run() {
    let pages: Vec<String> = FIRST
        .iter()
        .map(|name| format!("docs/how-to/{name}.md"))
        .collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    run_pages(&pages, 15);
}

/// Guides of the previous test. This test runs the others.
const FIRST: [&str; 8] = [
    "built-in-queries",
    "check-and-repair",
    "correct-data",
    "ingest-directories",
    "labels-and-notes",
    "merge-stores",
    "publish",
    "query-files",
];

#[test]
#[ignore = "full tier"]
fn blocks_of_the_other_guides_run() {
    let pages = pages().into_iter();
    let pages: Vec<String> = pages
        .filter(|page| page.starts_with("docs/how-to/"))
        .filter(|page| {
            !FIRST
                .iter()
                .any(|name| page.ends_with(&format!("/{name}.md")))
        })
        .collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    run_pages(&pages, 15);
}

#[test]
#[ignore = "full tier"]
fn blocks_of_the_reference_run() {
    run_pages(
        &[
            "docs/reference/",
            "docs/explanation/",
            "docs/operations/",
            "docs/help/",
        ],
        10,
    );
}

#[test]
fn marks_of_blocks_are_valid() {
    let known = ["skip,", "empty", "setup", "data", "exit", "output"];
    for block in blocks_of(&pages()) {
        for mark in &block.marks {
            let key = mark.split(' ').next().unwrap();
            assert!(known.contains(&key), "{}: `{mark}`", block.position);
        }
    }
}

#[test]
fn shown_output_is_compared() {
    for (shown, output, is_equal) in [
        ("a\nb\n", "a\nb\n", true),
        ("a\n", "a\nb\n", false),
        ("a...c", "a b c", true),
        ("...\nb 2\n...", "a\nb 2\nc", true),
        ("...\nb 2\n...", "a\nb 3\nc", false),
        ("a...", "b", false),
        ("...c", "a b", false),
    ] {
        assert_eq!(is_shown(shown, output), is_equal, "{shown:?} {output:?}");
    }
}

#[test]
fn the_readme_is_short() {
    let text = include_str!("../../README.md");
    let (lines, words) = (text.lines().count(), text.split_whitespace().count());
    assert!(
        lines <= 250 && words <= 2_500,
        "{lines} lines, {words} words"
    );
}

/// `docs/pictures.py` writes the SVG files again, and compares them with those of `docs/images`.
#[cfg(unix)]
#[test]
#[ignore = "full tier"]
fn images_of_the_documentation_are_current() {
    let Some(python) = crate::engines::python() else {
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/pictures.py");
    let mut check = Command::new(python);
    check.args([script, env!("CARGO_BIN_EXE_tsql"), "--check"]);
    let output = check.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
}

/// The plot of the README, in the fast tier and without Python.
#[test]
fn the_plot_of_the_readme_is_current() {
    let place = Place::new();
    let command = [
        "--sample",
        "compare",
        "epyc-1t",
        "epyc-2t",
        "--rule",
        "ranks",
        "--plot",
        "compare.svg",
    ];
    place.ok(&command);
    let current = include_bytes!("../../docs/images/compare.svg");
    assert!(place.read("compare.svg") == current, "run docs/pictures.py");
}

/// Links of pages point to files, and images are small.
#[test]
fn links_resolve() {
    /// Pages that the site generates from the code.
    const GENERATED: [&str; 4] = [
        "commands/index.md",
        "cookbook/index.md",
        "tables.md",
        "functions.md",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(root.join(&page)).unwrap();
        for (_, rest) in text
            .match_indices("](")
            .map(|(at, _)| text.split_at(at + 2))
        {
            let target = rest.split([')', '#', ' ']).next().unwrap();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let path = root.join(&page).parent().unwrap().join(target);
            let is_made = GENERATED.iter().any(|made| target.ends_with(made))
                || target.contains("notebooks/");
            if !path.exists() && !is_made {
                wrong.push(format!("{page}: {target}"));
            } else if target.contains("images/") {
                let bytes = fs::metadata(&path).unwrap().len();
                assert!(bytes <= 200_000, "{target} has {bytes} bytes");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 100, "{seen} links");
}

/// The programs below `examples` print their results over the logs of `data`.
#[test]
fn library_examples_run() {
    let folder = Path::new(env!("CARGO_BIN_EXE_tsql")).parent().unwrap();
    for (name, args, expected) in [
        (
            "ingest_and_query",
            &["memory:", "data/epyc-1t", "data/epyc-2t"][..],
            "10 files, 480 records ingested",
        ),
        ("embedded_session", &[], "| {\"tile\": 512} "),
        ("custom_metric", &[], "| epyc-1t "),
    ] {
        let program = folder.join("examples").join(name);
        assert!(
            program.exists(),
            "{name} is not built: run `cargo build --examples`"
        );
        let output = Command::new(program)
            .args(args)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(output.status.success(), "{name}: {stderr}");
        assert!(stdout.contains(expected), "{name}: {stdout}");
    }
}
