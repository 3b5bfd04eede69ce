//! Fields of `commitInfo` that a commit of tsql writes, and a checksum over them.
//!
//! The checksums in [`log_checksum`](super::log_checksum) cover files. These cover the other data that readers rely on:
//! the version that an entry was written for, the versions of other tables that its writer had read, and its
//! application transactions. An entry that was copied over another one, or swapped with it, names its own version.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use memchr::memmem;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::change::CommitContext;
use super::log_checksum::FILES;
use crate::files::checksum;

/// Field: name of the commit attempt.
pub(super) const ATTEMPT: &str = "tsqlAttempt";

/// Field: versions of other tables that the writer had read.
const SEEN: &str = "tsqlSeen";

/// Field: sums of record and other line counts in the ingest log.
const COUNTS: &str = "tsqlCounts";

/// Field: table and version that the entry was written for, such as `records@12`.
const WRITTEN_FOR: &str = "tsqlOf";

/// Field: checksum of the fields.
const SUM: &str = "tsqlInfo";

/// Actions that an entry may contain.
const ACTIONS: [&str; 10] = [
    "add",
    "remove",
    "metaData",
    "protocol",
    "txn",
    "commitInfo",
    "cdc",
    "domainMetadata",
    "checkpointMetadata",
    "sidecar",
];

/// Fields that an action must have, by action (Delta protocol, section "Actions").
const REQUIRED_FIELDS: [(&str, &[&str]); 5] = [
    (
        "add",
        &[
            "path",
            "partitionValues",
            "size",
            "modificationTime",
            "dataChange",
        ],
    ),
    ("remove", &["path", "dataChange"]),
    (
        "metaData",
        &["id", "format", "schemaString", "partitionColumns"],
    ),
    ("protocol", &["minReaderVersion", "minWriterVersion"]),
    ("txn", &["appId", "version"]),
];

/// Returns the first required field that an action lacks.
fn missing_field(action: &Map<String, Value>) -> Option<(&'static str, &'static str)> {
    let mut required = REQUIRED_FIELDS.iter();
    let (name, fields) = required.find(|(name, _)| action.contains_key(*name))?;
    let is_missing = |field: &&&str| {
        let value = action.get(*name).and_then(|found| found.get(**field));
        value.is_none_or(Value::is_null)
    };
    let field = fields.iter().find(is_missing)?;
    Some((name, field))
}

/// Parsed fields of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct CommitInfo {
    #[serde(default)]
    operation: String,
    #[serde(rename = "tsql", default)]
    detail: Value,
    #[serde(rename = "tsqlAttempt", default)]
    attempt: String,
    #[serde(rename = "tsqlSeen", default)]
    pub seen: BTreeMap<String, u64>,
    #[serde(rename = "tsqlFiles", default)]
    files: Option<String>,
    /// Sums of record and other line counts, in the ingest log.
    #[serde(rename = "tsqlCounts", default)]
    pub(super) counts: Option<(u64, u64)>,
    #[serde(rename = "tsqlOf", default)]
    written_for: Option<String>,
    #[serde(rename = "tsqlInfo", default)]
    sum: Option<String>,
    #[serde(skip)]
    transactions: Vec<(String, i64)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    commit_info: Option<CommitInfo>,
    txn: Option<Txn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Txn {
    app_id: String,
    version: i64,
}

/// Reason why an entry is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Offset of the first wrong byte, if known.
    pub at: Option<usize>,
    pub what: String,
    /// Whether it is empty or ends early, as after a power failure without sync.
    pub is_cut: bool,
}

impl Fault {
    fn new(at: Option<usize>, what: impl Into<String>) -> Self {
        Self {
            at,
            what: what.into(),
            is_cut: false,
        }
    }
}

impl CommitInfo {
    /// Creates the fields of the commit that makes this version of a table.
    pub(super) fn new(
        table: &str,
        version: u64,
        about: &CommitContext<'_>,
        (files, counts): (String, Option<(u64, u64)>),
        transactions: &[(String, i64)],
    ) -> Self {
        Self {
            operation: String::new(),
            detail: Value::from(about.detail),
            attempt: about.name.to_owned(),
            seen: about.seen.clone(),
            files: Some(files),
            counts,
            written_for: Some(format!("{table}@{version}")),
            sum: None,
            transactions: transactions.to_vec(),
        }
    }

