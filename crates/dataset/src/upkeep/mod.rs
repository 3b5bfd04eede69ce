//! Maintenance: cleanup after interrupted runs and earlier versions.

pub(crate) mod duplicate_sources;
pub(crate) mod orphans;
