//! What is asked of a publication, and what became of it.

use serde::Serialize;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};

/// How to publish, and what people are to know about the dataset.
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

/// Is told the table at work, its rows that are written, and the bytes of all files so far.
pub type PublishProgress = Arc<dyn Fn(&str, u64, u64) + Send + Sync>;

impl PublishOptions {
    /// What the dataset is called; the name of its folder unless it is set.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// What it is, in a sentence or a few; how many records of what unless it is set.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Its licence as SPDX names it: `CC-BY-4.0`.
    #[must_use]
    pub fn license(mut self, license: impl Into<String>) -> Self {
        self.license = Some(license.into());
        self
    }

    /// How to cite it, as BibTeX if possible.
    #[must_use]
    pub fn citation(mut self, citation: impl Into<String>) -> Self {
        self.citation = Some(citation.into());
        self
    }

    /// Who made it: one more author.
    #[must_use]
    pub fn author(mut self, author: impl Into<String>) -> Self {
        self.authors.push(author.into());
        self
    }

    /// Its page.
    #[must_use]
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// Its version: `1.0.0`.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// The day of publication, `2026-11-23`; the day of the newest data unless it is set, so that the same data
    /// are the same bytes whenever they are published.
    #[must_use]
    pub fn date(mut self, date: impl Into<String>) -> Self {
        self.date = Some(date.into());
        self
    }

    /// Replaces a publication that is there already.
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

    /// Memory that sorting may take, in bytes: 1 GB unless it is set. What does not fit goes to temporary files.
    #[must_use]
    pub fn memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }

    /// Told now and then: the table at work, its rows that are written, the bytes of all files so far.
    #[must_use]
    pub fn progress(mut self, told: impl Fn(&str, u64, u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(told));
        self
    }

    /// # Errors
    /// [`Error::Argument`] for a licence that SPDX cannot mean, and a day that is none.
    pub(super) fn checked(&self) -> Result<()> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
        if let Some(license) = &self.license
            && (license.is_empty() || !license.chars().all(is_of_name))
        {
            let reason = format!(
                "`{license}` is no licence as SPDX names it\nhint: CC-BY-4.0, CC0-1.0, Apache-2.0, MIT, ...: \
                 https://spdx.org/licenses; LicenseRef-NAME for one that is not listed"
            );
            let name = "license";
            return Err(Error::Argument { name, reason });
        }
        if let Some(date) = &self.date
            && date.parse::<chrono::NaiveDate>().is_err()
        {
            let reason = format!("`{date}` is no day\nhint: --date 2026-11-23");
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

/// What was published.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Published {
    /// The tables that have rows.
    pub tables: Vec<PublishedTable>,
    /// All files: those of the tables, the card, the metadata and the list of checksums.
    pub file_count: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A table of a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PublishedTable {
    /// Its name, and its folder.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Its files.
    pub file_count: u64,
    /// Their size in bytes.
    pub bytes: u64,
}
