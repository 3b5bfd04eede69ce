//! Is the machine of a record this one? What of it differs.

use serde::Serialize;
use serde_json::Value;

/// Facts of `environments.machine` that timings follow, by what people call them.
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

/// What builds kernels is no part of the machine, but they follow it, too.
const COMPILER: (&str, &[&str]) = ("compiler", &["/toolchain/version_line"]);

/// A fact that was another when a record was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// What people call it: `processor`, `cores`, `compiler`.
    pub fact: &'static str,
    /// As it was.
    pub then: String,
    /// As it is.
    pub now: String,
}

impl Difference {
    /// It is the machine that differs, not what builds on it.
    pub fn is_of_machine(&self) -> bool {
        self.fact != COMPILER.0
    }

    /// For people.
    pub fn sentence(&self) -> String {
        format!("{} `{}` then, `{}` now", self.fact, self.then, self.now)
    }
}

/// What differs between the machine of a record and that of now, both as JSON. A fact that one of them
/// does not know of is none.
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
                let values: Vec<String> = values.map(|value| spell(fact, value)).collect();
                values.join(" ")
            };
            let (then, now) = (said(&then), said(&now));
            (then != now).then_some(Difference { fact, then, now })
        })
        .collect()
}

fn spell(fact: &str, value: &Value) -> String {
    match value {
        Value::Null => "unknown".to_owned(),
        Value::String(text) => text.clone(),
        // Another kernel leaves some megabytes more or less.
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
            found[0].sentence(),
            "processor `Intel Xeon 25 17 1` then, `AMD EPYC 25 17 1` now"
        );
        assert!(found[0].is_of_machine() && !found[3].is_of_machine());
        // What one does not know of is no difference.
        assert_eq!(
            differences(r#"{"processor": {"brand": "AMD EPYC"}}"#, HERE),
            []
        );
    }
}
