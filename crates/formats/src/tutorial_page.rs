//! Compares the tutorial of a new format with the code that it shows.

use std::fs;
use std::path::Path;

/// Code block of the page: its language, the file that it shows, and its lines.
struct CodeBlock<'a> {
    language: &'a str,
    file: &'a str,
    lines: Vec<&'a str>,
}

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap()
}

/// Returns the blocks with a title.
fn code_blocks(page: &str) -> Vec<CodeBlock<'_>> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(fence) = line.strip_prefix("```") else {
            continue;
        };
        let block = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some((language, title)) = fence.split_once(" title=") {
            blocks.push(CodeBlock {
                language,
                file: title.trim_matches('"'),
                lines: block,
            });
        }
    }
    blocks
}

#[test]
fn the_tutorial_shows_the_code_of_its_format() {
    let page = read("docs/dev/new-format.md");
    let blocks = code_blocks(&page);
    let shown = blocks.iter().filter(|block| block.language == "rust");
    let shown: Vec<String> = shown.map(|block| block.lines.join("\n")).collect();
    let file = read("crates/formats/src/timings.rs");
    let (code, _) = file.split_once("\n#[cfg(test)]\n").unwrap();
    assert!(
        shown.join("\n\n").trim_end() == code.trim_end(),
        "{shown:#?}"
    );
    assert!(page.lines().count() <= 200, "the tutorial stays short");
}

#[test]
fn the_changes_of_the_tutorial_apply() {
    let page = read("docs/dev/new-format.md");
    let mut seen = 0;
    for block in code_blocks(&page) {
        if block.language != "diff" {
            continue;
        }
        seen += 1;
        let file = read(block.file);
        let is_added = |line: &&str| line.starts_with('+');
        let (added, old): (Vec<&str>, Vec<&str>) =
            block.lines.iter().partition(|line| is_added(line));
        let old: String = old.iter().map(|line| format!("{}\n", &line[1..])).collect();
        assert_eq!(file.matches(&old).count(), 1, "{}: {old}", block.file);
        assert!(added.iter().all(|line| !file.contains(line[1..].trim())));
    }
    assert_eq!(seen, 2);
}
