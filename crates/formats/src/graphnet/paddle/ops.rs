//! The layout of a file as bytes.

use tsql_codecs::varint;

/// How a block differs from what the graph says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// The next node of the graph.
    Node {
        /// Place of an operand, and which of its value's names it has, where that is not the first.
        second: Vec<(usize, usize)>,
        /// What the comment calls it, where that is not its name.
        called: Option<String>,
        inputs: Inputs,
        /// The whole block, where it is another one.
        text: Option<String>,
    },
    /// Another name for a value, or names for its parts.
    Second {
        /// What the comment says: `pd_op.assign`.
        said: String,
        /// The names with commas between, where they are not the next ones.
        names: Option<String>,
        /// How many parts; `None` for the value itself.
        parts: Option<usize>,
        /// Place of the name that the value has so far.
        of: usize,
        text: Option<String>,
    },
    Return {
        second: Vec<(usize, usize)>,
    },
    /// A block that is none of these.
    Text(String),
}

/// The types of operands in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inputs {
    /// Those of all values, and `None` for each of these before the last value.
    Usual,
    /// `None` also after the last value.
    All,
    Text(String),
}

impl Op {
    pub(super) fn set_text(&mut self, core: &str) {
        match self {
            Self::Node { text, .. } | Self::Second { text, .. } => *text = Some(core.to_owned()),
            Self::Text(_) | Self::Return { .. } => {}
        }
    }

    /// Is it just the next node?
    fn is_plain(&self) -> bool {
        let plain = Self::Node {
            second: Vec::new(),
            called: None,
            inputs: Inputs::Usual,
            text: None,
        };
        *self == plain
    }
}

/// All that the graph does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) ops: Vec<Op>,
    /// For each name in the order of their blocks: does it live to the end?
    pub(super) kept: Vec<bool>,
}

// Kinds of operations, and bits beside them.
const PLAIN: u8 = 0;
const NODE: u8 = 1;
const SECOND: u8 = 2;
const RETURN: u8 = 3;
const TEXT: u8 = 4;
const HAS_SECOND: u8 = 0x10;
const HAS_NAME: u8 = 0x20;
const HAS_TYPES: u8 = 0x40;
const HAS_TEXT: u8 = 0x80;
const ALL: u8 = 0x08;

impl Layout {
    /// Length of the operations, the operations, count of the names, a bit for each, and all texts
    /// with their lengths before them.
    pub(super) fn pack(&self) -> Vec<u8> {
        let mut packer = Packer::default();
        let mut ops = self.ops.as_slice();
        while let Some((op, rest)) = ops.split_first() {
            let plain = ops.iter().take_while(|op| op.is_plain()).count();
            if plain > 0 {
                packer.ops.push(PLAIN);
                packer.number(plain);
                ops = ops.get(plain..).unwrap_or(&[]);
            } else {
                packer.op(op);
                ops = rest;
            }
        }
        let mut packed = Vec::new();
        write_count(packer.ops.len(), &mut packed);
        packed.extend(packer.ops);
        write_count(self.kept.len(), &mut packed);
        for flags in self.kept.chunks(8) {
            let bits = flags.iter().enumerate();
            packed.push(bits.fold(0, |byte, (bit, &flag)| byte | (u8::from(flag) << bit)));
        }
        packed.extend(packer.texts);
        packed
    }

    /// Undoes [`Layout::pack`]; `None` for other bytes.
    pub(super) fn read(mut packed: &[u8]) -> Option<Self> {
        let length = read_count(&mut packed)?;
        let (ops, mut packed) = packed.split_at_checked(length)?;
        let count = read_count(&mut packed)?;
        let (bits, texts) = packed.split_at_checked(count.div_ceil(8))?;
        let bit = |place: usize| {
            bits.get(place / 8)
                .is_some_and(|byte| byte >> (place % 8) & 1 == 1)
        };
        let mut layout = Self {
            ops: Vec::new(),
            kept: (0..count).map(bit).collect(),
        };
        let mut reader = Reader { ops, texts };
        while !reader.ops.is_empty() {
            reader.op(&mut layout.ops)?;
        }
        reader.texts.is_empty().then_some(layout)
    }
}

fn write_count(count: usize, out: &mut Vec<u8>) {
    varint::write_unsigned(i64::try_from(count).unwrap_or(i64::MAX), out);
}

fn read_count(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(varint::read_unsigned(bytes)?).ok()
}

#[derive(Default)]
struct Packer {
    ops: Vec<u8>,
    texts: Vec<u8>,
}

impl Packer {
    fn number(&mut self, number: usize) {
        write_count(number, &mut self.ops);
    }

    fn text(&mut self, text: &str) {
        write_count(text.len(), &mut self.texts);
        self.texts.extend_from_slice(text.as_bytes());
    }

    fn second(&mut self, second: &[(usize, usize)]) {
        if !second.is_empty() {
            self.number(second.len());
            for &(place, name) in second {
                self.number(place);
                self.number(name);
            }
        }
    }

