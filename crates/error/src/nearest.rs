//! Suggestions for misspelled names.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// Returns the known name that is most similar to `name`, if any: equal except for case, one or two edits, or a
/// substring.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = name.to_lowercase();
    let length = typed.chars().count();
    let slips = match length {
        0 => return None,
        1..=2 => 0,
        3..=5 => 1,
        6..=8 => 2,
        _ => 3,
    };
    let close = known.into_iter().filter_map(|known| {
        let lower = known.to_lowercase();
        let distance = strsim::damerau_levenshtein(&typed, &lower);
        let is_part = length >= 4 && (lower.contains(&typed) || typed.contains(&lower));
        let is_part = is_part && lower.chars().count() >= 4;
        // In a long name, one more typo is still likelier than a substring.
        let rank = match distance {
            distance if distance <= slips => distance,
            distance if is_part => slips + distance,
            _ => return None,
        };
        let alike = strsim::jaro_winkler(&typed, &lower);
        Some((rank, Reverse(thousandths(alike)), known))
    });
    close.min().map(|(_, _, known)| known)
}

/// Extends the error of a missing file by the name of a similar file beside it.
pub fn with_similar_file(path: &str, reason: String) -> String {
    let path = Path::new(path);
    if path.exists() || reason.contains('\n') {
        return reason;
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new(".")));
    let names = entries.into_iter().flatten().flatten();
    let names: Vec<String> = names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    let typed = path.file_name().and_then(|name| name.to_str());
    let meant = nearest(typed.unwrap_or_default(), names.iter().map(String::as_str));
    match meant {
        Some(meant) => {
            let meant = folder.map_or_else(|| PathBuf::from(meant), |folder| folder.join(meant));
            format!("{reason}\nhint: did you mean `{}`?", meant.display())
        }
        None => reason,
    }
}

/// A fraction, for comparison only.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 1"
)]
fn thousandths(part: f64) -> u32 {
    (part.clamp(0.0, 1.0) * 1000.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beside_it_may_be_meant() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("records.json"), "").unwrap();
        let found = |name: &str| {
            let path = folder.path().join(name).display().to_string();
            with_similar_file(&path, "no such file".to_owned())
        };
        assert!(
            found("record.json").ends_with("/records.json`?"),
            "{}",
            found("record.json")
        );
        assert_eq!(found("other.npz"), "no such file");
        assert_eq!(found("records.json"), "no such file");
    }

    #[test]
    fn slips_are_seen_through_and_strangers_are_not() {
        let tables = [
            "records",
            "configurations",
            "graphs",
            "edges",
            "runs",
            "sources",
        ];
        for (typed, meant) in [
            ("recods", Some("records")),
            ("RECORDS", Some("records")),
            ("config", Some("configurations")),
            ("graph", Some("graphs")),
            ("run", Some("runs")),
            ("sorces", Some("sources")),
            ("nodes", None),
            ("x", None),
            ("", None),
            ("measurements", None),
        ] {
            assert_eq!(nearest(typed, tables), meant, "{typed}");
        }
        let commands = ["ingest", "init", "check", "tables"];
        assert_eq!(nearest("ingst", commands), Some("ingest"));
        assert_eq!(nearest("table", commands), Some("tables"));
        assert_eq!(nearest("größe", ["Größe"]), Some("Größe"));
    }
}
