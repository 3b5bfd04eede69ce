//! `part_in_table`: replaces `split('NAME')` once the parts of all graphs, configurations or sources are known.
//!
//! The table is a literal of the plan, so that the plan runs on any worker. Its first byte is the format:
//!
//! | format | content | part of a row |
//! |---|---|---|
//! | `g` | for each graph, in ascending order: number, part | the part of its graph |
//! | `t` | number of environments; for each, in ascending order: number, target kind; number of kinds; for each graph, in ascending order: number, part on each kind | the part of its graph on its target kind |
//! | `c` | for each configuration from 0: part, four per byte | the part of its configuration |
//! | `l` | for each source, in ascending order: number, last held-out line | `test` up to that line, then `train` |
//!
//! Numbers are 8 bytes, little-endian. A part is an index of [`PARTS`], or [`NO_PART`].

use arrow::array::{Array, ArrayRef, Int64Array, StringViewArray, UInt8Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion::common::cast::as_int64_array;
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion::logical_expr::ColumnarValue;

use super::function_docs::FunctionDocs;
use super::part_of_split::PARTS;
use super::scalar::Scalar;

/// Name of the function in plans.
pub const NAME: &str = "part_in_table";

/// Value for rows without a part.
pub const NO_PART: u8 = 3;

/// Size of a number in bytes.
const ID_BYTES: usize = size_of::<i64>();

/// Number of configurations per byte.
const PARTS_PER_BYTE: usize = 4;

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        NAME,
        "Part of a row by a table of parts. The planner replaces `split('NAME')` by it",
        "SELECT part_in_table(X'67010000000000000002', 1)",
    )
    .argument(
        "table",
        DataType::Binary,
        "packed parts; the first byte states the format",
    )
    .argument(
        "id",
        DataType::Int64,
        "`graph_id`, `config_id` or `source_id`, depending on the format",
    )
    .argument(
        "of",
        DataType::Int64,
        "`environment_id` or `line`, if the format has a second key",
    )
    .optional()
    .source("tsql");
    Scalar::new_columnar(&about, DataType::Utf8View, parts)
}

fn parts(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let Some(ColumnarValue::Scalar(ScalarValue::Binary(Some(table)))) = args.first() else {
        return exec_err!("{NAME} expects a literal table");
    };
    let table = PartTable::parse(table)
        .ok_or_else(|| exec_datafusion_err!("{NAME}: not a table of parts"))?;
    let arrays = args.iter().skip(1).map(|value| value.to_array(rows));
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let numbers = arrays.iter().map(|array| as_int64_array(array));
    let numbers = numbers.collect::<Result<Vec<_>>>()?;
    let places = match (numbers.as_slice(), table) {
        ([ids], PartTable::Graphs(_) | PartTable::Configurations(_)) => table.parts_by_id(ids),
        ([ids, of], PartTable::Tasks { .. } | PartTable::Lines(_)) => table.parts_by_ids(ids, of),
        _ => return exec_err!("{NAME}: the table has other keys"),
    };
    let words = PARTS.iter().map(|part| Some(*part)).chain([None]);
    let words: StringViewArray = words.collect();
    Ok(take(&words, &UInt8Array::from(places), None)?)
}

