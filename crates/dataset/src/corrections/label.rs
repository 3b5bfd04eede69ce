//! Source labels in corrections.

use datafusion::logical_expr::Expr;
use datafusion::prelude::{col, lit};
use tsql_adapters::formats::platform;
use tsql_error::{Error, Result};

/// A label of a source, with its corrected value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Label {
    /// Platform of its records.
    Platform(String),
    /// Collection. `None` removes it.
    Collection(Option<String>),
    /// Split. `None` removes it.
    Split(Option<String>),
}

impl std::str::FromStr for Label {
    type Err = Error;

    /// Parses `platform=k80`. `split=` removes the label.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = |reason: String| Error::Argument {
            name: "label",
            reason,
        };
        let known = "hint: platform=NAME, collection=NAME and split=NAME can be corrected";
        let Some((name, value)) = text.split_once('=') else {
            return Err(wrong(format!("`{text}` is not NAME=VALUE\n{known}")));
        };
        let maybe = || (!value.is_empty()).then(|| value.to_owned());
        match name {
            "platform" => {
                platform::check(value, "--label")?;
                Ok(Self::Platform(value.to_owned()))
            }
            "collection" => Ok(Self::Collection(maybe())),
            "split" => Ok(Self::Split(maybe())),
            _ if tsql_schema::table("records")?
                .columns
                .iter()
                .any(|column| column.name == name) =>
            {
                Err(wrong(format!(
                    "`{name}` was measured or computed, and cannot be changed\n\
                     hint: `tsql retract` removes wrong measurements from all results"
                )))
            }
            _ => Err(wrong(format!("no label `{name}`\n{known}"))),
        }
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, value) = self.column_and_value();
        write!(formatter, "{name}={}", value.unwrap_or_default())
    }
}

impl Label {
    /// Returns the column and the value.
    pub(super) fn column_and_value(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Platform(name) => ("platform", Some(name)),
            Self::Collection(name) => ("collection", name.as_deref()),
            Self::Split(name) => ("split", name.as_deref()),
        }
    }

    /// Returns a filter for rows with another value.
    pub(super) fn differs_filter(&self) -> Expr {
        let (name, value) = self.column_and_value();
        match value {
            Some(value) => col(name).eq(lit(value)).is_not_true(),
            None => col(name).is_not_null(),
        }
    }
}
