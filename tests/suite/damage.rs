//! Random damage in data files, transaction logs and checkpoints: flipped bits, truncation, exchanged parts and
//! files. Each query then returns the same rows as before, or names the damaged file.
//!
//! `TSQL_TEST_DAMAGES=2000` and `TSQL_TEST_SEED` run more and other cases.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::ipc::writer::StreamWriter;
use fastrand::Rng;
use tokio::runtime::Runtime;
use tsql::{IngestOptions, OptimizeOptions, SessionOptions, Store, VacuumOptions};

use crate::npz::{npz, tile_file};
use crate::support::{Place, files_below, log, wanted as campaign_size};

/// Default number of cases.
const USUAL: u64 = 80;

/// Number of log entries that may be read beside the last checkpoint.
const READ_ENTRIES: usize = 6;

/// Records of the file with pre-aggregates that queries use.
const LARGE: usize = 1 << 16;

/// Tables whose files are damaged.
const TABLES: [&str; 5] = [
    "records",
    "configurations",
    "graphs",
    "environments",
    "sources",
];

/// Kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Flip,
    Overwrite,
    Cut,
    ExchangeParts,
    ExchangeFiles,
}

const KINDS: [Kind; 5] = [
    Kind::Flip,
    Kind::Overwrite,
    Kind::Cut,
    Kind::ExchangeParts,
    Kind::ExchangeFiles,
];

/// Part of a store that is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// Row groups of a data file from an ingest.
    Ingested,
    /// Row groups of a data file from `optimize`.
    Optimized,
    Preaggregates,
    Footer,
    Entry,
    Checkpoint,
}

const TARGETS: [Target; 6] = [
    Target::Ingested,
    Target::Optimized,
    Target::Preaggregates,
    Target::Footer,
    Target::Entry,
    Target::Checkpoint,
];

/// Returns a store of small and large files, from ingests and from `optimize`, with checkpoints.
fn filled(runtime: &Runtime) -> Place {
    let place = Place::new();
    let folder = place.path().join("s");
    runtime.block_on(async {
        let store = Store::create(folder.to_str().unwrap()).await.unwrap();
        let ingest = async |path: PathBuf, platform: Option<&str>| {
            let usual = IngestOptions::default();
            let options = match platform {
                Some(platform) => usual.platform(platform),
                None => usual,
            };
            let path = path.to_str().unwrap().to_owned();
            assert!(store.ingest(&[path], &options).await.unwrap().is_clean());
        };
        for file in 0..13 {
            let platform = if file % 2 == 0 { "k80" } else { "t4" };
            let path = place.write(&format!("logs/{file}.json"), log(file * 7, 30));
            ingest(path, Some(platform)).await;
            if file == 6 {
                let bound = |run: usize| f64::from(u32::try_from(1 + run % 40).unwrap());
                let runs: Vec<_> = (0..LARGE)
                    .map(|run| (bound(run), 100.0 + bound(run / 40), 7.0))
                    .collect();
                let path = "npz/tile/xla/train/net_-1f.npz";
                ingest(place.write(path, npz(&tile_file(3, &runs))), None).await;
                store.optimize(&OptimizeOptions::default()).await.unwrap();
            }
        }
        // Damage of files that no query reads would test nothing.
        let all = VacuumOptions::default().retain(Duration::ZERO);
        store.vacuum(&all).await.unwrap();
    });
    place
}

/// Returns queries of a table that read rows, pre-aggregates and the log. With a platform they read all rows of its
/// partition.
fn queries(table: &str, platform: Option<&str>) -> Vec<String> {
    let mut queries = vec![format!("SELECT count(*) FROM stored.{table}")];
    match (table, platform) {
        ("records", Some(platform)) => queries.push(format!(
            "SELECT * FROM stored.records WHERE platform = '{platform}'"
        )),
        ("records", None) => {
            queries.push("SELECT * FROM stored.records WHERE platform IN ('k80', 't4')".to_owned())
        }
        _ => queries.push(format!("SELECT * FROM stored.{table}")),
    }
    if table == "records" {
        queries.extend(
            [
                "SELECT min(graph_id), max(graph_id), min(line), max(line) FROM stored.records",
                "SELECT platform, dataset, count(*), sum(runtime_ns), min(runtime_ns), max(runtime_ns), avg(runtime_ns) \
                 FROM records GROUP BY platform, dataset ORDER BY platform, dataset",
                "SELECT count(*), sum(config_id) FROM records WHERE platform = 'k80' AND line < 9",
            ]
            .map(str::to_owned),
        );
    }
    queries
}

/// Returns the platform of a data file from its folder name.
fn platform(path: &Path) -> Option<&str> {
    let folder = path.parent()?.file_name()?.to_str()?;
    folder.strip_prefix("platform=")
}

/// Returns a hash of the rows of a result that does not depend on the order of its batches.
fn hash_batches(batches: &[RecordBatch]) -> u64 {
    let numbers = batches.iter().map(|batch| {
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        twox_hash::XxHash3_64::oneshot(&writer.into_inner().unwrap())
    });
    numbers.fold(0, u64::wrapping_add)
}

/// Returns hashes of the results of all queries of a table.
fn query_hashes(
    runtime: &Runtime,
    folder: &Path,
    table: &str,
    platform: Option<&str>,
) -> Result<Vec<u64>, String> {
    runtime.block_on(async {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let store = Store::open(folder.to_str().unwrap()).await;
        let store = store.map_err(|error| text(&error))?;
        let options = SessionOptions::default().sql(format!("SELECT 1 FROM {table}"));
        let context = store.session_with(&options).await;
        let context = context.map_err(|error| text(&error))?;
        let mut hashes = Vec::new();
        for sql in queries(table, platform) {
            let frame = context.sql(&sql).await;
            let frame = frame.map_err(|error| text(&tsql::Error::Query(error)))?;
            let rows = frame.collect().await;
            hashes.push(hash_batches(
                &rows.map_err(|error| text(&tsql::Error::Query(error)))?,
            ));
        }
        Ok(hashes)
    })
}

