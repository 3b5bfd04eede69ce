//! Options and result of a publication.

use std::fmt;
use std::sync::Arc;

use derive_setters::Setters;
use serde::Serialize;
use tsql_error::{Error, Result};

/// Options of a publication, and metadata of the dataset.
#[derive(Clone, Default, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct PublishOptions {
    /// Sets the title. Default: the name of the folder.
    #[setters(into)]
    pub(crate) title: Option<String>,
    /// Sets a description of a sentence or a few. Default: the number of records, configurations and graphs.
    #[setters(into)]
    pub(crate) description: Option<String>,
    /// Sets the licence, as an SPDX identifier: `CC-BY-4.0`.
    #[setters(into)]
    pub(crate) license: Option<String>,
    /// Sets the citation, preferably as BibTeX.
    #[setters(into)]
    pub(crate) citation: Option<String>,
    #[setters(skip)]
    pub(crate) authors: Vec<String>,
    /// Sets the URL.
    #[setters(into)]
    pub(crate) url: Option<String>,
    /// Sets the version: `1.0.0`.
    #[setters(into)]
    pub(crate) version: Option<String>,
    /// Sets the day of publication, `2026-11-23`. Default: the day of the newest data, so equal data give equal bytes
    /// at any time.
    #[setters(into)]
    pub(crate) date: Option<String>,
    /// Replaces an existing publication.
    pub(crate) overwrite: bool,
    /// Only counts the rows.
    pub(crate) dry_run: bool,
    /// Sets the memory for sorting in bytes. Default: 1 GB. Larger data is spilled to temporary files.
    pub(crate) memory_limit_bytes: Option<usize>,
    #[setters(skip)]
    pub(crate) progress: Option<PublishProgress>,
}

/// Progress callback: table, its written rows, and bytes of all files so far.
pub type PublishProgress = Arc<dyn Fn(&str, u64, u64) + Send + Sync>;

impl PublishOptions {
    /// Adds an author.
    #[must_use]
    pub fn author(mut self, author: impl Into<String>) -> Self {
        self.authors.push(author.into());
        self
    }

    /// Sets the progress callback: table, its written rows, bytes of all files so far.
    #[must_use]
    pub fn progress(mut self, callback: impl Fn(&str, u64, u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(callback));
        self
    }

    /// Validates the options.
    ///
    /// # Errors
    /// [`Error::Argument`] for an invalid SPDX identifier or date.
    pub(super) fn validate(&self) -> Result<()> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
        if let Some(license) = &self.license
            && (license.is_empty() || !license.chars().all(is_of_name))
        {
            let reason = format!(
                "`{license}` is not an SPDX license identifier\n\
                 hint: use CC-BY-4.0, CC0-1.0, Apache-2.0, MIT, ... (https://spdx.org/licenses), \
                 or LicenseRef-NAME for an unlisted license"
            );
            let name = "license";
            return Err(Error::Argument { name, reason });
        }
        if let Some(date) = &self.date
            && date.parse::<chrono::NaiveDate>().is_err()
        {
            let reason = format!("`{date}` is not a date\nhint: --date 2026-11-23");
            let name = "date";
            return Err(Error::Argument { name, reason });
        }
        Ok(())
    }
}

impl fmt::Debug for PublishOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PublishOptions")
            .field("title", &self.title)
            .field("license", &self.license)
            .field("version", &self.version)
            .field("overwrite", &self.overwrite)
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}

/// Result of a publication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Published {
    /// Tables with rows.
    pub tables: Vec<PublishedTable>,
    /// Number of all files: tables, card, metadata and checksum list.
    pub file_count: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A table of a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PublishedTable {
    /// Name, and folder.
    pub name: String,
    /// Number of rows.
    pub rows: u64,
    /// Number of files.
    pub file_count: u64,
    /// Their size in bytes.
    pub bytes: u64,
}
