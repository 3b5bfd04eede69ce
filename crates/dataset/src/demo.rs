//! The built-in sample: the small dataset of `data/`, in memory.

use tsql_error::{Error, Result};
use tsql_folders::Scratch;
use tsql_store::Store;

use crate::ingest::{IngestOptions, ingest};

macro_rules! files {
    ($($platform:literal / $name:literal),* $(,)?) => {
        [$(($platform, $name, include_bytes!(concat!("../data/", $platform, "/", $name)))),*]
    };
}

/// Platform, file name and content of each file of the sample.
const FILES: &[(&str, &str, &[u8])] = &files![
    "epyc-1t" / "conv2d_nhwc-1x28x28x16x8x3x3x1.json",
    "epyc-1t" / "matmul-128x128x128.json",
    "epyc-1t" / "matmul-256x96x192.json",
    "epyc-1t" / "softmax-256x480.json",
    "epyc-1t" / "transpose-512x384.json",
    "epyc-2t" / "conv2d_nhwc-1x28x28x16x8x3x3x1.json",
    "epyc-2t" / "matmul-128x128x128.json",
    "epyc-2t" / "matmul-256x96x192.json",
    "epyc-2t" / "softmax-256x480.json",
    "epyc-2t" / "transpose-512x384.json",
];

/// Creates an in-memory store with the sample data: real timings of small kernels on one machine.
///
/// # Errors
/// [`Error::Io`] if a temporary file cannot be written.
pub async fn create_demo() -> Result<Store> {
    let folder = Scratch::new()?;
    let store = Store::create("memory:").await?;
    for (platform, name, content) in FILES {
        let directory = folder.path().join(platform);
        std::fs::create_dir_all(&directory).map_err(Error::io(&directory))?;
        let path = directory.join(name);
        std::fs::write(&path, content).map_err(Error::io(&path))?;
    }
    let pattern = folder.path().join("*").to_string_lossy().into_owned();
    ingest(&store, &[pattern], &IngestOptions::default()).await?;
    Ok(store)
}
