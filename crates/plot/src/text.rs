//! Text measurement and line breaking.

use std::collections::HashMap;
use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, Glyph, PxScale, ScaleFont};

use crate::number::float;

/// Maximum number of characters of a title or a name that are examined.
const MAX_CHARACTERS: usize = 400;

/// Characters after which a line may break.
const BREAKS: [char; 8] = [' ', '/', '_', '-', '.', ',', ':', '|'];

/// The embedded font.
pub(super) fn font() -> Option<&'static FontRef<'static>> {
    static FONT: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
    let parse = || FontRef::try_from_slice(dejavu::sans::regular()).ok();
    FONT.get_or_init(parse).as_ref()
}

/// Lays out glyphs of `size` pixels (to the em) from the baseline origin `(0, 0)`. Returns the glyphs and their total
/// width.
pub(super) fn layout_glyphs(font: &FontRef<'_>, text: &str, size: f32) -> (Vec<Glyph>, f32) {
    let em = font.units_per_em().unwrap_or(1.0);
    let scale = PxScale::from(size * font.height_unscaled() / em);
    let scaled = font.as_scaled(scale);
    let mut glyphs: Vec<Glyph> = Vec::new();
    let mut x = 0.0;
    for character in text.chars() {
        let id = scaled.glyph_id(character);
        if let Some(last) = glyphs.last() {
            x += scaled.kern(last.id, id);
        }
        glyphs.push(id.with_scale_and_position(scale, ab_glyph::point(x, 0.0)));
        x += scaled.h_advance(id);
    }
    (glyphs, x)
}

/// Source of glyph widths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextMetrics {
    /// Widths of the embedded font.
    Font,
    /// Half of the height for each character, as on a terminal.
    Cells,
}

impl TextMetrics {
    /// Width of a line.
    pub(super) fn width(self, text: &str, size: f64) -> f64 {
        let characters: Vec<char> = text.chars().collect();
        self.character_ends(&characters, size)
            .last()
            .copied()
            .unwrap_or(0.0)
    }

    /// End position of each character.
    fn character_ends(self, characters: &[char], size: f64) -> Vec<f64> {
        if self == Self::Cells {
            let ends = (1..=characters.len()).map(|index| float(index) * size / 2.0);
            return ends.collect();
        }
        let text: String = characters.iter().collect();
        // Widths scale linearly with the size.
        let (glyphs, total) =
            font().map_or((Vec::new(), 0.0), |font| layout_glyphs(font, &text, 100.0));
        let starts = glyphs.iter().map(|glyph| glyph.position.x);
        let ends = starts.skip(1).chain([total]);
        ends.map(|end| f64::from(end) * size / 100.0).collect()
    }

    /// Breaks text into at most `max_lines` lines of width `room`; the middle is omitted if it does not fit.
    pub(super) fn wrap(self, text: &str, size: f64, room: f64, max_lines: usize) -> Vec<String> {
        let characters: Vec<char> = single_line(text).chars().take(MAX_CHARACTERS).collect();
        let break_into_lines = |characters: &[char]| self.break_lines(characters, size, room);
        let all = break_into_lines(&characters);
        if all.len() <= max_lines {
            return all;
        }
        // Binary search for the maximum number of characters that fit.
        let (mut fits, mut fails) = (0, characters.len());
        while fails - fits > 1 {
            let middle = usize::midpoint(fits, fails);
            if break_into_lines(&ellipsize(&characters, middle)).len() <= max_lines {
                fits = middle;
            } else {
                fails = middle;
            }
        }
        break_into_lines(&ellipsize(&characters, fits))
    }

