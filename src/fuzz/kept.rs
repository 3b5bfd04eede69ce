//! What lies in a store or beside it: entries of the log, sums, journals.

use crate::schema::table;
use crate::store::{Location, Log, rollup};

use super::whole::{runtime, settled};

/// An entry of the log of `records` behind the one that makes the table.
pub(super) fn entry(bytes: &[u8]) {
    let table = table("records").expect("it is a table");
    runtime().block_on(async {
        let location = settled(Location::open("memory:").await);
        let log = settled(Log::new(&location, table));
        settled(log.snapshot_or_create().await);
        settled(log.put_entry(&location, 1, bytes.to_vec()).await);
        let read = log.snapshot().await;
        let _ = log.entry(1).await;
        let _ = log.history().await;
        if let Ok(Some(snapshot)) = read {
            assert!(snapshot.version() <= 1);
            let _ = snapshot.files().len();
        }
    });
}

/// The sums of a file of so many rows as the first two bytes say.
pub(super) fn sums(bytes: &[u8]) {
    if let Some((&rows, bytes)) = bytes.split_first_chunk::<2>() {
        let rows = u64::from(u16::from_le_bytes(rows));
        let _ = rollup::decode(bytes, rows);
    }
}

/// A journal that a run left: what is appended is read back, and nothing of what was there before is lost.
#[cfg(all(feature = "measure", target_os = "linux"))]
pub(super) fn journal(bytes: &[u8]) {
    use tsql_measure::journal::Journal;

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.journal");
    std::fs::write(&path, bytes).expect("a file");
    let mut left = settled(Journal::open(&path));
    let before = settled(left.lines());
    settled(left.append("the next line"));
    let after = settled(left.lines());
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(after.get(..before.len()), Some(before.as_slice()));
    assert_eq!(after.last(), Some(&Some("the next line".to_owned())));
}

/// Nothing is measured here.
#[cfg(not(all(feature = "measure", target_os = "linux")))]
pub(super) fn journal(_: &[u8]) {}
