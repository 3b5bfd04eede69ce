//! Whole numbers that indexes are made of: sums of multiples, and how far they go.
//!
//! `2 * y + r`, `r + y * 2 - 0` and `y + (r + y)` are one thing here. That is certain as long as nothing wraps around,
//! so of each it is known between which numbers it stays, and whoever makes one looks whether they fit into its type
//! ([`Linear::fits`]). With that, 32 and 64 bits are the same.

use std::collections::BTreeMap;

/// What is multiplied: the least and the greatest that it can be, which differ.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Multiple {
    factor: i64,
    range: (i64, i64),
}

/// A sum of multiples of different things, none of which is constant, and of a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Linear {
    /// By what they are called; no factor is 0.
    multiples: BTreeMap<String, Multiple>,
    constant: i64,
}

impl Linear {
    /// A constant.
    pub(super) fn constant(constant: i64) -> Self {
        Self {
            multiples: BTreeMap::new(),
            constant,
        }
    }

    /// Something that is called so and is at least the first and at most the second.
    pub(super) fn named(name: String, range: (i64, i64)) -> Self {
        if range.0 == range.1 {
            return Self::constant(range.0);
        }
        let multiple = Multiple { factor: 1, range };
        Self {
            multiples: BTreeMap::from([(name, multiple)]),
            constant: 0,
        }
    }

    /// The number that it is, if it is one.
    pub(super) fn value(&self) -> Option<i64> {
        self.multiples.is_empty().then_some(self.constant)
    }

    /// The sum of this and of so many of the other; `None` beyond 64 bits.
    pub(super) fn plus(mut self, other: &Self, times: i64) -> Option<Self> {
        self.constant = other
            .constant
            .checked_mul(times)?
            .checked_add(self.constant)?;
        for (name, multiple) in &other.multiples {
            let added = multiple.factor.checked_mul(times)?;
            let own = self.multiples.get(name).map_or(0, |own| own.factor);
            let factor = own.checked_add(added)?;
            if factor == 0 {
                self.multiples.remove(name);
            } else {
                let range = multiple.range;
                self.multiples
                    .insert(name.clone(), Multiple { factor, range });
            }
        }
        Some(self)
    }

    /// So many of this; `None` beyond 64 bits.
    pub(super) fn times(&self, factor: i64) -> Option<Self> {
        Self::default().plus(self, factor)
    }

    /// The other way round where what is named first counts negatively.
    pub(super) fn either_sign(self) -> Option<Self> {
        let first = self.multiples.values().next();
        if first.is_some_and(|first| first.factor < 0) {
            self.times(-1)
        } else {
            Some(self)
        }
    }

    /// The least and the greatest that it can be at most; `None` beyond 64 bits.
    pub(super) fn range(&self) -> Option<(i64, i64)> {
        let (mut least, mut greatest) = (self.constant, self.constant);
        for Multiple { factor, range } in self.multiples.values() {
            let (a, b) = (range.0.checked_mul(*factor)?, range.1.checked_mul(*factor)?);
            least = least.checked_add(a.min(b))?;
            greatest = greatest.checked_add(a.max(b))?;
        }
        Some((least, greatest))
    }

    /// Is all that it can be a number of this type?
    pub(super) fn fits(&self, dtype: &str) -> bool {
        let range = self.range();
        range.is_some_and(|(least, greatest)| match dtype {
            "int64" => true,
            "int32" => i32::try_from(least).is_ok() && i32::try_from(greatest).is_ok(),
            _ => false,
        })
    }

    /// How long its text is, or less than so long.
    pub(super) fn size(&self) -> usize {
        let names = self.multiples.keys();
        20 + names.map(|name| name.len() + 24).sum::<usize>()
    }

    /// Its text: `2*i1 + r0 + -1`.
    pub(super) fn text(&self) -> String {
        let mut parts: Vec<String> = Vec::with_capacity(self.multiples.len() + 1);
        for (name, Multiple { factor, .. }) in &self.multiples {
            parts.push(match factor {
                1 => name.clone(),
                _ => format!("{factor}*{name}"),
            });
        }
        if parts.is_empty() || self.constant != 0 {
            parts.push(self.constant.to_string());
        }
        parts.join(" + ")
    }
}