    /// Shortens each name to one line of width `room`. Different names stay different.
    pub(super) fn distinct_lines(self, names: &[String], size: f64, room: f64) -> Vec<String> {
        let short = |name: &str| self.wrap(name, size, room, 1).concat();
        let mut lines: Vec<String> = names.iter().map(|name| short(name)).collect();
        let mut names_by_line: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, line) in lines.iter().enumerate() {
            names_by_line.entry(line.clone()).or_default().push(index);
        }
        let fits = |line: &str| {
            self.break_lines(&line.chars().collect::<Vec<_>>(), size, room)
                .len()
                < 2
        };
        for (line, indices) in names_by_line {
            let all = indices.iter().filter_map(|index| names.get(*index));
            let all: Vec<Vec<char>> = all
                .map(|name| single_line(name).chars().collect())
                .collect();
            let differ = |first: &&Vec<char>| all.iter().any(|other| other != *first);
            let Some(first) = all.first().filter(differ) else {
                continue;
            };
            let is_shared = |index: &usize| {
                all.iter()
                    .all(|other| other.get(*index) == first.get(*index))
            };
            let shared = (0..first.len()).take_while(is_shared).count();
            let character_count = line.chars().count();
            for (index, name) in indices.iter().zip(&all) {
                if let Some(line) = lines.get_mut(*index) {
                    *line = distinguishing_text(name, shared, character_count, fits);
                }
            }
        }
        self.number_duplicates(names, lines, (size, room))
    }

    /// Appends numbers to lines of different names that are still equal.
    fn number_duplicates(
        self,
        names: &[String],
        mut lines: Vec<String>,
        (size, room): (f64, f64),
    ) -> Vec<String> {
        let mut used: HashMap<String, &String> = HashMap::new();
        for (line, name) in lines.iter_mut().zip(names) {
            let unnumbered = line.clone();
            let mut number = 1_u32;
            while used
                .get(line)
                .is_some_and(|other| single_line(other) != single_line(name))
            {
                number += 1;
                let suffix = format!(" #{number}");
                let remaining = room - self.width(&suffix, size);
                let shortened = self.wrap(&unnumbered, size, remaining.max(0.0), 1).concat();
                *line = format!("{shortened}{suffix}");
            }
            used.insert(line.clone(), name);
        }
        lines
    }

    /// Breaks text into lines of width `room`, after one of [`BREAKS`] if possible.
    fn break_lines(self, characters: &[char], size: f64, room: f64) -> Vec<String> {
        let mut lines = Vec::new();
        let mut rest = characters;
        while !rest.is_empty() {
            let line = rest
                .get(..self.glyphs_on_line(rest, size, room))
                .unwrap_or(rest);
            lines.push(line.iter().collect::<String>().trim().to_owned());
            rest = rest.get(line.len()..).unwrap_or(&[]);
        }
        lines
    }

    /// Number of characters on the next line, at least one.
    fn glyphs_on_line(self, characters: &[char], size: f64, room: f64) -> usize {
        let ends = self.character_ends(characters, size);
        let fit = ends.iter().take_while(|end| **end <= room).count().max(1);
        if fit == characters.len() {
            return fit;
        }
        let line = characters.get(..fit).unwrap_or(characters);
        let last = line
            .iter()
            .rposition(|character| BREAKS.contains(character));
        // A break near the start would waste the line.
        last.map(|index| index + 1)
            .filter(|length| *length * 3 >= fit)
            .unwrap_or(fit)
    }
}

/// Width of a line in the embedded font.
pub(super) fn width(text: &str, size: f64) -> f64 {
    TextMetrics::Font.width(text, size)
}

/// [`TextMetrics::wrap`] with the embedded font.
pub(super) fn wrap(text: &str, size: f64, room: f64, max_lines: usize) -> Vec<String> {
    TextMetrics::Font.wrap(text, size, room, max_lines)
}

/// Wraps names as [`wrap`] does. If different names would look equal, shortens them to one line each as
/// [`TextMetrics::distinct_lines`] does.
pub(super) fn wrap_names(
    names: &[String],
    size: f64,
    room: f64,
    max_lines: usize,
) -> Vec<Vec<String>> {
    let wrapped: Vec<Vec<String>> = names
        .iter()
        .map(|name| wrap(name, size, room, max_lines))
        .collect();
    let mut looks: HashMap<&[String], &String> = HashMap::new();
    let is_distinct = wrapped.iter().zip(names).all(|(lines, name)| {
        let other = looks.insert(lines, name);
        other.is_none_or(|other| single_line(other) == single_line(name))
    });
    if is_distinct {
        return wrapped;
    }
    let lines = TextMetrics::Font
        .distinct_lines(names, size, room)
        .into_iter();
    lines.map(|line| vec![line]).collect()
}

