//! Encodes the lines of a run relative to its columns.
//!
//! A line that follows from the columns takes one byte, and a sequence of lines with equal codes one more. Any other
//! line is stored as text. So the whole log can be restored: output of child processes, line endings, and tags of later
//! versions.
//!
//! ```text
//! prompt [Config] device: cuda                        the next entry of `config`
//! Trial 1: e2e=3.51715 ms, gpu=3.38534 ms             the next trial, with five decimal places
//! prompt [Correctness][equal]: 1 0                    the next key of `check_keys`, whole numbers
//! W1111 17:24:49 xpu_context.cc:187] Please NOTE      text
//! ```

use tsql_codecs::varint;

use super::run::{Performance, Run, TrialBlock};
use super::style::FloatStyle;

/// Values of a run in the columns of `runs`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunColumns {
    /// Path of the sample; empty if there is none.
    pub model_path: String,
    /// `[Config]` keys with their values.
    pub config: Vec<(String, String)>,
    /// Eager side, compiled side.
    pub sides: [SideColumns; 2],
    /// `match:` of the `[DataType]` line.
    pub datatypes_match: Option<bool>,
    /// `match:` of the `[Shape]` line.
    pub shapes_match: Option<bool>,
    /// End-to-end, GPU and kernel speedups.
    pub speedups: [Option<f64>; 3],
    /// Keys of `[Correctness]` with their values.
    pub checks: Vec<(String, Vec<f64>)>,
}

/// Values of one side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideColumns {
    /// Data types of the outputs, separated by spaces.
    pub datatypes: Option<String>,
    /// Shapes of the outputs as a Python list.
    pub shapes: Option<String>,
    /// End-to-end time of each trial.
    pub e2e_ms: Vec<f64>,
    /// GPU time of each trial; empty if a trial has none.
    pub gpu_ms: Vec<f64>,
    /// Mean kernel time over the trials.
    pub kernel_ms: Option<f64>,
    /// The `[Performance]` statistics as JSON.
    pub performance: Option<String>,
}

impl RunColumns {
    /// Columns of a run that was just parsed.
    pub fn from_run(run: &Run) -> Self {
        let join_words = |words: &[String]| (!words.is_empty()).then(|| words.join(" "));
        let side =
            |block: &TrialBlock, datatypes: &[String], shapes: &Option<String>, performance| {
                let gpu: Option<Vec<f64>> = block.trials.iter().map(|trial| trial.gpu_ms).collect();
                SideColumns {
                    datatypes: join_words(datatypes),
                    shapes: shapes.clone(),
                    e2e_ms: block.trials.iter().map(|trial| trial.e2e_ms).collect(),
                    gpu_ms: gpu.unwrap_or_default(),
                    kernel_ms: block.kernel_ms,
                    performance,
                }
            };
        let raw = |performance: &Option<Performance>| {
            performance
                .as_ref()
                .map(|statistics| statistics.raw.clone())
        };
        Self {
            model_path: run.model_path.clone(),
            config: run.config.clone(),
            sides: [
                side(
                    &run.eager,
                    &run.eager_datatypes,
                    &run.eager_shapes,
                    raw(&run.eager_performance),
                ),
                side(
                    &run.compiled,
                    &run.compiled_datatypes,
                    &run.compiled_shapes,
                    raw(&run.compiled_performance),
                ),
            ],
            datatypes_match: run.datatype_match,
            shapes_match: run.shape_match,
            speedups: [run.e2e_speedup, run.gpu_speedup, run.kernel_speedup],
            checks: run.correctness.clone(),
        }
    }
}

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunLineKind {
    Processing,
    Config,
    Trial(usize),
    Kernel(usize),
    Datatypes(usize),
    DatatypesMatch,
    Shapes(usize),
    ShapesMatch,
    Check,
    /// Repeats the last key.
    RepeatedCheck,
    Performance(usize),
    Speedup(usize),
}

