//! Splits, features, training data, scores and publications.

use tsql_ml::compare::{CompareOptions, Comparison, Side};
use tsql_ml::features::{FeaturesImported, FeaturesOptions};
use tsql_ml::publish::{PublishOptions, Published};
use tsql_ml::replay::{Replay, ReplayOptions};
use tsql_ml::score::{ScoreMatrix, ScoreOptions, ScoreReport, Scoring};
use tsql_ml::splits::{CreatedSplit, LeakLevel, PartCount, Split, SplitLeaks, SplitOptions};
use tsql_ml::training::{
    RowsOptions, TrainingFilesOptions, TrainingFilesVerified, TrainingManifest, TrainingRows,
};
use tsql_ml::trend::{Trend, TrendOptions};

use super::Store;
use crate::error::Result;

impl Store {
    /// Compares training files with their manifest. Then exports them again into a temporary folder, from the
    /// table versions of the manifest, and compares both. `manifest` is the path of the manifest or of its
    /// folder.
    ///
    /// # Errors
    /// [`crate::Error::Source`] if there is no manifest, or one of another kind; [`crate::Error::Unsupported`] for a manifest
    /// of a newer tsql; failures of the storage. A failed export is a difference, not an error.
    pub async fn verify_training_files(&self, manifest: &str) -> Result<TrainingFilesVerified> {
        tsql_ml::training::verify_training_files(self, manifest).await
    }

