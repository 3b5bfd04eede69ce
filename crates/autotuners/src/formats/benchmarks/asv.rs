//! asv (airspeed velocity), versions 1 and 2: one record for each benchmark and tuple of parameters.

use crate::model::{FailureKind, Metric, Trial};
use crate::output::Output;
use crate::quantity::TimeUnit;
use crate::value::{Fields, Value, get};

use super::document::{
    BenchmarkDocument, Element, facts, field_text, numbers, set_repeats, set_run, set_statistic,
    set_time, stated, text,
};

/// Reads such a document.
pub(super) struct Results;

/// Facts of the machine in `params`.
const MACHINE: [&str; 6] = ["arch", "cpu", "machine", "num_cpu", "os", "ram"];

/// File that describes the benchmarks of the newest code.
const BENCHMARKS: &str = "../benchmarks.json";

impl BenchmarkDocument for Results {
    fn results(&self) -> Option<(&'static str, u8)> {
        Some(("results", b'{'))
    }

    fn is_setting(&self, name: &str) -> bool {
        !matches!(
            name,
            "results" | "durations" | "started_at" | "ended_at" | "duration" | "profiles"
        )
    }

    fn emit(
        &self,
        fields: &Fields,
        elements: Vec<Element>,
        output: &mut Output,
    ) -> Result<(), String> {
        let params = get(fields, "params").unwrap_or(&Value::Null);
        let machine = text(params, "machine").unwrap_or_default();
        if let Some(folder) = output.options.folder()
            && folder != machine
        {
            return Err(format!(
                "the machine `{machine}` is not that of its folder `{folder}`"
            ));
        }
        let cpu = text(params, "cpu").filter(|cpu| !cpu.is_empty());
        output.document.device = stated(cpu.unwrap_or(machine));
        output.document.machine = facts(params, |name| MACHINE.contains(&name));
        let version = get(fields, "version").and_then(Value::as_number);
        output.document.version = version.map(|version| version.text().to_owned());
        let file = File {
            columns: get(fields, "result_columns").and_then(Value::as_list),
            benchmarks: output.options.companion(BENCHMARKS),
            started_at: get(fields, "started_at"),
            versions: get(fields, "benchmark_version"),
            commit: field_text(fields, "commit_hash"),
            environment: field_text(fields, "env_name"),
        };
        for element in &elements {
            match file.trials(element) {
                Ok(trials) => trials.into_iter().for_each(|trial| output.trial(trial)),
                Err(reason) => {
                    let name = element.key.as_deref().unwrap_or_default();
                    output.reject(element.span.line, format!("`{name}`: {reason}"));
                }
            }
        }
        Ok(())
    }
}

/// Facts of a file.
struct File<'a> {
    /// Names of the columns of a row (version 2).
    columns: Option<&'a [Value]>,
    benchmarks: Option<Value>,
    started_at: Option<&'a Value>,
    versions: Option<&'a Value>,
    commit: Option<&'a str>,
    environment: Option<&'a str>,
}

/// A row by the names of its columns.
struct Row {
    fields: Fields,
}

impl Row {
    fn list(&self, name: &str) -> Option<&[Value]> {
        get(&self.fields, name)?.as_list()
    }
}

/// Type and unit of a benchmark, and the names of its parameters.
struct Description<'a> {
    kind: &'a str,
    unit: &'a str,
    parameters: &'a [Value],
}

impl<'a> File<'a> {
    /// Values of a row: by columns in version 2, an object or a single value in version 1.
    fn row(&self, value: &Value) -> Result<Row, String> {
        let fields = match (self.columns, value) {
            (Some(columns), Value::List(values)) => {
                let names = columns
                    .iter()
                    .map(|name| name.as_text().unwrap_or_default());
                names
                    .map(str::to_owned)
                    .zip(values.iter().cloned())
                    .collect()
            }
            (Some(_), Value::Null) | (None, Value::Null | Value::Number(_)) => {
                vec![("result".to_owned(), Value::List(vec![value.clone()]))]
            }
            (None, Value::Object(fields)) => fields.clone(),
            _ => return Err("a result that is no row".to_owned()),
        };
        Ok(Row { fields })
    }

