//! Column of disturbed repeats, which are excluded from the runtime: lists of wall time, CPU time and involuntary
//! context switches.

use std::sync::Arc;

use arrow::array::{
    Array as _, AsArray as _, Float64Builder, Int64Builder, ListArray, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields, Float64Type, Int64Type};
use tsql_formats::measured::disturbed_repeats::DisturbedRepeat;

/// Fields of a repeat.
fn fields() -> Fields {
    Fields::from(vec![
        Field::new("wall_ns", DataType::Float64, true),
        Field::new("cpu_ns", DataType::Float64, true),
        Field::new("involuntary_switches", DataType::Int64, true),
    ])
}

/// Data type of the column.
pub fn data_type() -> DataType {
    DataType::new_list(DataType::Struct(fields()), true)
}

/// Builder of the column, row by row.
#[derive(Default)]
pub struct DisturbedBuilder {
    wall_ns: Float64Builder,
    cpu_ns: Float64Builder,
    switches: Int64Builder,
    lengths: Vec<usize>,
    valid: Vec<bool>,
}

impl DisturbedBuilder {
    /// Appends a row. `None` is NULL.
    pub fn push(&mut self, repeats: Option<&[DisturbedRepeat]>) {
        for repeat in repeats.unwrap_or_default() {
            self.wall_ns.append_value(repeat.wall_ns);
            self.cpu_ns.append_option(repeat.cpu_ns);
            self.switches.append_option(repeat.involuntary_switches);
        }
        self.lengths.push(repeats.map_or(0, <[_]>::len));
        self.valid.push(repeats.is_some());
    }

    /// Returns the column.
    pub fn finish(mut self) -> ListArray {
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

/// Returns the repeats of a row. `None` for NULL, and for a column of another type.
pub fn disturbed_at(column: &ListArray, row: usize) -> Option<Vec<DisturbedRepeat>> {
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
        Some(DisturbedRepeat {
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
    fn repeats_come_back_from_a_column() {
        let known = DisturbedRepeat {
            wall_ns: 2_500_000.5,
            cpu_ns: Some(1_400_000.0),
            involuntary_switches: Some(3),
        };
        let unknown = DisturbedRepeat {
            wall_ns: 0.125,
            cpu_ns: None,
            involuntary_switches: None,
        };
        for repeats in [vec![], vec![known], vec![unknown, known]] {
            let mut rows = DisturbedBuilder::default();
            rows.push(None);
            rows.push(Some(&repeats));
            let column = rows.finish();
            assert_eq!(*column.data_type(), data_type());
            assert_eq!(disturbed_at(&column, 0), None);
            assert_eq!(disturbed_at(&column, 1), Some(repeats));
        }
    }
}
