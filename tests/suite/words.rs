//! Language of names, comments and documentation: `tests/words.txt` lists what they avoid.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Sentences of the documentation have at most this many words, in the median.
const SENTENCE_WORDS: usize = 18;

/// Maximum number of "what" in 1,000 words of the documentation.
const WHATS: usize = 3;

/// Returns the words of a group of `tests/words.txt`.
fn group(name: &str) -> BTreeSet<&'static str> {
    let lines = include_str!("../words.txt").lines();
    let mut groups = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let words = groups.next().unwrap_or_else(|| panic!("no group `{name}`"));
    words.split(' ').collect()
}

/// Returns the paths of all files below a folder whose names end with `ending`.
fn files_below(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            files_below(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

/// Returns the files with this ending below folders of the checkout, with their text.
fn texts(folders: &[&str], ending: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in folders {
        files_below(&root.join(folder), ending, &mut found);
    }
    found.sort();
    let named = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        (name, fs::read_to_string(&path).unwrap())
    };
    found.into_iter().map(named).collect()
}

fn rust_files() -> Vec<(String, String)> {
    texts(&["src", "crates", "python/src", "tests", "benches"], ".rs")
}

/// Returns the name that follows a keyword on a line of code.
fn name_after<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    let line = line.trim_start();
    let (before, rest) = line.split_once(keyword)?;
    let is_declared = before.is_empty() || before.ends_with(' ');
    let is_comment = line.starts_with("//") || before.contains(['"', '=', '/']);
    let end = rest
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    (is_declared && !is_comment && end > 0).then(|| rest.split_at(end).0)
}

