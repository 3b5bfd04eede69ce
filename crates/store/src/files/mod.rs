//! Data files: encoding, metadata beside the rows, and verification of bytes.

pub(crate) mod checksum;
pub(crate) mod data_file;
pub(crate) mod encode;
pub mod file;
pub(crate) mod file_statistics;
pub(crate) mod footers;
pub mod rollup;
pub(crate) mod selectivity;
pub(crate) mod statistics;
pub(crate) mod stats;
pub(crate) mod verified_blocks;
