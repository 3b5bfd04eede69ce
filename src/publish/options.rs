//! Options and result of a publication.

use serde::Serialize;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Options of a publication, and metadata of the dataset.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct PublishOptions {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) citation: Option<String>,
    pub(crate) authors: Vec<String>,
    pub(crate) url: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) date: Option<String>,
    pub(crate) overwrite: bool,
    pub(crate) dry_run: bool,
    pub(crate) memory_limit_bytes: Option<usize>,
    pub(crate) progress: Option<PublishProgress>,
}

/// Progress callback: table, its written rows, and bytes of all files so far.
pub type PublishProgress = Arc<dyn Fn(&str, u64, u64) + Send + Sync>;

impl PublishOptions {
    /// Sets the title. Default: the name of the folder.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets a description of a sentence or a few. Default: the number of records, configurations and graphs.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the licence, as an SPDX identifier: `CC-BY-4.0`.
    #[must_use]
    pub fn license(mut self, license: impl Into<String>) -> Self {
        self.license = Some(license.into());
        self
    }

    /// Sets the citation, preferably as BibTeX.
    #[must_use]
    pub fn citation(mut self, citation: impl Into<String>) -> Self {
        self.citation = Some(citation.into());
        self
    }

    /// Adds an author.
    #[must_use]
    pub fn author(mut self, author: impl Into<String>) -> Self {
        self.authors.push(author.into());
        self
    }

    /// Sets the URL.
    #[must_use]
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// Sets the version: `1.0.0`.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets the day of publication, `2026-11-23`. Default: the day of the newest data, so equal data give equal bytes
    /// at any time.
    #[must_use]
    pub fn date(mut self, date: impl Into<String>) -> Self {
        self.date = Some(date.into());
        self
    }

    /// Replaces an existing publication.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Only counts the rows.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Sets the memory for sorting in bytes. Default: 1 GB. Larger data is spilled to temporary files.
    #[must_use]
    pub fn memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }

    /// Sets the progress callback: table, its written rows, bytes of all files so far.
    #[must_use]
    pub fn progress(mut self, told: impl Fn(&str, u64, u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(told));
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
