//! Binary encoding of the layout of a file.

use tsql_codecs::varint;

/// Difference between a block and its prediction from the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlockOp {
    /// Next node of the graph.
    Node {
        /// Index of an operand and index of the name that it uses, if that is not the first name.
        aliases: Vec<(usize, usize)>,
        /// Operation name in the comment, if it deviates.
        comment_op: Option<String>,
        inputs: CommentTypes,
        /// Text of the whole block, if it deviates.
        text: Option<String>,
    },
    /// Alias of a value, or names of its parts.
    Alias {
        /// Operation in the comment: `pd_op.assign`.
        comment_op: String,
        /// Names separated by commas, if they are not the predicted ones.
        names: Option<String>,
        /// Number of parts; `None` for the value itself.
        parts: Option<usize>,
        /// Index of the existing name of the value.
        source: usize,
        text: Option<String>,
    },
    Return {
        aliases: Vec<(usize, usize)>,
    },
    /// Any other block.
    Text(String),
}

/// Operand types in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommentTypes {
    /// Types of all values, and `None` for each `None` before the last value.
    Default,
    /// Also `None` after the last value.
    All,
    Text(String),
}

impl BlockOp {
    pub(super) fn set_text(&mut self, core: &str) {
        match self {
            Self::Node { text, .. } | Self::Alias { text, .. } => *text = Some(core.to_owned()),
            Self::Text(_) | Self::Return { .. } => {}
        }
    }

    /// Whether this is the next node without deviations.
    fn is_plain(&self) -> bool {
        let default = Self::Node {
            aliases: Vec::new(),
            comment_op: None,
            inputs: CommentTypes::Default,
            text: None,
        };
        *self == default
    }
}

/// Information that the graph does not contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) ops: Vec<BlockOp>,
    /// Whether each name lives to the end, in the order of definition.
    pub(super) is_retained: Vec<bool>,
}

// Operation codes and flag bits.
const PLAIN: u8 = 0;
const NODE: u8 = 1;
const ALIAS: u8 = 2;
const RETURN: u8 = 3;
const TEXT: u8 = 4;
const HAS_ALIASES: u8 = 0x10;
const HAS_NAME: u8 = 0x20;
const HAS_TYPES: u8 = 0x40;
const HAS_TEXT: u8 = 0x80;
const ALL: u8 = 0x08;

impl Layout {
    /// Encodes the layout: length of the operations, the operations, the number of names, one bit per name, and all
    /// texts with length prefixes.
    pub(super) fn pack(&self) -> Vec<u8> {
        let mut packer = LayoutPacker::default();
        let mut ops = self.ops.as_slice();
        while let Some((op, rest)) = ops.split_first() {
            let default_count = ops.iter().take_while(|op| op.is_plain()).count();
            if default_count > 0 {
                packer.ops.push(PLAIN);
                packer.number(default_count);
                ops = ops.get(default_count..).unwrap_or(&[]);
            } else {
                packer.op(op);
                ops = rest;
            }
        }
        let mut packed = Vec::new();
        write_count(packer.ops.len(), &mut packed);
        packed.extend(packer.ops);
        write_count(self.is_retained.len(), &mut packed);
        for flags in self.is_retained.chunks(8) {
            let bits = flags.iter().enumerate();
            packed.push(bits.fold(0, |byte, (bit, &flag)| byte | (u8::from(flag) << bit)));
        }
        packed.extend(packer.texts);
        packed
    }

