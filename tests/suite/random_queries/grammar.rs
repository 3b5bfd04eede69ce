//! Parts of random queries: literals from the stored rows, conditions, aggregates, keys.
//!
//! Not generated, because the dialects differ or DataFusion rejects it:
//!
//! - division of integers (`/` of DuckDB returns fractions), sums of 64-bit identifiers (DuckDB's are wider);
//! - sums and means of fractions over frames with following rows: DataFusion subtracts added values and loses digits;
//! - `IS DISTINCT FROM` without brackets, two outputs of one name, `(a, b) IN`: repaired in typed SQL, not in sessions;
//! - lateral `unnest`, a correlated subquery with `LIMIT`: rejected.
//!
//! Fractions have an exponent. DuckDB parses fractions without one as decimals.

use std::collections::HashMap;

use fastrand::Rng;

use super::columns::{COLUMNS, Kind, columns, labels};
use super::oracle::Oracle;
use super::results::Cell;
use Kind::{Fraction, Text, Time, Whole};

/// Maximum number of distinct values of a column that literals are chosen from.
const MAX_VALUES: usize = 60;

/// Values of the stored rows, by table and column.
pub(super) struct KnownValues(HashMap<(&'static str, &'static str), Vec<Cell>>);

impl KnownValues {
    pub(super) fn read(oracle: &mut Oracle) -> Self {
        let mut known = HashMap::new();
        for (table, columns) in COLUMNS {
            for (column, _) in columns {
                let sql = format!(
                    "SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY 1"
                );
                let values: Vec<Cell> = oracle
                    .run_query(&sql)
                    .unwrap()
                    .into_iter()
                    .flatten()
                    .collect();
                let every = values.len().div_ceil(MAX_VALUES).max(1);
                known.insert(
                    (table, *column),
                    values.into_iter().step_by(every).collect(),
                );
            }
        }
        Self(known)
    }
}

/// Makes random choices.
pub(super) struct Chooser<'a> {
    pub(super) rng: Rng,
    pub(super) known: &'a KnownValues,
}

