//! Prefix tree of known sketches.
//!
//! The programs of a log share few sketches. A program with a known sketch is parsed by comparing the text
//! between its numbers. This also proves what otherwise requires filling the sketch again.

use super::{Scan, parse_run};
use crate::number::parse_integer;
use crate::varint;

/// Symbol for a number. Sketch texts contain no control characters.
const HOLE: u8 = 0;

/// Symbol for a list of a `FU` step that is a run.
const RUN: u8 = 1;

/// Symbol that starts any other list of a `FU` step.
const LIST: u8 = 2;

/// Distinct sketches, each with a number that the caller assigns.
#[derive(Debug, Default)]
pub struct SketchTrie {
    /// The root, then the other nodes.
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    /// Symbols that all sketches below share here.
    signs: Vec<u8>,
    /// The same in pieces: the number of text symbols, and the special symbol that follows.
    pieces: Vec<(usize, Option<u8>)>,
    /// Children by their first symbol.
    children: Vec<(u8, usize)>,
    /// The sketch that ends here.
    place: Option<u32>,
}

impl SketchTrie {
    /// Inserts the sketch of a scanned, non-literal program.
    pub fn insert(&mut self, scan: &Scan, place: u32) {
        let key = sketch_signs(scan);
        let mut rest = key.as_slice();
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let mut at = 0;
        while let Some(&first) = rest.first() {
            let child = self.nodes.get(at).and_then(|node| node.child(first));
            let Some(child) = child else {
                self.add_child(at, first, Node::new(rest, Some(place)));
                return;
            };
            rest = self.split(child, rest);
            at = child;
        }
    }

    /// Adds `node`, which starts with `first`, as a child.
    fn add_child(&mut self, below: usize, first: u8, node: Node) {
        let number = self.nodes.len();
        self.nodes.push(node);
        if let Some(parent) = self.nodes.get_mut(below) {
            parent.children.push((first, number));
        }
    }

    /// Splits a node where `key` diverges from it. Returns the rest of `key`.
    fn split<'k>(&mut self, number: usize, key: &'k [u8]) -> &'k [u8] {
        let Some(node) = self.nodes.get_mut(number) else {
            return &[];
        };
        let both = node.signs.iter().zip(key);
        let common = both.take_while(|(one, other)| one == other).count();
        let (_, rest) = key.split_at(common);
        if let Some((upper, lower)) = node.signs.split_at_checked(common)
            && let Some(&first) = lower.first()
        {
            let mut below = Node::new(lower, node.place.take());
            below.children = std::mem::take(&mut node.children);
            *node = Node::new(upper, None);
            self.add_child(number, first, below);
        }
        rest
    }

    /// Parses the program at the start of `text`. Returns its sketch and length, and appends its packed
    /// numbers to `params`.
    ///
    /// Returns `None`, and appends nothing, if its sketch is unknown or it is not in TVM's spelling.
    pub fn read(&self, text: &[u8], params: &mut Vec<u8>) -> Option<(u32, usize)> {
        let before = params.len();
        let read = self.find(text, params);
        if read.is_none() {
            params.truncate(before);
        }
        read
    }

    fn find(&self, text: &[u8], params: &mut Vec<u8>) -> Option<(u32, usize)> {
        let (mut rest, mut node) = (text, self.nodes.first()?);
        loop {
            rest = node.match_text(rest, params)?;
            if let Some(place) = node.place {
                return Some((place, text.len() - rest.len()));
            }
            node = self.nodes.get(node.next_child(rest)?)?;
        }
    }
}

impl Node {
    fn new(signs: &[u8], place: Option<u32>) -> Self {
        let mut pieces = Vec::new();
        for piece in signs.split_inclusive(|&sign| sign <= LIST) {
            let last = piece.last().copied().filter(|&sign| sign <= LIST);
            pieces.push((piece.len() - usize::from(last.is_some()), last));
        }
        Self {
            signs: signs.to_vec(),
            pieces,
            children: Vec::new(),
            place,
        }
    }

    fn child(&self, first: u8) -> Option<usize> {
        let child = self.children.iter().find(|(sign, _)| *sign == first);
        child.map(|(_, child)| *child)
    }

    /// Matches `text` against this node. Returns the rest.
    fn match_text<'t>(&self, text: &'t [u8], params: &mut Vec<u8>) -> Option<&'t [u8]> {
        let (mut rest, mut signs) = (text, self.signs.as_slice());
        for &(length, sign) in &self.pieces {
            let (piece, after) = signs.split_at_checked(length)?;
            rest = rest.strip_prefix(piece)?;
            signs = after.get(usize::from(sign.is_some())..)?;
            rest = match sign {
                None => rest,
                Some(HOLE) => {
                    let (number, after) = parse_hole(rest)?;
                    varint::write_unsigned(number, params);
                    after
                }
                Some(RUN) => {
                    let (first, count, length) = parse_run(rest)?;
                    varint::write_unsigned(first, params);
                    varint::write_unsigned(count, params);
                    rest.get(length..)?
                }
                Some(_) if parse_run(rest).is_some() => return None,
                Some(_) => rest.strip_prefix(b"[")?,
            };
        }
        Some(rest)
    }

    /// The child that matches the start of `text`.
    fn next_child(&self, text: &[u8]) -> Option<usize> {
        let sign =
            match *text.first()? {
                b'[' if self.child(RUN).or(self.child(LIST)).is_some() => {
                    if parse_run(text).is_some() { RUN } else { LIST }
                }
                b'0'..=b'9' if self.child(HOLE).is_some() && parse_hole(text).is_some() => HOLE,
                byte => byte,
            };
        self.child(sign)
    }
}

