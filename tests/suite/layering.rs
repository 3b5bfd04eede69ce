//! The house rules that a compiler does not check.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Members by rank: one depends only on those before it, and the root on all of them.
const MEMBERS: [&str; 3] = ["metrics", "codecs", "formats"];

/// What no member depends on: it would compile for minutes, not seconds.
const HEAVY: [&str; 5] = ["arrow", "datafusion", "deltalake", "object_store", "tokio"];

/// Modules of the root by rank: an import goes only to a lower one.
const RANKS: [&[&str]; 11] = [
    &["error"],
    &["schema", "column", "folders"],
    &["plot"],
    &["store", "measure"],
    &["dedupe"],
    &["ingest", "query"],
    &["loading", "captured"],
    &["export", "upkeep", "demo", "batch", "score", "trials"],
    &["check", "report", "subset"],
    &["cli"],
    &["fuzz"],
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<(String, String)> {
    sources_of("src")
}

fn sources_of(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    sources(&root, &mut found);
    let named = |path: PathBuf| {
        let name = path
            .strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        (name, fs::read_to_string(&path).unwrap())
    };
    found.into_iter().map(named).collect()
}

/// The crate's modules that a file names, below `use crate::{...}` too.
fn imports(text: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let group = &group[..group.find(['}', ';']).unwrap()];
            modules.extend(group.split(',').map(|name| word(name.trim())));
        } else {
            modules.push(word(rest));
        }
    }
    modules
}

fn word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect()
}

#[test]
fn imports_go_to_lower_ranks_only() {
    let ranks: BTreeMap<&str, usize> = RANKS
        .iter()
        .enumerate()
        .flat_map(|(rank, names)| names.iter().map(move |name| (*name, rank)))
        .collect();
    let mut seen = 0;
    for (file, text) in all_sources() {
        let module = file.split(['/', '.']).next().unwrap();
        if ["lib", "main"].contains(&module) {
            continue;
        }
        let own = ranks
            .get(module)
            .unwrap_or_else(|| panic!("{file} has no rank"));
        for import in imports(&text) {
            let Some(rank) = ranks.get(import.as_str()) else {
                continue;
            };
            assert!(rank < own || import == module, "{file} imports {import}");
            seen += 1;
        }
    }
    assert!(seen > 50, "the search finds imports");
}

#[test]
fn members_depend_on_lower_ones_and_on_nothing_heavy() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let mut seen = 0;
    for folder in fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap();
        let member = folder.file_name().into_string().unwrap();
        let rank = MEMBERS.iter().position(|name| *name == member);
        let rank = rank.unwrap_or_else(|| panic!("{member} has no rank"));
        let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
        for name in HEAVY {
            assert!(!manifest.contains(name), "{member} names {name}");
        }
        for (place, other) in MEMBERS.iter().enumerate() {
            let depends = manifest.contains(&format!("\ntensorsql-{other}"));
            assert!(place < rank || !depends, "{member} depends on {other}");
        }
        seen += 1;
    }
    assert_eq!(seen, MEMBERS.len());
}

#[test]
fn files_stay_small() {
    let members = sources_of("crates").into_iter();
    for (file, text) in all_sources().into_iter().chain(members) {
        let limit = if file == "main.rs" { 40 } else { 500 };
        assert!(
            text.lines().count() <= limit,
            "{file} has {} lines",
            text.lines().count()
        );
    }
}

#[test]
fn only_the_log_names_its_format() {
    let members = sources_of("crates").into_iter();
    for (file, text) in all_sources().into_iter().chain(members) {
        let named = text.contains("deltalake") || text.contains("delta_log");
        assert!(
            !named || file.starts_with("store/log/") || file == "store/mod.rs",
            "{file}"
        );
    }
}

#[test]
fn the_lock_file_has_one_arrow_and_one_engine() {
    let lock =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock")).unwrap();
    for name in [
        "arrow",
        "parquet",
        "datafusion",
        "object_store",
        "deltalake-core",
    ] {
        assert_eq!(
            lock.matches(&format!("name = \"{name}\"\n")).count(),
            1,
            "{name}"
        );
    }
}