/// Returns the words of a name in `snake_case` or `CamelCase`, in lower case.
fn words_of_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_ascii_uppercase() {
            words.push(String::new());
        }
        if c != '_' {
            words.last_mut().unwrap().push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn functions_and_types_have_standard_names() {
    let (names, functions) = (group("names"), group("functions"));
    let (mut seen, mut wrong) = (0, Vec::new());
    for (file, text) in rust_files() {
        for (index, line) in text.lines().enumerate() {
            let function = name_after(line, "fn ");
            let types = ["struct ", "enum ", "trait ", "type "];
            let kind = types.iter().find_map(|keyword| name_after(line, keyword));
            for name in function.into_iter().chain(kind) {
                seen += 1;
                let words = words_of_name(name);
                let has_word = words.iter().any(|word| names.contains(word.as_str()));
                if has_word || function.is_some_and(|name| functions.contains(name)) {
                    wrong.push(format!("{file}:{}: {name}", index + 1));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} names:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(seen > 10_000, "{seen} names");
}

#[test]
fn comments_begin_with_their_subject() {
    let openings = group("openings");
    let (mut seen, mut wrong) = (0, Vec::new());
    for (file, text) in rust_files() {
        let mut is_inside = false;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let Some(comment) = line.strip_prefix("//") else {
                is_inside = false;
                continue;
            };
            if !std::mem::replace(&mut is_inside, true) {
                seen += 1;
                let comment = comment.trim_start_matches(['/', '!', ' ']);
                let first = comment.split([' ', ',', ':']).next().unwrap();
                if openings.contains(first) {
                    wrong.push(format!("{file}:{}: {comment}", index + 1));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} comments:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(seen > 10_000, "{seen} comments");
}

/// Returns the paragraphs of a page, without code, tables, headings and addresses.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut is_code = false;
    for line in text.lines() {
        let line = line.trim_start();
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let is_item = line.starts_with("- ") || line.starts_with("* ");
        if is_item || line.is_empty() || is_fence {
            paragraphs.push(String::new());
        }
        if !is_code && !is_fence && !line.starts_with(['|', '#', '<', '>', '!']) {
            let last = paragraphs.last_mut().unwrap();
            *last += line;
            last.push(' ');
        }
    }
    let text = |paragraph: String| {
        // Code spans count as one word; of links, only the text counts.
        let spans = paragraph.split('`').enumerate();
        let spans = spans.map(|(index, span)| if index % 2 == 1 { "X" } else { span });
        let mut rest: String = spans.collect();
        while let Some((before, after)) = rest.split_once("](") {
            let after = after.split_once(')').map_or("", |(_, after)| after);
            rest = format!("{before}{after}");
        }
        rest.replace('[', "")
    };
    paragraphs.into_iter().map(text).collect()
}

/// Returns the numbers of words of the sentences of a paragraph.
fn sentence_lengths(paragraph: &str) -> Vec<usize> {
    let mut lengths = vec![0];
    for word in paragraph.split_whitespace() {
        *lengths.last_mut().unwrap() += usize::from(word.contains(char::is_alphanumeric));
        if word.trim_end_matches([')', '"']).ends_with(['.', '!', '?']) {
            lengths.push(0);
        }
    }
    lengths.retain(|length| *length > 0);
    lengths
}

#[test]
fn documentation_has_short_sentences() {
    let mut pages = texts(&["docs"], ".md");
    pages.retain(|(name, _)| !name.starts_with("docs/dev/"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["README.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root.join(name)).unwrap();
        pages.push((name.to_owned(), text));
    }
    let (mut all, mut whats, mut words) = (Vec::new(), 0, 0);
    for (name, text) in pages {
        let paragraphs = paragraphs(&text);
        let mut lengths: Vec<usize> = paragraphs
            .iter()
            .flat_map(|p| sentence_lengths(p))
            .collect();
        lengths.sort_unstable();
        let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
        assert!(
            median <= SENTENCE_WORDS,
            "{name}: sentences of {median} words"
        );
        let text = paragraphs.concat().to_lowercase();
        words += text.split_whitespace().count();
        whats += text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| *word == "what")
            .count();
        all.extend(lengths);
    }
    all.sort_unstable();
    let median = all.get(all.len() / 2).copied().unwrap();
    eprintln!("{words} words, median sentence {median} words, {whats} times \"what\"");
    assert!(whats * 1_000 <= WHATS * words, "{whats} in {words} words");
    assert!(words > 20_000, "{words} words");
}

/// Documents for contributors name files that exist, by the ends of their paths.
#[test]
fn documents_for_contributors_name_existing_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = texts(
        &[
            "src", "crates", "python", "tests", "fuzz", "docs", "benches",
        ],
        ".rs",
    );
    let paths: Vec<String> = files.iter().map(|(name, _)| format!("/{name}")).collect();
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in [
        "CONTRIBUTING.md",
        "docs/dev/architecture.md",
        "docs/dev/formats.md",
        "docs/dev/new-format.md",
    ] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        for span in text.split('`').skip(1).step_by(2) {
            if !span.ends_with(".rs") || span.contains(['<', '*', ' ', '{']) {
                continue;
            }
            seen += 1;
            if !paths.iter().any(|path| path.ends_with(&format!("/{span}"))) {
                wrong.push(format!("{page}: {span}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 80, "{seen} files");
}

#[test]
fn names_and_sentences_are_split() {
    assert_eq!(
        name_after("    pub(crate) fn parse_line(a: u8) {", "fn "),
        Some("parse_line")
    );
    assert_eq!(name_after("/// A fn parse", "fn "), None);
    assert_eq!(words_of_name("SplitTold"), ["split", "told"]);
    assert_eq!(words_of_name("is_kept"), ["is", "kept"]);
    assert_eq!(
        sentence_lengths("One two. Three (four five.) Six"),
        [2, 3, 1]
    );
    let page = "# Title\n\nA [link](to/it) and `some code`.\n```\ncode\n```\n- item\n";
    let shown: Vec<String> = paragraphs(page)
        .into_iter()
        .map(|p| p.trim().to_owned())
        .filter(|p| !p.is_empty())
        .collect();
    assert_eq!(shown, ["A link and X.", "- item"]);
}
