//! Rebuilds stored records as JSON objects.

use std::collections::HashMap;

use super::kernel;
use super::render::write;
use crate::record_writer::{RecordWriter, StoredRecord};
use crate::rows::Kernel;

/// Kernels by environment, which lines do not repeat.
#[derive(Debug, Default)]
pub(super) struct MeasuredWriter(HashMap<i64, Kernel>);

impl RecordWriter for MeasuredWriter {
    fn write_record(&mut self, record: &StoredRecord<'_>, out: &mut Vec<u8>) -> bool {
        let environment_kernel = self.0.entry(record.environment_id);
        let environment_kernel =
            environment_kernel.or_insert_with(|| kernel::kernel_of_environment(record.environment));
        write(
            record.workload_key,
            record.steps,
            &record.kernel.difference_from(environment_kernel),
            record.measurement,
            record.details,
            record.environment,
            out,
        )
    }
}
