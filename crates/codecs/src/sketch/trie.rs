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
    /// Symbols that all sketches below have in common here.
    symbols: Vec<u8>,
    /// The same in pieces: the number of text symbols, and the special symbol after them.
    pieces: Vec<(usize, Option<u8>)>,
    /// Children by their first symbol.
    children: Vec<(u8, usize)>,
    /// The sketch that ends here.
    sketch_number: Option<u32>,
}

impl SketchTrie {
    /// Inserts the sketch of a scanned, non-literal program.
    pub fn insert(&mut self, scan: &Scan, sketch_number: u32) {
        let key = sketch_symbols(scan);
        let mut rest = key.as_slice();
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let mut index = 0;
        while let Some(&first) = rest.first() {
            let child = self.nodes.get(index).and_then(|node| node.child(first));
            let Some(child) = child else {
                self.add_child(index, first, Node::new(rest, Some(sketch_number)));
                return;
            };
            rest = self.split(child, rest);
            index = child;
        }
    }

    /// Adds `node`, which starts with `first`, as a child.
    fn add_child(&mut self, parent_index: usize, first: u8, node: Node) {
        let number = self.nodes.len();
        self.nodes.push(node);
        if let Some(parent) = self.nodes.get_mut(parent_index) {
            parent.children.push((first, number));
        }
    }

    /// Splits a node where `key` diverges from it. Returns the rest of `key`.
    fn split<'k>(&mut self, number: usize, key: &'k [u8]) -> &'k [u8] {
        let Some(node) = self.nodes.get_mut(number) else {
            return &[];
        };
        let pairs = node.symbols.iter().zip(key);
        let shared_length = pairs.take_while(|(a, b)| a == b).count();
        let (_, rest) = key.split_at(shared_length);
        if let Some((upper, lower)) = node.symbols.split_at_checked(shared_length)
            && let Some(&first) = lower.first()
        {
            let mut lower_node = Node::new(lower, node.sketch_number.take());
            lower_node.children = std::mem::take(&mut node.children);
            *node = Node::new(upper, None);
            self.add_child(number, first, lower_node);
        }
        rest
    }

    /// Parses the program at the start of `text`. Returns its sketch and length, and appends its packed
    /// numbers to `params`.
    ///
    /// Returns `None`, and appends nothing, if its sketch is unknown or it is not in TVM's spelling.
    pub fn read(&self, text: &[u8], params: &mut Vec<u8>) -> Option<(u32, usize)> {
        let length_before = params.len();
        let result = self.find(text, params);
        if result.is_none() {
            params.truncate(length_before);
        }
        result
    }

    fn find(&self, text: &[u8], params: &mut Vec<u8>) -> Option<(u32, usize)> {
        let (mut rest, mut node) = (text, self.nodes.first()?);
        loop {
            rest = node.match_text(rest, params)?;
            if let Some(sketch_number) = node.sketch_number {
                return Some((sketch_number, text.len() - rest.len()));
            }
            node = self.nodes.get(node.next_child(rest)?)?;
        }
    }
}

impl Node {
    fn new(symbols: &[u8], sketch_number: Option<u32>) -> Self {
        let mut pieces = Vec::new();
        for piece in symbols.split_inclusive(|&symbol| symbol <= LIST) {
            let last = piece.last().copied().filter(|&symbol| symbol <= LIST);
            pieces.push((piece.len() - usize::from(last.is_some()), last));
        }
        Self {
            symbols: symbols.to_vec(),
            pieces,
            children: Vec::new(),
            sketch_number,
        }
    }

    fn child(&self, first: u8) -> Option<usize> {
        let child = self.children.iter().find(|(symbol, _)| *symbol == first);
        child.map(|(_, child)| *child)
    }

    /// Matches `text` against this node. Returns the rest.
    fn match_text<'t>(&self, text: &'t [u8], params: &mut Vec<u8>) -> Option<&'t [u8]> {
        let (mut rest, mut symbols) = (text, self.symbols.as_slice());
        for &(length, symbol) in &self.pieces {
            let (piece, after) = symbols.split_at_checked(length)?;
            rest = rest.strip_prefix(piece)?;
            symbols = after.get(usize::from(symbol.is_some())..)?;
            rest = match symbol {
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
        let symbol =
            match *text.first()? {
                b'[' if self.child(RUN).or(self.child(LIST)).is_some() => {
                    if parse_run(text).is_some() { RUN } else { LIST }
                }
                b'0'..=b'9' if self.child(HOLE).is_some() && parse_hole(text).is_some() => HOLE,
                byte => byte,
            };
        self.child(symbol)
    }
}