/// Converts the sketch of a program to symbols.
fn sketch_signs(scan: &Scan) -> Vec<u8> {
    let mut signs = Vec::with_capacity(scan.sketch.len());
    let mut lists = scan.lists.iter().peekable();
    let mut at = 0;
    while let Some(rest) = scan.sketch.get(at..).filter(|rest| !rest.is_empty()) {
        if lists.next_if_eq(&&at).is_some() {
            signs.push(LIST);
            at += 1;
        } else if rest.starts_with(b"[?..?]") {
            signs.push(RUN);
            at += b"[?..?]".len();
        } else {
            let byte = rest.first().copied().unwrap_or_default();
            signs.push(if byte == b'?' { HOLE } else { byte });
            at += 1;
        }
    }
    signs
}

/// Parses the number at the start of `text` if it becomes a hole. Returns it and the rest.
fn parse_hole(text: &[u8]) -> Option<(i64, &[u8])> {
    if let [digit @ b'0'..=b'9', after @ ..] = text
        && matches!(after.first(), Some(b',' | b']' | b'"'))
    {
        return Some((i64::from(digit - b'0'), after));
    }
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let (digits, after) = text.split_at(digits.count());
    let ends = !matches!(after.first(), Some(b'.' | b'e' | b'E'));
    Some((parse_integer(digits).filter(|_| ends)?, after))
}

#[cfg(test)]
mod tests {
    use super::super::{fill, scan, scan_values};
    use super::*;

    /// Scans a program with the full scanner: sketch, numbers and length.
    fn scan_text(text: &str, any_values: bool) -> Option<(Scan, Vec<u8>, usize)> {
        let (mut scanned, mut params) = (Scan::default(), Vec::new());
        let length = if any_values {
            serde_json::from_str::<serde_json::Value>(text).ok()?;
            scan_values(text.as_bytes(), &mut scanned).ok()?;
            text.len()
        } else {
            scan(text.as_bytes(), &mut scanned).ok()?
        };
        let numbers = scanned.numbers.iter();
        numbers.for_each(|&number| varint::write_unsigned(number, &mut params));
        Some((scanned, params, length))
    }

    /// A trie of these texts, each under its index.
    fn build_trie(texts: &[&str], any_values: bool) -> SketchTrie {
        let mut seen = SketchTrie::default();
        for (place, text) in (0..).zip(texts) {
            let (scan, ..) = scan_text(text, any_values).unwrap();
            seen.insert(&scan, place);
        }
        seen
    }

    fn read(seen: &SketchTrie, text: &str) -> Option<(u32, usize, Vec<u8>)> {
        let mut params = vec![9];
        let read = seen.read(text.as_bytes(), &mut params);
        assert!(read.is_some() || params == [9], "{params:?}");
        read.map(|(place, length)| (place, length, params.split_off(1)))
    }

    /// Checks that programs of these sketches are parsed as by the full scanner. `wanted` is the index of
    /// the sketch.
    fn check(seen_of: &[&str], any_values: bool, programs: &[(&str, Option<u32>)]) {
        let seen = build_trie(seen_of, any_values);
        for &(text, wanted) in programs {
            let found = read(&seen, text);
            assert_eq!(found.as_ref().map(|(place, ..)| *place), wanted, "{text}");
            if let Some((_, length, params)) = found {
                let (scan, wanted, scanned) = scan_text(text, any_values).unwrap();
                assert_eq!((params, length), (wanted.clone(), scanned), "{text}");
                let mut filled = Vec::new();
                assert!(fill(&scan.sketch, Some(&wanted), &mut filled));
                assert_eq!(filled, &text.as_bytes()[..length]);
            }
        }
    }

