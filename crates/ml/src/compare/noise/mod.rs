//! Noise between runs, from the repeated records of a store.

pub(super) mod floor_query;
pub(super) mod self_check;
