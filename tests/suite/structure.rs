//! Rules about the structure of the code that Cargo does not enforce.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::import_cycles::{cycles, references};

/// Modules of the root by rank. A module imports only modules of lower ranks.
const RANKS: [&[&str]; 11] = [
    &["store"],
    &["atomic_output", "cluster", "dedupe"],
    &["ingest_log", "query"],
    &["formats"],
    &["line_selection", "optimize"],
    &["ingest"],
    &[
        "export",
        "features",
        "upkeep",
        "demo",
        "diff",
        "notes",
        "copy",
        "corrections",
        "trials",
        "worker",
        "publish",
        "compare",
        "plot",
        "splits",
        "training",
    ],
    &[
        "check",
        "auto_scheduler",
        "graphnet",
        "metaschedule",
        "html_report",
        "score",
        "tpugraphs",
    ],
    &["ui"],
    &["cli"],
    &["fuzz"],
];

/// Crates that build without an engine, for programs that need only one of them.
const LIGHT: [&str; 7] = [
    "codecs", "folders", "formats", "graphs", "measure", "metrics", "plot",
];

/// Dependencies that take minutes to build.
const HEAVY: [&str; 6] = [
    "arrow",
    "datafusion",
    "deltalake-core",
    "object_store",
    "parquet",
    "tokio",
];

/// Modules that name no format. Behavior of a format is in its module.
const NAME_NO_FORMAT: [&str; 3] = ["check", "export", "ingest"];

/// Names of formats in the code, beside those of the command line.
const FORMATS: [&str; 3] = ["ansor", "auto_scheduler", "npz"];

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

/// Returns the sources below a folder, by relative path.
fn sources_of(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    sources(root, &mut found);
    let named = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        (name.to_owned(), fs::read_to_string(&path).unwrap())
    };
    found.into_iter().map(named).collect()
}

/// Returns the sources of this crate, by path in `src`.
fn own_sources() -> Vec<(String, String)> {
    sources_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

/// Returns the sources of all crates.
fn all_sources() -> Vec<(String, String)> {
    let crates = sources_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crates"));
    own_sources().into_iter().chain(crates).collect()
}

/// Returns the modules of the crate that a file names, also below `use crate::{...}`.
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
    // References through `pub use` count, too. Items of the root itself have no module.
    for (from, to) in references(&own_sources()) {
        let rank = |path: &[String]| Some(ranks[path.first()?.as_str()]);
        if let (Some(own), Some(rank)) = (rank(&from), rank(&to)) {
            assert!(rank < own || from[0] == to[0], "{from:?} uses {to:?}");
        }
    }
}

/// No file imports itself through other files of its folder.
#[test]
fn imports_have_no_cycles() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut crates = vec!["src".to_owned()];
    for entry in fs::read_dir(folder.join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        crates.push(format!("crates/{name}/src"));
    }
    let mut found = Vec::new();
    for root in &crates {
        let pairs = cycles(&sources_of(&folder.join(root))).into_iter();
        found.extend(pairs.map(|(from, to)| format!("{root}/{from} uses {root}/{to}")));
    }
    assert!(found.is_empty(), "circles: {found:#?}");
}

#[test]
fn light_crates_build_without_an_engine() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    for name in LIGHT {
        let manifest = fs::read_to_string(folder.join(name).join("Cargo.toml")).unwrap();
        for line in manifest.lines() {
            let needed = line.split([' ', '.', '=']).next().unwrap();
            assert!(!HEAVY.contains(&needed), "{name} depends on {needed}");
            if let Some(needed) = needed.strip_prefix("tensorsql-") {
                assert!(LIGHT.contains(&needed), "{name} depends on {needed}");
            }
        }
    }
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
        let is_named = text.contains("deltalake") || text.contains("delta_log");
        let is_log = ["store/src/log/", "store/src/log_files/", "store/src/lib.rs"]
            .iter()
            .any(|path| file.starts_with(path));
        assert!(!is_named || is_log, "{file}");
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

/// Returns all names of formats.
fn formats() -> Vec<String> {
    let names = tsql_formats::NamedFormat::all().into_iter();
    let names = names.map(|format| format.name().to_owned());
    names.chain(FORMATS.map(str::to_owned)).collect()
}

#[test]
fn formats_are_named_only_in_their_modules() {
    let formats = formats();
    assert!(formats.len() > FORMATS.len(), "there are formats");
    let mut seen = 0;
    for (file, text) in own_sources() {
        let module = file.split(['/', '.']).next().unwrap();
        if !NAME_NO_FORMAT.contains(&module) || file.contains("tests") {
            continue;
        }
        seen += 1;
        let text = text.split("#[cfg(test)]").next().unwrap().to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        for word in words {
            assert!(!formats.iter().any(|name| name == word), "{file}: {word}");
        }
    }
    assert!(seen > NAME_NO_FORMAT.len(), "the search finds files");
}