    /// Inverse of [`Layout::pack`]; `None` for invalid bytes.
    pub(super) fn unpack(mut packed: &[u8]) -> Option<Self> {
        let length = read_count(&mut packed)?;
        let (ops, mut packed) = packed.split_at_checked(length)?;
        let count = read_count(&mut packed)?;
        let (bits, texts) = packed.split_at_checked(count.div_ceil(8))?;
        let bit = |index: usize| {
            bits.get(index / 8)
                .is_some_and(|byte| byte >> (index % 8) & 1 == 1)
        };
        let mut layout = Self {
            ops: Vec::new(),
            is_retained: (0..count).map(bit).collect(),
        };
        let mut reader = LayoutReader { ops, texts };
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
struct LayoutPacker {
    ops: Vec<u8>,
    texts: Vec<u8>,
}

impl LayoutPacker {
    fn number(&mut self, number: usize) {
        write_count(number, &mut self.ops);
    }

    fn text(&mut self, text: &str) {
        write_count(text.len(), &mut self.texts);
        self.texts.extend_from_slice(text.as_bytes());
    }

    fn write_aliases(&mut self, aliases: &[(usize, usize)]) {
        if !aliases.is_empty() {
            self.number(aliases.len());
            for &(position, name) in aliases {
                self.number(position);
                self.number(name);
            }
        }
    }

    fn op(&mut self, op: &BlockOp) {
        let flag = |bit: u8, is_set: bool| if is_set { bit } else { 0 };
        match op {
            BlockOp::Node {
                aliases,
                comment_op,
                inputs,
                text,
            } => {
                self.ops.push(
                    NODE | flag(HAS_ALIASES, !aliases.is_empty())
                        | flag(HAS_NAME, comment_op.is_some())
                        | flag(HAS_TYPES, matches!(inputs, CommentTypes::Text(_)))
                        | flag(ALL, *inputs == CommentTypes::All)
                        | flag(HAS_TEXT, text.is_some()),
                );
                self.write_aliases(aliases);
                comment_op.iter().for_each(|name| self.text(name));
                if let CommentTypes::Text(types) = inputs {
                    self.text(types);
                }
                text.iter().for_each(|text| self.text(text));
            }
            BlockOp::Alias {
                comment_op,
                names,
                parts,
                source,
                text,
            } => {
                self.ops.push(
                    ALIAS
                        | flag(HAS_NAME, names.is_some())
                        | flag(ALL, parts.is_some())
                        | flag(HAS_TYPES, comment_op != ASSIGN)
                        | flag(HAS_TEXT, text.is_some()),
                );
                self.number(*source);
                parts.iter().for_each(|&parts| self.number(parts));
                if comment_op != ASSIGN {
                    self.text(comment_op);
                }
                names.iter().for_each(|names| self.text(names));
                text.iter().for_each(|text| self.text(text));
            }
            BlockOp::Return { aliases } => {
                self.ops
                    .push(RETURN | flag(HAS_ALIASES, !aliases.is_empty()));
                self.write_aliases(aliases);
            }
            BlockOp::Text(text) => {
                self.ops.push(TEXT);
                self.text(text);
            }
        }
    }
}

/// Operation of most aliases.
const ASSIGN: &str = "pd_op.assign";

struct LayoutReader<'a> {
    ops: &'a [u8],
    texts: &'a [u8],
}

impl LayoutReader<'_> {
    fn text(&mut self) -> Option<String> {
        let length = read_count(&mut self.texts)?;
        let (text, rest) = self.texts.split_at_checked(length)?;
        self.texts = rest;
        Some(std::str::from_utf8(text).ok()?.to_owned())
    }

    fn read_optional_text(&mut self, is_set: bool) -> Option<Option<String>> {
        if is_set {
            self.text().map(Some)
        } else {
            Some(None)
        }
    }

    fn read_aliases(&mut self, is_set: bool) -> Option<Vec<(usize, usize)>> {
        let mut aliases = Vec::new();
        if is_set {
            for _ in 0..read_count(&mut self.ops)? {
                let position = read_count(&mut self.ops)?;
                aliases.push((position, read_count(&mut self.ops)?));
            }
        }
        Some(aliases)
    }

