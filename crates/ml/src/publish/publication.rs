//! Files of a publication besides the checksum list.

use tsql_store::atomic_output::OutputKind;

/// The dataset card.
pub(super) const CARD: &str = "README.md";

/// The Croissant metadata.
pub(super) const CROISSANT: &str = "croissant.json";

/// Output type of a publication.
pub(super) const PUBLICATION: OutputKind = OutputKind {
    name: "publication",
    command: "tsql publish",
    has: is_publication_file,
};

/// Returns whether a publication has files of this name.
fn is_publication_file(path: &str) -> bool {
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
    fn foreign_folders_are_reported() {
        assert!(is_publication_file("records/tenset/k80/part-00000.parquet"));
        assert!(is_publication_file("README.md"));
        for other in [
            "thesis.tex",
            "records/README.md",
            "part-x.parquet",
            "a/part-1.parquet",
        ] {
            assert!(!is_publication_file(other), "{other}");
        }
    }
}
