//! Syntax of a side of a comparison.

use std::fmt;
use std::str::FromStr;

use tsql_error::{Error, Result};

/// One side of a comparison: which records, of which version of the store.
///
/// ```
/// use tsql_ml::compare::Side;
///
/// for text in ["k80", "tag:v1.0", "label:night=7", "source:night-*", "2026-11-01..2026-11-08", "where:line < 100"] {
///     assert_eq!(text.parse::<Side>()?.to_string(), text);
/// }
/// let both: Side = "tag:v1.0 AND platform:k80".parse()?;
/// # Ok::<(), tsql_error::Error>(())
/// ```
///
/// The kind of a term may be omitted if the store has the name in only one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    text: String,
    pub(in crate::compare) terms: Vec<SideTerm>,
}

/// A term of a side. All terms must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::compare) struct SideTerm {
    /// `None` if omitted.
    pub(in crate::compare) kind: Option<TermKind>,
    pub(in crate::compare) value: String,
}

/// Kind of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compare) enum TermKind {
    Platform,
    Tag,
    Label,
    Source,
    Time,
    Where,
}

impl TermKind {
    pub(in crate::compare) const ALL: [Self; 6] = [
        Self::Platform,
        Self::Tag,
        Self::Label,
        Self::Source,
        Self::Time,
        Self::Where,
    ];

    /// Keyword, which is followed by a colon.
    pub(in crate::compare) fn word(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Tag => "tag",
            Self::Label => "label",
            Self::Source => "source",
            Self::Time => "time",
            Self::Where => "where",
        }
    }
}

/// Separator of terms.
const AND: &str = " AND ";

impl FromStr for Side {
    type Err = Error;

    /// Parses terms separated by ` AND `. Everything after `where:` is SQL.
    fn from_str(text: &str) -> Result<Self> {
        let mut terms = Vec::new();
        let mut rest = Some(text);
        while let Some(left) = rest {
            let is_sql = left.trim_start().starts_with("where:");
            let (term, more) = match left.split_once(AND) {
                Some((term, more)) if !is_sql => (term, Some(more)),
                _ => (left, None),
            };
            terms.push(SideTerm::parse(term.trim(), text)?);
            rest = more;
        }
        Ok(Self {
            text: text.to_owned(),
            terms,
        })
    }
}

impl SideTerm {
    fn parse(text: &str, side: &str) -> Result<Self> {
        let prefixed = text.split_once(':').and_then(|(word, value)| {
            let kind = TermKind::ALL.into_iter().find(|kind| kind.word() == word)?;
            Some((kind, value.trim()))
        });
        let (kind, value) = prefixed.map_or((None, text), |(kind, value)| (Some(kind), value));
        if value.is_empty() {
            let reason = format!(
                "`{side}` has an empty term\n\
                 hint: use a platform, a tag, a label KEY=VALUE, a source name, or a time range \
                 FROM..TO"
            );
            return Err(Error::Argument {
                name: "side",
                reason,
            });
        }
        Ok(Self {
            kind,
            value: value.to_owned(),
        })
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<(Option<&'static str>, String)> {
        let side: Side = text.parse().unwrap();
        let terms = side.terms.into_iter();
        terms
            .map(|term| (term.kind.map(TermKind::word), term.value))
            .collect()
    }

    #[test]
    fn terms_have_explicit_kinds() {
        assert_eq!(terms("k80"), [(None, "k80".to_owned())]);
        assert_eq!(terms("c:/logs"), [(None, "c:/logs".to_owned())]);
        assert_eq!(
            terms("tag:v1.0 AND label:night=7"),
            [
                (Some("tag"), "v1.0".to_owned()),
                (Some("label"), "night=7".to_owned())
            ]
        );
        assert_eq!(
            terms("k80 AND where:line > 1 AND line < 5"),
            [
                (None, "k80".to_owned()),
                (Some("where"), "line > 1 AND line < 5".to_owned())
            ]
        );
        for nothing in ["", "  ", "tag:", "k80 AND "] {
            assert!(nothing.parse::<Side>().is_err(), "{nothing:?}");
        }
    }
}
