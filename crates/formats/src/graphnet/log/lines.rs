//! The lines of a run as its columns say them, and what they do not say.
//!
//! A line that reads as a column says is one byte, and equal ones after each other one more; any
//! other line is kept as text. So whatever else a log has comes back, too: what child processes
//! print, endings of lines, tags of later versions.
//!
//! ```text
//! prompt [Config] device: cuda                        the next entry of `config`
//! Trial 1: e2e=3.51715 ms, gpu=3.38534 ms             the next trial, with five decimal places
//! prompt [Correctness][equal]: 1 0                    the next key of `check_keys`, whole numbers
//! W1111 17:24:49 xpu_context.cc:187] Please NOTE      text
//! ```

use tsql_codecs::varint;

use super::run::{Block, Performance, Run};
use super::style::Style;

/// What the columns of `runs` say of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// Path of the sample; empty if there is none.
    pub model_path: String,
    /// `[Config]` keys with their values.
    pub config: Vec<(String, String)>,
    /// Of the eager side, then of the compiled one.
    pub sides: [Side; 2],
    /// `match:` of the `[DataType]` line.
    pub datatypes_match: Option<bool>,
    /// `match:` of the `[Shape]` line.
    pub shapes_match: Option<bool>,
    /// End to end, on the GPU, of kernels.
    pub speedups: [Option<f64>; 3],
    /// Keys of `[Correctness]` with their values.
    pub checks: Vec<(String, Vec<f64>)>,
}

/// What they say of one side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Data types of the outputs, with spaces between.
    pub datatypes: Option<String>,
    /// Shapes of the outputs as a Python list.
    pub shapes: Option<String>,
    /// End-to-end time of each trial.
    pub e2e_ms: Vec<f64>,
    /// Time on the GPU of each trial; empty where one has none.
    pub gpu_ms: Vec<f64>,
    /// Mean kernel time over the trials.
    pub kernel_ms: Option<f64>,
    /// The `[Performance]` statistics as JSON.
    pub performance: Option<String>,
}

impl Said {
    /// Of a run that was just read.
    pub fn of(run: &Run) -> Self {
        let words = |words: &[String]| (!words.is_empty()).then(|| words.join(" "));
        let side = |block: &Block, datatypes: &[String], shapes: &Option<String>, performance| {
            let gpu: Option<Vec<f64>> = block.trials.iter().map(|trial| trial.gpu_ms).collect();
            Side {
                datatypes: words(datatypes),
                shapes: shapes.clone(),
                e2e_ms: block.trials.iter().map(|trial| trial.e2e_ms).collect(),
                gpu_ms: gpu.unwrap_or_default(),
                kernel_ms: block.kernel_ms,
                performance,
            }
        };
        let raw =
            |performance: &Option<Performance>| performance.as_ref().map(|found| found.raw.clone());
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

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Processing,
    Config,
    Trial(usize),
    Kernel(usize),
    Datatypes(usize),
    DatatypesMatch,
    Shapes(usize),
    ShapesMatch,
    Check,
    /// The last key once more.
    CheckAgain,
    Performance(usize),
    Speedup(usize),
}

/// All kinds, by their codes from 1 on; 0 is text.
const KINDS: [Kind; 19] = [
    Kind::Processing,
    Kind::Config,
    Kind::Trial(0),
    Kind::Trial(1),
    Kind::Kernel(0),
    Kind::Kernel(1),
    Kind::Datatypes(0),
    Kind::Datatypes(1),
    Kind::DatatypesMatch,
    Kind::Shapes(0),
    Kind::Shapes(1),
    Kind::ShapesMatch,
    Kind::Check,
    Kind::CheckAgain,
    Kind::Performance(0),
    Kind::Performance(1),
    Kind::Speedup(0),
    Kind::Speedup(1),
    Kind::Speedup(2),
];

const TEXT: u8 = 0;

/// Beside a kind: the line begins with another prompt, which follows.
const OWN_PROMPT: u8 = 0x80;

const SIDES: [&str; 2] = ["eager", "compiled"];
const CLOCKS: [&str; 3] = ["e2e", "gpu", "kernel"];

/// How far the lines so far have come.
#[derive(Default)]
struct Cursor {
    config: usize,
    trials: [usize; 2],
    checks: usize,
}

impl Kind {
    /// Does the prompt stand before it?
    fn is_tagged(self) -> bool {
        !matches!(self, Self::Trial(_) | Self::Kernel(_))
    }

    fn has_numbers(self) -> bool {
        matches!(
            self,
            Self::Trial(_) | Self::Kernel(_) | Self::Check | Self::CheckAgain | Self::Speedup(_)
        )
    }

