//! Files for training that need no tsql: rows with features, labels and groups, a folder for each part of a split, and a manifest of all
//! that they follow from.
//!
//! ```text
//! DIR/
//! ├── manifest.json                 SQL, versions, split, features, label, seed, rows, checksums, what was left out
//! ├── SHA256SUMS                    comes last: without it there are no files for training
//! ├── train/part-00000.parquet      rows by group: query, keys, label, relevance, a list of fixed size for each feature
//! ├── train/group_sizes.txt         rows of each query, a line each: what LightGBM and `XGBoost` read
//! └── valid/..., test/...
//! ```

mod keys;
mod manifest;
mod npz;
mod options;

mod features;
mod imported;

mod query;
mod split;
mod sums;

mod group;
mod shards;

mod part;

mod written;

mod verify;

pub use manifest::{
    FeatureTold, LabelTold, LeftOut, ManifestFile, ManifestPart, SplitTold, TrainingManifest,
};
pub(crate) use manifest::{MANIFEST, file_told, manifest_version};
pub use options::{FileForm, Label, LargeGroups, TrainingFilesOptions};
pub(crate) use split::split_told;
pub(crate) use sums::KeySum;
pub use verify::TrainingFilesVerified;
pub(crate) use verify::{compared, read};
pub(crate) use written::TRAINING_FILES;
