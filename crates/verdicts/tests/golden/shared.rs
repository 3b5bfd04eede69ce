//! Access to `shared`, and checks of counts of verdicts.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use serde_json::Value;
use tsql_metrics::change::Verdict;

/// Returns the folder; `None` with a message if it is absent and not required.
pub(crate) fn folder() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("TSQL_TEST_SHARED").map_or(beside, Into::into);
    if folder.join("golden/regressions.json").exists() {
        return Some(folder);
    }
    let required = std::env::var_os("TSQL_REQUIRE_SHARED").is_some();
    assert!(
        !required,
        "no golden/regressions.json in {}",
        folder.display()
    );
    eprintln!(
        "skipped: no golden/regressions.json in {}",
        folder.display()
    );
    None
}

pub(crate) fn golden() -> Option<Value> {
    let text = fs::read_to_string(folder()?.join("golden/regressions.json")).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

/// Reads a compressed file of `shared/data`.
pub(crate) fn read(name: &str) -> Option<String> {
    let bytes = fs::read(folder()?.join("data").join(name)).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes.as_slice())
        .read_to_string(&mut text)
        .unwrap();
    Some(text)
}

pub(crate) type Counts = BTreeMap<&'static str, i64>;

pub(crate) fn count(verdicts: impl IntoIterator<Item = Verdict>) -> Counts {
    let mut counts: Counts = ["faster", "slower", "same", "unclear"]
        .map(|word| (word, 0))
        .into();
    for verdict in verdicts {
        *counts.get_mut(verdict.word()).unwrap() += 1;
    }
    counts.insert("called", counts["faster"] + counts["slower"]);
    counts
}

/// Compares counts with those of the golden file at `path` (one more or less is rounding), and with its limits.
pub(crate) fn check(golden: &Value, path: &str, counts: &Counts) {
    let expected = path.split('/').fold(golden, |value, step| &value[step]);
    assert!(expected.is_object(), "{path} is not in the golden file");
    for (word, found) in counts {
        if let Some(expected) = expected[word].as_i64() {
            assert!(
                (found - expected).abs() <= 1,
                "{path}: {word} is {found}, not {expected}"
            );
        }
    }
    for limit in golden["required"].as_array().unwrap() {
        if limit[0] != path {
            continue;
        }
        let word = limit[1].as_str().unwrap();
        let (found, bound) = (counts[word], limit[3].as_i64().unwrap());
        let direction = limit[2].as_str().unwrap();
        let is_reached = if direction == "at most" {
            found <= bound
        } else {
            found >= bound
        };
        println!("{path}: {word} {direction} {bound}, reached {found}");
        assert!(
            is_reached,
            "{path}: {word} is {found}, not {direction} {bound}"
        );
    }
}

pub(crate) fn close(found: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    let tolerance = 1e-6 * expected.abs().max(1e-6);
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} is not {expected}"
    );
}