    /// The line without prompt and ending; `None` where the columns say nothing of it.
    fn line(self, said: &Said, cursor: &Cursor, style: Style) -> Option<String> {
        let side = |place: usize| Some((said.sides.get(place)?, *SIDES.get(place)?));
        let verdict = |same: bool| if same { "True" } else { "False" };
        Some(match self {
            Self::Processing => format!("[Processing] {}", said.model_path),
            Self::Config => {
                let (key, value) = said.config.get(cursor.config)?;
                format!("[Config] {key}: {value}")
            }
            Self::Trial(place) => {
                let (side, _) = side(place)?;
                let number = *cursor.trials.get(place)?;
                let e2e = style.text(*side.e2e_ms.get(number)?)?;
                let gpu = side.gpu_ms.get(number).map(|&gpu| style.text(gpu));
                match gpu {
                    None => format!("Trial {}: e2e={e2e} ms", number + 1),
                    Some(gpu) => format!("Trial {}: e2e={e2e} ms, gpu={} ms", number + 1, gpu?),
                }
            }
            Self::Kernel(place) => {
                let (side, _) = side(place)?;
                let time = style.text(side.kernel_ms?)?;
                format!("kernel={time} ms (avg over {} trials)", side.e2e_ms.len())
            }
            Self::Datatypes(place) => {
                let (side, name) = side(place)?;
                format!("[Datatype][{name}]: {}", side.datatypes.as_deref()?)
            }
            Self::DatatypesMatch => {
                let list = |place: usize| {
                    let words = said.sides.get(place)?.datatypes.as_deref()?.split(' ');
                    let words: Vec<String> = words.map(|word| format!("'{word}'")).collect();
                    Some(words.join(", "))
                };
                let same = verdict(said.datatypes_match?);
                let (eager, compiled) = (list(0)?, list(1)?);
                format!("[DataType] eager:[{eager}] compiled:[{compiled}] match:{same}")
            }
            Self::Shapes(place) => {
                let (side, name) = side(place)?;
                format!("[Shape][{name}]: {}", side.shapes.as_deref()?)
            }
            Self::ShapesMatch => {
                let shapes = |place: usize| said.sides.get(place)?.shapes.as_deref();
                let same = verdict(said.shapes_match?);
                let (eager, compiled) = (shapes(0)?, shapes(1)?);
                format!("[Shape] eager:{eager} compiled:{compiled} match:{same}")
            }
            Self::Check | Self::CheckAgain => {
                let again = usize::from(self == Self::CheckAgain);
                let (key, values) = said.checks.get(cursor.checks.checked_sub(again)?)?;
                let values = values.iter().map(|&value| style.text(value));
                let values: Vec<String> = values.collect::<Option<_>>()?;
                format!("[Correctness][{key}]: {}", values.join(" "))
            }
            Self::Performance(place) => {
                let (side, name) = side(place)?;
                format!("[Performance][{name}]: {}", side.performance.as_deref()?)
            }
            Self::Speedup(clock) => {
                let value = style.text((*said.speedups.get(clock)?)?)?;
                format!("[Speedup][{}]: {value}", CLOCKS.get(clock)?)
            }
        })
    }

    fn step(self, cursor: &mut Cursor) {
        match self {
            Self::Config => cursor.config += 1,
            Self::Trial(place) => {
                if let Some(number) = cursor.trials.get_mut(place) {
                    *number += 1;
                }
            }
            Self::Check => cursor.checks += 1,
            _ => {}
        }
    }

    /// The kinds that a line of this text may be.
    fn candidates(line: &str) -> &'static [Self] {
        const CANDIDATES: [(&str, &[Kind]); 10] = [
            ("[Correctness]", &[Kind::Check, Kind::CheckAgain]),
            ("Trial ", &[Kind::Trial(0), Kind::Trial(1)]),
            ("[Config]", &[Kind::Config]),
            ("[Datatype]", &[Kind::Datatypes(0), Kind::Datatypes(1)]),
            ("[DataType]", &[Kind::DatatypesMatch]),
            (
                "[Shape]",
                &[Kind::Shapes(0), Kind::Shapes(1), Kind::ShapesMatch],
            ),
            (
                "[Performance]",
                &[Kind::Performance(0), Kind::Performance(1)],
            ),
            (
                "[Speedup]",
                &[Kind::Speedup(0), Kind::Speedup(1), Kind::Speedup(2)],
            ),
            ("[Processing]", &[Kind::Processing]),
            ("kernel=", &[Kind::Kernel(0), Kind::Kernel(1)]),
        ];
        let found = CANDIDATES.iter().find(|(begin, _)| line.starts_with(begin));
        found.map_or(&[], |(_, kinds)| kinds)
    }

