//! Differences between the machine of a record and this one.

use serde::Serialize;
use serde_json::Value;

/// Facts in `environments.machine` that affect timings, with their names.
const FACTS: [(&str, &[&str]); 8] = [
    ("product", &["/product"]),
    (
        "processor",
        &[
            "/processor/brand",
            "/processor/family",
            "/processor/model",
            "/processor/stepping",
        ],
    ),
    ("features", &["/processor/flags_hash"]),
    ("hypervisor", &["/processor/hypervisor"]),
    (
        "cores",
        &["/topology/sockets", "/topology/cores", "/topology/threads"],
    ),
    (
        "clock",
        &[
            "/frequency/nominal_khz",
            "/frequency/max_khz",
            "/frequency/governor",
        ],
    ),
    ("memory", &["/memory/total_bytes"]),
    ("gpu", &["/gpus/0/name"]),
];

/// The compiler is not part of the machine but affects timings, too.
const COMPILER: (&str, &[&str]) = ("compiler", &["/toolchain/version_line"]);

/// A fact that has changed since a record was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// Name of the fact: `processor`, `cores`, `compiler`.
    pub fact: &'static str,
    /// Value in the record.
    pub recorded: String,
    /// Current value.
    pub current: String,
}

impl Difference {
    /// Returns whether the machine differs, rather than the compiler.
    pub fn is_hardware(&self) -> bool {
        self.fact != COMPILER.0
    }

    /// Formats the difference for users.
    pub fn describe(&self) -> String {
        format!(
            "{} was `{}`, is `{}`",
            self.fact, self.recorded, self.current
        )
    }
}

/// Differences between the machine of a record (`then`) and the current one, both as JSON. Facts that are
/// unknown for one of them are omitted.
pub(crate) fn differences(then: &str, now: &str) -> Vec<Difference> {
    let read = |text| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (then, now) = (read(then), read(now));
    let facts = FACTS.iter().chain([&COMPILER]);
    facts
        .filter_map(|&(fact, places)| {
            let known =
                |place: &&&str| then.pointer(place).is_some() && now.pointer(place).is_some();
            let places: Vec<&&str> = places.iter().filter(known).collect();
            let said = |machine: &Value| {
                let values = places.iter().filter_map(|place| machine.pointer(place));
                let values: Vec<String> = values.map(|value| format_fact(fact, value)).collect();
                values.join(" ")
            };
            let (then, now) = (said(&then), said(&now));
            (then != now).then_some(Difference {
                fact,
                recorded: then,
                current: now,
            })
        })
        .collect()
}

fn format_fact(fact: &str, value: &Value) -> String {
    match value {
        Value::Null => "unknown".to_owned(),
        Value::String(text) => text.clone(),
        // The kernel version changes the usable memory by some megabytes.
        Value::Number(bytes) if fact == "memory" => {
            let bytes = bytes.as_u64().unwrap_or_default();
            format!("{} GiB", (bytes + (1 << 29)) >> 30)
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = r#"{"processor": {"brand": "AMD EPYC", "family": 25, "model": 17, "stepping": 1},
        "topology": {"cores": 2, "threads": 2}, "frequency": {"nominal_khz": null},
        "memory": {"total_bytes": 25276502016}, "gpus": [], "toolchain": {"version_line": "cc 12.2"}}"#;

    #[test]
    fn what_differs_is_named() {
        assert_eq!(differences(HERE, HERE), []);
        let almost = HERE.replace("25276502016", "25270000000");
        assert_eq!(differences(HERE, &almost), []);
        let there = HERE
            .replace("AMD EPYC", "Intel Xeon")
            .replace("\"cores\": 2", "\"cores\": 8")
            .replace("null", "2900000")
            .replace("12.2", "14.1");
        let found = differences(&there, HERE);
        let facts: Vec<&str> = found.iter().map(|found| found.fact).collect();
        assert_eq!(facts, ["processor", "cores", "clock", "compiler"]);
        assert_eq!(
            found[0].describe(),
            "processor was `Intel Xeon 25 17 1`, is `AMD EPYC 25 17 1`"
        );
        assert!(found[0].is_hardware() && !found[3].is_hardware());
        // A fact that is unknown on one side is no difference.
        assert_eq!(
            differences(r#"{"processor": {"brand": "AMD EPYC"}}"#, HERE),
            []
        );
    }
}
