//! Rows of `environments`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Builder, Int64Array, Int64Builder, ListBuilder, StringBuilder};
use tsql_formats::rows::Environment;
use tsql_schema::column::arrays::Columns;

/// Builder for rows of `environments`.
#[derive(Default)]
pub struct EnvironmentRows {
    ids: Vec<i64>,
    datasets: StringBuilder,
    targets: StringBuilder,
    hardware: ListBuilder<Int64Builder>,
    hosts: StringBuilder,
    options: Int32Builder,
    inputs: ListBuilder<StringBuilder>,
    versions: StringBuilder,
    tvm_versions: StringBuilder,
    writers: StringBuilder,
    machines: StringBuilder,
    settings: StringBuilder,
    programs: StringBuilder,
}

impl EnvironmentRows {
    /// Adds an environment under its id.
    pub fn push(&mut self, id: i64, dataset: &str, environment: &Environment) {
        self.ids.push(id);
        self.datasets.append_value(dataset);
        self.targets.append_value(&environment.target);
        let hardware = environment.hardware_params.as_ref();
        self.hardware
            .append_option(hardware.map(|list| list.iter().copied().map(Some)));
        self.hosts.append_option(environment.target_host.as_ref());
        self.options
            .append_option(environment.layout_rewrite_option);
        let inputs = environment.task_input_names.as_ref();
        self.inputs
            .append_option(inputs.map(|list| list.iter().map(Some)));
        self.versions.append_value(&environment.log_version);
        self.tvm_versions
            .append_option(environment.tvm_version.as_ref());
        self.writers.append_value(environment.writer.name());
        self.machines.append_option(environment.machine.as_ref());
        self.settings.append_option(environment.settings.as_ref());
        self.programs.append_option(environment.program.as_ref());
    }

    /// Returns the columns of `environments`.
    pub fn finish(mut self) -> Columns {
        BTreeMap::from([
            (
                "environment_id",
                Arc::new(Int64Array::from(self.ids)) as ArrayRef,
            ),
            ("dataset", Arc::new(self.datasets.finish())),
            ("target", Arc::new(self.targets.finish())),
            ("hardware_params", Arc::new(self.hardware.finish())),
            ("target_host", Arc::new(self.hosts.finish())),
            ("layout_rewrite_option", Arc::new(self.options.finish())),
            ("task_input_names", Arc::new(self.inputs.finish())),
            ("log_version", Arc::new(self.versions.finish())),
            ("tvm_version", Arc::new(self.tvm_versions.finish())),
            ("writer", Arc::new(self.writers.finish())),
            ("machine", Arc::new(self.machines.finish())),
            ("settings", Arc::new(self.settings.finish())),
            ("program", Arc::new(self.programs.finish())),
        ])
    }
}