impl Chooser<'_> {
    pub(super) fn one<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        self.rng.choice(choices).copied().unwrap()
    }

    pub(super) fn percent(&mut self, chance: u8) -> bool {
        self.rng.u8(..100) < chance
    }

    /// Returns `count` different choices.
    pub(super) fn some<'t>(&mut self, count: usize, choices: &[&'t str]) -> Vec<&'t str> {
        self.rng.choose_multiple(choices.iter().copied(), count)
    }

    pub(super) fn column(&mut self, choices: &[(&'static str, Kind)]) -> &'static str {
        self.rng.choice(choices).unwrap().0
    }

    fn value(&mut self, table: &str, column: &str) -> Cell {
        let found = self
            .known
            .0
            .iter()
            .find(|((t, c), _)| *t == table && *c == column);
        let value = found.and_then(|(_, values)| self.rng.choice(values).cloned());
        let value = value.unwrap_or_else(|| {
            match columns(table).iter().find(|(name, _)| *name == column) {
                Some((_, Whole)) => Cell::Whole(self.rng.i64(-2..9)),
                Some((_, Fraction)) => Cell::Number(1.5),
                Some((_, Time)) => Cell::Time(1_700_000_000_000_000),
                _ => Cell::text("nothing"),
            }
        });
        if !self.percent(12) {
            return value;
        }
        // A value close to a stored one, or one that is not stored.
        match value {
            Cell::Whole(whole) => Cell::Whole(whole.saturating_add(self.rng.i64(-1..2))),
            Cell::Number(number) => Cell::Number(number * [0.5, 2.0, -1.0][self.rng.usize(..3)]),
            Cell::Time(time) => Cell::Time(time + [1, -1, 500_000][self.rng.usize(..3)]),
            Cell::Text(text) => match self.rng.u8(..4) {
                0 => Cell::text(text.to_uppercase()),
                1 => Cell::Text(text + " "),
                2 => Cell::text(""),
                _ => Cell::Text(text + "x"),
            },
            other => other,
        }
    }

    pub(super) fn literal(&mut self, table: &str, column: &str) -> String {
        match self.value(table, column) {
            Cell::Whole(whole) => whole.to_string(),
            Cell::Number(number) => format!("{number:e}"),
            Cell::Text(text) => quoted(&text),
            Cell::Time(time) => {
                let time = chrono::DateTime::from_timestamp_micros(time).unwrap();
                format!("TIMESTAMP '{}'", time.format("%Y-%m-%d %H:%M:%S%.6f"))
            }
            _ => "NULL".to_owned(),
        }
    }

    pub(super) fn list(&mut self, table: &str, column: &str) -> String {
        let count = [1, 2, 2, 3, 4, 5, 8, 16, 17, 40][self.rng.usize(..10)];
        let mut values: Vec<String> = (0..count).map(|_| self.literal(table, column)).collect();
        if self.percent(30) {
            values.insert(self.rng.usize(..=values.len()), "NULL".to_owned());
        }
        values.join(", ")
    }

    /// A condition on one column.
    fn column_condition(
        &mut self,
        table: &str,
        alias: &str,
        choices: &[(&'static str, Kind)],
    ) -> String {
        let (column, kind) = *self.rng.choice(choices).unwrap();
        let x = format!("{alias}{column}");
        let value = self.literal(table, column);
        match self.rng.u8(..10) {
            0..3 => format!(
                "{x} {} {value}",
                self.one(&["=", "=", "<>", "<", "<=", ">", ">="])
            ),
            3..5 => format!(
                "{x} {} ({})",
                self.one(&["IN", "IN", "NOT IN"]),
                self.list(table, column)
            ),
            5 => {
                let (not, end) = (self.one(&["", "NOT "]), self.literal(table, column));
                format!("{x} {not}BETWEEN {value} AND {end}")
            }
            6 => format!("{x} IS {}NULL", self.one(&["", "NOT "])),
            7 => {
                let (not, value) = (
                    self.one(&["", "NOT "]),
                    if self.percent(30) { "NULL" } else { &value },
                );
                format!("({x} IS {not}DISTINCT FROM {value})")
            }
            _ => self.computed_condition(&x, kind, table, column),
        }
    }

    /// A condition on an expression of a column.
    fn computed_condition(&mut self, x: &str, kind: Kind, table: &str, column: &str) -> String {
        let value = self.literal(table, column);
        let compared = self.one(&["=", "<>", "<", ">="]);
        match (kind, self.value(table, column)) {
            (Text, Cell::Text(text)) => {
                let chars: Vec<char> = text.chars().collect();
                let part = |from: usize, to: usize| -> String {
                    chars[from.min(chars.len())..to.min(chars.len())]
                        .iter()
                        .collect()
                };
                let pattern = match self.rng.u8(..6) {
                    0 => part(0, 1) + "%",
                    1 => format!("%{}", part(chars.len().saturating_sub(2), chars.len())),
                    2 => format!("%{}%", part(1, 3)),
                    3 => part(0, 2) + "_%",
                    4 => "_".repeat(chars.len()),
                    _ => text.clone(),
                };
                // A backslash escapes in one dialect only.
                let pattern = quoted(&pattern.replace('\\', "_"));
                match self.rng.u8(..8) {
                    0..5 => format!(
                        "{x} {} {pattern}",
                        self.one(&["LIKE", "LIKE", "NOT LIKE", "ILIKE"])
                    ),
                    5 => format!("lower({x}) = lower({value})"),
                    6 => format!("length({x}) {compared} {}", chars.len()),
                    _ => format!("coalesce({x}, 'none') {compared} {value}"),
                }
            }
            (Whole, _) => match self.rng.u8(..4) {
                0 => format!("{x} % 3 = {}", self.rng.u8(..3)),
                1 => format!("CAST({x} AS VARCHAR) = '{value}'"),
                2 => format!("nullif({x}, {value}) {compared} {value}"),
                _ => format!("CASE WHEN {x} > {value} THEN {x} % 5 ELSE 0 END {compared} 0"),
            },
            (Fraction, _) => match self.rng.u8(..4) {
                0 => format!("{x} / 2e0 {compared} {value}"),
                1 => format!("coalesce({x}, 0e0) {compared} {value}"),
                2 => format!("NOT ({x} > {value})"),
                _ => format!("sqrt(abs({x})) < 1e3"),
            },
            _ => {
                let unit = self.one(&["day", "month", "hour", "year"]);
                match self.rng.u8(..3) {
                    0 => format!(
                        "date_trunc('{unit}', {x}) {compared} date_trunc('{unit}', {value})"
                    ),
                    1 => {
                        format!("extract({unit} FROM {x}) {compared} extract({unit} FROM {value})")
                    }
                    _ => format!("{x} >= {value} - INTERVAL '1 day'"),
                }
            }
        }
    }

    /// A condition on these columns.
    pub(super) fn on(
        &mut self,
        table: &str,
        alias: &str,
        choices: &[(&'static str, Kind)],
        depth: u8,
    ) -> String {
        let inner = |chooser: &mut Self| chooser.on(table, alias, choices, depth.saturating_sub(1));
        match self.rng.u8(..10) {
            _ if depth == 0 => self.column_condition(table, alias, choices),
            0..5 => self.column_condition(table, alias, choices),
            5..7 => format!("({} AND {})", inner(self), inner(self)),
            7..9 => format!("({} OR {})", inner(self), inner(self)),
            _ => match self.rng.bool() {
                true => format!("NOT ({})", inner(self)),
                false => format!(
                    "(({}) IS {})",
                    inner(self),
                    self.one(&["TRUE", "NOT TRUE", "FALSE", "NOT FALSE"])
                ),
            },
        }
    }

    /// A condition on records, often on labels only, so that pre-aggregates suffice.
    pub(super) fn condition(&mut self, alias: &str) -> String {
        match self.rng.u8(..10) {
            0..4 => self.on("records", alias, labels(), 2),
            4 => format!(
                "{} AND {alias}runtime_ns IS NOT NULL",
                self.on("records", alias, labels(), 1)
            ),
            5 => self.on("records", alias, &labels()[..2], 2),
            _ => self.on("records", alias, columns("records"), 2),
        }
    }

    pub(super) fn filter(&mut self, alias: &str) -> String {
        let filters = self.percent(65);
        if filters {
            format!(" WHERE {}", self.condition(alias))
        } else {
            String::new()
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
