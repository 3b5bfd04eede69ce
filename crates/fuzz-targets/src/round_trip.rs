//! Round trip of a file into a store and back.

use std::fmt::Debug;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use tokio::runtime::{Builder, Runtime};
use tsql_dataset::export::{ExportOptions, export};
use tsql_dataset::ingest::{IngestOptions, ingest};
use tsql_formats::open;
use tsql_store::Store;

/// Returns the runtime of all targets.
pub(super) fn runtime() -> &'static Runtime {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        expect_ok(
            Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build(),
        )
    });
    &RUNTIME
}

/// Unwraps a result that must not be an error for any input.
pub(super) fn expect_ok<T, E: Debug>(done: Result<T, E>) -> T {
    done.expect("this does not depend on the bytes")
}

/// File names, selected by the first byte.
const NAMES: [&str; 4] = [
    "a.json",
    "run.log",
    "tile/xla/train/a.npz",
    "measured.jsonl",
];

/// A file is rejected with an error, or exported byte for byte (npz: array for array). A second ingest adds nothing.
pub(super) fn ingest_round_trip(bytes: &[u8]) {
    let Some((&which, bytes)) = bytes.split_first() else {
        return;
    };
    let name = NAMES[usize::from(which) % NAMES.len()];
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let file = from.join(name);
    fs::create_dir_all(file.parent().expect("it has one")).expect("a folder");
    fs::write(&file, bytes).expect("a file");
    let options = IngestOptions::default().platform("cpu");
    runtime().block_on(async {
        let store = expect_ok(Store::create("memory:").await);
        let inputs = [from.to_str().expect("it is text").to_owned()];
        let Ok(report) = ingest(&store, &inputs, &options).await else {
            return;
        };
        let again = expect_ok(ingest(&store, &inputs, &options).await);
        assert_eq!(again.records, 0, "a second time");
        let exported = expect_ok(export(&store, &to, &ExportOptions::default()).await);
        assert!(exported.damaged.is_empty(), "{:?}", exported.damaged);
        let back = walk(&to);
        assert_eq!(!back.is_empty(), report.files > 0);
        for path in back {
            let back = expect_ok(fs::read(&path));
            let is_npz = back.starts_with(b"PK");
            assert!(
                is_npz || read_decompressed(&path) == read_decompressed(&file),
                "it comes back as another"
            );
        }
    });
}

/// Returns the content of a file without its compression.
fn read_decompressed(file: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut stream, _) = expect_ok(open(file));
    // Reads the data before the damage.
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

/// Returns all files of a folder except the sidecar.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else if path
            .file_name()
            .is_some_and(|name| name != "tsql-export.json")
        {
            found.push(path);
        }
    }
    found
}
