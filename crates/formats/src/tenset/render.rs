//! Writes the lines of an auto_scheduler log from their columns.
//!
//! The same code verifies at ingest that a line can be reproduced, and reproduces it at export.

use serde_json::Value;
use tsql_codecs::number::{Spelling, write_integer};
use tsql_codecs::{json, repeats};

use crate::rows::{Environment, JsonWriter, Measurement};

impl JsonWriter {
    fn comma(self) -> &'static [u8] {
        if self.is_compact() { b"," } else { b", " }
    }

    fn number_spelling(self) -> Spelling {
        if self.is_python() {
            Spelling::Shortest
        } else {
            Spelling::SixDigits
        }
    }

    /// TVM's cost of a failed measurement, 1e10 s.
    fn failed_cost(self) -> &'static [u8] {
        if self.is_python() {
            b"10000000000.0"
        } else {
            b"1e+10"
        }
    }

    fn write_string(self, text: &str, out: &mut Vec<u8>) {
        if self.is_python() {
            json::write_ascii_string(text, out);
            return;
        }
        out.push(b'"');
        for &byte in text.as_bytes() {
            match byte {
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\t' => out.extend_from_slice(b"\\t"),
                b'\\' | b'"' => out.extend_from_slice(&[b'\\', byte]),
                _ => out.push(byte),
            }
        }
        out.push(b'"');
    }
}

impl Environment {
    /// Parses the task tuple without its key (raw JSON, without brackets) and the raw version.
    pub(super) fn parse(task: &[u8], version: &[u8], writer: JsonWriter) -> Result<Self, String> {
        let list = [b"[", task, b"]"].concat();
        let values: Vec<Value> =
            serde_json::from_slice(&list).map_err(|error| error.to_string())?;
        let log_version = serde_json::from_slice(version).map_err(|error| error.to_string())?;
        let mut values = values.into_iter();
        let type_error = |field: &str| format!("{field} of the task has an unexpected type");
        let Some(Value::String(target)) = values.next() else {
            return Err(type_error("the target"));
        };
        let integers = |value: Value| serde_json::from_value::<Vec<i64>>(value);
        let hardware_params = values.next().map(integers).transpose();
        let target_host = values
            .next()
            .map(serde_json::from_value::<String>)
            .transpose();
        let option = values.next().map(serde_json::from_value::<i32>).transpose();
        let names = values
            .next()
            .map(serde_json::from_value::<Vec<String>>)
            .transpose();
        if let Some(value) = values.next() {
            return Err(format!("the task has an unexpected element: `{value}`"));
        }
        Ok(Self {
            target,
            hardware_params: hardware_params
                .map_err(|_| type_error("the list of hardware parameters"))?,
            target_host: target_host.map_err(|_| type_error("the target host"))?,
            layout_rewrite_option: option.map_err(|_| type_error("the layout rewrite option"))?,
            task_input_names: names.map_err(|_| type_error("the list of input names"))?,
            log_version,
            ..Self::for_writer(writer)
        })
    }

    /// Returns the canonical text of all fields, whose hash is `environment_id`.
    pub fn canonical_text(&self) -> String {
        let mut out = Vec::new();
        Self {
            writer: JsonWriter::Tvm,
            ..self.clone()
        }
        .write_task(&mut out);
        let task = String::from_utf8_lossy(&out).into_owned();
        let mut text = format!("{task}\n{}\n{}", self.log_version, self.writer.name());
        let optional_parts = [&self.machine, &self.settings, &self.program];
        if optional_parts.iter().any(|part| part.is_some()) {
            for part in optional_parts {
                text.push('\n');
                text.push_str(part.as_deref().unwrap_or_default());
            }
        }
        if let Some(version) = &self.tvm_version {
            text.push_str("\ntvm ");
            text.push_str(version);
        }
        text
    }

