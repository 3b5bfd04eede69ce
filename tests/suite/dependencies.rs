//! Dependencies of the crate: the rules of `deny.toml` without network access.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

/// Sections of `deny.toml` that these tests read.
#[derive(Deserialize)]
struct Deny {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
    exceptions: Vec<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skip>,
}

#[derive(Deserialize)]
struct Skip {
    /// `name@version`.
    #[serde(rename = "crate")]
    package: String,
}

/// A package of `cargo metadata`.
#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
}

fn deny() -> Deny {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deny.toml");
    toml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the packages that are built for a target of `deny.toml`.
fn packages(deny: &Deny) -> Vec<Package> {
    #[derive(Deserialize)]
    struct Node {
        id: String,
    }
    #[derive(Deserialize)]
    struct Resolve {
        nodes: Vec<Node>,
    }
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
        resolve: Resolve,
    }
    let mut found = BTreeMap::new();
    for target in &deny.graph.targets {
        let metadata = Command::new(env!("CARGO"))
            .args(["metadata", "--locked", "--format-version=1"])
            .args(["--filter-platform", target])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&metadata.stderr);
        assert!(metadata.status.success(), "{stderr}");
        let metadata: Metadata = serde_json::from_slice(&metadata.stdout).unwrap();
        let built: BTreeSet<String> = metadata
            .resolve
            .nodes
            .into_iter()
            .map(|node| node.id)
            .collect();
        for package in metadata.packages {
            if built.contains(&package.id) {
                found.insert(package.id.clone(), package);
            }
        }
    }
    assert!(found.len() > 300, "the search finds packages");
    found.into_values().collect()
}

fn licensees(names: &[String]) -> Vec<Licensee> {
    names
        .iter()
        .map(|name| Licensee::parse(name).unwrap())
        .collect()
}

#[test]
fn licenses_are_allowed() {
    let deny = deny();
    let allowed = licensees(&deny.licenses.allow);
    let mut unused: BTreeSet<&str> = deny
        .licenses
        .exceptions
        .iter()
        .map(|exception| exception.name.as_str())
        .collect();
    for package in packages(&deny) {
        let license = package.license.as_deref().unwrap_or_default();
        let expression = Expression::parse_mode(license, ParseMode::LAX)
            .unwrap_or_else(|error| panic!("{}: `{license}`: {error}", package.name));
        let exceptions = &deny.licenses.exceptions;
        let own: Vec<Licensee> = exceptions
            .iter()
            .filter(|exception| exception.name == package.name)
            .flat_map(|exception| licensees(&exception.allow))
            .collect();
        if !own.is_empty() {
            unused.remove(package.name.as_str());
        }
        let is_allowed = expression.evaluate(|wanted| {
            let mut licensees = allowed.iter().chain(&own);
            licensees.any(|licensee| licensee.satisfies(wanted))
        });
        assert!(is_allowed, "{}: `{license}`", package.name);
    }
    assert!(unused.is_empty(), "not needed any more: {unused:?}");
}

#[test]
fn duplicate_crates_are_listed() {
    let deny = deny();
    let skipped: BTreeSet<&str> = deny
        .bans
        .skip
        .iter()
        .map(|skip| skip.package.as_str())
        .collect();
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages(&deny) {
        versions
            .entry(package.name.clone())
            .or_default()
            .push(format!("{}@{}", package.name, package.version));
    }
    let mut used = BTreeSet::new();
    for (name, versions) in &versions {
        let remaining = versions
            .iter()
            .filter(|version| !skipped.contains(version.as_str()));
        assert!(remaining.count() <= 1, "{name}: {versions:?}");
        used.extend(versions.iter().filter(|_| versions.len() > 1));
    }
    for skip in skipped {
        assert!(used.iter().any(|version| *version == skip), "{skip}");
    }
}

/// A mirror has another address, so this test names none.
#[test]
fn packages_come_from_one_registry_with_checksums() {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Locked>,
    }
    #[derive(Deserialize)]
    struct Locked {
        name: String,
        source: Option<String>,
        checksum: Option<String>,
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock");
    let lock: Lock = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let of_others = lock
        .package
        .iter()
        .filter_map(|package| Some((package, package.source.as_deref()?)));
    let sources: BTreeSet<&str> = of_others.clone().map(|(_, source)| source).collect();
    assert!(
        of_others.clone().count() > 300,
        "the lock file has packages"
    );
    assert_eq!(sources.len(), 1, "{sources:?}");
    assert!(sources.iter().all(|source| source.starts_with("registry+")));
    for (package, _) in of_others {
        let checksum = package.checksum.as_deref().unwrap_or_default();
        assert_eq!(checksum.len(), 64, "{}: `{checksum}`", package.name);
    }
}

/// Returns the crates and features of a normal build of a package.
fn built_features(arguments: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree", "--locked", "--prefix", "none", "--format", "{p} {f}",
        ])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.lines().map(|line| line.trim_end_matches(" (*)"));
    lines.map(str::to_owned).collect()
}

/// Other features of a dependency of DataFusion would build DataFusion twice.
#[test]
fn command_tests_and_python_module_share_one_build() {
    let tests = built_features(&["--edges", "normal,build,dev"]);
    for package in ["tensorsql", "tensorsql-python"] {
        let own = built_features(&["--edges", "normal,build", "--package", package]);
        assert!(own.iter().any(|line| line.starts_with("datafusion v")));
        let others = own.difference(&tests).map(String::as_str);
        let of_python = [
            "pyo3",
            "inventory v",
            "target-lexicon v",
            "tensorsql-python v",
        ];
        let others = others.filter(|line| !of_python.iter().any(|own| line.starts_with(own)));
        let others: Vec<&str> = others.collect();
        assert!(
            others.is_empty(),
            "{package} builds differently: {others:#?}"
        );
    }
}
