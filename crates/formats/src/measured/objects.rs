//! Stored records as objects again.

use std::collections::HashMap;

use super::kernel;
use super::render::write;
use crate::rows::Kernel;
use crate::spelled::{Speller, Stored};

/// What the environments say of the kernel, which lines do not repeat.
#[derive(Debug, Default)]
pub(super) struct Objects(HashMap<i64, Kernel>);

impl Speller for Objects {
    fn spell(&mut self, record: &Stored<'_>, out: &mut Vec<u8>) -> bool {
        let said = self.0.entry(record.environment_id);
        let said = said.or_insert_with(|| kernel::of(record.environment));
        write(
            record.workload_key,
            record.steps,
            &record.kernel.beside(said),
            record.measurement,
            record.details,
            record.environment,
            out,
        )
    }
}