/// A decoded table of parts.
#[derive(Clone, Copy)]
enum PartTable<'a> {
    Graphs(FixedRows<'a>),
    Tasks {
        kinds: FixedRows<'a>,
        graphs: FixedRows<'a>,
    },
    Configurations(&'a [u8]),
    Lines(FixedRows<'a>),
}

impl<'a> PartTable<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (form, rest) = bytes.split_first()?;
        Some(match form {
            b'g' => Self::Graphs(FixedRows {
                rest,
                width: ID_BYTES + 1,
            }),
            b'l' => Self::Lines(FixedRows {
                rest,
                width: 2 * ID_BYTES,
            }),
            b'c' => Self::Configurations(rest),
            b't' => {
                let (count, rest) = rest.split_first_chunk::<ID_BYTES>()?;
                let count = usize::try_from(i64::from_le_bytes(*count)).ok()?;
                let width = ID_BYTES + 1;
                let (environments, rest) = rest.split_at_checked(count.checked_mul(width)?)?;
                let (kinds, rest) = rest.split_first()?;
                Self::Tasks {
                    kinds: FixedRows {
                        rest: environments,
                        width,
                    },
                    graphs: FixedRows {
                        rest,
                        width: ID_BYTES + usize::from(*kinds),
                    },
                }
            }
            _ => return None,
        })
    }

    /// Rows are sorted by graph, so consecutive equal ids are looked up once.
    fn parts_by_id(self, ids: &Int64Array) -> Vec<u8> {
        let mut last = (0, self.part(0, 0));
        let places = ids.values().iter().enumerate().map(|(row, &id)| {
            if ids.is_null(row) {
                return NO_PART;
            }
            if id != last.0 {
                last = (id, self.part(id, 0));
            }
            last.1
        });
        places.collect()
    }

    fn parts_by_ids(self, ids: &Int64Array, of: &Int64Array) -> Vec<u8> {
        let mut last = ((0, 0), self.part(0, 0));
        let pairs = ids.values().iter().zip(of.values()).enumerate();
        let places = pairs.map(|(row, (&id, &of_row))| {
            if ids.is_null(row) || of.is_null(row) {
                return NO_PART;
            }
            if (id, of_row) != last.0 {
                last = ((id, of_row), self.part(id, of_row));
            }
            last.1
        });
        places.collect()
    }

    fn part(self, id: i64, of: i64) -> u8 {
        let found = match self {
            Self::Graphs(graphs) => graphs.find(id).and_then(|row| row.first().copied()),
            Self::Tasks { kinds, graphs } => kinds
                .find(of)
                .and_then(|kind| Some(usize::from(*kind.first()?)))
                .and_then(|kind| graphs.find(id)?.get(kind).copied()),
            Self::Configurations(packed) => usize::try_from(id).ok().and_then(|id| {
                let byte = packed.get(id / PARTS_PER_BYTE)?;
                Some(byte >> (2 * (id % PARTS_PER_BYTE)) & NO_PART)
            }),
            Self::Lines(sources) => sources.find(id).and_then(|row| {
                let last = i64::from_le_bytes(*row.first_chunk()?);
                Some(if of <= last { 2 } else { 0 })
            }),
        };
        found.unwrap_or(NO_PART)
    }
}

/// Fixed-width rows, sorted by the number at their start.
#[derive(Clone, Copy)]
struct FixedRows<'a> {
    rest: &'a [u8],
    width: usize,
}

impl<'a> FixedRows<'a> {
    /// Returns the bytes that follow a number.
    fn find(self, id: i64) -> Option<&'a [u8]> {
        let (mut low, mut high) = (0, self.rest.len() / self.width);
        while low < high {
            let middle = low + (high - low) / 2;
            let row = self
                .rest
                .get(middle * self.width..(middle + 1) * self.width)?;
            let (number, rest) = row.split_first_chunk::<ID_BYTES>()?;
            match i64::from_le_bytes(*number).cmp(&id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(rest),
            }
        }
        None
    }
}

/// Encodes the table of graphs, which must be in ascending order.
pub fn encode_graphs(graphs: impl IntoIterator<Item = (i64, u8)>) -> Vec<u8> {
    let mut table = vec![b'g'];
    for (graph, part) in graphs {
        table.extend_from_slice(&graph.to_le_bytes());
        table.push(part);
    }
    table
}

/// Encodes the table of graphs by target kind. Environments and graphs must be in ascending order.
pub fn encode_tasks(
    environments: &[(i64, u8)],
    kinds: u8,
    graphs: impl IntoIterator<Item = (i64, Vec<u8>)>,
) -> Vec<u8> {
    let mut table = vec![b't'];
    table.extend_from_slice(&(environments.len() as u64).to_le_bytes());
    for (environment, kind) in environments {
        table.extend_from_slice(&environment.to_le_bytes());
        table.push(*kind);
    }
    table.push(kinds);
    for (graph, parts) in graphs {
        table.extend_from_slice(&graph.to_le_bytes());
        table.extend_from_slice(&parts);
    }
    table
}

/// Encodes the table of configurations, by their numbers from 0.
pub fn encode_configurations(parts: &[u8]) -> Vec<u8> {
    let packed = parts.chunks(PARTS_PER_BYTE).map(|parts| {
        let places = (0..).step_by(2).zip(parts);
        places.fold(0, |byte, (place, part)| byte | part << place)
    });
    // Unused bits of the last byte have no part.
    let mut table: Vec<u8> = std::iter::once(b'c').chain(packed).collect();
    let left = parts.len() % PARTS_PER_BYTE;
    if left > 0
        && let Some(last) = table.last_mut()
    {
        *last |= u8::MAX << (2 * left);
    }
    table
}