    /// Returns the fields as written.
    pub(super) fn fields(&self) -> Vec<(String, Value)> {
        let files = self.files.as_deref().map(Value::from);
        let written_for = self.written_for.as_deref().map(Value::from);
        let counts = self
            .counts
            .map(|counts| (COUNTS.to_owned(), serde_json::json!(counts)));
        let fields = [
            ("tsql".to_owned(), self.detail.clone()),
            (ATTEMPT.to_owned(), Value::from(self.attempt.as_str())),
            (SEEN.to_owned(), serde_json::json!(self.seen)),
            (FILES.to_owned(), files.unwrap_or_default()),
            (WRITTEN_FOR.to_owned(), written_for.unwrap_or_default()),
            (SUM.to_owned(), Value::from(self.checksum())),
        ];
        fields.into_iter().chain(counts).collect()
    }

    /// Parses the fields from the lines of an entry. `None` if there are none.
    pub(crate) fn parse(entry: &[u8]) -> Option<Self> {
        let (mut info, mut transactions) = (None, Vec::new());
        for line in entry.split(|&byte| byte == b'\n') {
            let has = |name: &str| memmem::find(line, name.as_bytes()).is_some();
            if !has("\"commitInfo\"") && !has("\"txn\"") {
                continue;
            }
            let Ok(line) = serde_json::from_slice::<Line>(line) else {
                continue;
            };
            info = info.or(line.commit_info);
            transactions.extend(line.txn.map(|txn| (txn.app_id, txn.version)));
        }
        let info: Self = info?;
        Some(Self {
            transactions,
            ..info
        })
    }

    /// Returns the version that the entry was written for, if known.
    pub(super) fn version(&self) -> Option<u64> {
        let (_, version) = self.written_for.as_ref()?.split_once('@')?;
        version.parse().ok()
    }

    /// Returns whether the checksum matches. Older builds wrote none and are trusted.
    pub(crate) fn is_intact(&self) -> bool {
        let sum = self.sum.as_ref();
        sum.is_none_or(|sum| *sum == self.checksum())
    }

    fn checksum(&self) -> String {
        let mut text = format!(
            "{}\n{}\n{}\n{}\n",
            self.detail,
            self.attempt,
            self.files.as_deref().unwrap_or_default(),
            self.written_for.as_deref().unwrap_or_default()
        );
        if let Some((records, others)) = self.counts {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{records},{others}");
        }
        for (table, version) in &self.seen {
            let _ = writeln!(text, "{table}@{version}");
        }
        let mut transactions: Vec<_> = self.transactions.iter().collect();
        transactions.sort();
        for (application, version) in transactions {
            let _ = writeln!(text, "{application}={version}");
        }
        format!("{:016x}", checksum::compute(text.as_bytes()))
    }

    /// Returns the reason why it does not belong to this version of a table, if any.
    pub(super) fn fault(&self, table: &str, version: u64) -> Option<String> {
        if let Some(written_for) = &self.written_for
            && *written_for != format!("{table}@{version}")
        {
            return Some(format!("is the entry of `{written_for}`"));
        }
        if version > 0 && self.operation == "CREATE TABLE" {
            return Some("is the entry of version 0 of a table".to_owned());
        }
        (!self.is_intact()).then(|| "does not match its own checksum".to_owned())
    }
}

/// Returns the reason why these bytes are not a valid entry of a version of a table. `None` for a valid entry.
pub(crate) fn fault(table: &str, version: u64, entry: &[u8]) -> Option<Fault> {
    if is_cut(entry) {
        let text = entry.trim_ascii_end();
        let what = if text.is_empty() {
            "is empty"
        } else {
            "is cut off"
        };
        return Some(Fault {
            is_cut: true,
            ..Fault::new(Some(text.len()), what)
        });
    }
    let mut begin = 0;
    for line in entry.split(|&byte| byte == b'\n') {
        let at = begin;
        begin += line.len() + 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Map<String, Value>>(line) {
            Err(error) => {
                let at = at + error.column().saturating_sub(1);
                return Some(Fault::new(Some(at), "is not JSON"));
            }
            Ok(action) => {
                let is_action = |name: &String| ACTIONS.contains(&name.as_str());
                if action.len() != 1 || !action.keys().all(is_action) {
                    return Some(Fault::new(Some(at), "has an unknown action"));
                }
                if let Some((action, field)) = missing_field(&action) {
                    let what = format!("has no `{field}` in `{action}`");
                    return Some(Fault::new(Some(at), what));
                }
            }
        }
    }
    let Some(info) = CommitInfo::parse(entry) else {
        let at = memmem::find(entry, b"\"commitInfo\"")?;
        return Some(Fault::new(Some(at), "has invalid commit information"));
    };
    Some(Fault::new(None, info.fault(table, version)?))
}

