//! A split as it is asked for in words, by the command and from Python.

use crate::error::Result;
use crate::query::SplitUnit;

use super::options::SplitOptions;

/// A split as it is asked for in words; what is `None` is as its preset, or as [`SplitOptions::default`] has it.
///
/// ```
/// use tsql::splits::AskedSplit;
/// let asked = AskedSplit { unit: Some("network".to_owned()), ..AskedSplit::default() };
/// assert!(asked.options().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedSplit {
    /// A split of a paper or a dataset.
    pub preset: Option<String>,
    /// What stays together.
    pub unit: Option<String>,
    /// Shares of train, valid and test.
    pub ratio: Option<String>,
    /// Another one is another split.
    pub seed: i64,
    /// The query whose units are held out.
    pub hold_out: Option<String>,
    /// The query whose rows it is about.
    pub query: Option<String>,
}

impl AskedSplit {
    /// How it is made.
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] for a preset or a unit that there is not.
    pub fn options(self) -> Result<SplitOptions> {
        let mut options = match &self.preset {
            Some(preset) => SplitOptions::preset(preset)?,
            None => SplitOptions::default(),
        };
        if let Some(unit) = &self.unit {
            options = options.unit(SplitUnit::parse(unit)?);
        }
        if let Some(ratio) = self.ratio {
            options = options.ratio(ratio);
        }
        if let Some(sql) = self.hold_out {
            options = options.hold_out(sql);
        }
        if let Some(sql) = self.query {
            options = options.query(sql);
        }
        Ok(options.seed(self.seed))
    }
}
