#![doc = include_str!("../README.md")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        reason = "a test fails by panicking"
    )
)]

mod call;
mod constraints;
mod expr;
mod lines;
pub mod log;
#[cfg(test)]
mod log_dialects;
#[cfg(test)]
mod log_golden;
#[cfg(test)]
mod log_nasty;
pub mod meta;
mod paddle;
pub mod program;
mod render;
pub mod sample;

/// Name of the dataset in the tables.
pub const NAME: &str = "graphnet";

/// Directories of the repository that contain samples.
const ROOTS: [&str; 2] = ["samples", "paddle_samples"];

/// Returns the part of a sample path that logs use, too: the part from the last `samples` or `paddle_samples` on, else
/// the whole path.
pub fn sample_key(path: &str) -> &str {
    let path = path.trim_matches('/');
    let parts = path.match_indices('/').map(|(position, _)| position + 1);
    let mut starts: Vec<usize> = std::iter::once(0).chain(parts).collect();
    starts.reverse();
    let root = starts.into_iter().find_map(|start| {
        let rest = path.get(start..)?;
        let first = rest.split('/').next()?;
        (ROOTS.contains(&first) && first.len() < rest.len()).then_some(rest)
    });
    root.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::sample_key;

    #[test]
    fn sample_keys_start_at_the_last_root() {
        assert_eq!(sample_key("/w/GraphNet/samples/timm/x"), "samples/timm/x");
        assert_eq!(sample_key("samples/samples/x/"), "samples/x");
        assert_eq!(
            sample_key("a/paddle_samples/P/x/subgraph_1"),
            "paddle_samples/P/x/subgraph_1"
        );
        assert_eq!(sample_key("/s/x"), "s/x");
        assert_eq!(sample_key("my/samples"), "my/samples");
    }
}
