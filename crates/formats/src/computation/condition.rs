//! Conditions on indices.

use std::collections::BTreeSet;

use super::index::LinearIndex;

/// Condition on integers that do not depend on the contents of tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// Never true.
    Never,
    /// Conjunction of the texts; always true if empty.
    All(BTreeSet<String>),
}

impl Condition {
    /// Returns a condition that is always true or never true.
    pub(super) fn constant(is_true: bool) -> Self {
        if is_true {
            Self::All(BTreeSet::new())
        } else {
            Self::Never
        }
    }

    fn from_text(text: String) -> Self {
        Self::All(BTreeSet::from([text]))
    }

    /// Returns the value of the condition if it is constant.
    pub(super) fn value(&self) -> Option<bool> {
        match self {
            Self::Never => Some(false),
            Self::All(terms) => terms.is_empty().then_some(true),
        }
    }

    /// Returns the condition `number >= 0`; `None` on 64-bit overflow.
    pub(super) fn is_non_negative(number: &LinearIndex) -> Option<Self> {
        let (minimum, maximum) = number.range()?;
        Some(if minimum >= 0 {
            Self::constant(true)
        } else if maximum < 0 {
            Self::Never
        } else {
            Self::from_text(format!("0 <= {}", number.text()))
        })
    }

    /// Returns the condition `number == 0`; `None` on 64-bit overflow.
    pub(super) fn is_zero(number: LinearIndex) -> Option<Self> {
        let (minimum, maximum) = number.range()?;
        Some(if (minimum, maximum) == (0, 0) {
            Self::constant(true)
        } else if minimum > 0 || maximum < 0 {
            Self::Never
        } else {
            Self::from_text(format!("0 == {}", number.normalize_sign()?.text()))
        })
    }

    /// Returns the conjunction of two conditions.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All(mut terms), Self::All(other)) => {
                terms.extend(other);
                Self::All(terms)
            }
            _ => Self::Never,
        }
    }

    /// Returns the disjunction of two conditions.
    pub(super) fn or(self, other: Self) -> Self {
        match (self.value(), other.value()) {
            (Some(true), _) | (_, Some(true)) => Self::constant(true),
            (Some(false), _) => other,
            (_, Some(false)) => self,
            _ => {
                let texts = BTreeSet::from([self.text(), other.text()]);
                let texts: Vec<String> = texts.into_iter().collect();
                match texts.as_slice() {
                    [_] => self,
                    _ => Self::from_text(format!("({})", texts.join(" or "))),
                }
            }
        }
    }

    /// Returns the negation.
    pub(super) fn not(self) -> Self {
        match self.value() {
            Some(is_true) => Self::constant(!is_true),
            None => Self::from_text(format!("not {}", self.text())),
        }
    }

    /// Upper bound of the length of the text, in bytes.
    pub(super) fn text_length_bound(&self) -> usize {
        match self {
            Self::Never => 5,
            Self::All(terms) => 6 + terms.iter().map(|term| term.len() + 5).sum::<usize>(),
        }
    }

    /// Returns the text, for example `(0 <= i1 + -1 and 0 <= -1*i1 + 28)`.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Never => "false".to_owned(),
            Self::All(terms) if terms.is_empty() => "true".to_owned(),
            Self::All(terms) => {
                let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
                format!("({})", terms.join(" and "))
            }
        }
    }
}
