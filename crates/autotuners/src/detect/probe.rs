//! Detection of JSON documents by their first keys.

use crate::format::{Detected, Format, NoRecords};
use crate::json::{Found, JsonStream, parse};
use crate::value::Value;

/// Maximum number of fields that are looked at.
const MAX_FIELDS: usize = 64;

/// The first fields of a JSON object. A value that does not end in the beginning is cut.
pub(super) struct Probe<'a> {
    fields: Vec<(String, Option<Value>)>,
    beginning: &'a [u8],
}

impl<'a> Probe<'a> {
    pub(super) fn new(beginning: &'a [u8]) -> Self {
        let mut fields = Vec::new();
        let mut stream = JsonStream::new(beginning);
        if matches!(stream.open(b'{'), Ok(true)) {
            while let Ok(Found::Key(key)) = stream.next_key() {
                let value = stream
                    .read_value()
                    .ok()
                    .and_then(Result::ok)
                    .map(|(value, _)| value);
                let is_cut = value.is_none();
                fields.push((key, value));
                if is_cut || fields.len() == MAX_FIELDS {
                    break;
                }
            }
        }
        Self { fields, beginning }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(key, _)| key == name)
    }

    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(key, _)| key == name)?.1.as_ref()
    }

    /// Returns whether there is a field and no field has another name than these.
    pub(super) fn only(&self, names: &[&str]) -> bool {
        let mut fields = self.fields.iter();
        !self.fields.is_empty() && fields.all(|(name, _)| names.contains(&name.as_str()))
    }

    /// Returns whether the beginning has these bytes, for values that were cut.
    pub(super) fn mentions(&self, text: &str) -> bool {
        let text = text.as_bytes();
        self.beginning
            .windows(text.len())
            .any(|window| window == text)
    }

    pub(super) fn detect(&self) -> Detected {
        self.format()
            .map_or_else(|| self.no_records(), Detected::Format)
    }

    fn format(&self) -> Option<Format> {
        let kernel_tuner = ["device_name", "kernel_name", "tune_params_keys", "cache"];
        if kernel_tuner.iter().all(|name| self.has(name)) {
            return Some(Format::KernelTunerCache);
        }
        if self.has("results")
            && self.mentions("\"configuration\"")
            && self.mentions("\"invalidity\"")
        {
            return Some(Format::T4);
        }
        if self.has("ConfigurationSpace") {
            return Some(Format::T1);
        }
        if self
            .value("Metadata")
            .is_some_and(|value| value.get("KttVersion").is_some())
        {
            return Some(Format::KttJson);
        }
        if self.fields.len() == 2 && self.has("key") && self.has("configs_timings") {
            return Some(Format::Triton);
        }
        if self.has("devices") && (self.has("benchmarks") || self.has("meta")) {
            return Some(Format::NvbenchJson);
        }
        if self.has("definition") && self.has("workload") {
            return Some(Format::FlashInferBench);
        }
        if self.has("v")
            && self
                .value("i")
                .is_some_and(|value| value.as_list().is_some())
        {
            let version = self.value("v")?.as_number()?;
            return (version.text() == "0.1").then_some(Format::AutoTvm01);
        }
        if self.has("problem_name") && self.fields.iter().any(|(key, _)| is_run_statistics(key)) {
            return Some(Format::KernelBenchRuns);
        }
        let (first, value) = self.fields.first()?;
        if first.starts_with("level") && self.mentions("\"num_trials\"") {
            return Some(Format::KernelBench);
        }
        let is_tokamax = first.starts_with('{')
            && parse(first.as_bytes()).is_ok_and(|key| key.as_object().is_some())
            && value
                .as_ref()
                .is_none_or(|value| value.as_object().is_some())
            && self.mentions("\"evaluation_times_ms\"");
        let is_own_run = self.has("device_kind") && self.has("tokamax_version");
        (is_tokamax || is_own_run).then_some(Format::Tokamax)
    }

    fn no_records(&self) -> Detected {
        let all = |names: &[&str]| names.iter().all(|name| self.has(name));
        let found = if all(&["op_type", "axes", "inputs", "outputs"]) {
            NoRecords::FlashInferDefinition
        } else if all(&["definition", "spec", "sources"]) {
            NoRecords::FlashInferSolution
        } else if self.has("_metadata") {
            NoRecords::FlashInferTactics
        } else if all(&["Mem_Bw", "Num_Sm"]) {
            NoRecords::DeviceDescription
        } else {
            return Detected::Unknown;
        };
        Detected::NoRecords(found)
    }
}

/// Returns whether a field has the statistics of a KernelBench variant.
fn is_run_statistics(key: &str) -> bool {
    key.starts_with("runtime_") && key.ends_with("_stats")
}