/// Returns the files of a table that belong to a target.
fn files(folder: &Path, table: &str, target: Target) -> Vec<PathBuf> {
    let mut found = files_below(&folder.join(table));
    found.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let in_log = path.parent().unwrap().ends_with("_delta_log");
        match target {
            Target::Ingested => name.starts_with("part-"),
            Target::Optimized => name.starts_with("optimized-"),
            Target::Preaggregates | Target::Footer => !in_log,
            Target::Entry => in_log && name.ends_with(".json"),
            Target::Checkpoint => in_log && !name.ends_with(".json"),
        }
    });
    if target == Target::Entry {
        // A checkpoint contains older entries.
        found.drain(..found.len().saturating_sub(READ_ENTRIES));
    }
    found
}

/// Returns the start of the pre-aggregates (an Arrow stream in zstd) or the footer of a data file.
fn region_start(bytes: &[u8], target: Target) -> Option<usize> {
    if !matches!(target, Target::Preaggregates | Target::Footer) {
        return Some(0);
    }
    let footer = u32::from_le_bytes(*bytes.split_last_chunk::<8>()?.1.first_chunk()?);
    let footer = bytes.len().checked_sub(footer as usize + 8)?;
    if target == Target::Footer {
        return Some(footer);
    }
    memchr::memmem::rfind(&bytes[..footer], &[0x28, 0xb5, 0x2f, 0xfd])
}

/// Damages bytes. Returns `false` if they did not change.
fn damage(rng: &mut Rng, kind: Kind, from: usize, bytes: &mut Vec<u8>, other: &[u8]) -> bool {
    let before = bytes.clone();
    let at = rng.usize(from..bytes.len());
    match kind {
        Kind::Flip => bytes[at] ^= 1 << rng.u8(..8),
        Kind::Overwrite => {
            let end = (at + rng.usize(1..64)).min(bytes.len());
            rng.fill(&mut bytes[at..end]);
        }
        Kind::Cut => bytes.truncate(at),
        Kind::ExchangeParts => {
            let length = rng.usize(1..64).min((bytes.len() - from) / 2);
            let first = rng.usize(from..=bytes.len() - 2 * length);
            let second = rng.usize(first + length..=bytes.len() - length);
            for place in 0..length {
                bytes.swap(first + place, second + place);
            }
        }
        Kind::ExchangeFiles => *bytes = other.to_vec(),
    }
    *bytes != before
}

#[test]
#[ignore = "full tier"]
fn corruption_is_reported_or_harmless() {
    let (count, seed) = (
        campaign_size("TSQL_TEST_DAMAGES", USUAL),
        campaign_size("TSQL_TEST_SEED", 7),
    );
    eprintln!("TSQL_TEST_DAMAGES={count} TSQL_TEST_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let runtime = Runtime::new().unwrap();
    let place = filled(&runtime);
    let folder = place.path().join("s");
    let mut sound: BTreeMap<(&str, Option<String>), Vec<u64>> = BTreeMap::new();
    let mut counts: BTreeMap<(Target, Kind), [usize; 2]> = BTreeMap::new();
    let mut silent = Vec::new();
    let mut done = 0;
    while done < count {
        let (target, kind) = (*rng.choice(&TARGETS).unwrap(), *rng.choice(&KINDS).unwrap());
        let table = if target == Target::Preaggregates || rng.bool() {
            "records"
        } else {
            rng.choice(&TABLES).unwrap()
        };
        let files = files(&folder, table, target);
        let Some(path) = rng.choice(&files) else {
            continue;
        };
        let whole = std::fs::read(path).unwrap();
        let Some(from) = region_start(&whole, target) else {
            continue;
        };
        // An exchange damages both files.
        let other = rng.choice(&files).unwrap();
        let others = std::fs::read(other).unwrap();
        let platform = platform(path);
        let wanted = sound
            .entry((table, platform.map(str::to_owned)))
            .or_insert_with(|| query_hashes(&runtime, &folder, table, platform).unwrap());
        let mut bytes = whole.clone();
        if !damage(&mut rng, kind, from, &mut bytes, &others) {
            continue;
        }
        std::fs::write(path, &bytes).unwrap();
        if kind == Kind::ExchangeFiles {
            std::fs::write(other, &whole).unwrap();
        }
        let result = catch_unwind(AssertUnwindSafe(|| {
            query_hashes(&runtime, &folder, table, platform)
        }));
        std::fs::write(path, &whole).unwrap();
        if kind == Kind::ExchangeFiles {
            std::fs::write(other, &others).unwrap();
        }
        let [reported, unchanged] = counts.entry((target, kind)).or_default();
        match result {
            Ok(Err(message)) if message.contains(table) => *reported += 1,
            Ok(Ok(hashes)) if hashes == *wanted => *unchanged += 1,
            result => silent.push(format!(
                "{kind:?} of {target:?} {}: {result:?}",
                path.display()
            )),
        }
        done += 1;
    }
    for ((target, kind), [reported, unchanged]) in &counts {
        eprintln!("{target:?} {kind:?}: {reported} reported, {unchanged} unchanged");
    }
    assert!(
        silent.is_empty(),
        "{} of {count}: {silent:#?}",
        silent.len()
    );
}
