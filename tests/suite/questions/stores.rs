//! Stores of random lines, what their lines say, and their rows as Parquet files.

use std::path::PathBuf;

use fastrand::Rng;
use tokio::runtime::Runtime;
use tsql::{IngestOptions, Store};

use super::answers::Row;
use super::lines::{self, Line, Luck};
use crate::npz::{layout_file, npz, tile_file};
use crate::support::Place;

/// Tables that questions name.
pub(super) const TABLES: [&str; 7] = [
    "records",
    "configurations",
    "graphs",
    "environments",
    "sources",
    "nodes",
    "edges",
];

/// Names that folders, SQL and case-blind comparisons may stumble over.
const PLATFORMS: [&str; 5] = ["a100", "A100", "100", "größe", "o'b x"];

/// Records of a large store at least: smaller ones do not answer from sums.
pub(super) const LARGE: usize = 1 << 16;

/// A store, and what its lines of `tenset` and `measured` say.
pub(super) struct Filled {
    pub(super) place: Place,
    pub(super) store: Store,
    pub(super) says: Vec<Row>,
    files: usize,
}

impl Filled {
    fn new(runtime: &Runtime) -> Self {
        let place = Place::new();
        let folder = place.path().join(".tsql");
        let store = Store::create(folder.to_str().unwrap());
        Self {
            store: runtime.block_on(store).unwrap(),
            place,
            says: Vec::new(),
            files: 0,
        }
    }

    /// Small files of all datasets, each ingested by itself.
    pub(super) fn small(runtime: &Runtime, rng: &mut Rng) -> Self {
        let mut filled = Self::new(runtime);
        for platform in PLATFORMS {
            for _ in 0..rng.u8(1..4) {
                let luck = *rng.choice(&[Luck::Usual, Luck::Usual, Luck::Bad]).unwrap();
                let count = rng.usize(20..150);
                filled.tenset(runtime, rng, platform, luck, count);
            }
        }
        for platform in ["A100", "lap top", "größe"] {
            let count = rng.usize(40..150);
            filled.measured(runtime, rng, platform, Luck::Usual, count, false);
        }
        // Whole partitions and files without a runtime.
        filled.tenset(runtime, rng, "t4", Luck::None, 40);
        filled.measured(runtime, rng, "100", Luck::None, 30, false);
        filled.tpugraphs(runtime, rng);
        let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/data/graphnet/logs");
        filled.ingest(runtime, logs, None);
        filled.later(runtime, rng);
        filled
    }

    /// Some large files that keep sums, and a few small ones that do not.
    pub(super) fn large(runtime: &Runtime, rng: &mut Rng) -> Self {
        let mut filled = Self::new(runtime);
        for platform in ["a100", "größe", "100"] {
            filled.measured(runtime, rng, platform, Luck::Usual, LARGE / 3, true);
        }
        filled.tenset(runtime, rng, "A100", Luck::Bad, 4000);
        filled.later(runtime, rng);
        filled
    }

    /// Files of platforms that others have, and of a new one.
    fn later(&mut self, runtime: &Runtime, rng: &mut Rng) {
        self.tenset(runtime, rng, "a100", Luck::Usual, 120);
        self.measured(runtime, rng, "new", Luck::Bad, 90, false);
    }

    fn tenset(
        &mut self,
        runtime: &Runtime,
        rng: &mut Rng,
        platform: &str,
        luck: Luck,
        count: usize,
    ) {
        let lines = (0..count).map(|_| lines::tenset(rng, luck)).collect();
        self.file(runtime, rng, platform, "json", lines);
    }

    fn measured(
        &mut self,
        runtime: &Runtime,
        rng: &mut Rng,
        platform: &str,
        luck: Luck,
        count: usize,
        brief: bool,
    ) {
        let lines = (0..count)
            .map(|_| lines::measured(rng, luck, brief))
            .collect();
        self.file(runtime, rng, platform, "jsonl", lines);
    }

    /// The lines as a file, with some among them that are no records.
    fn file(
        &mut self,
        runtime: &Runtime,
        rng: &mut Rng,
        platform: &str,
        ending: &str,
        mut lines: Vec<Line>,
    ) {
        for _ in 0..rng.u8(..3) {
            lines.insert(rng.usize(1..lines.len()), lines::no_record(rng));
        }
        self.files += 1;
        let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        let path = self.place.write(
            &format!("logs/{}.{ending}", self.files),
            text.join("\n") + "\n",
        );
        let path = path.to_str().unwrap();
        let numbered = (1..).zip(&lines);
        self.says
            .extend(numbered.filter_map(|(number, line)| line.row(path, platform, number)));
        self.ingest(runtime, path, Some(platform));
    }

    /// Two kernels, the runtimes of one withheld, and the layouts of a program.
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
        let usual = IngestOptions::default();
        let options = match platform {
            Some(platform) => usual.platform(platform),
            None => usual,
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

    /// A folder with all rows of each table, as the command writes them.
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
