//! A label of a source, as a correction sets it.

use datafusion::logical_expr::Expr;
use datafusion::prelude::{col, lit};

use crate::error::{Error, Result};
use crate::formats::platform;

/// A label that a person gave to a source, and its right value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Label {
    /// The platform of its records.
    Platform(String),
    /// Their collection; `None` where they are of none.
    Collection(Option<String>),
    /// Their split; `None` where they are of none.
    Split(Option<String>),
}

impl std::str::FromStr for Label {
    type Err = Error;

    /// Reads `platform=k80`; `split=` takes the label away.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = |reason: String| Error::Argument {
            name: "set",
            reason,
        };
        let known = "hint: platform=NAME, collection=NAME and split=NAME can be set";
        let Some((name, value)) = text.split_once('=') else {
            return Err(wrong(format!("`{text}` is no label and value\n{known}")));
        };
        let maybe = || (!value.is_empty()).then(|| value.to_owned());
        match name {
            "platform" => {
                platform::check(value, "--set")?;
                Ok(Self::Platform(value.to_owned()))
            }
            "collection" => Ok(Self::Collection(maybe())),
            "split" => Ok(Self::Split(maybe())),
            _ if crate::schema::table("records")?
                .columns
                .iter()
                .any(|column| column.name == name) =>
            {
                Err(wrong(format!(
                    "`{name}` was measured, or follows from what was: such values are never changed\nhint: `tsql retract` takes wrong measurements out of all answers"
                )))
            }
            _ => Err(wrong(format!("no label `{name}`\n{known}"))),
        }
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, value) = self.pair();
        write!(formatter, "{name}={}", value.unwrap_or_default())
    }
}

impl Label {
    /// Its column, and the value.
    pub(super) fn pair(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Platform(name) => ("platform", Some(name)),
            Self::Collection(name) => ("collection", name.as_deref()),
            Self::Split(name) => ("split", name.as_deref()),
        }
    }

    /// A row that has another value.
    pub(super) fn differs(&self) -> Expr {
        let (name, value) = self.pair();
        match value {
            Some(value) => col(name).eq(lit(value)).is_not_true(),
            None => col(name).is_not_null(),
        }
    }
}
