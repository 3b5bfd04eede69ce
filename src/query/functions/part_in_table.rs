//! `part_in_table`: what `split('NAME')` becomes once the parts of all graphs, configurations or sources are known.
//!
//! The table is a literal of the plan, so that a plan with it runs on any worker, and its first byte says what it is:
//!
//! | form | then | a row belongs to |
//! |---|---|---|
//! | `g` | for each graph, in rising order: its number, its part | the part of its graph |
//! | `t` | number of environments, for each in rising order: its number and its kind of target; kinds; for each graph in rising order: its number, its part on each kind | the part of its graph on its kind of target |
//! | `c` | for each configuration from 0 on: its part, four in a byte | the part of its configuration |
//! | `l` | for each source in rising order: its number, its last line that is held out | `test` up to that line, then `train` |
//!
//! Numbers are eight bytes, little-endian; a part is its place among [`PARTS`], or [`NONE`].

use arrow::array::{Array, ArrayRef, Int64Array, StringViewArray, UInt8Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion::common::cast::as_int64_array;
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion::logical_expr::ColumnarValue;

use super::about::About;
use super::part_of_split::PARTS;
use super::scalar::Scalar;

/// Its name in plans.
pub(crate) const NAME: &str = "part_in_table";

/// Place of no part.
pub(crate) const NONE: u8 = 3;

/// Bytes of a number.
const NUMBER: usize = size_of::<i64>();

/// Parts of configurations in a byte.
const IN_A_BYTE: usize = 4;

pub(super) fn function() -> Scalar {
    let about = About::new(
        NAME,
        "The part of a row by a table of parts: what `split('NAME')` becomes when a question is planned",
        "SELECT part_in_table(X'6701000000000000000002', 1)",
    )
    .takes("table", DataType::Binary, "the parts, packed; its first byte says by what")
    .takes("id", DataType::Int64, "`graph_id`, `config_id` or `source_id`, by the table")
    .takes("of", DataType::Int64, "`environment_id` or `line`, where the table is by both")
    .optionally()
    .by("tsql");
    Scalar::with_literals(&about, DataType::Utf8View, parts)
}

fn parts(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let Some(ColumnarValue::Scalar(ScalarValue::Binary(Some(table)))) = args.first() else {
        return exec_err!("{NAME} takes a table that is a literal");
    };
    let table =
        Table::of(table).ok_or_else(|| exec_datafusion_err!("{NAME}: no table of parts"))?;
    let arrays = args.iter().skip(1).map(|value| value.to_array(rows));
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let numbers = arrays.iter().map(|array| as_int64_array(array));
    let numbers = numbers.collect::<Result<Vec<_>>>()?;
    let places = match (numbers.as_slice(), table) {
        ([ids], Table::Graphs(_) | Table::Configurations(_)) => table.by_one(ids),
        ([ids, of], Table::Tasks { .. } | Table::Lines(_)) => table.by_two(ids, of),
        _ => return exec_err!("{NAME}: a table by other columns"),
    };
    let words = PARTS.iter().map(|part| Some(*part)).chain([None]);
    let words: StringViewArray = words.collect();
    Ok(take(&words, &UInt8Array::from(places), None)?)
}

/// A table of parts, as its bytes say.
#[derive(Clone, Copy)]
enum Table<'a> {
    Graphs(Rows<'a>),
    Tasks { kinds: Rows<'a>, graphs: Rows<'a> },
    Configurations(&'a [u8]),
    Lines(Rows<'a>),
}

impl<'a> Table<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let (form, rest) = bytes.split_first()?;
        Some(match form {
            b'g' => Self::Graphs(Rows {
                rest,
                width: NUMBER + 1,
            }),
            b'l' => Self::Lines(Rows {
                rest,
                width: 2 * NUMBER,
            }),
            b'c' => Self::Configurations(rest),
            b't' => {
                let (count, rest) = rest.split_first_chunk::<NUMBER>()?;
                let count = usize::try_from(i64::from_le_bytes(*count)).ok()?;
                let width = NUMBER + 1;
                let (environments, rest) = rest.split_at_checked(count.checked_mul(width)?)?;
                let (kinds, rest) = rest.split_first()?;
                Self::Tasks {
                    kinds: Rows {
                        rest: environments,
                        width,
                    },
                    graphs: Rows {
                        rest,
                        width: NUMBER + usize::from(*kinds),
                    },
                }
            }
            _ => return None,
        })
    }

    /// Rows lie in the order of their graphs, so one that is like the one before is not looked for again.
    fn by_one(self, ids: &Int64Array) -> Vec<u8> {
        let mut last = (0, self.part(0, 0));
        let places = ids.values().iter().enumerate().map(|(row, &id)| {
            if ids.is_null(row) {
                return NONE;
            }
            if id != last.0 {
                last = (id, self.part(id, 0));
            }
            last.1
        });
        places.collect()
    }

    fn by_two(self, ids: &Int64Array, of: &Int64Array) -> Vec<u8> {
        let mut last = ((0, 0), self.part(0, 0));
        let pairs = ids.values().iter().zip(of.values()).enumerate();
        let places = pairs.map(|(row, (&id, &of_row))| {
            if ids.is_null(row) || of.is_null(row) {
                return NONE;
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
            Self::Graphs(graphs) => graphs.of(id).and_then(|row| row.first().copied()),
            Self::Tasks { kinds, graphs } => kinds
                .of(of)
                .and_then(|kind| Some(usize::from(*kind.first()?)))
                .and_then(|kind| graphs.of(id)?.get(kind).copied()),
            Self::Configurations(packed) => usize::try_from(id).ok().and_then(|id| {
                let byte = packed.get(id / IN_A_BYTE)?;
                Some(byte >> (2 * (id % IN_A_BYTE)) & NONE)
            }),
            Self::Lines(sources) => sources.of(id).and_then(|row| {
                let last = i64::from_le_bytes(*row.first_chunk()?);
                Some(if of <= last { 2 } else { 0 })
            }),
        };
        found.unwrap_or(NONE)
    }
}

/// Rows of one width in the order of the numbers that they begin with.
#[derive(Clone, Copy)]
struct Rows<'a> {
    rest: &'a [u8],
    width: usize,
}

impl<'a> Rows<'a> {
    /// What stands behind a number.
    fn of(self, id: i64) -> Option<&'a [u8]> {
        let (mut low, mut high) = (0, self.rest.len() / self.width);
        while low < high {
            let middle = low + (high - low) / 2;
            let row = self
                .rest
                .get(middle * self.width..(middle + 1) * self.width)?;
            let (number, rest) = row.split_first_chunk::<NUMBER>()?;
            match i64::from_le_bytes(*number).cmp(&id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(rest),
            }
        }
        None
    }
}

/// The table of graphs, which are in rising order.
pub(crate) fn of_graphs(graphs: impl IntoIterator<Item = (i64, u8)>) -> Vec<u8> {
    let mut table = vec![b'g'];
    for (graph, part) in graphs {
        table.extend_from_slice(&graph.to_le_bytes());
        table.push(part);
    }
    table
}

/// The table of graphs on kinds of targets; environments and graphs are in rising order.
pub(crate) fn of_tasks(
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

/// The table of configurations, by their numbers from 0 on.
pub(crate) fn of_configurations(parts: &[u8]) -> Vec<u8> {
    let packed = parts.chunks(IN_A_BYTE).map(|parts| {
        let places = (0..).step_by(2).zip(parts);
        places.fold(0, |byte, (place, part)| byte | part << place)
    });
    // What is left of the last byte is no part.
    let mut table: Vec<u8> = std::iter::once(b'c').chain(packed).collect();
    let left = parts.len() % IN_A_BYTE;
    if left > 0
        && let Some(last) = table.last_mut()
    {
        *last |= u8::MAX << (2 * left);
    }
    table
}

/// The table of sources, which are in rising order, with their last lines that are held out.
pub(crate) fn of_lines(sources: impl IntoIterator<Item = (i64, i64)>) -> Vec<u8> {
    let mut table = vec![b'l'];
    for (source, last) in sources {
        table.extend_from_slice(&source.to_le_bytes());
        table.extend_from_slice(&last.to_le_bytes());
    }
    table
}

/// The graphs of a table that have one of these parts (on some target), and whether a row has one just where its graph
/// is among them; `None` for a table by something else.
pub(crate) fn graphs_with(table: &[u8], wanted: &[&str]) -> Option<(Vec<i64>, bool)> {
    let (rows, is_exact) = match Table::of(table)? {
        Table::Graphs(rows) => (rows, true),
        Table::Tasks { graphs, .. } => (graphs, false),
        _ => return None,
    };
    let is_wanted = |part: &u8| {
        let part = PARTS.get(usize::from(*part));
        part.is_some_and(|part| wanted.contains(part))
    };
    let rows = rows.rest.chunks_exact(rows.width);
    let graphs = rows.filter_map(|row| {
        let (number, parts) = row.split_first_chunk::<NUMBER>()?;
        let number = i64::from_le_bytes(*number);
        parts.iter().any(is_wanted).then_some(number)
    });
    Some((graphs.collect(), is_exact))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(table: &[u8], ids: &[Option<i64>], of: Option<&[i64]>) -> String {
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
        let table = of_graphs([(i64::MIN, 2), (-3, 1), (0, 0), (7, NONE), (8, 0)]);
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
        assert_eq!(told(&table, &ids, None), "va va - tr - - tr te -");
        let graphs = graphs_with(&table, &["train", "test"]).unwrap();
        assert_eq!(graphs, (vec![i64::MIN, 0, 8], true));
        assert_eq!(graphs_with(&of_graphs([]), &["train"]).unwrap().0, [0; 0]);
    }

    #[test]
    fn rows_have_the_parts_of_their_tasks() {
        let table = of_tasks(&[(-1, 0), (5, 1)], 2, [(1, vec![0, 2]), (2, vec![NONE, 1])]);
        let ids = [1, 1, 2, 2, 3, 1].map(Some);
        let of = [-1, 5, -1, 5, 5, 6];
        assert_eq!(told(&table, &ids, Some(&of)), "tr te - va - -");
        let graphs = |part| graphs_with(&table, &[part]).unwrap();
        assert_eq!(graphs("test"), (vec![1], false));
        assert_eq!(graphs("valid"), (vec![2], false));
    }

    #[test]
    fn configurations_take_two_bits() {
        let table = of_configurations(&[0, 1, 2, NONE, 2]);
        assert_eq!(table.len(), 3);
        let ids = [0, 1, 2, 3, 4, 5, 6, 7, 8, -1].map(Some);
        assert_eq!(told(&table, &ids, None), "tr va te - te - - - - -");
        assert_eq!(graphs_with(&table, &["train"]), None);
    }

    #[test]
    fn lines_up_to_a_cut_are_held_out() {
        let table = of_lines([(-9, 0), (4, 2)]);
        let ids = [4, 4, 4, -9, 5].map(Some);
        assert_eq!(told(&table, &ids, Some(&[1, 2, 3, 1, 1])), "te te tr tr -");
    }

    #[test]
    fn other_bytes_are_no_table() {
        for table in [&b""[..], b"x", b"t", b"t\xff\xff\xff\xff\xff\xff\xff\x7f"] {
            assert!(Table::of(table).is_none(), "{table:?}");
        }
    }
}