/// Converts the sketch of a program to symbols.
fn sketch_symbols(scan: &Scan) -> Vec<u8> {
    let mut symbols = Vec::with_capacity(scan.sketch.len());
    let mut lists = scan.lists.iter().peekable();
    let mut position = 0;
    while let Some(rest) = scan.sketch.get(position..).filter(|rest| !rest.is_empty()) {
        if lists.next_if_eq(&&position).is_some() {
            symbols.push(LIST);
            position += 1;
        } else if rest.starts_with(b"[?..?]") {
            symbols.push(RUN);
            position += b"[?..?]".len();
        } else {
            let byte = rest.first().copied().unwrap_or_default();
            symbols.push(if byte == b'?' { HOLE } else { byte });
            position += 1;
        }
    }
    symbols
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
    let is_integer = !matches!(after.first(), Some(b'.' | b'e' | b'E'));
    Some((parse_integer(digits).filter(|_| is_integer)?, after))
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
        let mut trie = SketchTrie::default();
        for (index, text) in (0..).zip(texts) {
            let (scan, ..) = scan_text(text, any_values).unwrap();
            trie.insert(&scan, index);
        }
        trie
    }

    fn read_text(trie: &SketchTrie, text: &str) -> Option<(u32, usize, Vec<u8>)> {
        let mut params = vec![9];
        let read_text = trie.read(text.as_bytes(), &mut params);
        assert!(read_text.is_some() || params == [9], "{params:?}");
        read_text.map(|(index, length)| (index, length, params.split_off(1)))
    }

    /// Checks that programs are parsed as by the full scanner. `expected` is the index of the sketch.
    fn check(sketches: &[&str], any_values: bool, programs: &[(&str, Option<u32>)]) {
        let trie = build_trie(sketches, any_values);
        for &(text, expected) in programs {
            let actual = read_text(&trie, text);
            assert_eq!(
                actual.as_ref().map(|(index, ..)| *index),
                expected,
                "{text}"
            );
            if let Some((_, length, params)) = actual {
                let (scan, expected, scanned) = scan_text(text, any_values).unwrap();
                assert_eq!((params, length), (expected.clone(), scanned), "{text}");
                let mut filled = Vec::new();
                assert!(fill(&scan.sketch, Some(&expected), &mut filled));
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
    fn an_empty_trie_matches_nothing() {
        assert_eq!(read_text(&SketchTrie::default(), "[]"), None);
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
        fn trie_and_scanner_agree(
            texts in proptest::collection::vec(steps(), 1..12), change in 0_usize..64, replacement in 0_u8..128, any_values: bool,
        ) {
            let (mut trie, mut sketches) = (SketchTrie::default(), Vec::new());
            for text in &texts {
                let Some((scan, ..)) = scan_text(text, any_values) else { continue };
                if !scan.literal && !scan.respell && !sketches.contains(&scan.sketch) {
                    trie.insert(&scan, u32::try_from(sketches.len()).unwrap());
                    sketches.push(scan.sketch);
                }
            }
            for text in &texts {
                let mut changed = text.clone().into_bytes();
                if let Some(byte) = changed.get_mut(change) {
                    *byte = replacement;
                }
                for text in [text.clone(), String::from_utf8(changed).unwrap_or_default()] {
                    let expected = scan_text(&text, any_values).filter(|(scan, ..)| !scan.literal && !scan.respell);
                    let expected = expected.and_then(|(scan, params, length)| {
                        let index = sketches.iter().position(|sketch| *sketch == scan.sketch)?;
                        Some((u32::try_from(index).unwrap(), length, params))
                    });
                    // A value must span the whole text.
                    let actual = read_text(&trie, &text).filter(|(_, length, _)| !any_values || *length == text.len());
                    proptest::prop_assert_eq!(actual, expected, "{}", text);
                }
            }
        }
    }
}
