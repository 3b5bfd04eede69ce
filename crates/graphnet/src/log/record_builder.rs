//! Builder of a record from its lines.

use super::backend::BackendRecord;
use super::run::{Performance, Run, Trial, TrialBlock};
use super::tag::Tag;
use super::text::{parse_milliseconds, parse_number, parse_statistics, shorten, split_key, upsert};
use super::tolerance::is_known_key;

/// Record under construction.
#[derive(Debug)]
pub(super) struct RecordBuilder {
    pub(super) run: Run,
    pub(super) blocks: Vec<TrialBlock>,
    last_trial: u64,
    pub(super) dialect: RecordDialect,
    /// Configuration of the reference, if a target follows.
    pub(super) reference: Vec<(String, String)>,
}

/// Dialect of a record.
#[derive(Debug)]
pub(super) enum RecordDialect {
    /// Starts with `[Processing]`.
    Processing,
    Backend(BackendRecord),
    /// Whether its last line was read.
    Legacy(bool),
}

impl RecordBuilder {
    pub(super) fn new(line: u64) -> Self {
        Self::with_dialect(line, RecordDialect::Processing)
    }

    pub(super) fn with_dialect(line: u64, dialect: RecordDialect) -> Self {
        let run = Run {
            line,
            ..Run::default()
        };
        Self {
            run,
            blocks: Vec::new(),
            last_trial: 0,
            dialect,
            reference: Vec::new(),
        }
    }

    pub(super) fn backend(&self) -> Option<&BackendRecord> {
        match &self.dialect {
            RecordDialect::Backend(backend) => Some(backend),
            _ => None,
        }
    }

    pub(super) fn backend_mut(&mut self) -> Option<&mut BackendRecord> {
        match &mut self.dialect {
            RecordDialect::Backend(backend) => Some(backend),
            _ => None,
        }
    }

    /// Updates the marks of upstream's status rules. The order of the branches is upstream's.
    pub(super) fn read_marks(&mut self, line: &str) {
        let marks = &mut self.run.marks;
        if line.contains("[Datatype][eager]") {
            marks.eager = true;
        } else if line.contains("[Datatype][compiled]") {
            marks.compiled = true;
        } else if line.contains("[Shape]") && line.contains("match:True") {
            marks.shape = true;
        } else if line.contains("[DataType]") && line.contains("match:True") {
            marks.datatype = true;
        } else if line.contains("all_close") {
            marks.eager = true;
            marks.compiled = true;
            marks.shape = true;
        }
        self.run.has_error_line |= line.contains("Exception:") || line.contains("Error:");
    }

    /// Reads trials and kernel times, which have no tag.
    pub(super) fn read_timing(&mut self, line: u64, text: &str) {
        for piece in text.split("Trial ").skip(1) {
            let Some((index, times)) = piece.split_once(": e2e=") else {
                continue;
            };
            let Ok(index) = index.parse::<u64>() else {
                continue;
            };
            let gpu = times
                .split_once("gpu=")
                .and_then(|(_, gpu)| parse_milliseconds(gpu));
            let Some(e2e_ms) = parse_milliseconds(times) else {
                self.run
                    .note(line, format!("trial {index} without a readable time"));
                continue;
            };
            if index <= self.last_trial || self.blocks.is_empty() {
                self.blocks.push(TrialBlock::default());
            }
            self.last_trial = index;
            if let Some(block) = self.blocks.last_mut() {
                block.trials.push(Trial {
                    e2e_ms,
                    gpu_ms: gpu,
                });
            }
        }
        for piece in text.split("kernel=").skip(1) {
            if let Some(kernel_ms) = parse_milliseconds(piece)
                && piece.contains(" ms")
                && let Some(block) = self.blocks.last_mut()
            {
                block.kernel_ms = Some(kernel_ms);
            }
        }
    }

    pub(super) fn read_tag(&mut self, line: u64, tag: Tag, body: &str) {
        if matches!(self.dialect, RecordDialect::Legacy(_)) {
            // Legacy lines have no tags; tags of trials belong to the next record.
            return;
        }
        let compares = matches!(
            tag,
            Tag::Datatype | Tag::DatatypeMatch | Tag::Shape | Tag::Correctness | Tag::Speedup
        ) || tag == Tag::Performance && body.starts_with("[compiled]");
        if let Some(backend) = self.backend_mut() {
            backend.is_compared |= compares;
            if tag == Tag::Config && body.trim_start().starts_with("model: ") {
                backend.sides += 1;
                if backend.sides == 2 {
                    self.reference = std::mem::take(&mut self.run.config);
                }
            }
        }
        match tag {
            Tag::Processing => self.read_processing(line, body),
            Tag::Config => self.read_config(line, body),
            Tag::Profiling => self.read_profiling(body),
            Tag::Datatype => self.read_datatype(line, body),
            Tag::DatatypeMatch => self.run.datatype_match = self.read_match(line, body),
            Tag::Shape => self.read_shape(line, body),
            Tag::Correctness => self.read_correctness(line, body),
            Tag::Performance => self.read_performance(line, body),
            Tag::Speedup => self.read_speedup(line, body),
            Tag::Outcome => self.read_outcome(line, body),
            Tag::FailDue => {
                let text = body.split(']').next().unwrap_or(body).trim();
                self.run.fail_due = Some(text.trim_end_matches('.').to_owned());
            }
        }
    }