    fn op(&mut self, op: &Op) {
        let flag = |bit: u8, set: bool| if set { bit } else { 0 };
        match op {
            Op::Node {
                second,
                called,
                inputs,
                text,
            } => {
                self.ops.push(
                    NODE | flag(HAS_SECOND, !second.is_empty())
                        | flag(HAS_NAME, called.is_some())
                        | flag(HAS_TYPES, matches!(inputs, Inputs::Text(_)))
                        | flag(ALL, *inputs == Inputs::All)
                        | flag(HAS_TEXT, text.is_some()),
                );
                self.second(second);
                called.iter().for_each(|name| self.text(name));
                if let Inputs::Text(types) = inputs {
                    self.text(types);
                }
                text.iter().for_each(|text| self.text(text));
            }
            Op::Second {
                said,
                names,
                parts,
                of,
                text,
            } => {
                self.ops.push(
                    SECOND
                        | flag(HAS_NAME, names.is_some())
                        | flag(ALL, parts.is_some())
                        | flag(HAS_TYPES, said != ASSIGN)
                        | flag(HAS_TEXT, text.is_some()),
                );
                self.number(*of);
                parts.iter().for_each(|&parts| self.number(parts));
                if said != ASSIGN {
                    self.text(said);
                }
                names.iter().for_each(|names| self.text(names));
                text.iter().for_each(|text| self.text(text));
            }
            Op::Return { second } => {
                self.ops.push(RETURN | flag(HAS_SECOND, !second.is_empty()));
                self.second(second);
            }
            Op::Text(text) => {
                self.ops.push(TEXT);
                self.text(text);
            }
        }
    }
}

/// The operation of most second names.
const ASSIGN: &str = "pd_op.assign";

struct Reader<'a> {
    ops: &'a [u8],
    texts: &'a [u8],
}

impl Reader<'_> {
    fn text(&mut self) -> Option<String> {
        let length = read_count(&mut self.texts)?;
        let (text, rest) = self.texts.split_at_checked(length)?;
        self.texts = rest;
        Some(std::str::from_utf8(text).ok()?.to_owned())
    }

    fn text_if(&mut self, set: bool) -> Option<Option<String>> {
        if set {
            self.text().map(Some)
        } else {
            Some(None)
        }
    }

    fn second(&mut self, set: bool) -> Option<Vec<(usize, usize)>> {
        let mut second = Vec::new();
        if set {
            for _ in 0..read_count(&mut self.ops)? {
                let place = read_count(&mut self.ops)?;
                second.push((place, read_count(&mut self.ops)?));
            }
        }
        Some(second)
    }

    fn op(&mut self, ops: &mut Vec<Op>) -> Option<()> {
        let (&code, rest) = self.ops.split_first()?;
        self.ops = rest;
        let has = |bit: u8| code & bit != 0;
        match code & 7 {
            PLAIN => {
                let count = read_count(&mut self.ops)?;
                if count > MOST.saturating_sub(ops.len()) {
                    return None;
                }
                let plain = Op::Node {
                    second: Vec::new(),
                    called: None,
                    inputs: Inputs::Usual,
                    text: None,
                };
                ops.extend(std::iter::repeat_n(plain, count));
            }
            NODE => ops.push(Op::Node {
                second: self.second(has(HAS_SECOND))?,
                called: self.text_if(has(HAS_NAME))?,
                inputs: match self.text_if(has(HAS_TYPES))? {
                    Some(types) => Inputs::Text(types),
                    None if has(ALL) => Inputs::All,
                    None => Inputs::Usual,
                },
                text: self.text_if(has(HAS_TEXT))?,
            }),
            SECOND => {
                let of = read_count(&mut self.ops)?;
                let parts = if has(ALL) {
                    Some(read_count(&mut self.ops)?)
                } else {
                    None
                };
                if parts.is_some_and(|parts| parts > MOST_PARTS) {
                    return None;
                }
                ops.push(Op::Second {
                    of,
                    parts,
                    said: self
                        .text_if(has(HAS_TYPES))?
                        .unwrap_or_else(|| ASSIGN.to_owned()),
                    names: self.text_if(has(HAS_NAME))?,
                    text: self.text_if(has(HAS_TEXT))?,
                });
            }
            RETURN => ops.push(Op::Return {
                second: self.second(has(HAS_SECOND))?,
            }),
            TEXT => ops.push(Op::Text(self.text()?)),
            _ => return None,
        }
        Some(())
    }
}

/// More nodes than any file has: what is damaged asks for no memory.
const MOST: usize = 1 << 20;

/// More parts than any value has.
const MOST_PARTS: usize = 1 << 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let node = |second, called, inputs, text| Op::Node {
            second,
            called,
            inputs,
            text,
        };
        let some = |text: &str| Some(text.to_owned());
        Layout {
            ops: vec![
                node(vec![], None, Inputs::Usual, None),
                node(vec![], None, Inputs::Usual, None),
                node(vec![(1, 2), (300, 0)], some("pd_op.x"), Inputs::All, None),
                node(vec![], None, Inputs::Text("xf32".to_owned()), some("a\nb")),
                Op::Second {
                    said: ASSIGN.to_owned(),
                    names: None,
                    parts: None,
                    of: 7,
                    text: None,
                },
                Op::Second {
                    said: "builtin.split".to_owned(),
                    names: some("a,b"),
                    parts: Some(2),
                    of: 200,
                    text: some(""),
                },
                Op::Text("ä".to_owned()),
                Op::Return {
                    second: vec![(0, 1)],
                },
            ],
            kept: vec![true, false, true, true, false, false, false, false, true],
        }
    }

    #[test]
    fn layouts_come_back() {
        let packed = layout().pack();
        assert_eq!(Layout::read(&packed), Some(layout()));
        for end in 0..packed.len() {
            assert_eq!(Layout::read(packed.get(..end).unwrap()), None, "{end}");
        }
    }

    proptest::proptest! {
        #[test]
        fn damage_is_no_panic(place in 0_usize..80, byte: u8) {
            let mut packed = layout().pack();
            let place = place % packed.len();
            *packed.get_mut(place).unwrap() = byte;
            let _ = Layout::read(&packed);
        }
    }
}
