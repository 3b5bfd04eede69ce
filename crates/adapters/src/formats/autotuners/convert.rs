//! Trials to records.

use std::collections::BTreeMap;
use std::sync::Arc;

use tsql_codecs::identity::text_id;
use tsql_formats::Format as _;
use tsql_formats::autotuners::TunerFile;
use tsql_formats::autotuners::readers::{
    Event, Graph, Origin, Reader, Rejected, Sourced, Status, Trial, Value,
};
use tsql_formats::record_collector::{CollectedRecord, RecordCollector};
use tsql_formats::rows::{LogRows, RecordDetails};

use super::environment::EnvironmentKey;
use super::parsed::{ParsedFile, TunerWork};
use super::{metrics, spaces, times};
use crate::formats::format_reader::ParseSummary;
use crate::formats::lines::columns::NonRecordLine;
use crate::formats::platform::{NO_PLATFORM, is_valid_name};
use crate::ingest_log::DocumentAttributes;

/// Maximum number of stored bytes of a rejected line. The whole file is stored, too.
const REJECTED_BYTES: usize = 4 << 10;

/// Attribute that names the code of an operator; it belongs to the configuration.
const IMPLEMENTATION: &str = "implementation";

/// Metric of the time of the reference program.
const REFERENCE_TIME: &str = "reference_latency";

/// Metric with a column of its own.
const ALL_COST: &str = "all_cost";

/// Records of one platform.
#[derive(Default)]
struct PlatformRecords {
    collector: RecordCollector,
    environments: Vec<EnvironmentKey>,
}

/// Rows of a file.
struct FileRows<'a> {
    file: &'static TunerFile,
    /// Platform of records that state none.
    platform: Option<&'a str>,
    records: BTreeMap<String, PlatformRecords>,
    rejected: Vec<Rejected>,
    /// Graphs without records.
    empty_graphs: Vec<String>,
    /// Ordinal of the last record.
    ordinal: u64,
    last_line: u64,
    failed: u64,
    unmeasured: u64,
}

/// Parses a file.
///
/// # Errors
///
/// A file whose beginning is not of the format.
pub(super) fn parse(work: TunerWork) -> Result<ParsedFile, String> {
    let TunerWork {
        document,
        file,
        options,
    } = work;
    let platform = document.reading.platform.clone();
    let kernel = options.kernel.clone();
    let mut rows = FileRows::new(file, (platform != NO_PLATFORM).then_some(&platform));
    let mut reader = Reader::new(file.format, document.bytes.as_slice(), options);
    let mut warnings = Vec::new();
    for event in reader.by_ref() {
        match event {
            Ok(Event::Trial(trial)) => rows.add(*trial),
            Ok(Event::EmptyGraph { graph, .. }) => rows.empty_graphs.extend(key(file, &graph)),
            Ok(Event::Rejected(rejected)) => rows.rejected.push(rejected),
            Ok(Event::Warning(warning)) => warnings.push(warning),
            Err(error) if rows.ordinal == 0 => return Err(error.to_string()),
            Err(error) => rows.rejected.push(Rejected {
                line: rows.last_line.max(1),
                reason: error.to_string(),
            }),
        }
    }
    let facts = reader.document().clone();
    drop(reader);
    let mut summary = ParseSummary {
        bytes: document.bytes.len() as u64,
        failed_records: rows.failed,
        unmeasured_records: rows.unmeasured,
        ..ParseSummary::default()
    };
    let path = &document.input.path;
    let reasons = rows.rejected.iter();
    let reasons = reasons.map(|one| (path.clone(), one.line, one.reason.clone()));
    summary.rejects = reasons.collect();
    let warnings = warnings.into_iter();
    let warnings = warnings.map(|one: Rejected| (path.clone(), one.line, one.reason));
    summary.notes = warnings.collect();
    let rejected = rejected_lines(&document.bytes, std::mem::take(&mut rows.rejected));
    let text_id = text_id(&document.bytes);
    let mut closed = document.to_segment(file.dataset());
    closed.records = rows.ordinal;
    closed.rejects = rejected.len() as u64;
    closed.other_count = rejected.len() as u64;
    let lines = memchr::memchr_iter(b'\n', &document.bytes).count() as u64 + 1;
    let space = spaces::rows(&facts, kernel.as_deref());
    // Positions of all rows are lines of the source.
    closed.line_count = lines.max(rows.last_line).max(space.len() as u64);
    closed.about = DocumentAttributes {
        text_id: Some(text_id),
        ..DocumentAttributes::default()
    };
    summary.closed.push(closed);
    let records = rows.finish(|environment| environment.to_environment(file, &facts));
    Ok(ParsedFile {
        summary,
        dataset: file.dataset(),
        records,
        rejected,
        space,
        text_id,
        bytes: document.bytes,
    })
}

