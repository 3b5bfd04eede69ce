//! Comparisons as documents of CI systems.

mod github;
mod junit;
mod wording;

pub use github::GITHUB_MARKER;
