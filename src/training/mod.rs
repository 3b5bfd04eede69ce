//! Rows of a selection for training, in batches that do not depend on when, where and by how many processes
//! they are read.
//!
//! ```text
//! SQL ─▶ rows, written once and mapped ─▶ shuffled indices ─▶ batches ─▶ prefetch ─▶ training loop
//! ```
//!
//! ```
//! use tsql::Store;
//! use tsql::training::{Position, RowsOptions};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::demo().await?;
//! let sql = "SELECT graph_id, runtime_ns FROM records WHERE status = 'ok'";
//! let options = RowsOptions::default().batch_rows(64).group("graph_id").seed(7);
//! let rows = store.training_rows(sql, &options).await?;
//! let mut epoch = rows.iter(Position::default())?;
//! let first = epoch.next().unwrap()?;
//! let sizes = first.group_sizes.unwrap();
//! assert_eq!(sizes.iter().sum::<u64>(), first.rows.num_rows() as u64);
//! // The position suffices to resume with the second batch, in another process.
//! let position = epoch.position();
//! assert_eq!(rows.iter(position)?.next().unwrap()?.position, position);
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod options;
mod permutation;
mod position;
mod prefetch;
mod round_robin;

mod boundaries;
mod file;
mod plain_types;
mod plan_stream;

mod row_numbers;
mod selection;
mod selection_writer;

mod order;

mod cache;
mod rows;

mod files;

pub use files::{
    FeatureInfo, FileForm, Label, LabelInfo, LargeGroups, LeftOut, ManifestFile, ManifestPart,
    SplitInfo, TrainingFilesOptions, TrainingFilesVerified, TrainingManifest,
};
pub(crate) use files::{
    KeySum, MANIFEST, TRAINING_FILES, file_entry, manifest_version, read_manifest, split_info,
    verify_checksums,
};
pub use options::RowsOptions;
pub(crate) use order::{Order, RankShare, Units};
pub(crate) use permutation::mix64;
pub use position::Position;
pub(crate) use prefetch::{Prefetch, PrefetchOptions};
pub use rows::{RowsIter, TrainingBatch, TrainingRows};
