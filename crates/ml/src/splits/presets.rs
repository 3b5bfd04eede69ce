//! Presets: splits of papers and datasets.

use serde::Serialize;
use tsql_error::{Error, Result};
use tsql_session::SplitUnit;

use super::options::SplitOptions;

/// A split defined by a paper or a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SplitPreset {
    /// Its name.
    pub name: &'static str,
    /// Description and source.
    pub doc: &'static str,
    /// Known leaks.
    pub warning: Option<&'static str>,
    /// Unit that is never divided.
    pub unit: SplitUnit,
    /// Ratio of train, valid and test.
    pub ratio: &'static str,
    /// Query whose rows are split.
    pub query: &'static str,
    /// Query whose units are held out.
    pub hold_out: Option<&'static str>,
}

const TENSET: &str = "SELECT * FROM records WHERE dataset = 'tenset'";

const PRESETS: [SplitPreset; 4] = [
    SplitPreset {
        name: "tenset-within-task",
        doc: "TenSet's `within_task` (dataset.py:104-112): the first 10 % of the lines of each \
            file are the test set, the others are for training",
        warning: Some(
            "leaks by definition: programs of one task, often of one sketch, lie on both sides, and upstream stops training by the test set",
        ),
        unit: SplitUnit::Line,
        ratio: "90/0/10",
        query: TENSET,
        hold_out: None,
    },
    SplitPreset {
        name: "tenset-all-five",
        doc: "TenSet's hold-out `all_five` with six networks (make_dataset.py:34-46): their tasks \
            of batch 1 are the test set; a tenth of the other tasks is for validation. Needs \
            `network_info`",
        warning: Some(
            "tasks of other networks share DAGs with the test set: see `tsql split leaks`, L3",
        ),
        unit: SplitUnit::Task,
        ratio: "90/10/0",
        query: TENSET,
        hold_out: Some(
            "SELECT graph_id FROM network_tasks WHERE network IN ('resnet_18', 'resnet_50', 'mobilenet_v2', 'resnext_50', 'bert_tiny', \
             'bert_base') AND input_shapes IN ('[[1,3,224,224]]', '[[1,128]]')",
        ),
    },
    SplitPreset {
        name: "tlp-five",
        doc: "TLP's five test networks (tlp_make_dataset.py): their tasks of batch 1 are the test set; a tenth of the other tasks is for \
              validation, where upstream takes rows of all tasks. Needs `network_info`",
        warning: Some(
            "tasks of other networks share DAGs with the test set: see `tsql split leaks`, L3",
        ),
        unit: SplitUnit::Task,
        ratio: "90/10/0",
        query: TENSET,
        hold_out: Some(
            "SELECT graph_id FROM network_tasks WHERE network IN ('resnet_50', 'mobilenet_v2', 'resnext_50', 'bert_tiny', 'bert_base') AND \
             input_shapes IN ('[[1,3,224,224]]', '[[1,128]]')",
        ),
    },
    SplitPreset {
        name: "tpugraphs-official",
        doc: "The published folders `train`, `valid` and `test` of TpuGraphs",
        warning: Some(
            "graphs of one family lie in several parts (resnet50 in bf16 and in fp16): see `tsql split leaks`, L3",
        ),
        unit: SplitUnit::Collection,
        ratio: "1/1/1",
        query: "SELECT * FROM records WHERE dataset = 'tpugraphs'",
        hold_out: None,
    },
];

/// Returns all presets.
#[must_use]
pub fn split_presets() -> &'static [SplitPreset] {
    &PRESETS
}

impl SplitOptions {
    /// Returns the options of a preset; see [`split_presets`].
    ///
    /// # Errors
    /// [`Error::Unknown`] if there is no such preset.
    pub fn preset(name: &str) -> Result<Self> {
        let found = PRESETS.iter().find(|preset| preset.name == name);
        let preset = found.ok_or_else(|| Error::Unknown {
            kind: "preset of a split",
            name: name.to_owned(),
            known: PRESETS.map(|preset| preset.name).join(", "),
        })?;
        Ok(Self {
            unit: preset.unit,
            ratio: preset.ratio.to_owned(),
            hold_out: preset.hold_out.map(str::to_owned),
            query: Some(preset.query.to_owned()),
            preset: Some(preset.name),
            warning: preset.warning,
            ..Self::default()
        })
    }
}
