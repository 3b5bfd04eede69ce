//! Formats of GraphNet files, whose content the crate `tsql_graphnet` reads and writes.

pub use tsql_graphnet::{NAME, log, meta, program, sample, sample_key};

use crate::{DocumentFormat, Format};
use sample::METADATA;

/// Samples: folders of files, also in archives.
#[derive(Debug)]
pub struct Samples;

/// Samples of the GraphNet hub: Parquet files with rows `(path, content, source_folder)`.
#[derive(Debug)]
pub struct Hub;

/// Benchmark logs.
#[derive(Debug)]
pub struct BenchmarkLog;

impl Format for Samples {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "a sample of GraphNet"
    }
}

impl DocumentFormat for Samples {
    fn matches_member(&self, name: &str) -> bool {
        name == METADATA || name.ends_with(&format!("/{METADATA}"))
    }
}

impl Format for Hub {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "a Parquet file of GraphNet's hub"
    }
}

impl DocumentFormat for Hub {
    fn has_magic(&self, head: &[u8]) -> bool {
        head.starts_with(b"PAR1")
    }
}

impl Format for BenchmarkLog {
    fn dataset(&self) -> &'static str {
        NAME
    }

    fn name(&self) -> &'static str {
        "graphnet_log"
    }

    fn description(&self) -> &'static str {
        "a benchmark log of GraphNet"
    }
}

impl DocumentFormat for BenchmarkLog {
    fn matches_text(&self, head: &[u8]) -> bool {
        log::is_log(head)
    }
}