    fn read_processing(&mut self, line: u64, body: &str) {
        let mut words = body.split_whitespace();
        match words.next_back() {
            Some(path) => path.clone_into(&mut self.run.model_path),
            None => self.run.note(line, "no path after [Processing]"),
        }
        if words.next().is_some() {
            self.run.note(
                line,
                "several words after [Processing], the last one is the path",
            );
        }
    }

    fn read_config(&mut self, line: u64, body: &str) {
        let Some((key, value)) = body.trim_start().split_once(": ") else {
            return self
                .run
                .note(line, format!("no value in [Config] {}", shorten(body)));
        };
        if key.is_empty() || key.contains(char::is_whitespace) {
            return self
                .run
                .note(line, format!("no key in [Config] {}", shorten(body)));
        }
        match value.trim() {
            "" => self
                .run
                .note(line, format!("no value in [Config] {}", shorten(body))),
            value => upsert(&mut self.run.config, key, value.to_owned()),
        }
    }

    fn read_profiling(&mut self, body: &str) {
        let body = body.trim_start();
        if let Some(device) = body.strip_prefix("Using device: ") {
            let device = device.split(", warm up").next().unwrap_or(device).trim();
            self.run.device.get_or_insert_with(|| device.to_owned());
        } else if !body.starts_with("Warm up ") {
            return;
        }
        if self
            .blocks
            .last()
            .is_none_or(|block| *block != TrialBlock::default())
        {
            self.blocks.push(TrialBlock::default());
        }
        self.last_trial = 0;
    }

    fn read_datatype(&mut self, line: u64, body: &str) {
        let Some((side, text)) = split_key(body) else {
            return self.run.note(line, "no data types after [Datatype]");
        };
        let dtypes: Vec<String> = text
            .split_whitespace()
            .take_while(|word| {
                word.chars()
                    .all(|c| c.is_alphanumeric() || "_.".contains(c))
            })
            .map(str::to_owned)
            .collect();
        if dtypes.len() != text.split_whitespace().count() {
            self.run
                .note(line, format!("other text in [Datatype][{}]", shorten(side)));
        }
        match side {
            "eager" => self.run.eager_datatypes = dtypes,
            "compiled" => self.run.compiled_datatypes = dtypes,
            _ => self
                .run
                .note(line, format!("unknown side [Datatype][{}]", shorten(side))),
        }
    }

    fn read_match(&mut self, line: u64, body: &str) -> Option<bool> {
        let verdict = body.rsplit_once("match:").map(|(_, verdict)| verdict);
        match verdict {
            Some(verdict) if verdict.starts_with("True") => Some(true),
            Some(verdict) if verdict.starts_with("False") => Some(false),
            _ => {
                self.run
                    .note(line, "comparison without match:True or match:False");
                None
            }
        }
    }

    fn read_shape(&mut self, line: u64, body: &str) {
        match split_key(body) {
            Some(("eager", text)) => self.run.eager_shapes = Some(text.trim().to_owned()),
            Some(("compiled", text)) => self.run.compiled_shapes = Some(text.trim().to_owned()),
            Some((side, _)) => self
                .run
                .note(line, format!("unknown side [Shape][{}]", shorten(side))),
            None => {
                self.run.shape_match = self.read_match(line, body);
                let sides = body.split_once("eager:").and_then(|(_, sides)| {
                    let (eager, rest) = sides.split_once(" compiled:")?;
                    Some((eager, rest.rsplit_once(" match:")?.0))
                });
                if let Some((eager, compiled)) = sides {
                    self.run
                        .eager_shapes
                        .get_or_insert_with(|| eager.trim().to_owned());
                    self.run
                        .compiled_shapes
                        .get_or_insert_with(|| compiled.trim().to_owned());
                }
            }
        }
    }

    fn read_correctness(&mut self, line: u64, body: &str) {
        let Some((key, text)) = split_key(body) else {
            return self
                .run
                .note(line, format!("no values in [Correctness]{}", shorten(body)));
        };
        let mut values = Vec::new();
        let mut is_clean = true;
        for word in text.split_whitespace() {
            let (value, is_complete) = parse_number(word);
            values.extend(value);
            if !is_complete {
                is_clean = false;
                let reason = format!(
                    "not a number in [Correctness][{}]: {}",
                    shorten(key),
                    shorten(word)
                );
                self.run.note(line, reason);
                break;
            }
        }
        if key == "equal" {
            self.run.equal_is_malformed = !is_clean;
        }
        if !is_known_key(key) {
            self.run
                .note(line, format!("unknown key [Correctness][{}]", shorten(key)));
        }
        upsert(&mut self.run.correctness, key, values);
    }