impl<'a> FileRows<'a> {
    fn new(file: &'static TunerFile, platform: Option<&'a String>) -> Self {
        Self {
            file,
            platform: platform.map(String::as_str),
            records: BTreeMap::new(),
            rejected: Vec::new(),
            empty_graphs: Vec::new(),
            ordinal: 0,
            last_line: 0,
            failed: 0,
            unmeasured: 0,
        }
    }

    fn add(&mut self, trial: Trial) {
        let line = trial.line;
        if let Err(reason) = self.add_record(trial) {
            self.rejected.push(Rejected { line, reason });
        }
    }

    fn add_record(&mut self, mut trial: Trial) -> Result<(), String> {
        let (platform, platform_origin) = self.platform_of(&trial)?;
        let format = self.file.format;
        let workload_key = key(self.file, &trial.graph).ok_or("its graph is unknown")?;
        let graph_origin = trial.graph.kernel.as_ref().map(|kernel| kernel.origin);
        let times = times::pack(format, &trial);
        let steps = configuration(&mut trial).to_json();
        let (error_no, error_message) = self.outcome(&trial, times.packed.is_some());
        self.ordinal += 1;
        let line = if self.file.counts_records() {
            self.ordinal
        } else {
            trial.line
        };
        self.last_line = self.last_line.max(line);
        let all_cost = metrics::value_of(&trial, ALL_COST);
        let all_cost = all_cost.and_then(|cost| times::decimal(&cost.text));
        let timestamp = trial.timestamp.take();
        let measured_at_s = timestamp
            .as_deref()
            .and_then(|stamp| times::measured_at(format, stamp));
        let baseline = metrics::value_of(&trial, REFERENCE_TIME);
        let baseline_ns = baseline.map(|time| time.value * 1e6);
        if all_cost.is_some() {
            trial.metrics.retain(|metric| metric.name != ALL_COST);
        }
        let packed_metrics = metrics::pack(format, &trial);
        if let (Some(stamp), None) = (timestamp, measured_at_s) {
            let stamp = Value::from_cell(&stamp);
            trial.attributes.push(("timestamp".to_owned(), stamp));
        }
        if let (Some(repeats), false) = (trial.repeats.take(), times.has_repeats) {
            let values = repeats.values.into_iter().map(Value::Number).collect();
            let list = (repeats.name.to_owned(), Value::List(values));
            trial.attributes.push(list);
        }
        let environment = EnvironmentKey {
            platform: platform.clone(),
            platform_origin,
            graph_origin: graph_origin.unwrap_or(Origin::File),
            run: std::mem::take(&mut trial.run),
        };
        let records = self.records.entry(platform).or_default();
        let environment = records.environment_index(environment);
        records.collector.push(CollectedRecord {
            line,
            workload_key: &workload_key,
            steps: &steps,
            environment,
            times: times.packed,
            error_no,
            all_cost,
            measured_at_s,
            details: RecordDetails {
                error_message,
                baseline_ns,
                metrics: packed_metrics,
                attributes: metrics::attributes(trial.attributes),
                ..RecordDetails::default()
            },
        });
        Ok(())
    }

    /// Platform of a trial and its origin: its own, or that of its file.
    fn platform_of(&self, trial: &Trial) -> Result<(String, Option<Origin>), String> {
        let stated = trial.platform.as_ref();
        let (name, origin) = match (stated, self.platform) {
            (Some(Sourced { name, origin }), _) => (name.as_str(), Some(*origin)),
            (None, Some(name)) if self.file.format.is_benchmark() => (name, Some(Origin::Path)),
            (None, Some(name)) => (name, None),
            (None, None) => return Err("its platform is unknown".to_owned()),
        };
        if is_valid_name(name) && name != NO_PLATFORM {
            Ok((name.to_owned(), origin))
        } else {
            let name = name.escape_debug();
            Err(format!("`{name}` cannot be the name of a platform"))
        }
    }