/// Puts text on one line and replaces characters that XML cannot contain.
pub(super) fn single_line(text: &str) -> String {
    let plain = |character: char| match character {
        '\u{fffe}' | '\u{ffff}' => ' ',
        character if character.is_control() => ' ',
        character => character,
    };
    text.chars()
        .map(plain)
        .collect::<String>()
        .trim()
        .to_owned()
}

/// Start of a name, and the part after the characters that it shares with others, shortened until they fit.
fn distinguishing_text(
    name: &[char],
    shared: usize,
    character_count: usize,
    fits: impl Fn(&str) -> bool,
) -> String {
    // For a name that is a prefix of others, its end.
    let from = shared.min(name.len().saturating_sub(1));
    let mut head = from.min(character_count / 3);
    let mut end = name.len().min(from + character_count.max(1));
    loop {
        let start = name.iter().take(head).collect::<String>();
        let rest = name.get(from..end).unwrap_or_default();
        let rest = rest.iter().collect::<String>();
        let before = if head < from { "…" } else { "" };
        let behind = if end < name.len() { "…" } else { "" };
        let line = format!("{start}{before}{rest}{behind}");
        match (fits(&line), end > from + 1, head > 0) {
            (false, true, _) => end -= 1,
            (false, false, true) => head -= 1,
            _ => return line.trim().to_owned(),
        }
    }
}

/// Keeps the first and the last characters, `count` in total, with an ellipsis between them.
fn ellipsize(characters: &[char], count: usize) -> Vec<char> {
    let head = count.div_ceil(2);
    let tail = characters.len() - (count - head);
    let (head, tail) = (characters.iter().take(head), characters.iter().skip(tail));
    head.chain(&['…']).chain(tail).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_stay_different() {
        let key =
            |shape: &str| format!("conv2d_nhwc [\"d7b65649a4dd54becea0a52aabbc5af5\", 1, {shape}]");
        let lists = [
            vec!["a".to_owned(), "b".to_owned(), "a".to_owned()],
            vec![
                key("14, 14, 1024"),
                key("14, 14, 512"),
                key("7, 7, 1024"),
                key("14, 14, 1024"),
            ],
            // The names differ in the middle, at the end, and where one ends.
            ["layer.1.0", "layer.2.0", "layer.1", "layer.10.0"]
                .map(|end| format!("{}{end}{}", "x".repeat(60), "y".repeat(60)))
                .to_vec(),
            vec!["n".repeat(80), "n".repeat(81), "n".repeat(300)],
            (0..40)
                .map(|index| format!("{}{index}", "same start ".repeat(9)))
                .collect(),
            vec![String::new(), "…".to_owned()],
        ];
        for metrics in [TextMetrics::Font, TextMetrics::Cells] {
            for names in &lists {
                for room in [30.0, 60.0, 150.0, 4000.0] {
                    let lines = metrics.distinct_lines(names, 10.0, room);
                    for (a, line) in names.iter().zip(&lines) {
                        for (b, other) in names.iter().zip(&lines) {
                            assert_eq!(a == b, line == other, "{room}: {a} {b}: {line} {other}");
                        }
                    }
                    let wide = |line: &String| metrics.width(line, 10.0) > room.max(60.0);
                    assert!(!lines.iter().any(wide), "{room}: {lines:?}");
                    if room > 3000.0 {
                        assert_eq!(&lines, names);
                    }
                }
            }
        }
    }

    #[test]
    fn lines_break_behind_separators() {
        let room = width("transformers-auto-model/", 18.0) + 1.0;
        let lines = wrap("transformers-auto-model/opus-mt-en-gv", 18.0, room, 3);
        assert_eq!(lines, ["transformers-auto-model/", "opus-mt-en-gv"]);
        let one = wrap("transformers-auto-model/opus-mt-en-gv", 18.0, room, 1);
        assert_eq!(one.len(), 1);
        assert!(
            one.concat().starts_with("transf") && one.concat().ends_with("-en-gv"),
            "{one:?}"
        );
        assert!(one.concat().contains('…') && width(&one.concat(), 18.0) <= room);
        assert_eq!(wrap("", 18.0, room, 2), Vec::<String>::new());
        assert_eq!(wrap("wide", 18.0, 1.0, 9), ["w", "i", "d", "e"]);
    }

    #[test]
    fn control_characters_are_left_out() {
        assert_eq!(single_line("a\n\u{1}b\u{ffff}"), "a  b");
    }
}
