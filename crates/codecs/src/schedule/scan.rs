//! Zero-copy scanner for transform steps.

/// Step kinds in the order of TVM's `transform_step.h`.
pub(super) const KINDS: [&str; 14] = [
    "AN", "FU", "PR", "RE", "SP", "FSP", "FFSP", "SA", "CA", "CI", "CR", "CHR", "CHW", "RF",
];

/// An argument of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument<'a> {
    Number(i64),
    Text(&'a str),
}

impl Argument<'_> {
    /// Returns the number; 0 for a text.
    pub(super) fn number(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(_) => 0,
        }
    }
}

/// Maximum number of digits of a number.
const MAX_DIGITS: usize = 18;

/// Maximum nesting depth of lists in a step.
const MAX_DEPTH: usize = 4;

/// A step: its kind and arguments. Arguments inside lists are flattened.
#[derive(Debug, Default)]
pub(super) struct Step<'a> {
    /// Index of the kind in [`KINDS`].
    pub(super) kind: usize,
    pub(super) arguments: Vec<Argument<'a>>,
    /// Index range of the arguments in the first list.
    pub(super) list: std::ops::Range<usize>,
}

/// Calls `visit` with each step. Returns `None` if the text is not an auto_scheduler program.
pub(super) fn for_each_step<'a>(text: &'a str, mut visit: impl FnMut(&Step<'a>)) -> Option<()> {
    let mut scanner = Scanner { text, position: 0 };
    let mut step = Step::default();
    scanner.expect(b'[')?;
    if !scanner.skip_if(b']') {
        loop {
            scanner.step(&mut step)?;
            visit(&step);
            if !scanner.skip_if(b',') {
                break;
            }
        }
        scanner.expect(b']')?;
    }
    scanner.skip_space();
    (scanner.position == text.len()).then_some(())
}

struct Scanner<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> u8 {
        self.text
            .as_bytes()
            .get(self.position)
            .copied()
            .unwrap_or(0)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.position += 1;
        }
    }

    /// Skips spaces and then `byte`, if it is next. Returns whether it was.
    fn skip_if(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_next = self.peek() == byte;
        self.position += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.skip_if(byte).then_some(())
    }

    fn step(&mut self, step: &mut Step<'a>) -> Option<()> {
        step.arguments.clear();
        step.list = 0..0;
        self.expect(b'[')?;
        self.skip_space();
        step.kind = kind_index(self.string()?)?;
        let (mut depth, mut lists) = (1, 0);
        while depth > 0 {
            match self.peek() {
                digit @ (b'0'..=b'9' | b'-') => {
                    let number = self.number(digit)?;
                    step.arguments.push(Argument::Number(number));
                }
                b',' | b' ' | b'\t' | b'\n' | b'\r' => self.position += 1,
                b'[' => {
                    self.position += 1;
                    depth += 1;
                    lists += 1;
                    if depth > MAX_DEPTH {
                        return None;
                    }
                    if lists == 1 {
                        let start = step.arguments.len();
                        step.list = start..start;
                    }
                }
                b']' => {
                    self.position += 1;
                    depth -= 1;
                    if depth == 1 && lists == 1 {
                        step.list.end = step.arguments.len();
                    }
                }
                b'"' => {
                    let text = self.string()?;
                    step.arguments.push(Argument::Text(text));
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Parses a string without escapes; steps contain none.
    fn string(&mut self) -> Option<&'a str> {
        if self.peek() != b'"' {
            return None;
        }
        let start = self.position + 1;
        let bytes = self.text.as_bytes().get(start..)?;
        let end = bytes
            .iter()
            .position(|&byte| byte == b'"' || byte == b'\\')?;
        self.position = start + end;
        let is_terminated = self.peek() == b'"';
        self.position += 1;
        self.text.get(start..start + end).filter(|_| is_terminated)
    }

    /// Parses the number that starts with this digit or sign.
    fn number(&mut self, first: u8) -> Option<i64> {
        let is_negative = first == b'-';
        self.position += usize::from(is_negative);
        let start = self.position;
        let mut number = 0_i64;
        while let digit @ b'0'..=b'9' = self.peek() {
            // This many digits fit into 64 bits.
            if self.position - start >= MAX_DIGITS {
                return None;
            }
            number = number * 10 + i64::from(digit - b'0');
            self.position += 1;
        }
        let number = if is_negative { -number } else { number };
        Some(number).filter(|_| self.position > start)
    }
}

/// Index of a kind in [`KINDS`].
fn kind_index(kind: &str) -> Option<usize> {
    Some(match kind {
        "AN" => 0,
        "FU" => 1,
        "PR" => 2,
        "RE" => 3,
        "SP" => 4,
        "FSP" => 5,
        "FFSP" => 6,
        "SA" => 7,
        "CA" => 8,
        "CI" => 9,
        "CR" => 10,
        "CHR" => 11,
        "CHW" => 12,
        "RF" => 13,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_parsed_with_flattened_lists() {
        let text = r#"[["SP", 2, 0, 1000, [8, -1, 1], 1], ["CHR",3,"shared",[4]], ["CI", 1]]"#;
        let mut steps = Vec::new();
        for_each_step(text, |step| {
            steps.push((step.kind, step.arguments.clone(), step.list.clone()));
        })
        .unwrap();
        let numbered = |numbers: &[i64]| {
            numbers
                .iter()
                .map(|&n| Argument::Number(n))
                .collect::<Vec<_>>()
        };
        assert_eq!(steps[0], (4, numbered(&[2, 0, 1000, 8, -1, 1, 1]), 3..6));
        let shared = vec![
            Argument::Number(3),
            Argument::Text("shared"),
            Argument::Number(4),
        ];
        assert_eq!(steps[1], (11, shared, 2..3));
        assert_eq!(steps[2], (9, numbered(&[1]), 0..0));
    }

    #[test]
    fn kinds_have_their_indexes() {
        for (index, kind) in KINDS.iter().enumerate() {
            assert_eq!(kind_index(kind), Some(index));
        }
        assert_eq!(kind_index("sp"), None);
    }

    #[test]
    fn other_texts_are_none() {
        assert!(for_each_step(" [ ] ", |_| panic!("no step")).is_some());
        for text in [
            "",
            "[",
            "[[]]",
            "[[\"SP\"",
            "[[\"XX\", 1]]",
            "[[\"SP\", 1]",
            "[[\"SP\", 1]] x",
            "{}",
            "[[\"SP\", 1.5]]",
            "[[\"SP\", 99999999999999999999]]",
            "[[[[[[[]]]]]]]",
            "[[\"SP\", \"a\\n\"]]",
            "[[\"FU\", [[[[[1]]]]]]]",
            "[[\"SP\", -]]",
        ] {
            assert!(for_each_step(text, |_| ()).is_none(), "{text}");
        }
    }
}
