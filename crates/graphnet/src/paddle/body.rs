//! Blocks of `forward` in order: the values known at each block, and its text.

use std::collections::{BTreeSet, HashMap};

use tsql_codecs::opgraph::Operand;
use tsql_codecs::tensors::Tensor;

use super::super::expr::ExprParser;
use super::super::render::fill_names;
use super::blocks::{
    CommentItem, INDENT, call_items, format_names, split_number, split_types, type_comment,
    write_assignment, write_wrapped,
};
use super::model::PaddleModel;
use super::ops::{BlockOp, CommentTypes};

/// Operations outside of paddle's own dialect.
const BUILTIN: [&str; 2] = ["combine", "split"];

/// Name of a value.
struct ValueName {
    text: String,
    /// Type in the format of comments; `None` if unknown.
    type_name: Option<String>,
    is_argument: bool,
}

/// Block without its `del`.
struct CodeBlock {
    core: String,
    /// Names that the block uses.
    uses: Vec<usize>,
}

/// Blocks processed so far.
pub(super) struct ForwardBody<'m> {
    model: PaddleModel<'m>,
    names: Vec<ValueName>,
    by_text: HashMap<String, usize>,
    /// Names of each value in order of definition.
    value_names: HashMap<Operand, Vec<usize>>,
    values: Vec<Operand>,
    /// Next number for each name prefix.
    next_number: HashMap<String, u64>,
    next_node: usize,
    blocks: Vec<CodeBlock>,
    returned: Option<Vec<usize>>,
}

impl<'m> ForwardBody<'m> {
    pub(super) fn new(model: &PaddleModel<'m>) -> Self {
        let tensors = model.tensors.iter();
        let tensors: HashMap<&str, &Tensor> = tensors
            .map(|tensor| (tensor.name.as_str(), tensor))
            .collect();
        let mut body = Self {
            model: *model,
            names: Vec::new(),
            by_text: HashMap::new(),
            value_names: HashMap::new(),
            values: Vec::new(),
            next_number: HashMap::new(),
            next_node: 0,
            blocks: Vec::new(),
            returned: None,
        };
        for (index, name) in (0..).zip(model.arguments) {
            let type_name = tensors
                .get(name.as_str())
                .and_then(|tensor| type_comment(tensor));
            body.define(name, Operand::Argument(index), type_name, true);
        }
        body
    }

    fn define(&mut self, text: &str, value: Operand, type_name: Option<String>, is_argument: bool) {
        let index = self.names.len();
        if let Some((prefix, number)) = split_number(text) {
            let next = number.saturating_add(1);
            self.next_number.insert(prefix.to_owned(), next);
        }
        self.by_text.insert(text.to_owned(), index);
        self.value_names.entry(value).or_default().push(index);
        self.values.push(value);
        self.names.push(ValueName {
            text: text.to_owned(),
            type_name,
            is_argument,
        });
    }

    /// Returns the text of a name.
    pub(super) fn name(&self, index: usize) -> Option<&str> {
        self.names.get(index).map(|name| name.text.as_str())
    }

    /// Returns the index of a name.
    pub(super) fn find_name(&self, text: &str) -> Option<usize> {
        self.by_text.get(text).copied()
    }

