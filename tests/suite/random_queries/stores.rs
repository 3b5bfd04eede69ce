//! Stores of random lines, the expected rows of these lines, and the stored rows as Parquet files.

use std::path::PathBuf;

use fastrand::Rng;
use tokio::runtime::Runtime;
use tsql::{IngestOptions, Store};

use super::lines::{self, Line, Outcomes};
use super::results::Row;
use crate::npz::{layout_file, npz, tile_file};
use crate::support::Place;

/// Tables that the random queries read.
pub(super) const TABLES: [&str; 7] = [
    "records",
    "configurations",
    "graphs",
    "environments",
    "sources",
    "nodes",
    "edges",
];

/// Platform names that are difficult for folders, SQL and case-insensitive comparisons.
const PLATFORMS: [&str; 5] = ["a100", "A100", "100", "größe", "o'b x"];

/// Minimum number of records of a large store. Queries over smaller stores do not use pre-aggregates.
pub(super) const LARGE: usize = 1 << 16;

/// A store, and the expected rows of its `tenset` and `measured` lines.
pub(super) struct FilledStore {
    pub(super) place: Place,
    pub(super) store: Store,
    pub(super) expected_rows: Vec<Row>,
    files: usize,
}

impl FilledStore {
    fn new(runtime: &Runtime) -> Self {
        let place = Place::new();
        let folder = place.path().join(".tsql");
        let store = Store::create(folder.to_str().unwrap());
        Self {
            store: runtime.block_on(store).unwrap(),
            place,
            expected_rows: Vec::new(),
            files: 0,
        }
    }

    /// Creates a store with small files of all datasets, each ingested separately.
    pub(super) fn small(runtime: &Runtime, rng: &mut Rng) -> Self {
        let mut filled = Self::new(runtime);
        for platform in PLATFORMS {
            for _ in 0..rng.u8(1..4) {
                let outcomes = *rng
                    .choice(&[Outcomes::Usual, Outcomes::Usual, Outcomes::Bad])
                    .unwrap();
                let count = rng.usize(20..150);
                filled.tenset(runtime, rng, platform, outcomes, count);
            }
        }
        for platform in ["A100", "lap top", "größe"] {
            let count = rng.usize(40..150);
            filled.measured(runtime, rng, platform, Outcomes::Usual, count, false);
        }
        // Whole partitions and files without a runtime.
        filled.tenset(runtime, rng, "t4", Outcomes::Unmeasured, 40);
        filled.measured(runtime, rng, "100", Outcomes::Unmeasured, 30, false);
        filled.tpugraphs(runtime, rng);
        let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/data/graphnet/logs");
        filled.ingest(runtime, logs, None);
        filled.add_later_files(runtime, rng);
        filled
    }

    /// Creates a store with some large files with pre-aggregates, and a few small files without.
    pub(super) fn large(runtime: &Runtime, rng: &mut Rng) -> Self {
        let mut filled = Self::new(runtime);
        for platform in ["a100", "größe", "100"] {
            filled.measured(runtime, rng, platform, Outcomes::Usual, LARGE / 3, true);
        }
        filled.tenset(runtime, rng, "A100", Outcomes::Bad, 4000);
        filled.add_later_files(runtime, rng);
        filled
    }

    /// Adds a file of an existing platform, and one of a new platform.
    fn add_later_files(&mut self, runtime: &Runtime, rng: &mut Rng) {
        self.tenset(runtime, rng, "a100", Outcomes::Usual, 120);
        self.measured(runtime, rng, "new", Outcomes::Bad, 90, false);
    }

    fn tenset(
        &mut self,
        runtime: &Runtime,
        rng: &mut Rng,
        platform: &str,
        outcomes: Outcomes,
        count: usize,
    ) {
        let lines = (0..count).map(|_| lines::tenset(rng, outcomes)).collect();
        self.add_file(runtime, rng, platform, "json", lines);
    }

    fn measured(
        &mut self,
        runtime: &Runtime,
        rng: &mut Rng,
        platform: &str,
        outcomes: Outcomes,
        count: usize,
        brief: bool,
    ) {
        let lines = (0..count)
            .map(|_| lines::measured(rng, outcomes, brief))
            .collect();
        self.add_file(runtime, rng, platform, "jsonl", lines);
    }

    /// Writes the lines to a file, adds some lines that are not records, and ingests it.
    fn add_file(
        &mut self,
        runtime: &Runtime,
        rng: &mut Rng,
        platform: &str,
        extension: &str,
        mut lines: Vec<Line>,
    ) {
        for _ in 0..rng.u8(..3) {
            lines.insert(rng.usize(1..lines.len()), lines::invalid_line(rng));
        }
        self.files += 1;
        let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        let path = self.place.write(
            &format!("logs/{}.{extension}", self.files),
            text.join("\n") + "\n",
        );
        let path = path.to_str().unwrap();
        let numbered = (1..).zip(&lines);
        self.expected_rows.extend(
            numbered.filter_map(|(number, line)| line.expected_row(path, platform, number)),
        );
        self.ingest(runtime, path, Some(platform));
    }

    /// Adds two kernels, one without runtimes, and the layouts of a program.
    fn tpugraphs(&mut self, runtime: &Runtime, rng: &mut Rng) {
        let mut time = || f64::from(rng.u32(50..400));
        let tiles: Vec<(f64, f64, f64)> = (0..40)
            .map(|tile| (f64::from(tile % 16), time(), 100.0))
            .collect();
        let withheld: Vec<(f64, f64, f64)> =
            (0..25).map(|tile| (f64::from(tile), 0.0, 1.0)).collect();
        let layouts: Vec<((i8, i8), f64)> = (0..30)
            .map(|layout| ((layout % 3, layout % 5), time()))
            .collect();
        for (name, arrays) in [
            ("npz/tile/xla/train/a.npz", tile_file(2, &tiles)),
            ("npz/tile/xla/test/b.npz", tile_file(3, &withheld)),
            ("npz/layout/xla/random/valid/c.npz", layout_file(&layouts)),
        ] {
            let path = self.place.write(name, npz(&arrays));
            self.ingest(runtime, path.to_str().unwrap(), None);
        }
    }

    fn ingest(&mut self, runtime: &Runtime, path: &str, platform: Option<&str>) {
        let defaults = IngestOptions::default();
        let options = match platform {
            Some(platform) => defaults.platform(platform),
            None => defaults,
        };
        let inputs = [path.to_owned()];
        let report = runtime
            .block_on(self.store.ingest(&inputs, &options))
            .unwrap();
        assert!(
            report.records > 0 && report.failed_files.is_empty(),
            "{path}: {report:?}"
        );
    }

    /// Writes all rows of each table to a folder with the command, and returns the folder.
    pub(super) fn export(&self, folder: &str) -> PathBuf {
        let folder = self.place.path().join(folder);
        std::fs::create_dir(&folder).unwrap();
        for table in TABLES {
            let file = folder.join(format!("{table}.parquet"));
            let all = format!("SELECT * FROM {table}");
            self.place.ok(&["-o", file.to_str().unwrap(), &all]);
        }
        folder
    }
}
