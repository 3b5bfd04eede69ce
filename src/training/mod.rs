//! Rows of a selection for training: batches that are the same whenever, wherever and by however many they are read.
//!
//! ```text
//! SQL ─▶ rows, written once and mapped ─▶ shuffle by place ─▶ batches ─▶ made ahead ─▶ a training loop
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
//! // All that is needed to go on with the second batch, in another process.
//! let position = epoch.position();
//! assert_eq!(rows.iter(position)?.next().unwrap()?.position, position);
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod options;
mod permutation;
mod position;
mod prefetch;
mod turns;

mod boundaries;
mod file;
mod readable;
mod streamed;

mod numbered;
mod selection;
mod written;

mod order;

mod cache;
mod rows;

mod files;

pub use files::{
    FeatureTold, FileForm, Label, LabelTold, LargeGroups, LeftOut, ManifestFile, ManifestPart,
    SplitTold, TrainingFilesOptions, TrainingFilesVerified, TrainingManifest,
};
pub(crate) use files::{
    KeySum, MANIFEST, TRAINING_FILES, compared, file_told, manifest_version, read, split_told,
};
pub use options::RowsOptions;
pub(crate) use order::{Order, Share, Units};
pub(crate) use permutation::mixed;
pub use position::Position;
pub(crate) use prefetch::{Ahead, Prefetch};
pub use rows::{RowsIter, TrainingBatch, TrainingRows};
