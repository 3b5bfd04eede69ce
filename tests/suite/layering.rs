//! The house rules that a compiler does not check.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules of the root by rank: an import goes only to a lower one.
const RANKS: [&[&str]; 10] = [
    &["error"],
    &["schema", "column"],
    &["store"],
    &["dedupe"],
    &["ingest", "query"],
    &["loading", "captured"],
    &["export", "upkeep", "demo", "batch", "score", "trials"],
    &["check", "report", "subset"],
    &["cli"],
    &["fuzz"],
];

/// The crates below `crates` by rank: one depends only on lower ones.
const CRATES: [&[&str]; 3] = [
    &["metrics", "folders"],
    &["codecs", "plot"],
    &["formats", "measure"],
];

/// What takes minutes to build, and stays out of them.
const HEAVY: [&str; 6] = [
    "arrow",
    "datafusion",
    "deltalake-core",
    "object_store",
    "parquet",
    "tokio",
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

/// Sources below a folder, by their paths in it.
fn sources_of(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    sources(root, &mut found);
    let named = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        (name.to_owned(), fs::read_to_string(&path).unwrap())
    };
    found.into_iter().map(named).collect()
}

/// Those of this crate, by their paths in `src`.
fn own_sources() -> Vec<(String, String)> {
    sources_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

/// Those of all crates.
fn all_sources() -> Vec<(String, String)> {
    let crates = sources_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crates"));
    own_sources().into_iter().chain(crates).collect()
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
    for (file, text) in own_sources() {
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
fn crates_depend_on_lower_ranks_only() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let rank = |name: &str| CRATES.iter().position(|names| names.contains(&name));
        let own = rank(&name).unwrap_or_else(|| panic!("{name} has no rank"));
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
        for line in manifest.lines() {
            let needed = line.split([' ', '.', '=']).next().unwrap();
            assert!(!HEAVY.contains(&needed), "{name} depends on {needed}");
            if let Some(needed) = needed.strip_prefix("tensorsql-") {
                assert!(rank(needed) < Some(own), "{name} depends on {needed}");
                seen += 1;
            }
        }
    }
    assert!(seen > 2, "the search finds dependencies");
}

#[test]
fn files_stay_small() {
    for (file, text) in all_sources() {
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
    for (file, text) in all_sources() {
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