/// Line kinds by code, starting at 1; code 0 is text.
const KINDS: [RunLineKind; 19] = [
    RunLineKind::Processing,
    RunLineKind::Config,
    RunLineKind::Trial(0),
    RunLineKind::Trial(1),
    RunLineKind::Kernel(0),
    RunLineKind::Kernel(1),
    RunLineKind::Datatypes(0),
    RunLineKind::Datatypes(1),
    RunLineKind::DatatypesMatch,
    RunLineKind::Shapes(0),
    RunLineKind::Shapes(1),
    RunLineKind::ShapesMatch,
    RunLineKind::Check,
    RunLineKind::RepeatedCheck,
    RunLineKind::Performance(0),
    RunLineKind::Performance(1),
    RunLineKind::Speedup(0),
    RunLineKind::Speedup(1),
    RunLineKind::Speedup(2),
];

const TEXT: u8 = 0;

/// Flag of a line kind: the line has its own prompt, which comes after the code.
const OWN_PROMPT: u8 = 0x80;

const SIDES: [&str; 2] = ["eager", "compiled"];
const CLOCKS: [&str; 3] = ["e2e", "gpu", "kernel"];

/// Position in the columns after the lines so far.
#[derive(Default)]
struct ColumnCursor {
    config: usize,
    trials: [usize; 2],
    checks: usize,
}

impl RunLineKind {
    /// Whether the prompt precedes such a line.
    fn is_tagged(self) -> bool {
        !matches!(self, Self::Trial(_) | Self::Kernel(_))
    }

    fn has_numbers(self) -> bool {
        matches!(
            self,
            Self::Trial(_) | Self::Kernel(_) | Self::Check | Self::RepeatedCheck | Self::Speedup(_)
        )
    }

    /// Returns the line without prompt and line ending; `None` if the columns do not contain it.
    fn format_line(
        self,
        columns: &RunColumns,
        cursor: &ColumnCursor,
        style: FloatStyle,
    ) -> Option<String> {
        let side = |index: usize| Some((columns.sides.get(index)?, *SIDES.get(index)?));
        let verdict = |is_equal: bool| if is_equal { "True" } else { "False" };
        Some(match self {
            Self::Processing => format!("[Processing] {}", columns.model_path),
            Self::Config => {
                let (key, value) = columns.config.get(cursor.config)?;
                format!("[Config] {key}: {value}")
            }
            Self::Trial(index) => {
                let (side, _) = side(index)?;
                let number = *cursor.trials.get(index)?;
                let e2e = style.format_number(*side.e2e_ms.get(number)?)?;
                let gpu = side.gpu_ms.get(number).map(|&gpu| style.format_number(gpu));
                match gpu {
                    None => format!("Trial {}: e2e={e2e} ms", number + 1),
                    Some(gpu) => format!("Trial {}: e2e={e2e} ms, gpu={} ms", number + 1, gpu?),
                }
            }
            Self::Kernel(index) => {
                let (side, _) = side(index)?;
                let time = style.format_number(side.kernel_ms?)?;
                format!("kernel={time} ms (avg over {} trials)", side.e2e_ms.len())
            }
            Self::Datatypes(index) => {
                let (side, name) = side(index)?;
                format!("[Datatype][{name}]: {}", side.datatypes.as_deref()?)
            }
            Self::DatatypesMatch => {
                let list = |index: usize| {
                    let words = columns.sides.get(index)?.datatypes.as_deref()?.split(' ');
                    let words: Vec<String> = words.map(|word| format!("'{word}'")).collect();
                    Some(words.join(", "))
                };
                let is_equal = verdict(columns.datatypes_match?);
                let (eager, compiled) = (list(0)?, list(1)?);
                format!("[DataType] eager:[{eager}] compiled:[{compiled}] match:{is_equal}")
            }
            Self::Shapes(index) => {
                let (side, name) = side(index)?;
                format!("[Shape][{name}]: {}", side.shapes.as_deref()?)
            }
            Self::ShapesMatch => {
                let shapes = |index: usize| columns.sides.get(index)?.shapes.as_deref();
                let is_equal = verdict(columns.shapes_match?);
                let (eager, compiled) = (shapes(0)?, shapes(1)?);
                format!("[Shape] eager:{eager} compiled:{compiled} match:{is_equal}")
            }
            Self::Check | Self::RepeatedCheck => {
                let repeated = usize::from(self == Self::RepeatedCheck);
                let (key, values) = columns.checks.get(cursor.checks.checked_sub(repeated)?)?;
                let values = values.iter().map(|&value| style.format_number(value));
                let values: Vec<String> = values.collect::<Option<_>>()?;
                format!("[Correctness][{key}]: {}", values.join(" "))
            }
            Self::Performance(index) => {
                let (side, name) = side(index)?;
                format!("[Performance][{name}]: {}", side.performance.as_deref()?)
            }
            Self::Speedup(clock) => {
                let value = style.format_number((*columns.speedups.get(clock)?)?)?;
                format!("[Speedup][{}]: {value}", CLOCKS.get(clock)?)
            }
        })
    }

