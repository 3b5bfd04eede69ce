//! Files of a store or beside it: log entries, pre-aggregates, journals.

use tsql_schema::table;
use tsql_store::{Location, Log, rollup};

use super::round_trip::{expect_ok, runtime};

/// An entry of the log of `records`, after the one that creates the table.
pub(super) fn entry(bytes: &[u8]) {
    let table = table("records").expect("it is a table");
    runtime().block_on(async {
        let location = expect_ok(Location::open("memory:").await);
        let log = expect_ok(Log::new(&location, table));
        expect_ok(log.snapshot_or_create().await);
        expect_ok(log.put_entry(&location, 1, bytes.to_vec()).await);
        let read = log.snapshot().await;
        let _ = log.entry(1).await;
        let _ = log.history().await;
        if let Ok(Some(snapshot)) = read {
            assert!(snapshot.version() <= 1);
            let _ = snapshot.files().len();
        }
    });
}

/// Pre-aggregates of a file. The first two bytes are the number of its rows.
pub(super) fn sums(bytes: &[u8]) {
    if let Some((&rows, bytes)) = bytes.split_first_chunk::<2>() {
        let rows = u64::from(u16::from_le_bytes(rows));
        let _ = rollup::decode(bytes, rows);
    }
}

/// A journal of an earlier run. Appended data is read back, and earlier data is not lost.
#[cfg(target_os = "linux")]
pub(super) fn journal(bytes: &[u8]) {
    use tsql_measure::journal::Journal;

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.journal");
    std::fs::write(&path, bytes).expect("a file");
    let mut left = expect_ok(Journal::open(&path));
    let before = expect_ok(left.lines());
    expect_ok(left.append("the next line"));
    let after = expect_ok(left.lines());
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(after.get(..before.len()), Some(before.as_slice()));
    assert_eq!(after.last(), Some(&Some("the next line".to_owned())));
}

/// This platform has no measurements.
#[cfg(not(target_os = "linux"))]
pub(super) fn journal(_: &[u8]) {}
