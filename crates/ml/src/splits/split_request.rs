//! Textual request of a split, from the command line and from Python.

use tsql_error::Result;
use tsql_session::SplitUnit;

use super::options::SplitOptions;

/// Textual request of a split; a `None` field takes the value of the preset, or of [`SplitOptions::default`].
///
/// ```
/// use tsql_ml::splits::SplitRequest;
/// let request = SplitRequest { unit: Some("network".to_owned()), ..SplitRequest::default() };
/// assert!(request.options().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitRequest {
    /// Preset: a split of a paper or a dataset.
    pub preset: Option<String>,
    /// Unit that is never divided.
    pub unit: Option<String>,
    /// Ratio of train, valid and test.
    pub ratio: Option<String>,
    /// Seed of the assignment.
    pub seed: i64,
    /// Query whose units are held out.
    pub hold_out: Option<String>,
    /// Query whose rows are split.
    pub query: Option<String>,
}

impl SplitRequest {
    /// Parses the request.
    ///
    /// # Errors
    /// [`tsql_error::Error::Unknown`] for an unknown preset or unit.
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