    fn advance(self, cursor: &mut ColumnCursor) {
        match self {
            Self::Config => cursor.config += 1,
            Self::Trial(side) => {
                if let Some(number) = cursor.trials.get_mut(side) {
                    *number += 1;
                }
            }
            Self::Check => cursor.checks += 1,
            _ => {}
        }
    }

    /// Returns the possible kinds of a line with this text.
    fn candidates(line: &str) -> &'static [Self] {
        const CANDIDATES: [(&str, &[RunLineKind]); 10] = [
            (
                "[Correctness]",
                &[RunLineKind::Check, RunLineKind::RepeatedCheck],
            ),
            ("Trial ", &[RunLineKind::Trial(0), RunLineKind::Trial(1)]),
            ("[Config]", &[RunLineKind::Config]),
            (
                "[Datatype]",
                &[RunLineKind::Datatypes(0), RunLineKind::Datatypes(1)],
            ),
            ("[DataType]", &[RunLineKind::DatatypesMatch]),
            (
                "[Shape]",
                &[
                    RunLineKind::Shapes(0),
                    RunLineKind::Shapes(1),
                    RunLineKind::ShapesMatch,
                ],
            ),
            (
                "[Performance]",
                &[RunLineKind::Performance(0), RunLineKind::Performance(1)],
            ),
            (
                "[Speedup]",
                &[
                    RunLineKind::Speedup(0),
                    RunLineKind::Speedup(1),
                    RunLineKind::Speedup(2),
                ],
            ),
            ("[Processing]", &[RunLineKind::Processing]),
            ("kernel=", &[RunLineKind::Kernel(0), RunLineKind::Kernel(1)]),
        ];
        let matching = CANDIDATES
            .iter()
            .find(|(prefix, _)| line.starts_with(prefix));
        matching.map_or(&[], |(_, kinds)| kinds)
    }

    fn code(self) -> u8 {
        let index = KINDS.iter().position(|kind| *kind == self);
        index.map_or(TEXT, |index| u8::try_from(index + 1).unwrap_or(TEXT))
    }

    fn from_code(code: u8) -> Option<Self> {
        KINDS.get(usize::from(code).checked_sub(1)?).copied()
    }
}

/// Encodes the parts of a run's lines that its columns do not contain. These are the prompt, the line ending, and for
/// each line its code, the number style and the count of consecutive equal codes.
pub fn pack(columns: &RunColumns, text: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    let first = |tag: &[u8]| {
        lines.iter().find_map(|line| {
            let start = memchr::memmem::find(line, tag)?;
            Some((line.get(..start)?, line.ends_with(b"\r\n")))
        })
    };
    let first_tag = first(b"[Processing] ").or_else(|| first(b"[Config] "));
    let (prompt, crlf) = first_tag.unwrap_or_default();
    let ending: &[u8] = if crlf { b"\r\n" } else { b"\n" };
    let mut packed = vec![u8::from(crlf)];
    write_bytes(prompt, &mut packed);
    let mut cursor = ColumnCursor::default();
    let mut last: Option<(Vec<u8>, i64)> = None;
    let mut pending_text: Vec<u8> = Vec::new();
    for line in lines {
        let code = encode_line(columns, &mut cursor, prompt, ending, line);
        if let Some((previous, count)) = &mut last
            && Some(&*previous) == code.as_ref()
        {
            *count += 1;
            continue;
        }
        write_run(last.take(), &mut packed);
        match code {
            None => pending_text.extend_from_slice(line),
            Some(code) => {
                write_text(&mut pending_text, &mut packed);
                last = Some((code, 1));
            }
        }
    }
    write_run(last, &mut packed);
    write_text(&mut pending_text, &mut packed);
    packed
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    varint::write_unsigned(i64::try_from(bytes.len()).unwrap_or(i64::MAX), out);
    out.extend_from_slice(bytes);
}