    /// Writes records as training files into a directory or a bucket (`s3://bucket/prefix`). It must be empty
    /// or have an earlier export ([`TrainingFilesOptions::overwrite`]). There is a folder for each part of the
    /// split, with grouped rows, labels and features. An interrupted export is not recognized as training
    /// files. The same table versions and options give the same bytes; [`Store::verify_training_files`] checks
    /// this.
    ///
    /// ```
    /// use tsql::Store;
    /// use tsql::training::TrainingFilesOptions;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path().join("files").to_string_lossy().into_owned();
    /// let store = Store::demo().await?;
    /// let options = TrainingFilesOptions::new(["workload_shape"]);
    /// let manifest = store.write_training_files(&folder, &options).await?;
    /// let [part] = &manifest.parts[..] else { panic!() };
    /// assert_eq!((part.name.as_str(), part.groups), ("all", 10));
    /// assert_eq!(part.rows + manifest.excluded.failed, 480);
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] for an unknown feature, split, part or group; [`crate::Error::Empty`] if a part has no rows;
    /// [`crate::Error::Argument`] for invalid options, for rows with a NULL feature, and for a group that exceeds the
    /// size limit; [`crate::Error::CannotCreate`] if the folder has other content, and failures of the storage.
    pub async fn write_training_files(
        &self,
        to: &str,
        options: &TrainingFilesOptions,
    ) -> Result<TrainingManifest> {
        tsql_ml::training::write_training_files(self, to, options).await
    }

    /// Selects the rows of a query for training. They are written once into the user's cache (`TSQL_CACHE`,
    /// `XDG_CACHE_HOME`, `~/.cache`) as a memory-mapped Arrow file. Later calls for the same rows of the same
    /// data use that file. A query that reads files outside of the store, or the current time, is written again
    /// each time.
    ///
    /// Rows are numbered in the order of the query. Without ORDER BY the order is stable for the same table
    /// versions, until `tsql optimize` rewrites them.
    ///
    /// Text and bytes are Utf8 and Binary, dictionaries are decoded; all other columns have the type of the
    /// query.
    ///
    /// # Errors
    /// As [`Store::session`]; [`crate::Error::Sql`] and [`crate::Error::Refused`] for SQL that is not a query, or whose rows
    /// or their order are not deterministic; [`crate::Error::Unknown`] for an unknown group or parameter;
    /// [`crate::Error::Argument`] for invalid options; [`crate::Error::Io`] if the cache cannot be written.
    pub async fn training_rows(&self, sql: &str, options: &RowsOptions) -> Result<TrainingRows> {
        tsql_ml::training::training_rows(self, sql, options).await
    }

    /// Writes the store, at its version, as a portable dataset into a directory or a bucket (`s3://bucket/prefix`). The
    /// target must be empty, have an interrupted publication, or ([`PublishOptions::overwrite`]) a publication.
    ///
    /// Each table and view with rows becomes plain Parquet, in a fixed order of rows: equal data and options give equal
    /// bytes. Data without a meaning outside the store is omitted: tags, the ingest log with its local paths (`sources`
    /// describes the sources), and texts that are only stored for exports.
    ///
    /// # Errors
    /// [`crate::Error::CannotCreate`] if the target has other files, [`crate::Error::Argument`] for an invalid option,
    /// [`crate::Error::Empty`] for a store without rows, and failures of the storage. An interrupted publication is
    /// recognizable as such.
    pub async fn publish(&self, to: &str, options: &PublishOptions) -> Result<Published> {
        tsql_ml::publish::publish(self, to, options).await
    }

    /// Imports features that another program computed, from a file (Parquet, Arrow, CSV, JSON lines, npz) or a query in
    /// parentheses.
    ///
    /// Each row has the configuration's `config_key` (text, 16 bytes, or a row of 16 uint8) and its numbers, as a list
    /// or as one column each. All new rows are one commit. Rejected rows are counted, and the first of each reason are
    /// reported with their lines.
    ///
    /// ```
    /// use tsql::features::FeaturesOptions;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let store = tsql::Store::demo().await?;
    /// let computed = "(SELECT config_key, schedule_numbers(steps) AS numbers FROM configurations)";
    /// let options = FeaturesOptions::new("mine");
    /// let first = store.import_features(computed, &options).await?;
    /// assert_eq!((first.number_count, first.missing), (113, 0));
    /// assert!(first.is_clean() && first.added > 0);
    /// let again = store.import_features(computed, &options).await?;
    /// assert_eq!((again.added, again.unchanged), (0, first.added));
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Argument`] for an invalid name or version, [`crate::Error::Source`] if a column is missing, ambiguous or of
    /// another type, [`crate::Error::Empty`] for a file without rows, [`crate::Error::Query`] if it cannot be read,
    /// [`crate::Error::ReadOnly`] for a past version of a store, and failures of the storage. Nothing is written in these
    /// cases.
    pub async fn import_features(
        &self,
        from: &str,
        options: &FeaturesOptions,
    ) -> Result<FeaturesImported> {
        tsql_ml::features::import_features(self, from, options).await
    }

    /// Compares the records of two sides: `b` relative to `a`.
    ///
    /// The configurations of both sides are sorted and counted as a stream. Memory use is low for any size: 88 bytes
    /// per pair, in a temporary file above 64 MiB.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let store = tsql::Store::demo().await?;
    /// let (a, b) = ("epyc-1t".parse()?, "epyc-2t".parse()?);
    /// let found = store.compare(&a, &b, &tsql::CompareOptions::default()).await?;
    /// assert!(found.all.pairs > 200 && found.all.speedup > Some(1.0));
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] and [`crate::Error::Ambiguous`] for names that cannot be resolved, [`crate::Error::Empty`] if there is
    /// nothing to compare, [`crate::Error::Query`] for an invalid predicate, and failures of the storage.
    pub async fn compare(
        &self,
        a: &Side,
        b: &Side,
        options: &CompareOptions,
    ) -> Result<Comparison> {
        tsql_ml::compare::compare(self, a, b, options).await
    }

    /// Searches the history of each program for places where its level changed.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let store = tsql::Store::demo().await?;
    /// let options = tsql::trend::TrendOptions::default().order("source".parse()?);
    /// let found = store.trend(&options).await?;
    /// assert_eq!(found.changes.len(), 0);
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`trend`](tsql_ml::trend::trend).
    pub async fn trend(&self, options: &TrendOptions) -> Result<Trend> {
        tsql_ml::trend::trend(self, options).await
    }

    /// Replays searches over the tasks of the store: best time so far against draws and seconds.
    ///
    /// # Errors
    /// As [`replay`](tsql_ml::replay::replay).
    pub async fn replay(&self, options: &ReplayOptions) -> Result<Replay> {
        tsql_ml::replay::replay(self, options).await
    }

    /// Scores predictions, in the table of `scoring`: a file (Parquet, Arrow, CSV, JSON lines, npz), or a query in
    /// parentheses.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use tsql::score::{ScoreOptions, Scoring};
    ///
    /// let store = tsql::Store::demo().await?;
    /// let predicted = "(SELECT DISTINCT c.config_key, r.platform, c.steps_count AS prediction
    ///     FROM (SELECT config_id, config_key, length(steps) AS steps_count FROM configurations) AS c
    ///     JOIN records AS r ON r.config_id = c.config_id)";
    /// let report = store.score(Scoring::Tenset, predicted, &ScoreOptions::default()).await?;
    /// let random = report.rows.iter().find(|row| row.predictor == tsql::score::Predictor::Random);
    /// assert_eq!(report.metrics[2], "pairwise_accuracy");
    /// assert!((random.unwrap().scores[2].value.unwrap() - 0.5).abs() < 0.01);
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`score`](tsql_ml::score::score).
    pub async fn score(
        &self,
        scoring: Scoring,
        predictions: &str,
        options: &ScoreOptions,
    ) -> Result<ScoreReport> {
        tsql_ml::score::score(self, scoring, predictions, options).await
    }

    /// Scores several models, names with predictions as for [`Store::score`], on each platform of the selected records.
    ///
    /// # Errors
    /// As [`score_matrix`](tsql_ml::score::score_matrix).
    pub async fn score_matrix(
        &self,
        scoring: Scoring,
        models: &[(String, String)],
        options: &ScoreOptions,
    ) -> Result<ScoreMatrix> {
        tsql_ml::score::score_matrix(self, scoring, models, options).await
    }

    /// Creates the next version of the split `name`; if its newest version has the same digest, returns that
    /// version.
    ///
    /// # Errors
    /// [`crate::Error::Argument`] for an invalid name, ratio or query; [`crate::Error::Empty`] if there is nothing to split;
    /// [`crate::Error::Unknown`] if a hold-out names an unknown unit; [`crate::Error::ReadOnly`] for a store at an old
    /// version, and failures of the storage. On errors nothing is written.
    pub async fn create_split(&self, name: &str, options: &SplitOptions) -> Result<CreatedSplit> {
        tsql_ml::splits::create_split(self, name, options).await
    }

    /// Returns all versions of all splits, by name and version.
    ///
    /// # Errors
    /// Failures of the storage.
    pub async fn splits(&self) -> Result<Vec<Split>> {
        tsql_ml::splits::list_splits(self).await
    }

    /// Returns a split: `NAME@VERSION`, or `NAME` for its newest version.
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] if there is none.
    pub async fn split(&self, name: &str) -> Result<Split> {
        tsql_ml::splits::find_split(self, name).await
    }

    /// Counts the records of a split in each part, in the order train, valid, test, none.
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] if there is no such split, and failures of the storage.
    pub async fn parts_of_split(&self, name: &str) -> Result<Vec<PartCount>> {
        tsql_ml::splits::parts_of_split(self, name).await
    }

    /// Drops a split: `NAME@VERSION`, or `NAME` with all its versions; returns the number of dropped versions.
    /// Version numbers are never reused.
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] if there is none; [`crate::Error::ReadOnly`] for a store at an old version.
    pub async fn drop_split(&self, name: &str) -> Result<u64> {
        tsql_ml::splits::drop_split(self, name).await
    }

    /// Counts leaks between the parts of a split, over its rows. Leaks are not allowed up to `level`; by
    /// default at the levels implied by the split's unit.
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] if there is no such split, and failures of the storage.
    pub async fn check_split(&self, name: &str, level: Option<LeakLevel>) -> Result<SplitLeaks> {
        tsql_ml::splits::check_split(self, name, level).await
    }
}