/// Encodes the table of sources, in ascending order, with their last held-out lines.
pub fn encode_lines(sources: impl IntoIterator<Item = (i64, i64)>) -> Vec<u8> {
    let mut table = vec![b'l'];
    for (source, last) in sources {
        table.extend_from_slice(&source.to_le_bytes());
        table.extend_from_slice(&last.to_le_bytes());
    }
    table
}

/// Graphs of a table that have one of these parts on some target, and whether a row has such a part exactly if its
/// graph is among them. `None` for other tables.
pub fn graph_ids_of_parts(table: &[u8], wanted: &[&str]) -> Option<(Vec<i64>, bool)> {
    let (rows, is_exact) = match PartTable::parse(table)? {
        PartTable::Graphs(rows) => (rows, true),
        PartTable::Tasks { graphs, .. } => (graphs, false),
        _ => return None,
    };
    let is_wanted = |part: &u8| {
        let part = PARTS.get(usize::from(*part));
        part.is_some_and(|part| wanted.contains(part))
    };
    let rows = rows.rest.chunks_exact(rows.width);
    let graphs = rows.filter_map(|row| {
        let (number, parts) = row.split_first_chunk::<ID_BYTES>()?;
        let number = i64::from_le_bytes(*number);
        parts.iter().any(is_wanted).then_some(number)
    });
    Some((graphs.collect(), is_exact))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_text(table: &[u8], ids: &[Option<i64>], of: Option<&[i64]>) -> String {
        let array = |ids: Int64Array| ColumnarValue::Array(std::sync::Arc::new(ids) as ArrayRef);
        let table = ColumnarValue::Scalar(ScalarValue::Binary(Some(table.to_vec())));
        let mut args = vec![table, array(Int64Array::from(ids.to_vec()))];
        args.extend(of.map(|of| array(Int64Array::from(of.to_vec()))));
        let parts = parts(&args, ids.len()).unwrap();
        let parts = datafusion::common::cast::as_string_view_array(&parts).unwrap();
        let letters = parts.iter().map(|part| part.map_or("-", |part| &part[..2]));
        letters.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rows_have_the_parts_of_their_graphs() {
        let table = encode_graphs([(i64::MIN, 2), (-3, 1), (0, 0), (7, NO_PART), (8, 0)]);
        let ids = [
            Some(-3),
            Some(-3),
            None,
            Some(8),
            Some(7),
            Some(9),
            Some(0),
            Some(i64::MIN),
            Some(-4),
        ];
        assert_eq!(parts_text(&table, &ids, None), "va va - tr - - tr te -");
        let graphs = graph_ids_of_parts(&table, &["train", "test"]).unwrap();
        assert_eq!(graphs, (vec![i64::MIN, 0, 8], true));
        assert_eq!(
            graph_ids_of_parts(&encode_graphs([]), &["train"])
                .unwrap()
                .0,
            [0; 0]
        );
    }

    #[test]
    fn rows_have_the_parts_of_their_tasks() {
        let table = encode_tasks(
            &[(-1, 0), (5, 1)],
            2,
            [(1, vec![0, 2]), (2, vec![NO_PART, 1])],
        );
        let ids = [1, 1, 2, 2, 3, 1].map(Some);
        let of = [-1, 5, -1, 5, 5, 6];
        assert_eq!(parts_text(&table, &ids, Some(&of)), "tr te - va - -");
        let graphs = |part| graph_ids_of_parts(&table, &[part]).unwrap();
        assert_eq!(graphs("test"), (vec![1], false));
        assert_eq!(graphs("valid"), (vec![2], false));
    }

    #[test]
    fn configurations_take_two_bits() {
        let table = encode_configurations(&[0, 1, 2, NO_PART, 2]);
        assert_eq!(table.len(), 3);
        let ids = [0, 1, 2, 3, 4, 5, 6, 7, 8, -1].map(Some);
        assert_eq!(parts_text(&table, &ids, None), "tr va te - te - - - - -");
        assert_eq!(graph_ids_of_parts(&table, &["train"]), None);
    }

    #[test]
    fn lines_up_to_a_cut_are_held_out() {
        let table = encode_lines([(-9, 0), (4, 2)]);
        let ids = [4, 4, 4, -9, 5].map(Some);
        assert_eq!(
            parts_text(&table, &ids, Some(&[1, 2, 3, 1, 1])),
            "te te tr tr -"
        );
    }

    #[test]
    fn other_bytes_are_no_table() {
        for table in [&b""[..], b"x", b"t", b"t\xff\xff\xff\xff\xff\xff\xff\x7f"] {
            assert!(PartTable::parse(table).is_none(), "{table:?}");
        }
    }
}
