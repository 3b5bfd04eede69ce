//! Checks that optimizer rules depend on no text of a plan, no test build, and no name of a table or column.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::{files_below, has_extension};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the lines of code of a file, without tests and comments.
fn code(path: &Path) -> Vec<String> {
    if path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs") {
        return Vec::new();
    }
    let text = fs::read_to_string(path).unwrap();
    // Tests of a file are at its end. `mod tests;` among the declarations is a separate file.
    let tests = text.match_indices("#[cfg(test)]\nmod ");
    let mut tests = tests.filter(|(at, _)| {
        let declared = text[*at..].lines().nth(1).unwrap();
        declared.ends_with('{')
    });
    let code = match tests.next() {
        Some((at, _)) => &text[..at],
        None => &text,
    };
    let lines = code.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with("//"));
    lines.map(str::to_owned).collect()
}

/// Returns the lines of code below a path, each with its file.
fn lines_below(path: &Path) -> Vec<(String, String)> {
    let mut files = if path.is_dir() {
        files_below(path)
    } else {
        vec![path.to_owned()]
    };
    files.retain(|file| has_extension(file, "rs"));
    let lines = files.iter().flat_map(|file| {
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        code(file).into_iter().map(move |line| (name.clone(), line))
    });
    lines.collect()
}

#[test]
fn no_constant_depends_on_a_test_build() {
    let lines = ["src", "crates"].map(|folder| lines_below(&root().join(folder)));
    let mut found = lines.iter().flatten();
    let found = found.find(|(_, line)| line.contains("cfg!(test)"));
    assert_eq!(found, None);
    assert!(lines[1].len() > 10_000, "the search finds code");
}

/// `Debug` output is for people and may change with each release of a library.
#[test]
fn rules_do_not_parse_plan_text() {
    let lines = lines_below(&root().join("crates/engine/src"));
    let is_debug_text = |line: &str| {
        let formats = line.split("format!(\"{").skip(1);
        formats
            .filter_map(|rest| rest.split_once('}'))
            .any(|(argument, rest)| argument.ends_with(":?") && rest.starts_with('"'))
    };
    let found = lines.iter().find(|(_, line)| is_debug_text(line));
    assert_eq!(found, None);
    assert!(is_debug_text("format!(\"{plan:?}\")"));
}

/// Returns the names of all tables and columns from their definitions.
fn names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(root().join("schemas")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let values = text.lines().filter_map(|line| {
            let name = line.strip_prefix("name = ");
            name.or(line.strip_prefix("table = "))
        });
        names.extend(values.map(|name| name.trim().to_owned()));
    }
    names
}

#[test]
fn rules_name_no_tables_or_columns() {
    let names = names();
    assert!(names.contains("\"records\"") && names.contains("\"graph_id\""));
    for folder in ["operators", "rewrites"] {
        let lines = lines_below(&root().join("crates/engine/src").join(folder));
        assert!(lines.len() > 2_000, "the search finds code");
        for (file, line) in &lines {
            let name = names.iter().find(|name| line.contains(name.as_str()));
            assert_eq!(name, None, "{file}: {line}");
        }
    }
}
