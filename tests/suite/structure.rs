//! Rules about the structure of the code that Cargo does not enforce.

use std::fs;
use std::path::{Path, PathBuf};

use crate::import_cycles::cycles;
use crate::support::{files_below, has_extension};

/// Maximum number of lines of a crate, and of the facade at the root.
const MAX_CRATE_LINES: usize = 25_000;
const MAX_FACADE_LINES: usize = 1_000;

/// Crates that build without an engine, for programs that need only one of them.
const LIGHT: [&str; 10] = [
    "autotuners",
    "codecs",
    "folders",
    "formats",
    "graphnet",
    "graphs",
    "measure",
    "metrics",
    "plot",
    "verdicts",
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

/// Files that may open output files without `tsql_store::atomic_output`, which rejects paths in stores.
const OPEN_OUTPUTS: [&str; 4] = [
    "folders/",
    "store/src/atomic_output/",
    // It checks the target itself, which may be a URL.
    "engine/src/files/copy_to/",
    // The command checks the folder.
    "measure/src/templates.rs",
];

/// Returns the sources below a folder, by relative path.
fn sources_of(root: &Path) -> Vec<(String, String)> {
    let mut found = files_below(root);
    found.retain(|path| has_extension(path, "rs"));
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

/// Cargo enforces the direction between crates. Their sizes keep each readable.
#[test]
fn crates_stay_small() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lines = |sources: Vec<(String, String)>| -> usize {
        sources.iter().map(|(_, text)| text.lines().count()).sum()
    };
    let facade = lines(own_sources());
    assert!(facade <= MAX_FACADE_LINES, "the root has {facade} lines");
    let mut largest = 0;
    for entry in fs::read_dir(folder.join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let count = lines(sources_of(&path));
        assert!(
            count <= MAX_CRATE_LINES,
            "{} has {count} lines",
            path.display()
        );
        largest = largest.max(count);
    }
    assert!(largest > 10_000, "the search finds crates");
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
fn outputs_are_checked_before_they_are_opened() {
    for (name, text) in all_sources() {
        let may_open = OPEN_OUTPUTS.iter().any(|allowed| name.starts_with(allowed));
        let opens = ["OutputFile::create(", "tsql_folders::write_file("];
        let opens = opens.iter().any(|call| text.contains(call));
        assert!(may_open || !opens, "{name}: use tsql_store::atomic_output");
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
    let dataset = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/dataset/src");
    for (file, text) in sources_of(&dataset) {
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
