//! Ingest with a panicking reader, and inputs designed to exhaust memory.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use tsql_error::Error;
use tsql_session::open_session;
use tsql_store::Store;

use super::logs::injected_panic;
use super::{AppendOptions, Event, IngestOptions, Report};
use crate::check::check;
use crate::ingest::{append, ingest};

fn log(lines: std::ops::Range<u32>) -> String {
    let mut text = String::new();
    for n in lines {
        let _ = writeln!(
            text,
            r#"{{"i": [["[\"mm\", 8]", "llvm", [8, 64], "", 1, []], [[], [["SP", 1, 0, 64, [{n}], 1]]]], "r": [[0.5], 0, 3.25, 1697658022], "v": "v0.6"}}"#
        );
    }
    text
}

async fn ingest_folder(store: &Store, folder: &Path) -> Report {
    let inputs = [folder.to_string_lossy().into_owned()];
    let options = IngestOptions {
        platform: Some("p".to_owned()),
        ..IngestOptions::default()
    };
    ingest(store, &inputs, &options).await.unwrap()
}

async fn number(store: &Store, sql: &str) -> i64 {
    let context = open_session(store).await.unwrap();
    let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
    batches[0].column(0).as_primitive::<Int64Type>().value(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_that_of_the_files_as_they_lie_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let packed = |text: String| zstd::encode_all(text.as_bytes(), 1).unwrap();
    std::fs::write(folder.path().join("a.json.zst"), packed(log(0..9000))).unwrap();
    std::fs::write(folder.path().join("b.json"), log(9000..9100)).unwrap();
    let seen = Arc::new(Mutex::new((0, 0)));
    let told = Arc::clone(&seen);
    let options = IngestOptions::default()
        .platform("p")
        .progress(move |event| {
            let mut seen = told.lock().unwrap();
            match event {
                Event::Planned { bytes, .. } => seen.0 = bytes,
                Event::Bytes(bytes) => seen.1 += bytes,
                Event::File(_) => {}
            }
        });
    let store = Store::create("memory:").await.unwrap();
    let inputs = [folder.path().to_string_lossy().into_owned()];
    let report = ingest(&store, &inputs, &options).await.unwrap();
    assert_eq!(report.records, 9100);
    let (planned, read) = *seen.lock().unwrap();
    assert!(
        planned > 0 && planned < log(0..9000).len() as u64 / 2,
        "{planned}"
    );
    assert_eq!(read, planned);
}

/// No other test may change this flag.
#[tokio::test(flavor = "multi_thread")]
async fn a_panic_ends_its_file_and_a_later_version_goes_on_from_there() {
    let folder = tempfile::tempdir().unwrap();
    let marker = String::from_utf8(injected_panic::MARKER.to_vec()).unwrap();
    // Chunks of records before and after the line that the reader panics on.
    let text = format!("{}{marker}\n{}", log(0..12_000), log(12_000..20_000));
    std::fs::write(folder.path().join("a.json"), &text).unwrap();
    std::fs::write(folder.path().join("b.json"), &text).unwrap();
    std::fs::write(folder.path().join("c.json"), log(0..10)).unwrap();
    let store = Store::create("memory:").await.unwrap();
    let report = ingest_folder(&store, folder.path()).await;
    assert!(!report.is_clean());
    let failed: Vec<&str> = report
        .failed_files
        .iter()
        .map(|(path, _)| path.as_str())
        .collect();
    assert!(
        failed[0].ends_with("a.json") && failed[1].ends_with("b.json"),
        "{failed:?}"
    );
    let reason = &report.failed_files[0].1;
    assert!(
        reason.starts_with("line 12001: the reader failed on it: a test"),
        "{reason}"
    );
    assert_eq!(
        report.files, 2,
        "the third file goes on, the second is the first"
    );
    let kept = number(&store, "SELECT count(*) FROM records WHERE line < 12001").await;
    assert!(kept > 10, "the lines before are stored");
    assert_eq!(
        number(&store, "SELECT count(*) FROM records WHERE line > 12000").await,
        0
    );
    assert!(check(&store).await.unwrap().damage.is_empty());
    // A stream ends there with an error.
    let options = AppendOptions::new("s", "p");
    let error = append(&store, std::io::Cursor::new(text.clone()), &options, |_| {}).await;
    let Err(Error::Source { reason, .. }) = error else {
        panic!("{error:?}")
    };
    assert!(reason.contains("the reader failed on it"), "{reason}");

    injected_panic::IS_ENABLED.store(false, Ordering::Relaxed);
    let report = ingest_folder(&store, folder.path()).await;
    assert_eq!((report.rejects, report.failed_files.len()), (1, 0));
    let records =
        "SELECT count(*) FROM records JOIN files USING (source_id) WHERE name LIKE '%a.json'";
    let distinct = records.replace("count(*)", "count(DISTINCT line)");
    assert_eq!(number(&store, &distinct).await, 20_000);
    assert!(check(&store).await.unwrap().damage.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_files_of_one_line_are_batched_together() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..2_500 {
        std::fs::write(folder.path().join(format!("{n}.json")), log(n..n + 1)).unwrap();
    }
    let store = Store::create("memory:").await.unwrap();
    assert_eq!(ingest_folder(&store, folder.path()).await.records, 2_500);
    assert_eq!(
        number(&store, "SELECT count(DISTINCT source_id) FROM records").await,
        2_500
    );
}

/// `records JOIN sources USING (source_id)` finds the file of a record.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_grew_is_one_row_of_sources() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create("memory:").await.unwrap();
    let path = folder.path().join("a.json");
    for (end, label) in [(3, "1"), (5, "2"), (9, "2")] {
        std::fs::write(&path, log(0..end)).unwrap();
        let options = IngestOptions::default().platform("p");
        let options = options.labels([("night", label), ("b", "x")]);
        let inputs = [folder.path().to_string_lossy().into_owned()];
        ingest(&store, &inputs, &options).await.unwrap();
    }
    std::fs::write(folder.path().join("b.json"), log(20..21)).unwrap();
    ingest_folder(&store, folder.path()).await;
    let last = log(0..9).len();
    for (sql, wanted) in [
        (
            "SELECT count(*) FROM records JOIN sources USING (source_id)",
            10,
        ),
        (
            "SELECT count(*) FROM records JOIN files USING (source_id)",
            10,
        ),
        (
            "SELECT count(*) FROM records NATURAL JOIN (SELECT source_id, name FROM sources)",
            10,
        ),
        ("SELECT count(*) FROM sources", 2),
        ("SELECT count(*) FROM source_segments", 4),
        ("SELECT count(*) FROM stored.source_segments", 4),
        ("SELECT count(*) FROM stored.sources", 4),
        (
            "SELECT record_count FROM sources WHERE name LIKE '%a.json'",
            9,
        ),
        (
            "SELECT line_count FROM sources WHERE name LIKE '%a.json'",
            9,
        ),
        ("SELECT segments FROM sources WHERE name LIKE '%a.json'", 3),
        (
            "SELECT size_bytes FROM sources WHERE name LIKE '%a.json'",
            i64::try_from(last).unwrap(),
        ),
        (
            "SELECT count(*) FROM sources WHERE labels = 'b=x' || chr(10) || 'night=2'",
            1,
        ),
        (
            "SELECT count(*) FROM sources WHERE first_ingested_at < ingested_at",
            1,
        ),
        (
            "SELECT count(*) FROM (SELECT * FROM sources EXCEPT SELECT * FROM files)",
            0,
        ),
        (
            "SELECT count(*) FROM sources AS s JOIN source_segments AS p ON p.source_id = s.source_id \
             AND p.segment = s.segments - 1 AND p.content_hash = s.content_hash AND p.end_byte = s.size_bytes \
             AND p.path = s.path AND p.ingested_at = s.ingested_at",
            2,
        ),
    ] {
        assert_eq!(number(&store, sql).await, wanted, "{sql}");
    }
    // Unchanged, under either name.
    let version = store.snapshot("sources").await.unwrap().unwrap().version();
    for table in ["sources", "source_segments"] {
        let at = format!("{table}@{}", version - 1).parse().unwrap();
        let then = store.at(&at).await.unwrap();
        let records = "SELECT count(*) FROM records JOIN sources USING (source_id)";
        assert_eq!(number(&then, records).await, 9, "{table}");
        assert_eq!(
            number(&then, "SELECT count(*) FROM sources").await,
            1,
            "{table}"
        );
    }
    assert!(check(&store).await.unwrap().damage.is_empty());
}
