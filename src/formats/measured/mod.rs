//! What this or another program timed, as lines of JSON.

use std::collections::HashMap;

use arrow::array::{BinaryViewArray, ListArray, PrimitiveArray, RecordBatch, StringViewArray};
use arrow::datatypes::Float64Type;
use tsql_codecs::repeats::Packed;
use tsql_formats::measured::disturbed::spell;
use tsql_formats::measured::{NAME, kernel, words, write};
use tsql_formats::rows::{Details, Kernel};

use super::lines::LineRoom;
use super::spelling::{BatchSpeller, Known, Row, Speller};
use crate::column::{self, disturbed};
use crate::dedupe::Kernels;
use crate::error::Result;

/// Its room.
pub(super) static ROOM: LineRoom = LineRoom {
    dataset: NAME,
    make_speller: Objects::speller,
};

/// Spells objects.
struct Objects {
    known: Known,
    /// What the environments say of the kernel.
    kernels: HashMap<i64, Kernel>,
}

impl Objects {
    fn speller(known: Known) -> Box<dyn Speller> {
        let kernels = known.environments.iter();
        let kernels = kernels.map(|(&id, environment)| (id, kernel(environment)));
        Box::new(Self {
            kernels: kernels.collect(),
            known,
        })
    }
}

impl Speller for Objects {
    fn of<'a>(&'a mut self, batch: &'a RecordBatch) -> Result<Box<dyn BatchSpeller + 'a>> {
        Ok(Box::new(BatchObjects {
            objects: self,
            details: DetailColumns::of(batch)?,
            kernels: Kernels::of(batch)?,
        }))
    }
}

/// Spells the objects of a batch.
struct BatchObjects<'a> {
    objects: &'a Objects,
    details: DetailColumns<'a>,
    kernels: Kernels<'a>,
}

impl BatchSpeller for BatchObjects<'_> {
    fn spell(&mut self, row: &Row<'_>, steps: &[u8], out: &mut Vec<u8>) -> Option<bool> {
        let Objects { known, kernels } = self.objects;
        let graph = known.graphs.get(&row.graph_id)?;
        let environment = known.environments.get(&row.environment_id)?;
        let said = kernels.get(&row.environment_id)?;
        let kernel = self.kernels.at(row.place).unwrap_or_default().beside(said);
        let details = self.details.at(row.place);
        let result = row.result;
        Some(write(
            graph,
            steps,
            &kernel,
            result,
            &details,
            environment,
            out,
        ))
    }
}

/// The columns that only these lines fill.
struct DetailColumns<'a> {
    messages: &'a StringViewArray,
    baselines: &'a PrimitiveArray<Float64Type>,
    cpu: &'a PrimitiveArray<Float64Type>,
    cpu_repeats: &'a BinaryViewArray,
    disturbed: &'a ListArray,
    /// Lists of something else, and those of older files; so of flags.
    disturbed_texts: &'a StringViewArray,
    flags: &'a ListArray,
    flag_texts: &'a StringViewArray,
}

impl<'a> DetailColumns<'a> {
    fn of(batch: &'a RecordBatch) -> Result<Self> {
        let text = |name| column::text(batch, name);
        let numbers = |name| column::numbers::<Float64Type>(batch, name);
        Ok(Self {
            messages: text("error_message")?,
            baselines: numbers("baseline_ns")?,
            cpu: numbers("cpu_ns")?,
            cpu_repeats: column::bytes(batch, "cpu_repeats")?,
            disturbed: column::lists(batch, "disturbed_list")?,
            disturbed_texts: text("disturbed_repeats")?,
            flags: column::lists(batch, "flag_list")?,
            flag_texts: text("flags")?,
        })
    }

    fn at(&self, row: usize) -> Details {
        let text = |column| column::text_at(column, row).map(str::to_owned);
        let cpu = column::value(self.cpu, row).map(|runtime_ns| Packed {
            runtime_ns,
            bytes: column::bytes_at(self.cpu_repeats, row).map(<[u8]>::to_vec),
        });
        Details {
            error_message: text(self.messages),
            baseline_ns: column::value(self.baselines, row),
            cpu,
            disturbed_repeats: disturbed::at(self.disturbed, row)
                .and_then(|repeats| spell(&repeats))
                .or_else(|| text(self.disturbed_texts)),
            flags: column::texts_at(self.flags, row)
                .or_else(|| Some(words(column::text_at(self.flag_texts, row)?))),
        }
    }
}