    #[test]
    fn a_program_of_a_known_sketch_is_read_as_the_scanner_does() {
        let seen_of = [
            r#"[["SP", 2, 0, 8, [4, 1], 1], ["FU", 1, [0, 1, 2]]]"#,
            r#"[["SP", 2, 0, 8, [4, 1, 1], 1], ["FU", 1, [0, 2]]]"#,
            r#"[["SP", 2, 0, 8, [4, 1, 1], 1], ["FU", 1, []]]"#,
            r#"[["PR", 2, 0, "auto_unroll_max_step$64"], ["SP", 1.5, -2, 1e3]]"#,
            "[]",
        ];
        let programs = [
            (
                r#"[["SP", 3, 12, 1000, [64, 7], 0], ["FU", 300, [5, 6]]], 7"#,
                Some(0),
            ),
            (
                r#"[["SP", 2, 0, 8, [4, 1, 1], 1], ["FU", 1, [0, 3]]]"#,
                Some(1),
            ),
            (r#"[["SP", 2, 0, 8, [4, 1, 1], 1], ["FU", 1, []]]"#, Some(2)),
            (
                r#"[["PR", 0, 9, "auto_unroll_max_step$512"], ["SP", 1.5, -2, 1e3]]"#,
                Some(3),
            ),
            ("[]]]", Some(4)),
            // These are runs, and therefore have another sketch.
            (
                r#"[["SP", 2, 0, 8, [4, 1, 1], 1], ["FU", 1, [2, 3]]]"#,
                None,
            ),
            (r#"[["SP", 2, 0, 8, [4, 1], 1], ["FU", 1, [0, 2]]]"#, None),
            // Numbers that are not holes.
            (
                r#"[["SP", 2, 0, 8.5, [4, 1], 1], ["FU", 1, [0, 1, 2]]]"#,
                None,
            ),
            (
                r#"[["SP", 2, 0, 08, [4, 1], 1], ["FU", 1, [0, 1, 2]]]"#,
                None,
            ),
            (
                r#"[["SP", 2, 0, 9999999999999999999, [4, 1], 1], ["FU", 1, [0, 1, 2]]]"#,
                None,
            ),
            (
                r#"[["PR", 0, 9, "auto_unroll_max_step$"], ["SP", 1.5, -2, 1e3]]"#,
                None,
            ),
            // Other spellings.
            (r#"[["SP",2,0,8,[4,1],1],["FU",1,[0,1,2]]]"#, None),
            (r#"[["SP", 2, 0, 8, [4, 1], 1], ["FU", 1, [0, 1, 2]]"#, None),
            ("", None),
        ];
        check(&seen_of, false, &programs);
    }

    #[test]
    fn names_of_members_are_no_holes() {
        let programs = [
            (r#"{"TILE_8": [16, 4], "z$3": "v$7", "on": true}"#, Some(0)),
            (r#"{"TILE_9": [8, 1], "z$3": "v$3", "on": true}"#, None),
            (r#"{"TILE_8": [8, 1], "z$4": "v$3", "on": true}"#, None),
        ];
        check(
            &[r#"{"TILE_8": [8, 1], "z$3": "v$3", "on": true}"#],
            true,
            &programs,
        );
    }

    #[test]
    fn nothing_is_read_where_nothing_was_seen() {
        assert_eq!(read(&SketchTrie::default(), "[]"), None);
    }

    /// Steps that differ little from each other.
    fn steps() -> impl proptest::strategy::Strategy<Value = String> {
        use proptest::prelude::*;
        let value = prop::sample::select(vec![
            "0",
            "7",
            "12",
            "1.5",
            "-1",
            "01",
            "1e3",
            "[]",
            "[0, 1]",
            "[0, 1, 2]",
            "[3, 2]",
            "[[4, 5], 1]",
            "\"x$3\"",
            "\"x$\"",
            "\"a?\"",
            "\"FU\"",
            "true",
            "999999999999999999",
            "9999999999999999999",
            "[0,1]",
            r#"{"z$3": 1, "b": "x$4"}"#,
            r#"{"z$4": 2}"#,
            "{}",
        ]);
        let name = prop::sample::select(vec!["\"FU\"", "\"SP\"", "3"]);
        let step = (name, prop::collection::vec(value, 0..4)).prop_map(|(name, values)| {
            let values: Vec<&str> = std::iter::once(name).chain(values).collect();
            format!("[{}]", values.join(", "))
        });
        prop::collection::vec(step, 0..4).prop_map(|steps| format!("[{}]", steps.join(", ")))
    }

    proptest::proptest! {
        #[test]
        fn whatever_was_seen_nothing_is_read_otherwise(
            texts in proptest::collection::vec(steps(), 1..12), change in 0_usize..64, with in 0_u8..128, any_values: bool,
        ) {
            let (mut seen, mut sketches) = (SketchTrie::default(), Vec::new());
            for text in &texts {
                let Some((scan, ..)) = scan_text(text, any_values) else { continue };
                if !scan.literal && !scan.respell && !sketches.contains(&scan.sketch) {
                    seen.insert(&scan, u32::try_from(sketches.len()).unwrap());
                    sketches.push(scan.sketch);
                }
            }
            for text in &texts {
                let mut changed = text.clone().into_bytes();
                if let Some(byte) = changed.get_mut(change) {
                    *byte = with;
                }
                for text in [text.clone(), String::from_utf8(changed).unwrap_or_default()] {
                    let wanted = scan_text(&text, any_values).filter(|(scan, ..)| !scan.literal && !scan.respell);
                    let wanted = wanted.and_then(|(scan, params, length)| {
                        let place = sketches.iter().position(|sketch| *sketch == scan.sketch)?;
                        Some((u32::try_from(place).unwrap(), length, params))
                    });
                    // A value must span the whole text.
                    let found = read(&seen, &text).filter(|(_, length, _)| !any_values || *length == text.len());
                    proptest::prop_assert_eq!(found, wanted, "{}", text);
                }
            }
        }
    }
}
