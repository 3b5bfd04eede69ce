//! Collects rows of a result, as many as a chart can use: a sample for most kinds, means for bars and heat maps.

use std::collections::HashMap;

use super::roles::Roles;
use super::spec::ChartKind;
use super::table::PlotTable;

/// Maximum number of collected rows; a chart has fewer dots.
const MAX_ROWS: usize = 1 << 17;

/// Samples rows of a stream, so that a result of any length takes little memory.
///
/// - Each row has the same probability, decided by a hash of its number: the same result gives the same sample.
/// - For bars and heat maps, rows with the same names are merged into their mean, and all rows count.
#[derive(Clone, Debug)]
pub struct RowSampler {
    roles: Roles,
    max_rows: usize,
    /// Maximum hash of a row in the sample.
    threshold: u64,
    hashes: Vec<u64>,
    seen: u64,
}

/// Mixes the bits of a number (splitmix64).
fn mix_bits(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl RowSampler {
    /// Creates a sampler for a chart with these roles.
    #[must_use]
    pub fn new(roles: &Roles) -> Self {
        Self {
            roles: roles.remap(&roles.columns()),
            max_rows: MAX_ROWS,
            threshold: u64::MAX,
            hashes: Vec::new(),
            seen: 0,
        }
    }

    /// Roles of the collected columns only.
    #[must_use]
    pub fn roles(&self) -> Roles {
        self.roles
    }

    fn has_means(&self) -> bool {
        matches!(self.roles.kind, ChartKind::Bar | ChartKind::Heat)
    }

    /// Returns the indices of the rows to add to the table, among the next `rows` rows.
    pub fn choose(&mut self, rows: usize) -> Vec<u32> {
        let first = self.seen;
        self.seen += rows as u64;
        let candidates = 0..u32::try_from(rows).unwrap_or(u32::MAX);
        if self.has_means() {
            return candidates.collect();
        }
        let mut chosen = Vec::new();
        for row in candidates {
            let hash = mix_bits(first + u64::from(row));
            if hash <= self.threshold {
                self.hashes.push(hash);
                chosen.push(row);
            }
        }
        chosen
    }

    /// Shrinks the table if it has become too large.
    ///
    /// # Errors
    /// For more bars than can be drawn.
    pub fn trim(&mut self, table: &mut PlotTable) -> Result<(), String> {
        if self.has_means() {
            if table.rows() > self.max_rows {
                self.join(table);
            }
            return match table.rows() > self.max_rows {
                true => Err(format!(
                    "there are more than {} names to draw\nhint: group or limit them in SQL",
                    self.max_rows
                )),
                false => Ok(()),
            };
        }
        while table.rows() > self.max_rows {
            self.threshold /= 2;
            let mask: Vec<bool> = self
                .hashes
                .iter()
                .map(|hash| *hash <= self.threshold)
                .collect();
            self.hashes.retain(|hash| *hash <= self.threshold);
            for column in &mut table.columns {
                column.values.retain(&mask);
            }
        }
        Ok(())
    }

    /// Adds notes on ignored rows, and merges rows with the same names.
    ///
    /// # Errors
    /// As [`RowSampler::trim`].
    pub fn finish(mut self, table: &mut PlotTable) -> Result<(), String> {
        self.trim(table)?;
        if self.has_means() {
            self.join(table);
            let several = (0..table.rows()).any(|row| table.weight(row) > 1.0);
            let drawn = match self.roles.kind {
                ChartKind::Heat => self.roles.value,
                _ => self.roles.y,
            };
            if several && drawn.is_some() {
                table
                    .notes
                    .push(format!("means of {}", row_count(self.seen)));
            }
        } else if (table.rows() as u64) < self.seen {
            table.notes.push(format!(
                "random subset: {} of {}",
                group_digits(table.rows() as u64),
                row_count(self.seen)
            ));
        }
        Ok(())
    }

    /// Merges rows with the same names into the mean of their numbers.
    fn join(&self, table: &mut PlotTable) {
        let Roles {
            kind,
            x,
            y,
            by,
            facet,
            value,
            ..
        } = self.roles;
        let (second, number) = match kind {
            ChartKind::Heat => (y, value),
            _ => (None, y),
        };
        let rows = table.rows();
        let column = |index: Option<usize>| index.and_then(|index| table.columns.get(index));
        let keys = [column(x), column(second), column(by), column(facet)];
        let mut groups: HashMap<[u64; 4], usize> = HashMap::new();
        // Index, sum and weight of each row that remains.
        let mut merged: Vec<(usize, f64, f64)> = Vec::new();
        let mut mask = vec![false; rows];
        for (row, is_retained) in mask.iter_mut().enumerate() {
            let key = keys.map(|key| key.map_or(0, |key| key.values.number_at(row).to_bits()));
            let row_value = column(number).map_or(1.0, |column| column.values.number_at(row));
            let weight = if row_value.is_nan() {
                0.0
            } else {
                table.weight(row)
            };
            let sum = if row_value.is_nan() {
                0.0
            } else {
                row_value * weight
            };
            let group = *groups.entry(key).or_insert_with(|| {
                *is_retained = true;
                merged.push((row, 0.0, 0.0));
                merged.len() - 1
            });
            if let Some((_, sums, weights)) = merged.get_mut(group) {
                *sums += sum;
                *weights += weight;
            }
        }
        if let Some(column) = number.and_then(|index| table.columns.get_mut(index)) {
            for (row, sum, weight) in &merged {
                column.values.set(*row, sum / weight);
            }
        }
        for column in &mut table.columns {
            column.values.retain(&mask);
        }
        table.weights = merged.iter().map(|(_, _, weight)| *weight).collect();
    }
}

/// `1 row`, `2 rows`.
pub(crate) fn row_count(count: u64) -> String {
    match count {
        1 => "1 row".to_owned(),
        _ => format!("{} rows", group_digits(count)),
    }
}

/// Formats a count with spaces between thousands.
pub(crate) fn group_digits(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::roles::ColumnKind;
    use super::super::table::{Categories, Column, ColumnValues};
    use super::*;
    use crate::number::float;

    fn table(columns: Vec<(&str, ColumnValues)>) -> PlotTable {
        let column = |(name, values): (&str, ColumnValues)| Column {
            name: name.to_owned(),
            unit: None,
            values,
        };
        PlotTable {
            columns: columns.into_iter().map(column).collect(),
            ..PlotTable::default()
        }
    }

    #[test]
    fn sampling_is_independent_of_the_batch_size() {
        let roles = Roles::find(
            &"kind=ecdf x=v".parse().unwrap(),
            &[("v", ColumnKind::Number)],
        )
        .unwrap();
        let sampled = |batches: usize, rows: usize| {
            let mut sampler = RowSampler::new(&roles);
            sampler.max_rows = 1000;
            let mut all = table(vec![("v", ColumnValues::Numbers(Vec::new()))]);
            for batch in 0..batches {
                for row in sampler.choose(rows) {
                    let value = float(batch * rows) + f64::from(row);
                    let ColumnValues::Numbers(values) = &mut all.columns[0].values else {
                        panic!()
                    };
                    values.push(value);
                }
                sampler.trim(&mut all).unwrap();
            }
            sampler.finish(&mut all).unwrap();
            all
        };
        let all = sampled(100, 1000);
        assert_eq!(all, sampled(1000, 100));
        assert!(float(all.rows()) / 100_000.0 > 0.004 && all.rows() <= 1000);
        assert!(
            all.notes[0].starts_with("random subset: ")
                && all.notes[0].ends_with(" of 100\u{202f}000 rows")
        );
        let ColumnValues::Numbers(values) = &all.columns[0].values else {
            panic!()
        };
        let mean = values.iter().sum::<f64>() / float(values.len());
        assert!((mean - 50_000.0).abs() < 4_000.0, "{mean}");
        assert!(values.is_sorted());
        assert!(sampled(1, 900).notes.is_empty());
    }

    #[test]
    fn bars_of_one_name_are_their_mean() {
        let columns = [("n", ColumnKind::Word), ("v", ColumnKind::Number)];
        let roles = Roles::find(&"kind=bar x=n y=v".parse().unwrap(), &columns).unwrap();
        let names = ["a", "b", "a", "a"].map(Some);
        let mut all = table(vec![
            (
                "n",
                ColumnValues::Words(names.into_iter().collect::<Categories>()),
            ),
            ("v", ColumnValues::Numbers(vec![1.0, 5.0, 2.0, f64::NAN])),
        ]);
        let mut sampler = RowSampler::new(&roles);
        assert_eq!(sampler.choose(4), [0, 1, 2, 3]);
        sampler.finish(&mut all).unwrap();
        assert_eq!(all.columns[1].values, ColumnValues::Numbers(vec![1.5, 5.0]));
        assert_eq!(all.weights, [2.0, 1.0]);
        assert_eq!(all.notes, ["means of 4 rows"]);
    }
}