    fn op(&mut self, ops: &mut Vec<BlockOp>) -> Option<()> {
        let (&code, rest) = self.ops.split_first()?;
        self.ops = rest;
        let has = |bit: u8| code & bit != 0;
        match code & 7 {
            PLAIN => {
                let count = read_count(&mut self.ops)?;
                if count > MAX_NODES.saturating_sub(ops.len()) {
                    return None;
                }
                let default = BlockOp::Node {
                    aliases: Vec::new(),
                    comment_op: None,
                    inputs: CommentTypes::Default,
                    text: None,
                };
                ops.extend(std::iter::repeat_n(default, count));
            }
            NODE => ops.push(BlockOp::Node {
                aliases: self.read_aliases(has(HAS_ALIASES))?,
                comment_op: self.read_optional_text(has(HAS_NAME))?,
                inputs: match self.read_optional_text(has(HAS_TYPES))? {
                    Some(types) => CommentTypes::Text(types),
                    None if has(ALL) => CommentTypes::All,
                    None => CommentTypes::Default,
                },
                text: self.read_optional_text(has(HAS_TEXT))?,
            }),
            ALIAS => {
                let source = read_count(&mut self.ops)?;
                let parts = if has(ALL) {
                    Some(read_count(&mut self.ops)?)
                } else {
                    None
                };
                if parts.is_some_and(|parts| parts > MAX_PARTS) {
                    return None;
                }
                ops.push(BlockOp::Alias {
                    source,
                    parts,
                    comment_op: self
                        .read_optional_text(has(HAS_TYPES))?
                        .unwrap_or_else(|| ASSIGN.to_owned()),
                    names: self.read_optional_text(has(HAS_NAME))?,
                    text: self.read_optional_text(has(HAS_TEXT))?,
                });
            }
            RETURN => ops.push(BlockOp::Return {
                aliases: self.read_aliases(has(HAS_ALIASES))?,
            }),
            TEXT => ops.push(BlockOp::Text(self.text()?)),
            _ => return None,
        }
        Some(())
    }
}

/// Limit of nodes, more than any file has. It bounds the memory of damaged input.
const MAX_NODES: usize = 1 << 20;

/// Limit of parts of a value, more than any value has.
const MAX_PARTS: usize = 1 << 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let node = |aliases, comment_op, inputs, text| BlockOp::Node {
            aliases,
            comment_op,
            inputs,
            text,
        };
        let some = |text: &str| Some(text.to_owned());
        Layout {
            ops: vec![
                node(vec![], None, CommentTypes::Default, None),
                node(vec![], None, CommentTypes::Default, None),
                node(
                    vec![(1, 2), (300, 0)],
                    some("pd_op.x"),
                    CommentTypes::All,
                    None,
                ),
                node(
                    vec![],
                    None,
                    CommentTypes::Text("xf32".to_owned()),
                    some("a\nb"),
                ),
                BlockOp::Alias {
                    comment_op: ASSIGN.to_owned(),
                    names: None,
                    parts: None,
                    source: 7,
                    text: None,
                },
                BlockOp::Alias {
                    comment_op: "builtin.split".to_owned(),
                    names: some("a,b"),
                    parts: Some(2),
                    source: 200,
                    text: some(""),
                },
                BlockOp::Text("ä".to_owned()),
                BlockOp::Return {
                    aliases: vec![(0, 1)],
                },
            ],
            is_retained: vec![true, false, true, true, false, false, false, false, true],
        }
    }

    #[test]
    fn layouts_come_back() {
        let packed = layout().pack();
        assert_eq!(Layout::unpack(&packed), Some(layout()));
        for end in 0..packed.len() {
            assert_eq!(Layout::unpack(packed.get(..end).unwrap()), None, "{end}");
        }
    }

    proptest::proptest! {
        #[test]
        fn damaged_layouts_do_not_panic(position in 0_usize..80, byte: u8) {
            let mut packed = layout().pack();
            let position = position % packed.len();
            *packed.get_mut(position).unwrap() = byte;
            let _ = Layout::unpack(&packed);
        }
    }
}