    fn code(self) -> u8 {
        let place = KINDS.iter().position(|kind| *kind == self);
        place.map_or(TEXT, |place| u8::try_from(place + 1).unwrap_or(TEXT))
    }

    fn coded(code: u8) -> Option<Self> {
        KINDS.get(usize::from(code).checked_sub(1)?).copied()
    }
}

/// The lines of a run, `text`, as far as its columns do not say them: its prompt, its line ending,
/// and for each line a code, the style of its numbers, and how many such lines follow each other.
pub fn pack(said: &Said, text: &[u8]) -> Vec<u8> {
    let own: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    let first = |tag: &[u8]| {
        own.iter().find_map(|line| {
            let at = memchr::memmem::find(line, tag)?;
            Some((line.get(..at)?, line.ends_with(b"\r\n")))
        })
    };
    let begin = first(b"[Processing] ").or_else(|| first(b"[Config] "));
    let (prompt, crlf) = begin.unwrap_or_default();
    let ending: &[u8] = if crlf { b"\r\n" } else { b"\n" };
    let mut packed = vec![u8::from(crlf)];
    write_bytes(prompt, &mut packed);
    let mut cursor = Cursor::default();
    let mut last: Option<(Vec<u8>, i64)> = None;
    let mut kept: Vec<u8> = Vec::new();
    for line in own {
        let code = code(said, &mut cursor, prompt, ending, line);
        if let Some((before, count)) = &mut last
            && Some(&*before) == code.as_ref()
        {
            *count += 1;
            continue;
        }
        write_run(last.take(), &mut packed);
        match code {
            None => kept.extend_from_slice(line),
            Some(code) => {
                write_text(&mut kept, &mut packed);
                last = Some((code, 1));
            }
        }
    }
    write_run(last, &mut packed);
    write_text(&mut kept, &mut packed);
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

fn write_text(kept: &mut Vec<u8>, out: &mut Vec<u8>) {
    if !kept.is_empty() {
        out.push(TEXT);
        write_bytes(kept, out);
        kept.clear();
    }
}

/// The code of a line that reads as the columns say: what stands before the count of such lines.
fn code(
    said: &Said,
    cursor: &mut Cursor,
    prompt: &[u8],
    ending: &[u8],
    line: &[u8],
) -> Option<Vec<u8>> {
    let line = std::str::from_utf8(line.strip_suffix(ending)?).ok()?;
    let tagged = line.find('[').filter(|_| !line.starts_with("Trial "));
    let tag = tagged.unwrap_or(0);
    let starts = line.match_indices('[').map(|(at, _)| at);
    let starts = std::iter::once(tag).chain(starts.skip(1)).take(4);
    for start in starts {
        let (before, rest) = line.split_at_checked(start)?;
        for &kind in Kind::candidates(rest) {
            let styles = if kind.has_numbers() {
                Style::of(rest)
            } else {
                vec![Style::Whole]
            };
            for style in styles {
                if kind.line(said, cursor, style).as_deref() != Some(rest) {
                    continue;
                }
                let usual = if kind.is_tagged() { prompt } else { b"" };
                let own = before.as_bytes() != usual;
                let mut code = vec![kind.code() | if own { OWN_PROMPT } else { 0 }];
                if kind.has_numbers() {
                    code.push(style.code());
                }
                if own {
                    write_bytes(before.as_bytes(), &mut code);
                }
                kind.step(cursor);
                return Some(code);
            }
        }
    }
    None
}

/// Undoes [`pack`]; `None` for other bytes, or columns of another run.
pub fn unpack(said: &Said, mut packed: &[u8]) -> Option<Vec<u8>> {
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
    let mut cursor = Cursor::default();
    let mut text = Vec::new();
    while let Some((&code, rest)) = packed.split_first() {
        packed = rest;
        if code == TEXT {
            text.extend(bytes(&mut packed)?);
            continue;
        }
        let kind = Kind::coded(code & !OWN_PROMPT)?;
        let mut style = Style::Whole;
        if kind.has_numbers() {
            let (&code, rest) = packed.split_first()?;
            packed = rest;
            style = Style::coded(code)?;
        }
        let own = if code & OWN_PROMPT != 0 {
            bytes(&mut packed)?
        } else if kind.is_tagged() {
            prompt.clone()
        } else {
            Vec::new()
        };
        let count = varint::read_unsigned(&mut packed)?;
        if !(1..=MOST_LINES).contains(&count) {
            return None;
        }
        for _ in 0..count {
            text.extend_from_slice(&own);
            text.extend(kind.line(said, &cursor, style)?.into_bytes());
            text.extend_from_slice(ending);
            kind.step(&mut cursor);
        }
    }
    Some(text)
}

/// More equal lines than any run has: what is damaged asks for no memory.
const MOST_LINES: i64 = 1 << 20;
