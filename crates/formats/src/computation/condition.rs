//! Conditions on indexes.

use std::collections::BTreeSet;

use super::index::Linear;

/// Whether something holds, of numbers that are no content of tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// It never holds.
    Never,
    /// It holds where all of these do: always, where there are none.
    All(BTreeSet<String>),
}

impl Condition {
    /// One that always holds, or never does.
    pub(super) fn known(holds: bool) -> Self {
        if holds {
            Self::All(BTreeSet::new())
        } else {
            Self::Never
        }
    }

    fn one(text: String) -> Self {
        Self::All(BTreeSet::from([text]))
    }

    /// Whether it holds, where that is the same everywhere.
    pub(super) fn value(&self) -> Option<bool> {
        match self {
            Self::Never => Some(false),
            Self::All(all) => all.is_empty().then_some(true),
        }
    }

    /// That a number is not below 0; `None` beyond 64 bits.
    pub(super) fn not_negative(number: &Linear) -> Option<Self> {
        let (least, greatest) = number.range()?;
        Some(if least >= 0 {
            Self::known(true)
        } else if greatest < 0 {
            Self::Never
        } else {
            Self::one(format!("0 <= {}", number.text()))
        })
    }

    /// That a number is 0; `None` beyond 64 bits.
    pub(super) fn zero(number: Linear) -> Option<Self> {
        let (least, greatest) = number.range()?;
        Some(if (least, greatest) == (0, 0) {
            Self::known(true)
        } else if least > 0 || greatest < 0 {
            Self::Never
        } else {
            Self::one(format!("0 == {}", number.either_sign()?.text()))
        })
    }

    /// That both hold.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All(mut all), Self::All(other)) => {
                all.extend(other);
                Self::All(all)
            }
            _ => Self::Never,
        }
    }

    /// That one of both holds.
    pub(super) fn or(self, other: Self) -> Self {
        match (self.value(), other.value()) {
            (Some(true), _) | (_, Some(true)) => Self::known(true),
            (Some(false), _) => other,
            (_, Some(false)) => self,
            _ => {
                let either = BTreeSet::from([self.text(), other.text()]);
                let either: Vec<String> = either.into_iter().collect();
                match either.as_slice() {
                    [_] => self,
                    _ => Self::one(format!("({})", either.join(" or "))),
                }
            }
        }
    }

    /// That it does not hold.
    pub(super) fn not(self) -> Self {
        match self.value() {
            Some(holds) => Self::known(!holds),
            None => Self::one(format!("not {}", self.text())),
        }
    }

    /// How long its text is at most.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Never => 5,
            Self::All(all) => 6 + all.iter().map(|one| one.len() + 5).sum::<usize>(),
        }
    }

    /// Its text: `(0 <= i1 + -1 and 0 <= -1*i1 + 28)`.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Never => "false".to_owned(),
            Self::All(all) if all.is_empty() => "true".to_owned(),
            Self::All(all) => {
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                format!("({})", all.join(" and "))
            }
        }
    }
}
