//! Upkeep: what interrupted runs and earlier versions have left.

pub(crate) mod orphans;
pub(crate) mod twins;