    /// Returns the result names of the next node.
    pub(super) fn next_names(&self) -> Option<&'m str> {
        self.model.names.get(self.next_node).map(String::as_str)
    }

    /// Returns the operation name that the comment of the next node should contain.
    pub(super) fn next_op_name(&self) -> Option<String> {
        let first = self.next_names()?.split(',').next()?;
        let (op, _) = split_number(first)?;
        let dialect = if BUILTIN.contains(&op) {
            "builtin"
        } else {
            "pd_op"
        };
        Some(format!("{dialect}.{op}"))
    }

    /// Predicts the next result names of an operation. `op_name` is its name or its comment.
    pub(super) fn predict_names(&self, op_name: &str, count: usize) -> Vec<String> {
        let op = op_name.split_once(": (").map_or(op_name, |(op, _)| op);
        let op = op.rsplit_once('.').map_or(op, |(_, op)| op);
        let first = self.next_number.get(op).copied().unwrap_or(0);
        let numbers = (first..).take(count);
        numbers.map(|number| format!("{op}_{number}")).collect()
    }

    /// Returns the operands of the next node that use another than the first name of their value: operand index and
    /// name index. Returns `None` if the names belong to other values.
    pub(super) fn operand_aliases(&self, names: &[usize]) -> Option<Vec<(usize, usize)>> {
        let operands = self.model.graph.operands.get(self.next_node)?;
        self.find_aliases(operands, names)
    }

    /// Same as [`Self::operand_aliases`] for the returned values.
    pub(super) fn return_aliases(&self, names: &[usize]) -> Option<Vec<(usize, usize)>> {
        self.find_aliases(&self.model.graph.returns, names)
    }

    fn find_aliases(&self, values: &[Operand], names: &[usize]) -> Option<Vec<(usize, usize)>> {
        if values.len() != names.len() {
            return None;
        }
        let mut aliases = Vec::new();
        for (position, (value, name)) in values.iter().zip(names).enumerate() {
            let value_names = self.value_names.get(value)?;
            match value_names.iter().position(|index| index == name)? {
                0 => {}
                other => aliases.push((position, other)),
            }
        }
        Some(aliases)
    }

    /// Returns the names of values. `aliases` lists the positions that use another than the first name.
    fn choose_names(&self, values: &[Operand], aliases: &[(usize, usize)]) -> Option<Vec<usize>> {
        let selected = values.iter().enumerate().map(|(position, value)| {
            let other = aliases
                .iter()
                .find(|(alias_position, _)| *alias_position == position);
            let other = other.map_or(0, |(_, index)| *index);
            self.value_names.get(value)?.get(other).copied()
        });
        selected.collect()
    }

    /// Returns the text of the next block for an operation.
    pub(super) fn block_text(&self, op: &BlockOp) -> Option<String> {
        match op {
            BlockOp::Text(text) => Some(text.clone()),
            BlockOp::Node {
                text: Some(text), ..
            }
            | BlockOp::Alias {
                text: Some(text), ..
            } => Some(text.clone()),
            BlockOp::Node {
                aliases,
                comment_op,
                inputs,
                ..
            } => self.node_text(aliases, comment_op.as_deref(), inputs),
            BlockOp::Alias {
                comment_op,
                names,
                parts,
                source,
                ..
            } => {
                let new_names = self.alias_names(comment_op, names.as_deref(), *parts);
                let name = self.names.get(*source)?;
                let source_type = name.type_name.as_deref()?;
                let types = match parts {
                    None => source_type,
                    Some(_) => source_type.strip_prefix('[')?.strip_suffix(']')?,
                };
                let targets = if parts.is_some() {
                    let lines = new_names
                        .iter()
                        .map(|name| format!("{INDENT}    {name},\n"));
                    format!("{INDENT}(\n{}{INDENT})", lines.collect::<String>())
                } else {
                    format!("{INDENT}{}", new_names.first()?)
                };
                let comment = format!("{INDENT}# {comment_op}: ({types}) <- ({source_type})");
                Some(format!("{comment}\n{targets} = {}", name.text))
            }
            BlockOp::Return { aliases } => {
                let names = self.choose_names(&self.model.graph.returns, aliases)?;
                let names = names.iter().map(|&name| self.name(name));
                let names: Vec<&str> = names.collect::<Option<_>>()?;
                Some(format_names("return", &names))
            }
        }
    }

    fn alias_names(
        &self,
        comment_op: &str,
        names: Option<&str>,
        parts: Option<usize>,
    ) -> Vec<String> {
        match names {
            Some(names) => names.split(',').map(str::to_owned).collect(),
            None => self.predict_names(comment_op, parts.unwrap_or(1)),
        }
    }

    fn node_text(
        &self,
        aliases: &[(usize, usize)],
        comment_op: Option<&str>,
        inputs: &CommentTypes,
    ) -> Option<String> {
        let graph = self.model.graph;
        let used = self.used_names(aliases)?;
        let texts = used.iter().map(|&name| self.name(name).map(str::to_owned));
        let texts: Vec<String> = texts.collect::<Option<_>>()?;
        let type_index = *graph.type_of_node.get(self.next_node)?;
        let signature = graph.types.get(type_index as usize)?.signature.as_str();
        let mut parser = ExprParser::new(signature);
        let call = parser.parse_expressions()?;
        let types = match inputs {
            CommentTypes::Text(types) => types.clone(),
            other => {
                let items = call_items(&call, *other == CommentTypes::All);
                let mut used = used.iter();
                let types = items.iter().map(|item| match item {
                    CommentItem::Nothing => Some("None"),
                    CommentItem::Value => self.names.get(*used.next()?)?.type_name.as_deref(),
                });
                types.collect::<Option<Vec<_>>>()?.join(", ")
            }
        };
        let mut texts = texts.iter();
        let call = fill_names(call, &mut texts)?;
        if !parser.is_at_end() || texts.next().is_some() {
            return None;
        }
        let comment_op = comment_op
            .map(str::to_owned)
            .or_else(|| self.next_op_name())?;
        let results = self.model.output_types.get(self.next_node)?;
        let mut text = format!("{INDENT}# {comment_op}: ({results}) <- ({types})\n");
        let targets: Vec<&str> = self.next_names()?.split(',').collect();
        match targets.as_slice() {
            [target] => write_assignment(target, &call, &mut text),
            targets => write_wrapped(targets, &call, &mut text),
        }
        text.pop();
        Some(text)
    }

    /// Returns the names that the next node uses.
    fn used_names(&self, aliases: &[(usize, usize)]) -> Option<Vec<usize>> {
        let operands = self.model.graph.operands.get(self.next_node)?;
        self.choose_names(operands, aliases)
    }

    /// Adds a block.
    pub(super) fn push(&mut self, op: &BlockOp) -> Option<()> {
        let core = self.block_text(op)?;
        self.push_with_text(op, core)
    }

    /// Adds a block with this text.
    pub(super) fn push_with_text(&mut self, op: &BlockOp, core: String) -> Option<()> {
        let uses = match op {
            BlockOp::Text(_) => Vec::new(),
            BlockOp::Return { aliases } => {
                let names = self.choose_names(&self.model.graph.returns, aliases)?;
                self.returned = Some(names);
                Vec::new()
            }
            BlockOp::Alias {
                comment_op,
                names,
                parts,
                source,
                ..
            } => {
                self.add_alias(comment_op, names.as_deref(), *parts, *source)?;
                vec![*source]
            }
            BlockOp::Node {
                aliases, inputs, ..
            } => {
                let used = self.used_names(aliases)?;
                if let CommentTypes::Text(types) = inputs {
                    self.learn_types(&used, types);
                }
                self.define_results()?;
                used
            }
        };
        self.blocks.push(CodeBlock { core, uses });
        Some(())
    }

    fn add_alias(
        &mut self,
        comment_op: &str,
        names: Option<&str>,
        parts: Option<usize>,
        source: usize,
    ) -> Option<()> {
        let new_names = self.alias_names(comment_op, names, parts);
        let value = *self.values.get(source)?;
        let source_type = self.names.get(source)?.type_name.clone();
        if parts.is_none() {
            self.define(new_names.first()?, value, source_type, false);
            return Some(());
        }
        let types = source_type.unwrap_or_default();
        let mut types =
            split_types(types.trim_start_matches('[').trim_end_matches(']')).into_iter();
        for (part, name) in (0..).zip(&new_names) {
            let value = match value {
                Operand::Node(node, _) => Operand::Node(node, part),
                argument => argument,
            };
            self.define(name, value, types.next().map(str::to_owned), false);
        }
        Some(())
    }

    /// Defines the result names of the next node and advances to the following node.
    fn define_results(&mut self) -> Option<()> {
        let node = u32::try_from(self.next_node).ok()?;
        let types = self.model.output_types.get(self.next_node)?;
        let names: Vec<&str> = self.next_names()?.split(',').collect();
        let mut types = match names.len() {
            1 => vec![types.as_str()],
            _ => split_types(types),
        }
        .into_iter();
        for (output, name) in (0..).zip(names) {
            let type_name = types.next().map(str::to_owned);
            self.define(name, Operand::Node(node, output), type_name, false);
        }
        self.next_node += 1;
        Some(())
    }

    /// Updates the types of arguments from a comment. The types apply from there on.
    fn learn_types(&mut self, used: &[usize], types: &str) {
        let types = split_types(types)
            .into_iter()
            .filter(|text| *text != "None");
        let types: Vec<&str> = types.collect();
        if types.len() != used.len() {
            return;
        }
        for (&name, text) in used.iter().zip(types) {
            if let Some(name) = self.names.get_mut(name).filter(|name| name.is_argument) {
                name.type_name = Some(text.to_owned());
            }
        }
    }

    /// Returns the block of the last use of each name; `None` for unused names.
    fn last_uses(&self) -> Vec<Option<usize>> {
        let mut last = vec![None; self.names.len()];
        for (index, block) in self.blocks.iter().enumerate() {
            for &name in &block.uses {
                if let Some(slot) = last.get_mut(name) {
                    *slot = Some(index);
                }
            }
        }
        last
    }

    /// Index of the last block before the return.
    fn end(&self) -> usize {
        self.blocks.len().saturating_sub(2)
    }

    /// Returns which names stay alive until the end without a use there. `deleted` has the names deleted after each
    /// block.
    pub(super) fn retained_names(&self, deleted: &[BTreeSet<&str>]) -> Vec<bool> {
        let end = self.end();
        let at_end = deleted.get(end);
        let names = self.names.iter().zip(self.last_uses());
        let is_retained = names.map(|(name, last)| {
            last != Some(end) && at_end.is_some_and(|names| names.contains(name.text.as_str()))
        });
        is_retained.collect()
    }

    /// Returns all blocks with their `del` statements.
    pub(super) fn finish(&self, is_retained: &[bool]) -> Option<String> {
        if is_retained.len() != self.names.len() || self.next_node != self.model.names.len() {
            return None;
        }
        let returned = self.returned.as_ref()?;
        let mut unused: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); self.blocks.len()];
        for (index, last) in self.last_uses().into_iter().enumerate() {
            let last_block = if *is_retained.get(index)? {
                Some(self.end())
            } else {
                last
            };
            if let Some(last_block) = last_block.filter(|_| !returned.contains(&index)) {
                unused.get_mut(last_block)?.insert(self.name(index)?);
            }
        }
        let blocks = self.blocks.iter().zip(&unused).map(|(block, unused)| {
            let names: Vec<&str> = unused.iter().copied().collect();
            match names.is_empty() {
                true => block.core.clone(),
                false => format!("{}\n{}", block.core, format_names("del", &names)),
            }
        });
        Some(blocks.collect::<Vec<_>>().join("\n\n"))
    }
}
