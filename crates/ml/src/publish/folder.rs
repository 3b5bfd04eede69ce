//! Folder names of partition values.

/// Returns a folder name for a value: the value itself if it is safe, otherwise its safe characters with a number that
/// makes it unique.
///
/// - Readers hide names that begin with `.` or `_`, and some interpret `=` and `%`.
/// - `datasets` interprets `train`, `test`, `dev` and similar words in a path as a split, and ignores all other files.
pub(super) fn folder_name(value: &str) -> String {
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let mut name: String = value
        .chars()
        .map(|c| if is_harmless(c) { c } else { '_' })
        .collect();
    for split in SPLITS {
        let mut from = 0;
        while let Some(at) = name
            .get(from..)
            .and_then(|rest| rest.to_ascii_lowercase().find(split))
        {
            let (begin, end) = (from + at, from + at + split.len());
            let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic());
            let before = name.get(..begin).and_then(|text| text.chars().next_back());
            let behind = name.get(end..).and_then(|text| text.chars().next());
            if !letter(before) && !letter(behind) {
                name.insert(begin, 'x');
            }
            from = end;
        }
    }
    if name.starts_with(['.', '_']) {
        name.insert(0, 'x');
    }
    if name != value {
        let number = twox_hash::XxHash3_64::oneshot(value.as_bytes());
        name.truncate(100);
        name = format!("{name}-{:08x}", number >> 32);
    }
    name
}

/// Words that `datasets` interprets.
const SPLITS: [&str; 10] = [
    "train",
    "training",
    "validation",
    "valid",
    "dev",
    "val",
    "test",
    "testing",
    "eval",
    "evaluation",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_classified() {
        for harmless in ["k80", "epyc-7452", "a100_80.gb", "contest", "devel", "7452"] {
            assert_eq!(folder_name(harmless), harmless);
        }
        for odd in [
            "test",
            "gpu-test-1",
            "dev2",
            "NVIDIA A100",
            "a/b",
            ".hidden",
            "_x",
            "ü=1",
            "x eval",
        ] {
            let name = folder_name(odd);
            assert_ne!(name, odd);
            assert!(
                name.chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)),
                "{name}"
            );
            assert!(!name.starts_with(['.', '_']), "{name}");
            let mut words = name.split(|c: char| !c.is_ascii_alphabetic());
            assert!(words.all(|word| !SPLITS.contains(&word)), "{name}");
        }
        assert_ne!(folder_name("a b"), folder_name("a_b"));
        assert_ne!(folder_name("a b"), folder_name("a/b"));
    }
}