    /// Error number and message of a trial. The message keeps the word of the source.
    fn outcome(&mut self, trial: &Trial, is_timed: bool) -> (i16, Option<String>) {
        match &trial.status {
            Status::Failed {
                kind,
                word,
                message,
            } => {
                self.failed += 1;
                let number = i16::try_from(kind.error_no()).unwrap_or(8);
                let message = match message {
                    Some(message) if !message.is_empty() => format!("{word}: {message}"),
                    _ => word.clone(),
                };
                (number, Some(message))
            }
            Status::Unmeasured { reason } => {
                self.unmeasured += 1;
                (0, Some(reason.clone()))
            }
            Status::Ok if is_timed => (0, None),
            Status::Ok => {
                self.unmeasured += 1;
                (0, Some("the objective is no time".to_owned()))
            }
        }
    }

    /// Rows of each platform.
    fn finish(
        mut self,
        environment: impl Fn(&EnvironmentKey) -> tsql_formats::rows::Environment,
    ) -> Vec<(Arc<str>, Box<LogRows>)> {
        if !self.empty_graphs.is_empty() {
            let platform = self.platform.unwrap_or(NO_PLATFORM).to_owned();
            let records = self.records.entry(platform).or_default();
            for key in &self.empty_graphs {
                records.collector.add_graph(key);
            }
        }
        let records = self.records.into_iter();
        let records = records.map(|(platform, records)| {
            let environments = records.environments.iter().map(&environment);
            let rows = records.collector.finish(environments.collect());
            (Arc::from(platform.as_str()), Box::new(rows))
        });
        records.collect()
    }
}

impl PlatformRecords {
    fn environment_index(&mut self, key: EnvironmentKey) -> u32 {
        let known = self.environments.iter().position(|known| *known == key);
        let index = known.unwrap_or_else(|| {
            self.environments.push(key);
            self.environments.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }
}

/// Key of a graph: a list of the kernel and an object of the problem, sorted by name, with the names of the parameters
/// where they belong to the kernel. `None` without a kernel.
fn key(file: &TunerFile, graph: &Graph) -> Option<String> {
    let kernel = graph.kernel.as_ref()?;
    let mut problem = graph.problem.clone();
    problem.sort_by(|left, right| left.0.cmp(&right.0));
    if file.parameters_identify_graphs() && !graph.parameters.is_empty() {
        let names = graph.parameters.iter().map(Value::text).collect();
        problem.push(("parameters".to_owned(), Value::List(names)));
    }
    let list = vec![Value::text(&kernel.name), Value::Object(problem)];
    Some(Value::List(list).to_json())
}

/// Configuration of a trial, with its implementation in front.
fn configuration(trial: &mut Trial) -> Value {
    let mut fields = std::mem::take(&mut trial.configuration);
    let place = |(name, _): &(String, Value)| name == IMPLEMENTATION;
    if let Some(at) = trial.attributes.iter().position(place) {
        fields.insert(0, trial.attributes.remove(at));
    }
    Value::Object(fields)
}

/// Rejected parts with the beginnings of their lines.
fn rejected_lines(bytes: &[u8], rejected: Vec<Rejected>) -> Vec<NonRecordLine> {
    if rejected.is_empty() {
        return Vec::new();
    }
    let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    let mut parts: BTreeMap<u64, i32> = BTreeMap::new();
    let rows = rejected.into_iter().map(|rejected| {
        let part = parts.entry(rejected.line).or_insert(-1);
        *part += 1;
        let index = usize::try_from(rejected.line.saturating_sub(1)).unwrap_or(usize::MAX);
        let text = lines.get(index).copied().unwrap_or_default();
        let text = text.get(..REJECTED_BYTES).unwrap_or(text);
        NonRecordLine {
            segment: 0,
            line: rejected.line,
            part: *part,
            reason: Some(rejected.reason),
            text: text.to_vec(),
        }
    });
    rows.collect()
}