    fn description(&'a self, name: &'a str) -> Description<'a> {
        let about = self.benchmarks.as_ref().and_then(|all| all.get(name));
        let own = name.rsplit('.').next().unwrap_or(name);
        let prefix = own.split_once('_').map_or(own, |(prefix, _)| prefix);
        let names = about.and_then(|about| about.get("param_names")?.as_list());
        Description {
            kind: about
                .and_then(|about| text(about, "type"))
                .unwrap_or(prefix),
            unit: about
                .and_then(|about| text(about, "unit"))
                .unwrap_or_default(),
            parameters: names.unwrap_or_default(),
        }
    }

    fn trials(&self, element: &Element) -> Result<Vec<Trial>, String> {
        let name = element.key.as_deref().unwrap_or_default();
        let row = self.row(&element.value)?;
        let about = self.description(name);
        let lists: Vec<&[Value]> = row
            .list("params")
            .unwrap_or_default()
            .iter()
            .map(|values| values.as_list().unwrap_or_default())
            .collect();
        let count = lists
            .iter()
            .try_fold(1_usize, |count, list| count.checked_mul(list.len()))
            .ok_or("too many parameters")?;
        let result = get(&row.fields, "result").unwrap_or(&Value::Null);
        let results = match result {
            Value::List(results) if results.len() == count => Some(results),
            Value::List(results) => {
                return Err(format!("{} results of {count} points", results.len()));
            }
            Value::Null => None,
            Value::Number(_) if count == 1 => None,
            _ => return Err("a result that is no list".to_owned()),
        };
        let single = (count == 1 && result.as_number().is_some()).then_some(result);
        let mut base = element.trial();
        self.identify(&mut base, name, &row);
        let bytes = element.span.bytes.end - element.span.bytes.start;
        if results.is_none() && count as u64 > bytes {
            // More points than the row has bytes: one record stands for all.
            base.fail(FailureKind::Unknown, &format!("null ({count} points)"));
            return Ok(vec![base]);
        }
        let column = |name: &str, index: usize| row.list(name).and_then(|list| list.get(index));
        let mut trials = Vec::new();
        for index in 0..count {
            let mut trial = base.clone();
            trial.configuration = point(&lists, about.parameters, index);
            let value = results.and_then(|results| results.get(index)).or(single);
            measure(&mut trial, value.unwrap_or(&Value::Null), &about)?;
            if trial.time.is_some() {
                if let Some(calls) = column("stats_number", index).and_then(Value::as_number) {
                    trial.push_metric(Metric::new("number", "", calls));
                }
                let samples = column("samples", index).and_then(Value::as_list);
                let samples = numbers(samples.unwrap_or_default());
                let samples = samples.ok_or("`samples` has a value that is no number")?;
                set_repeats(&mut trial, "samples", TimeUnit::Seconds, samples);
            }
            trials.push(trial);
        }
        Ok(trials)
    }

    /// States the benchmark and the run of a trial.
    fn identify(&self, trial: &mut Trial, name: &str, row: &Row) {
        trial.graph.kernel = stated(name);
        set_run(trial, "commit", self.commit);
        set_run(trial, "env_name", self.environment);
        let version = get(&row.fields, "version");
        let version = version.or_else(|| self.versions.and_then(|all| all.get(name)));
        if let Some(version) = version.filter(|version| version.as_text().is_some()) {
            trial
                .attributes
                .push(("version".to_owned(), version.clone()));
        }
        let started = get(&row.fields, "started_at");
        let started = started.or_else(|| self.started_at.and_then(|all| all.get(name)));
        let started = started.and_then(Value::as_number);
        trial.timestamp = started.map(|started| started.text().to_owned());
    }
}

/// Parameters of a point of the product; the last one is the fastest.
fn point(lists: &[&[Value]], names: &[Value], index: usize) -> Fields {
    let mut fields = Fields::new();
    let mut rest = index;
    for (place, list) in lists.iter().enumerate().rev() {
        let length = list.len().max(1);
        let name = names.get(place).and_then(Value::as_text);
        let name = name.map_or_else(|| place.to_string(), str::to_owned);
        if let Some(value) = list.get(rest % length) {
            fields.push((name, value.clone()));
        }
        rest /= length;
    }
    fields.reverse();
    fields
}

/// Sets the result of a trial: a time, or a metric with the unit's text.
fn measure(trial: &mut Trial, value: &Value, about: &Description<'_>) -> Result<(), String> {
    let number = match value {
        Value::Null => {
            trial.fail(FailureKind::Unknown, "null");
            return Ok(());
        }
        Value::Number(number) => number,
        _ => return Err("a result that is no number".to_owned()),
    };
    if number.value().is_nan() {
        trial.unmeasured("NaN");
    } else if matches!(about.kind, "time" | "timeraw") {
        set_time(trial, number, TimeUnit::Seconds);
        set_statistic(trial, "median");
    } else {
        let name = match (about.kind, about.unit) {
            ("track", "gflopss" | "GFLOP/s" | "GFLOPS") => "flop_rate",
            (kind, _) => kind,
        };
        trial.push_metric(Metric::new(name.to_owned(), about.unit.to_owned(), number));
    }
    Ok(())
}