/// Returns whether an entry is truncated: it is empty, ends with zeros, or its last line ends within an object.
fn is_cut(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_end();
    if matches!(text.last(), None | Some(0)) {
        return true;
    }
    let mut lines = text.rsplit(|&byte| byte == b'\n');
    let parsed = |line: &[u8]| serde_json::from_slice::<Map<String, Value>>(line);
    let last = lines.next().map(parsed);
    let stops = matches!(last, Some(Err(error)) if error.is_eof());
    stops && text.last() != Some(&b'}') && lines.all(|line| parsed(line).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(table: &str, version: u64) -> String {
        let about = CommitContext {
            detail: "test",
            name: "a1",
            seen: BTreeMap::from([("graphs".to_owned(), 7)]),
            cleans_up: false,
        };
        let transactions = [("source:1".to_owned(), 12)];
        let info = CommitInfo::new(
            table,
            version,
            &about,
            ("1 ab".to_owned(), Some((7, 8))),
            &transactions,
        );
        let mut fields: Map<String, Value> = info.fields().into_iter().collect();
        fields.insert("operation".to_owned(), "WRITE".into());
        let lines = [
            serde_json::json!({"commitInfo": fields}),
            serde_json::json!({"txn": {"appId": "source:1", "version": 12}}),
            serde_json::json!({"add": {"path": "a{b", "partitionValues": {}, "size": 12,
                "modificationTime": 1, "dataChange": true}}),
        ];
        lines.map(|line| line.to_string()).join("\n")
    }

    #[test]
    fn an_entry_is_that_of_its_version_alone() {
        let bytes = entry("records", 5);
        assert_eq!(fault("records", 5, bytes.as_bytes()), None);
        for (table, version) in [("records", 6), ("graphs", 5)] {
            let fault = fault(table, version, bytes.as_bytes()).unwrap();
            assert!(fault.what.contains("`records@5`"), "{fault:?}");
        }
        let made = br#"{"commitInfo":{"operation":"CREATE TABLE"}}"#;
        assert_eq!(fault("records", 0, made), None);
        assert!(fault("records", 1, made).is_some());
    }

    #[test]
    fn a_changed_field_or_action_is_a_fault() {
        let bytes = entry("records", 5);
        for (from, to) in [
            (r#""graphs":7"#, r#""graphs":6"#),
            ("1 ab", "1 ac"),
            ("[7,8]", "[7,9]"),
            (r#""version":12"#, r#""version":13"#),
            ("test", "tesu"),
            (r#""add""#, r#""ade""#),
            (r#""size""#, r#""wize""#),
            (r#""modificationTime":1"#, r#""modificationTime":null"#),
            (r#""appId""#, r#""appIe""#),
        ] {
            assert!(bytes.contains(from), "{from}");
            let changed = bytes.replace(from, to);
            assert!(fault("records", 5, changed.as_bytes()).is_some(), "{from}");
        }
        let mut flipped = bytes.clone().into_bytes();
        let at = bytes.find("\"txn\"").unwrap();
        flipped[at] = b'!';
        let found = fault("records", 5, &flipped).unwrap();
        assert!(found.at.unwrap().abs_diff(at) <= 1, "{found:?}");
    }

    #[test]
    fn a_flipped_entry_is_not_a_cut_one() {
        let entry = br#"{"commitInfo":{"timestamp":1}}
{"add":{"path":"a{b","size":12}}"#;
        for end in 0..entry.len() {
            let whole = entry[..end].ends_with(b"}") || entry[..end].ends_with(b"}\n");
            assert_eq!(is_cut(&entry[..end]), !whole, "{end}");
        }
        assert!(is_cut(&[&entry[..40], &[0; 20]].concat()));
        for place in 0..entry.len() - 1 {
            for bit in 0..8 {
                let mut flipped = entry.to_vec();
                flipped[place] ^= 1 << bit;
                assert!(!is_cut(&flipped), "{place} {bit}");
            }
        }
    }
}
