//! Rows of a selection for training, in batches that do not depend on when, where and by how many processes
//! they are read.
//!
//! ```text
//! SQL ─▶ rows, written once and mapped ─▶ shuffled indices ─▶ batches ─▶ prefetch ─▶ training loop
//! ```
//!
//! ```
//! use tsql_ml::training::Position;
//! use tsql_ml::training::RowsOptions;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = tsql_dataset::demo::create_demo().await?;
//! let sql = "SELECT graph_id, runtime_ns FROM records WHERE status = 'ok'";
//! let options = RowsOptions::default().batch_rows(64).group("graph_id").seed(7);
//! let rows = tsql_ml::training::training_rows(&store, sql, &options).await?;
//! let mut epoch = rows.iter(Position::default())?;
//! let first = epoch.next().unwrap()?;
//! let sizes = first.group_sizes.unwrap();
//! assert_eq!(sizes.iter().sum::<u64>(), first.rows.num_rows() as u64);
//! // The position suffices to resume with the second batch, in another process.
//! let position = epoch.position();
//! assert_eq!(rows.iter(position)?.next().unwrap()?.position, position);
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

mod loader_options;
mod options;
mod permutation;
mod position;
mod prefetch;
mod round_robin;

mod boundaries;
mod file;
mod plan_stream;

mod row_numbers;
mod selection;
mod selection_writer;

mod order;
mod steps;

mod cache;
mod rows;

mod files;

pub use files::{verify_training_files, write_training_files};
pub use rows::training_rows;

pub use files::{
    ExcludedRecords, FeatureInfo, FileForm, Label, LargeGroups, ManifestFile, ManifestPart,
    SplitInfo, TargetInfo, TrainingFilesOptions, TrainingFilesVerified, TrainingManifest,
};
pub(crate) use files::{
    KeySum, MANIFEST, TRAINING_FILES, file_entry, manifest_version, read_manifest, split_info,
    verify_checksums,
};
pub(crate) use loader_options::{LoaderOptions, loader_setters};
pub use options::RowsOptions;
pub(crate) use order::{Order, Units};
pub(crate) use permutation::mix64;
pub use position::Position;
pub use rows::{RowsIter, TrainingBatch, TrainingRows};
pub use steps::Steps;
