//! Training files that can be read without tsql: rows with features, labels and groups. There is one folder for
//! each part of a split, and a manifest with all inputs.
//!
//! ```text
//! DIR/
//! ├── manifest.json                 SQL, versions, split, features, label, seed, rows, checksums, records left out
//! ├── SHA256SUMS                    written last: marks the export as complete
//! ├── train/part-00000.parquet      rows by group: query, keys, label, relevance, a list of fixed size for each feature
//! ├── train/group_sizes.txt         rows of each query, one per line: read by LightGBM and `XGBoost`
//! └── valid/..., test/...
//! ```

mod keys;
mod manifest;
mod npz;
mod options;

mod features;
mod imported;

mod key_sum;
mod query;
mod split;

mod group;
mod shards;

mod part_writer;

mod export;

mod verify;

pub(crate) use export::TRAINING_FILES;
pub use export::write_training_files;
pub(crate) use key_sum::KeySum;
pub use manifest::{
    ExcludedRecords, FeatureInfo, ManifestFile, ManifestPart, SplitInfo, TargetInfo,
    TrainingManifest,
};
pub(crate) use manifest::{MANIFEST, file_entry, manifest_version};
pub use options::{FileForm, Label, LargeGroups, TrainingFilesOptions};
pub(crate) use split::split_info;
pub use verify::{TrainingFilesVerified, verify_training_files};
pub(crate) use verify::{read_manifest, verify_checksums};
