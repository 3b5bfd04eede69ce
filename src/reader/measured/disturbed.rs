//! Repeats that do not count: `[[wall ns, processor ns, involuntary switches], ...]` as columns.

use std::sync::Arc;

use arrow::array::{
    Array as _, AsArray as _, Float64Builder, Int64Builder, ListArray, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields, Float64Type, Int64Type};
use serde_json::Value;

use crate::number::{Decimal, Spelling, write_integer};

/// A repeat that does not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Disturbed {
    pub(crate) wall_ns: f64,
    /// Processor time, where it was measured.
    pub(crate) cpu_ns: Option<f64>,
    pub(crate) involuntary_switches: Option<i64>,
}

/// The repeats of a canonical text; `None` where it is a list of something else, or where they do not
/// give the text back.
pub(crate) fn parse(text: &str) -> Option<Vec<Disturbed>> {
    let repeats = values(text)?;
    (spell(&repeats).as_deref() == Some(text)).then_some(repeats)
}

/// The repeats of any text that lists them; `None` where it lists something else.
pub(crate) fn values(text: &str) -> Option<Vec<Disturbed>> {
    let lists: Vec<[Value; 3]> = serde_json::from_str(text).ok()?;
    let one = |[wall, cpu, switches]: &[Value; 3]| {
        let known = |value: &Value| !value.is_null();
        Some(Disturbed {
            wall_ns: wall.as_f64()?,
            cpu_ns: known(cpu)
                .then(|| cpu.as_f64().ok_or(()))
                .transpose()
                .ok()?,
            involuntary_switches: known(switches)
                .then(|| switches.as_i64().ok_or(()))
                .transpose()
                .ok()?,
        })
    };
    lists.iter().map(one).collect()
}

/// The text of repeats, as Python's `json.dumps` writes it; `None` for a number that has none.
pub(crate) fn spell(repeats: &[Disturbed]) -> Option<String> {
    let mut text = vec![b'['];
    for (place, repeat) in repeats.iter().enumerate() {
        if place > 0 {
            text.extend_from_slice(b", ");
        }
        text.push(b'[');
        number(Some(repeat.wall_ns), &mut text)?;
        text.extend_from_slice(b", ");
        number(repeat.cpu_ns, &mut text)?;
        text.extend_from_slice(b", ");
        match repeat.involuntary_switches {
            Some(count) => write_integer(count, &mut text),
            None => text.extend_from_slice(b"null"),
        }
        text.push(b']');
    }
    text.push(b']');
    String::from_utf8(text).ok()
}

/// Whole numbers without a point.
fn number(value: Option<f64>, out: &mut Vec<u8>) -> Option<()> {
    let Some(value) = value else {
        out.extend_from_slice(b"null");
        return Some(());
    };
    let value = Decimal::from_f64(value)?;
    match value.digits_at(0) {
        Some(whole) => write_integer(whole, out),
        None => value.write(Spelling::Shortest, out).then_some(())?,
    }
    Some(())
}

/// The columns of a repeat.
fn fields() -> Fields {
    Fields::from(vec![
        Field::new("wall_ns", DataType::Float64, true),
        Field::new("cpu_ns", DataType::Float64, true),
        Field::new("involuntary_switches", DataType::Int64, true),
    ])
}

/// The type of the column.
pub(crate) fn data_type() -> DataType {
    DataType::new_list(DataType::Struct(fields()), true)
}

/// A column that grows row by row.
#[derive(Default)]
pub(crate) struct Rows {
    wall_ns: Float64Builder,
    cpu_ns: Float64Builder,
    switches: Int64Builder,
    lengths: Vec<usize>,
    valid: Vec<bool>,
}

impl Rows {
    /// `None` is NULL.
    pub(crate) fn push(&mut self, repeats: Option<&[Disturbed]>) {
        for repeat in repeats.unwrap_or_default() {
            self.wall_ns.append_value(repeat.wall_ns);
            self.cpu_ns.append_option(repeat.cpu_ns);
            self.switches.append_option(repeat.involuntary_switches);
        }
        self.lengths.push(repeats.map_or(0, <[_]>::len));
        self.valid.push(repeats.is_some());
    }

    pub(crate) fn finish(mut self) -> ListArray {
        let repeats = StructArray::new(
            fields(),
            vec![
                Arc::new(self.wall_ns.finish()),
                Arc::new(self.cpu_ns.finish()),
                Arc::new(self.switches.finish()),
            ],
            None,
        );
        ListArray::new(
            Arc::new(Field::new_list_field(repeats.data_type().clone(), true)),
            OffsetBuffer::from_lengths(self.lengths),
            Arc::new(repeats),
            Some(NullBuffer::from(self.valid)),
        )
    }
}

/// The repeats in a row of such a column; `None` for NULL, and for a column of another type.
pub(crate) fn at(column: &ListArray, row: usize) -> Option<Vec<Disturbed>> {
    let list = column.is_valid(row).then(|| column.value(row))?;
    let repeats = list.as_struct_opt()?;
    let [wall_ns, cpu_ns, switches] = repeats.columns() else {
        return None;
    };
    let wall_ns = wall_ns.as_primitive_opt::<Float64Type>()?;
    let cpu_ns = cpu_ns.as_primitive_opt::<Float64Type>()?;
    let switches = switches.as_primitive_opt::<Int64Type>()?;
    let rows = wall_ns.iter().zip(cpu_ns).zip(switches);
    rows.map(|((wall_ns, cpu_ns), involuntary_switches)| {
        Some(Disturbed {
            wall_ns: wall_ns?,
            cpu_ns,
            involuntary_switches,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_give_their_text_back() {
        for text in [
            "[]",
            "[[2500000.5, 1400000, 3]]",
            "[[431123, null, 0], [0.125, 1e-05, null]]",
        ] {
            let repeats = parse(text).unwrap();
            assert_eq!(spell(&repeats).as_deref(), Some(text));
            let mut rows = Rows::default();
            rows.push(None);
            rows.push(Some(&repeats));
            let column = rows.finish();
            assert_eq!(*column.data_type(), data_type());
            assert_eq!(at(&column, 0), None);
            assert_eq!(at(&column, 1), Some(repeats));
        }
        let one = parse("[[7.5, null, 2]]").unwrap();
        let (wall_ns, cpu_ns, involuntary_switches) = (7.5, None, Some(2));
        let wanted = Disturbed {
            wall_ns,
            cpu_ns,
            involuntary_switches,
        };
        assert_eq!(one, [wanted]);
    }

    #[test]
    fn other_lists_are_none_of_repeats() {
        for text in [
            "[1, 2]",
            "[[1, 2]]",
            "[[\"a\", 1, 1]]",
            "[[null, 1, 1]]",
            "[[1, 1, 1.5]]",
        ] {
            assert_eq!(values(text), None, "{text}");
        }
        // Repeats, but spelled in a way that numbers do not keep.
        assert_eq!(parse("[[1.50, 1, 1]]"), None);
        assert_eq!(values("[[1.50, 1, 1]]").unwrap().len(), 1);
    }
}
