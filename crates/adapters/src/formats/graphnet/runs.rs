//! Restores benchmark logs from the columns of `runs`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use arrow::array::{Array as _, AsArray as _, BooleanArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};
use datafusion::prelude::SessionContext;
use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_formats::graphnet::log::lines::{RunColumns, SideColumns, unpack};
use tsql_schema::column;

/// Texts of runs by source and first line.
#[derive(Default)]
pub(super) struct RunTexts(BTreeMap<(i64, i64), Vec<u8>>);

impl RunTexts {
    /// Loads the runs of the sources with these `ids`.
    pub(super) async fn load(context: &SessionContext, ids: &str) -> Result<Self> {
        let sql = format!("SELECT * FROM stored.all_runs WHERE source_id IN ({ids})");
        let mut runs = Self::default();
        for batch in collect(context, &sql).await? {
            let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
            let lines = column::numbers::<Int64Type>(&batch, "line")?;
            let texts = column::bytes(&batch, "text")?;
            for row in 0..batch.num_rows() {
                // Logs that are stored as text have runs without one.
                let Some(packed) = column::bytes_at(texts, row) else {
                    continue;
                };
                let place = (sources.value(row), lines.value(row));
                let damaged = || {
                    let reason = format!("the lines of the run at line {}", place.1);
                    Error::damaged("runs", reason)
                };
                let said = read_run(&batch, row)?;
                let text = unpack(&said, packed).ok_or_else(damaged)?;
                runs.0.insert(place, text);
            }
        }
        Ok(runs)
    }

    /// Text of the runs that start in these lines of a log. `None` if there are none.
    pub(super) fn text(&self, source_id: i64, lines: Range<i64>) -> Option<Vec<u8>> {
        let runs = self
            .0
            .range((source_id, lines.start)..(source_id, lines.end));
        let runs = runs.map(|(_, text)| text.as_slice());
        let runs: Vec<&[u8]> = runs.collect();
        (!runs.is_empty()).then(|| runs.concat())
    }
}

fn text_at<'a>(batch: &'a RecordBatch, name: &str, row: usize) -> Result<Option<&'a str>> {
    Ok(column::text_at(column::text(batch, name)?, row))
}

fn number_at(batch: &RecordBatch, name: &str, row: usize) -> Result<Option<f64>> {
    let numbers = column::numbers::<Float64Type>(batch, name)?;
    Ok(column::value(numbers, row))
}

fn flag_at(batch: &RecordBatch, name: &str, row: usize) -> Result<Option<bool>> {
    let flags = batch.column_by_name(name);
    let flags = flags.and_then(|flags| flags.as_any().downcast_ref::<BooleanArray>());
    let flags = flags.ok_or_else(|| Error::damaged(name, "the column is missing"))?;
    Ok(flags.is_valid(row).then(|| flags.value(row)))
}

fn numbers_at(batch: &RecordBatch, name: &str, row: usize) -> Result<Vec<f64>> {
    let lists = column::lists(batch, name)?;
    if lists.is_null(row) {
        return Ok(Vec::new());
    }
    let list = lists.value(row);
    let list = list.as_primitive_opt::<Float64Type>();
    let list = list.ok_or_else(|| Error::damaged(name, "a list of another type"))?;
    Ok(list.values().to_vec())
}

fn side_at(batch: &RecordBatch, side: &str, row: usize) -> Result<SideColumns> {
    let name = |column: &str| format!("{side}_{column}");
    let owned = |column| Ok::<_, Error>(text_at(batch, &name(column), row)?.map(str::to_owned));
    Ok(SideColumns {
        datatypes: owned("datatypes")?,
        shapes: owned("shapes")?,
        e2e_ms: numbers_at(batch, &name("e2e_ms"), row)?,
        gpu_ms: numbers_at(batch, &name("gpu_ms"), row)?,
        kernel_ms: number_at(batch, &name("kernel_ms"), row)?,
        performance: owned("performance")?,
    })
}

/// Reads the columns of a run.
fn read_run(batch: &RecordBatch, row: usize) -> Result<RunColumns> {
    let text = |name| text_at(batch, name, row);
    let speedup = |name| number_at(batch, name, row);
    let damaged = || Error::damaged("runs", "an invalid configuration or invalid checks");
    let config = text("config")?.unwrap_or_default();
    let keys = text("check_keys")?.unwrap_or_default();
    let values = text("check_values")?.unwrap_or_default();
    let checks = parse_checks(keys, values).ok_or_else(damaged)?;
    Ok(RunColumns {
        model_path: text("model_path")?.unwrap_or_default().to_owned(),
        config: parse_entries(config).ok_or_else(damaged)?,
        sides: [
            side_at(batch, "eager", row)?,
            side_at(batch, "compiled", row)?,
        ],
        datatypes_match: flag_at(batch, "datatypes_match", row)?,
        shapes_match: flag_at(batch, "shapes_match", row)?,
        speedups: [
            speedup("speedup")?,
            speedup("speedup_gpu")?,
            speedup("speedup_kernel")?,
        ],
        checks,
    })
}

fn parse_checks(keys: &str, values: &str) -> Option<Vec<(String, Vec<f64>)>> {
    let keys = keys.split_terminator('\n');
    let mut values = values.split_terminator('\n');
    let checks = keys.map(|key| {
        let own = values.next()?.split_whitespace();
        let own: Option<Vec<f64>> = own.map(|value| value.parse().ok()).collect();
        Some((key.to_owned(), own?))
    });
    checks.collect()
}

/// Parses a JSON object of strings, in order.
fn parse_entries(json: &str) -> Option<Vec<(String, String)>> {
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<(String, String)>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object of texts")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = map.next_entry()? {
                entries.push(entry);
            }
            Ok(entries)
        }
    }
    let mut json = serde_json::Deserializer::from_str(json);
    json.deserialize_map(Entries).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_order() {
        let entry = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let found = parse_entries(r#"{"z": "1", "a": "b\n\""}"#);
        assert_eq!(found, Some(vec![entry("z", "1"), entry("a", "b\n\"")]));
        assert_eq!(parse_entries("{}"), Some(Vec::new()));
        assert_eq!(parse_entries("[]"), None);
    }

    #[test]
    fn checks_come_back() {
        let found = parse_checks("equal\nmax_diff\n", "1 0\nNaN\n").unwrap();
        assert_eq!(found.len(), 2);
        assert!(found[1].1[0].is_nan());
        assert_eq!(parse_checks("equal\n", ""), None);
        assert_eq!(parse_checks("equal\n", "x\n"), None);
    }
}