    fn write_task(&self, out: &mut Vec<u8>) {
        let comma = self.writer.comma();
        self.writer.write_string(&self.target, out);
        if let Some(params) = &self.hardware_params {
            out.extend_from_slice(comma);
            write_list(params, comma, out, |&value, out| write_integer(value, out));
        }
        if let Some(host) = &self.target_host {
            out.extend_from_slice(comma);
            self.writer.write_string(host, out);
        }
        if let Some(option) = self.layout_rewrite_option {
            out.extend_from_slice(comma);
            write_integer(i64::from(option), out);
        }
        if let Some(names) = &self.task_input_names {
            out.extend_from_slice(comma);
            write_list(names, comma, out, |name, out| {
                self.writer.write_string(name, out)
            });
        }
    }
}

fn write_list<T>(items: &[T], comma: &[u8], out: &mut Vec<u8>, write: impl Fn(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(comma);
        }
        write(item, out);
    }
    out.push(b']');
}

/// Common parts of all lines of one graph in one environment.
#[derive(Clone, Debug)]
pub struct LineFrame {
    writer: JsonWriter,
    head: Vec<u8>,
    middle: Vec<u8>,
    tail: Vec<u8>,
}

impl LineFrame {
    /// Creates the frame of the lines of this workload in this environment.
    pub fn new(workload_key: &str, environment: &Environment) -> Self {
        let writer = environment.writer;
        let spaced = |text: &str| {
            let text = text.as_bytes().iter().copied();
            text.filter(|&byte| !(writer.is_compact() && byte == b' '))
                .collect::<Vec<u8>>()
        };
        let mut head = spaced("{\"i\": [[");
        writer.write_string(workload_key, &mut head);
        head.extend_from_slice(writer.comma());
        environment.write_task(&mut head);
        head.extend(spaced("], [[], "));
        let mut tail = spaced("], \"v\": ");
        writer.write_string(&environment.log_version, &mut tail);
        tail.push(b'}');
        Self {
            writer,
            head,
            middle: spaced("]], \"r\": ["),
            tail,
        }
    }

    /// Appends a line. `steps` are in TVM's format. Returns false if the columns cannot be written; `out` then ends in
    /// an incomplete line.
    pub fn write(&self, steps: &[u8], result: Measurement<'_>, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(&self.head);
        if self.writer.is_compact() {
            json::write_compact(steps, out);
        } else {
            out.extend_from_slice(steps);
        }
        self.write_after_steps(result, out)
    }

    /// Whether `line` equals the output of [`Self::write`]. `rebuilt` is a scratch buffer.
    pub fn matches_line(
        &self,
        line: &[u8],
        steps: &[u8],
        result: Measurement<'_>,
        rebuilt: &mut Vec<u8>,
    ) -> bool {
        rebuilt.clear();
        let steps = if self.writer.is_compact() {
            json::write_compact(steps, rebuilt);
            rebuilt.as_slice()
        } else {
            steps
        };
        let rest = line.strip_prefix(self.head.as_slice());
        let Some(rest) = rest.and_then(|rest| rest.strip_prefix(steps)) else {
            return false;
        };
        rebuilt.clear();
        self.write_after_steps(result, rebuilt) && rest == rebuilt
    }

    fn write_after_steps(&self, result: Measurement<'_>, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(&self.middle);
        let is_written = self.write_result(result, out).is_some();
        out.extend_from_slice(&self.tail);
        is_written
    }

    fn write_result(&self, result: Measurement<'_>, out: &mut Vec<u8>) -> Option<()> {
        let (comma, spelling) = (self.writer.comma(), self.writer.number_spelling());
        out.push(b'[');
        match result.runtime_ns {
            None if result.error_no != 0 => out.extend_from_slice(self.writer.failed_cost()),
            None => out.push(b'0'),
            Some(runtime_ns) => {
                let mut costs = Vec::new();
                repeats::unpack(runtime_ns, result.repeat_count, result.repeats, &mut costs)?;
                for (index, cost) in costs.into_iter().enumerate() {
                    if index > 0 {
                        out.extend_from_slice(comma);
                    }
                    cost.write(spelling, out).then_some(())?;
                }
            }
        }
        out.push(b']');
        out.extend_from_slice(comma);
        write_integer(i64::from(result.error_no), out);
        out.extend_from_slice(comma);
        result.all_cost?.write(spelling, out).then_some(())?;
        out.extend_from_slice(comma);
        write_integer(result.measured_at_s?, out);
        Some(())
    }
}
