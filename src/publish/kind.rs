//! What a publication consists of, beside the list of checksums.

use crate::delivered::Kind;

/// The dataset card.
pub(super) const CARD: &str = "README.md";

/// The metadata.
pub(super) const CROISSANT: &str = "croissant.json";

/// A publication.
pub(super) const PUBLICATION: Kind = Kind {
    name: "publication",
    command: "tsql publish",
    has: is_published,
};

/// Is it named as the files of publications are?
fn is_published(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let number = name
        .strip_prefix("part-")
        .and_then(|name| name.strip_suffix(".parquet"));
    [CARD, CROISSANT].contains(&path)
        || number
            .is_some_and(|number| number.len() >= 5 && number.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_is_told() {
        assert!(is_published("records/tenset/k80/part-00000.parquet"));
        assert!(is_published("README.md"));
        for other in [
            "thesis.tex",
            "records/README.md",
            "part-x.parquet",
            "a/part-1.parquet",
        ] {
            assert!(!is_published(other), "{other}");
        }
    }
}