    fn read_performance(&mut self, line: u64, body: &str) {
        let Some((side, text)) = split_key(body) else {
            return self.run.note(line, "no statistics after [Performance]");
        };
        let (performance, problem) = parse_statistics(text.trim());
        if let Some(problem) = problem {
            self.run
                .note(line, format!("[Performance][{}]: {problem}", shorten(side)));
        }
        // The logs of both sides use the tag `eager`; the second one is the target.
        let is_target = |backend: &BackendRecord| backend.sides > 1 && !backend.is_compared;
        let is_target = self.backend().is_some_and(is_target);
        match side {
            "eager" if is_target => self.run.compiled_performance = Some(performance),
            "eager" => self.run.eager_performance = Some(performance),
            "compiled" => self.run.compiled_performance = Some(performance),
            _ => self.run.note(
                line,
                format!("unknown side [Performance][{}]", shorten(side)),
            ),
        }
    }

    fn read_speedup(&mut self, line: u64, body: &str) {
        let Some((kind, text)) = split_key(body) else {
            return self.run.note(line, "no value after [Speedup]");
        };
        let word = text.split_whitespace().next().unwrap_or_default();
        let (value, is_complete) = parse_number(word);
        if !is_complete {
            let reason = format!(
                "not a number in [Speedup][{}]: {}",
                shorten(kind),
                shorten(word)
            );
            self.run.note(line, reason);
        }
        match kind {
            "e2e" => self.run.e2e_speedup = value,
            "gpu" => self.run.gpu_speedup = value,
            "kernel" => self.run.kernel_speedup = value,
            _ => self
                .run
                .note(line, format!("unknown kind [Speedup][{}]", shorten(kind))),
        }
    }

    fn read_outcome(&mut self, line: u64, body: &str) {
        let body = body.trim_start();
        if let Some(phases) = body.strip_prefix("[status]") {
            let words = phases.split_whitespace();
            let side_words = words
                .take_while(|word| word.starts_with("eager:") || word.starts_with("compiled:"));
            let phases = side_words.collect::<Vec<_>>().join(" ");
            self.run.phases = match self.run.phases.take() {
                Some(reference) if self.backend().is_some_and(|backend| backend.sides > 1) => {
                    let target = phases.replace("eager:", "compiled:");
                    Some(format!("{reference} {target}"))
                }
                _ => Some(phases),
            };
        } else if let Some(status) = body.strip_prefix("status:") {
            let word = status.split_whitespace().next().unwrap_or_default();
            let known_status = ["success", "failed"]
                .into_iter()
                .find(|status| word.starts_with(status));
            self.run.result = Some(known_status.unwrap_or(word).to_owned());
            if known_status.is_none() {
                self.run
                    .note(line, format!("unknown status {}", shorten(word)));
            }
        } else {
            self.run
                .note(line, format!("no status after [Result] {}", shorten(body)));
        }
    }

    pub(super) fn finish(mut self, last_line: u64, no_result_note: &str) -> Run {
        match self.dialect {
            RecordDialect::Backend(_) => self.state_reference(),
            RecordDialect::Legacy(_) => self.check_trials(),
            RecordDialect::Processing => {}
        }
        let last_line = last_line.max(self.run.line);
        self.run.lines = last_line - self.run.line + 1;
        let run = &self.run;
        let has_status = run.result.is_some() || run.phases.is_some() || run.fail_due.is_some();
        let has_times = run.eager_performance.is_some() || run.compiled_performance.is_some();
        let speedups = [run.e2e_speedup, run.gpu_speedup, run.kernel_speedup];
        if !has_status && !has_times && speedups.iter().all(Option::is_none) {
            self.run.note(last_line, no_result_note);
        }
        if self.blocks.len() > 2 {
            self.run.note(
                last_line,
                "more than two blocks of trials, only the first two are stored",
            );
        }
        let is_single = self.blocks.len() == 1;
        let mut blocks = self.blocks.into_iter();
        let first = blocks.next().unwrap_or_default();
        if is_single && is_target_block(&self.run, &first) {
            self.run.compiled = first;
        } else {
            self.run.eager = first;
            self.run.compiled = blocks.next().unwrap_or_default();
        }
        self.run
    }
}

/// Whether the only block of trials belongs to the compiled or target side. A device run times only the target and
/// takes the reference statistics from another log. The mean of the trials is then closer to the mean of the compiled
/// side.
fn is_target_block(run: &Run, block: &TrialBlock) -> bool {
    let mean = |side: &Option<Performance>| side.as_ref().and_then(|side| side.e2e_mean);
    let (Some(target), false) = (mean(&run.compiled_performance), block.trials.is_empty()) else {
        return false;
    };
    let (sum, count) = block.trials.iter().fold((0.0, 0.0), |(sum, count), trial| {
        (sum + trial.e2e_ms, count + 1.0)
    });
    let trial_mean: f64 = sum / count;
    let reference = mean(&run.eager_performance).unwrap_or(f64::INFINITY);
    (trial_mean - target).abs() < (trial_mean - reference).abs()
}
