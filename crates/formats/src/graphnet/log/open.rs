//! A record of a log while its lines come in.

use super::backend::Backend;
use super::run::{Block, Performance, Run, Trial};
use super::tag::Tag;
use super::text::{keyed, milliseconds, number, put, short, statistics};
use super::tolerance::is_known_key;

/// A record under construction.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) run: Run,
    pub(super) blocks: Vec<Block>,
    last_trial: u64,
    pub(super) dialect: Dialect,
    /// The configuration of the reference, where another one follows.
    pub(super) reference: Vec<(String, String)>,
}

/// How a log writes a record.
#[derive(Debug)]
pub(super) enum Dialect {
    /// From `[Processing]` on.
    Processing,
    Backend(Backend),
    /// Its last line was read.
    Legacy(bool),
}

impl Open {
    pub(super) fn new(line: u64) -> Self {
        Self::of(line, Dialect::Processing)
    }

    pub(super) fn of(line: u64, dialect: Dialect) -> Self {
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

    pub(super) fn backend(&self) -> Option<&Backend> {
        match &self.dialect {
            Dialect::Backend(backend) => Some(backend),
            _ => None,
        }
    }

    pub(super) fn backend_mut(&mut self) -> Option<&mut Backend> {
        match &mut self.dialect {
            Dialect::Backend(backend) => Some(backend),
            _ => None,
        }
    }

    /// What upstream's status rules see in a line; the order of the branches is theirs.
    pub(super) fn mark(&mut self, line: &str) {
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

    /// Trials and kernel times, which have no tag.
    pub(super) fn timing(&mut self, line: u64, text: &str) {
        for piece in text.split("Trial ").skip(1) {
            let Some((index, times)) = piece.split_once(": e2e=") else {
                continue;
            };
            let Ok(index) = index.parse::<u64>() else {
                continue;
            };
            let gpu = times
                .split_once("gpu=")
                .and_then(|(_, gpu)| milliseconds(gpu));
            let Some(e2e_ms) = milliseconds(times) else {
                self.run
                    .note(line, format!("trial {index} without a readable time"));
                continue;
            };
            if index <= self.last_trial || self.blocks.is_empty() {
                self.blocks.push(Block::default());
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
            if let Some(kernel_ms) = milliseconds(piece)
                && piece.contains(" ms")
                && let Some(block) = self.blocks.last_mut()
            {
                block.kernel_ms = Some(kernel_ms);
            }
        }
    }

    pub(super) fn read(&mut self, line: u64, tag: Tag, body: &str) {
        if matches!(self.dialect, Dialect::Legacy(_)) {
            // Its own lines have no tags; those of trials are of the next record.
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
            Tag::Processing => self.processing(line, body),
            Tag::Config => self.config(line, body),
            Tag::Profiling => self.profiling(body),
            Tag::Datatype => self.datatype(line, body),
            Tag::DatatypeMatch => self.run.datatype_match = self.matches(line, body),
            Tag::Shape => self.shape(line, body),
            Tag::Correctness => self.correctness(line, body),
            Tag::Performance => self.performance(line, body),
            Tag::Speedup => self.speedup(line, body),
            Tag::Outcome => self.outcome(line, body),
            Tag::FailDue => {
                let text = body.split(']').next().unwrap_or(body).trim();
                self.run.fail_due = Some(text.trim_end_matches('.').to_owned());
            }
        }
    }

    fn processing(&mut self, line: u64, body: &str) {
        let mut words = body.split_whitespace();
        match words.next_back() {
            Some(path) => path.clone_into(&mut self.run.model_path),
            None => self.run.note(line, "no path after [Processing]"),
        }
        if words.next().is_some() {
            self.run.note(
                line,
                "several words after [Processing]: the last one is the path",
            );
        }
    }

    fn config(&mut self, line: u64, body: &str) {
        let Some((key, value)) = body.trim_start().split_once(": ") else {
            return self
                .run
                .note(line, format!("no value in [Config] {}", short(body)));
        };
        if key.is_empty() || key.contains(char::is_whitespace) {
            return self
                .run
                .note(line, format!("no key in [Config] {}", short(body)));
        }
        match value.trim() {
            "" => self
                .run
                .note(line, format!("no value in [Config] {}", short(body))),
            value => put(&mut self.run.config, key, value.to_owned()),
        }
    }

    fn profiling(&mut self, body: &str) {
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
            .is_none_or(|block| *block != Block::default())
        {
            self.blocks.push(Block::default());
        }
        self.last_trial = 0;
    }

    fn datatype(&mut self, line: u64, body: &str) {
        let Some((side, text)) = keyed(body) else {
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
                .note(line, format!("other text in [Datatype][{}]", short(side)));
        }
        match side {
            "eager" => self.run.eager_datatypes = dtypes,
            "compiled" => self.run.compiled_datatypes = dtypes,
            _ => self
                .run
                .note(line, format!("unknown side [Datatype][{}]", short(side))),
        }
    }

    fn matches(&mut self, line: u64, body: &str) -> Option<bool> {
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

    fn shape(&mut self, line: u64, body: &str) {
        match keyed(body) {
            Some(("eager", text)) => self.run.eager_shapes = Some(text.trim().to_owned()),
            Some(("compiled", text)) => self.run.compiled_shapes = Some(text.trim().to_owned()),
            Some((side, _)) => self
                .run
                .note(line, format!("unknown side [Shape][{}]", short(side))),
            None => {
                self.run.shape_match = self.matches(line, body);
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

    fn correctness(&mut self, line: u64, body: &str) {
        let Some((key, text)) = keyed(body) else {
            return self
                .run
                .note(line, format!("no values in [Correctness]{}", short(body)));
        };
        let mut values = Vec::new();
        let mut clean = true;
        for word in text.split_whitespace() {
            let (value, whole) = number(word);
            values.extend(value);
            if !whole {
                clean = false;
                let reason = format!(
                    "not a number in [Correctness][{}]: {}",
                    short(key),
                    short(word)
                );
                self.run.note(line, reason);
                break;
            }
        }
        if key == "equal" {
            self.run.equal_is_malformed = !clean;
        }
        if !is_known_key(key) {
            self.run
                .note(line, format!("unknown key [Correctness][{}]", short(key)));
        }
        put(&mut self.run.correctness, key, values);
    }

    fn performance(&mut self, line: u64, body: &str) {
        let Some((side, text)) = keyed(body) else {
            return self.run.note(line, "no statistics after [Performance]");
        };
        let (performance, problem) = statistics(text.trim());
        if let Some(problem) = problem {
            self.run
                .note(line, format!("[Performance][{}]: {problem}", short(side)));
        }
        // The log of each side says `eager`, which of the target is another one.
        let is_target = |backend: &Backend| backend.sides > 1 && !backend.is_compared;
        let is_target = self.backend().is_some_and(is_target);
        match side {
            "eager" if is_target => self.run.compiled_performance = Some(performance),
            "eager" => self.run.eager_performance = Some(performance),
            "compiled" => self.run.compiled_performance = Some(performance),
            _ => self
                .run
                .note(line, format!("unknown side [Performance][{}]", short(side))),
        }
    }

    fn speedup(&mut self, line: u64, body: &str) {
        let Some((kind, text)) = keyed(body) else {
            return self.run.note(line, "no value after [Speedup]");
        };
        let word = text.split_whitespace().next().unwrap_or_default();
        let (value, whole) = number(word);
        if !whole {
            let reason = format!(
                "not a number in [Speedup][{}]: {}",
                short(kind),
                short(word)
            );
            self.run.note(line, reason);
        }
        match kind {
            "e2e" => self.run.e2e_speedup = value,
            "gpu" => self.run.gpu_speedup = value,
            "kernel" => self.run.kernel_speedup = value,
            _ => self
                .run
                .note(line, format!("unknown kind [Speedup][{}]", short(kind))),
        }
    }

    fn outcome(&mut self, line: u64, body: &str) {
        let body = body.trim_start();
        if let Some(phases) = body.strip_prefix("[status]") {
            let words = phases.split_whitespace();
            let known = words
                .take_while(|word| word.starts_with("eager:") || word.starts_with("compiled:"));
            let phases = known.collect::<Vec<_>>().join(" ");
            self.run.phases = match self.run.phases.take() {
                Some(reference) if self.backend().is_some_and(|backend| backend.sides > 1) => {
                    let target = phases.replace("eager:", "compiled:");
                    Some(format!("{reference} {target}"))
                }
                _ => Some(phases),
            };
        } else if let Some(status) = body.strip_prefix("status:") {
            let word = status.split_whitespace().next().unwrap_or_default();
            let known = ["success", "failed"]
                .into_iter()
                .find(|known| word.starts_with(known));
            self.run.result = Some(known.unwrap_or(word).to_owned());
            if known.is_none() {
                self.run
                    .note(line, format!("unknown status {}", short(word)));
            }
        } else {
            self.run
                .note(line, format!("no status after [Result] {}", short(body)));
        }
    }

    pub(super) fn close(mut self, last_line: u64, cut: &str) -> Run {
        match self.dialect {
            Dialect::Backend(_) => self.state_reference(),
            Dialect::Legacy(_) => self.check_trials(),
            Dialect::Processing => {}
        }
        let last_line = last_line.max(self.run.line);
        self.run.lines = last_line - self.run.line + 1;
        let run = &self.run;
        let stated = run.result.is_some() || run.phases.is_some() || run.fail_due.is_some();
        let timed = run.eager_performance.is_some() || run.compiled_performance.is_some();
        let compared = [run.e2e_speedup, run.gpu_speedup, run.kernel_speedup];
        if !stated && !timed && compared.iter().all(Option::is_none) {
            self.run.note(last_line, cut);
        }
        if self.blocks.len() > 2 {
            self.run.note(
                last_line,
                "more than two blocks of trials: only the first two are kept",
            );
        }
        let single = self.blocks.len() == 1;
        let mut blocks = self.blocks.into_iter();
        let first = blocks.next().unwrap_or_default();
        if single && is_target(&self.run, &first) {
            self.run.compiled = first;
        } else {
            self.run.eager = first;
            self.run.compiled = blocks.next().unwrap_or_default();
        }
        self.run
    }
}

/// Whether the only block of trials is the one of the compiled or target side. A device run times
/// only the target and takes the statistics of the reference from another log; then the mean of the
/// trials is nearer to the mean of the compiled side.
fn is_target(run: &Run, block: &Block) -> bool {
    let mean = |side: &Option<Performance>| side.as_ref().and_then(|side| side.e2e_mean);
    let (Some(target), false) = (mean(&run.compiled_performance), block.trials.is_empty()) else {
        return false;
    };
    let (sum, count) = block.trials.iter().fold((0.0, 0.0), |(sum, count), trial| {
        (sum + trial.e2e_ms, count + 1.0)
    });
    let own: f64 = sum / count;
    let reference = mean(&run.eager_performance).unwrap_or(f64::INFINITY);
    (own - target).abs() < (own - reference).abs()
}