fn write_run(run: Option<(Vec<u8>, i64)>, out: &mut Vec<u8>) {
    if let Some((code, count)) = run {
        out.extend(code);
        varint::write_unsigned(count, out);
    }
}

fn write_text(pending_text: &mut Vec<u8>, out: &mut Vec<u8>) {
    if !pending_text.is_empty() {
        out.push(TEXT);
        write_bytes(pending_text, out);
        pending_text.clear();
    }
}

/// Returns the code of a line that follows from the columns, without the repeat count. Returns `None` for other lines.
fn encode_line(
    columns: &RunColumns,
    cursor: &mut ColumnCursor,
    prompt: &[u8],
    ending: &[u8],
    line: &[u8],
) -> Option<Vec<u8>> {
    let line = std::str::from_utf8(line.strip_suffix(ending)?).ok()?;
    let tag_position = line.find('[').filter(|_| !line.starts_with("Trial "));
    let tag = tag_position.unwrap_or(0);
    let starts = line.match_indices('[').map(|(position, _)| position);
    let starts = std::iter::once(tag).chain(starts.skip(1)).take(4);
    for start in starts {
        let (prefix, rest) = line.split_at_checked(start)?;
        for &kind in RunLineKind::candidates(rest) {
            let styles = if kind.has_numbers() {
                FloatStyle::candidates(rest)
            } else {
                vec![FloatStyle::Whole]
            };
            for style in styles {
                if kind.format_line(columns, cursor, style).as_deref() != Some(rest) {
                    continue;
                }
                let expected_prompt = if kind.is_tagged() { prompt } else { b"" };
                let has_own_prompt = prefix.as_bytes() != expected_prompt;
                let mut code = vec![kind.code() | if has_own_prompt { OWN_PROMPT } else { 0 }];
                if kind.has_numbers() {
                    code.push(style.code());
                }
                if has_own_prompt {
                    write_bytes(prefix.as_bytes(), &mut code);
                }
                kind.advance(cursor);
                return Some(code);
            }
        }
    }
    None
}

/// Inverse of [`pack`]; `None` for invalid bytes and for columns of another run.
pub fn unpack(columns: &RunColumns, mut packed: &[u8]) -> Option<Vec<u8>> {
    let bytes = |packed: &mut &[u8]| -> Option<Vec<u8>> {
        let length = usize::try_from(varint::read_unsigned(packed)?).ok()?;
        let (bytes, rest) = packed.split_at_checked(length)?;
        *packed = rest;
        Some(bytes.to_vec())
    };
    let (&crlf, rest) = packed.split_first()?;
    packed = rest;
    let ending: &[u8] = if crlf == 1 { b"\r\n" } else { b"\n" };
    let prompt = bytes(&mut packed)?;
    let mut cursor = ColumnCursor::default();
    let mut text = Vec::new();
    while let Some((&code, rest)) = packed.split_first() {
        packed = rest;
        if code == TEXT {
            text.extend(bytes(&mut packed)?);
            continue;
        }
        let kind = RunLineKind::from_code(code & !OWN_PROMPT)?;
        let mut style = FloatStyle::Whole;
        if kind.has_numbers() {
            let (&code, rest) = packed.split_first()?;
            packed = rest;
            style = FloatStyle::from_code(code)?;
        }
        let line_prompt = if code & OWN_PROMPT != 0 {
            bytes(&mut packed)?
        } else if kind.is_tagged() {
            prompt.clone()
        } else {
            Vec::new()
        };
        let count = varint::read_unsigned(&mut packed)?;
        if !(1..=MAX_EQUAL_LINES).contains(&count) {
            return None;
        }
        for _ in 0..count {
            text.extend_from_slice(&line_prompt);
            text.extend(kind.format_line(columns, &cursor, style)?.into_bytes());
            text.extend_from_slice(ending);
            kind.advance(&mut cursor);
        }
    }
    Some(text)
}

/// Limit of equal lines, more than any run has. It bounds the memory of damaged input.
const MAX_EQUAL_LINES: i64 = 1 << 20;
