//! Checks that optimizer rules depend on no text of a plan, no test build, and no name of a table or column.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            sources(&entry.unwrap().path(), found);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        found.push(path.to_owned());
    }
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
    let mut files = Vec::new();
    sources(path, &mut files);
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
    assert!(lines[0].len() > 10_000, "the search finds code");
}

/// `Debug` output is for people and may change with each release of a library.
#[test]
fn rules_do_not_parse_plan_text() {
    let lines = lines_below(&root().join("src/query"));
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

/// Returns the modules of optimizer rules that the registry imports, and their shared modules.
fn optimizations() -> BTreeSet<String> {
    let registry = fs::read_to_string(root().join("src/query/rules/optimizations.rs")).unwrap();
    let imports = registry.lines();
    let imports = imports.filter_map(|line| line.strip_prefix("use crate::query::"));
    let modules = imports.filter_map(|import| import.split("::").next());
    let modules = modules.map(|module| module.trim_end_matches(';'));
    let modules = modules.filter(|module| *module != "rule");
    // Modules that rules share.
    let modules = modules.chain(["cardinality", "fallible", "sort_keys"]);
    modules.map(str::to_owned).collect()
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
    let (modules, names) = (optimizations(), names());
    assert!(modules.len() > 8, "{modules:?}");
    assert!(names.contains("\"records\"") && names.contains("\"graph_id\""));
    for module in modules {
        let path = root().join("src/query").join(&module);
        let file = path.with_extension("rs");
        let lines = [path, file].map(|path| match path.exists() {
            true => lines_below(&path),
            false => Vec::new(),
        });
        for (file, line) in lines.iter().flatten() {
            let name = names.iter().find(|name| line.contains(name.as_str()));
            assert_eq!(name, None, "{file}: {line}");
        }
    }
}
