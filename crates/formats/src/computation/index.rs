//! Linear index expressions: sums of multiples with known bounds.
//!
//! `2 * y + r`, `r + y * 2 - 0` and `y + (r + y)` are the same expression here. That holds only without overflow, so
//! each expression has known bounds, and its creator checks that they fit its type ([`LinearIndex::fits`]). With that,
//! 32-bit and 64-bit indices are equivalent.

use std::collections::BTreeMap;

/// Factor and bounds (minimum and maximum, which differ) of a non-constant term.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LinearTerm {
    factor: i64,
    range: (i64, i64),
}

/// Sum of multiples of distinct non-constant terms and of a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LinearIndex {
    /// Terms by name; no factor is 0.
    multiples: BTreeMap<String, LinearTerm>,
    constant: i64,
}

impl LinearIndex {
    /// Returns a constant.
    pub(super) fn constant(constant: i64) -> Self {
        Self {
            multiples: BTreeMap::new(),
            constant,
        }
    }

    /// Returns the variable `name` with these inclusive bounds.
    pub(super) fn variable(name: String, range: (i64, i64)) -> Self {
        if range.0 == range.1 {
            return Self::constant(range.0);
        }
        let multiple = LinearTerm { factor: 1, range };
        Self {
            multiples: BTreeMap::from([(name, multiple)]),
            constant: 0,
        }
    }

    /// Returns the value if the expression is constant.
    pub(super) fn value(&self) -> Option<i64> {
        self.multiples.is_empty().then_some(self.constant)
    }

    /// Returns `self + times * other`; `None` on 64-bit overflow.
    pub(super) fn add_multiple(mut self, other: &Self, times: i64) -> Option<Self> {
        self.constant = other
            .constant
            .checked_mul(times)?
            .checked_add(self.constant)?;
        for (name, multiple) in &other.multiples {
            let added = multiple.factor.checked_mul(times)?;
            let own_factor = self.multiples.get(name).map_or(0, |term| term.factor);
            let factor = own_factor.checked_add(added)?;
            if factor == 0 {
                self.multiples.remove(name);
            } else {
                let range = multiple.range;
                self.multiples
                    .insert(name.clone(), LinearTerm { factor, range });
            }
        }
        Some(self)
    }

    /// Returns `factor * self`; `None` on 64-bit overflow.
    pub(super) fn multiply(&self, factor: i64) -> Option<Self> {
        Self::default().add_multiple(self, factor)
    }

    /// Negates the expression if the factor of its first term is negative.
    pub(super) fn normalize_sign(self) -> Option<Self> {
        let first = self.multiples.values().next();
        if first.is_some_and(|first| first.factor < 0) {
            self.multiply(-1)
        } else {
            Some(self)
        }
    }

    /// Returns the inclusive bounds of the value; `None` on 64-bit overflow.
    pub(super) fn range(&self) -> Option<(i64, i64)> {
        let (mut minimum, mut maximum) = (self.constant, self.constant);
        for LinearTerm { factor, range } in self.multiples.values() {
            let (a, b) = (range.0.checked_mul(*factor)?, range.1.checked_mul(*factor)?);
            minimum = minimum.checked_add(a.min(b))?;
            maximum = maximum.checked_add(a.max(b))?;
        }
        Some((minimum, maximum))
    }

    /// Whether every possible value fits this data type.
    pub(super) fn fits(&self, dtype: &str) -> bool {
        let range = self.range();
        range.is_some_and(|(minimum, maximum)| match dtype {
            "int64" => true,
            "int32" => i32::try_from(minimum).is_ok() && i32::try_from(maximum).is_ok(),
            _ => false,
        })
    }

    /// Upper bound of the length of the text, in bytes.
    pub(super) fn text_length_bound(&self) -> usize {
        let names = self.multiples.keys();
        20 + names.map(|name| name.len() + 24).sum::<usize>()
    }

    /// Returns the text, for example `2*i1 + r0 + -1`.
    pub(super) fn text(&self) -> String {
        let mut parts: Vec<String> = Vec::with_capacity(self.multiples.len() + 1);
        for (name, LinearTerm { factor, .. }) in &self.multiples {
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
