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
    argument: bool,
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
    of_value: HashMap<Operand, Vec<usize>>,
    value_of: Vec<Operand>,
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
            of_value: HashMap::new(),
            value_of: Vec::new(),
            next_number: HashMap::new(),
            next_node: 0,
            blocks: Vec::new(),
            returned: None,
        };
        for (place, name) in (0..).zip(model.arguments) {
            let said = tensors
                .get(name.as_str())
                .and_then(|tensor| type_comment(tensor));
            body.define(name, Operand::Argument(place), said, true);
        }
        body
    }

    fn define(&mut self, text: &str, value: Operand, type_name: Option<String>, argument: bool) {
        let place = self.names.len();
        if let Some((begin, number)) = split_number(text) {
            let next = number.saturating_add(1);
            self.next_number.insert(begin.to_owned(), next);
        }
        self.by_text.insert(text.to_owned(), place);
        self.of_value.entry(value).or_default().push(place);
        self.value_of.push(value);
        self.names.push(ValueName {
            text: text.to_owned(),
            type_name,
            argument,
        });
    }

    /// Returns the text of a name.
    pub(super) fn name(&self, place: usize) -> Option<&str> {
        self.names.get(place).map(|name| name.text.as_str())
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

    /// Predicts the next result names of an operation, given by its name or its comment.
    pub(super) fn predict_names(&self, said: &str, count: usize) -> Vec<String> {
        let op = said.split_once(": (").map_or(said, |(op, _)| op);
        let op = op.rsplit_once('.').map_or(op, |(_, op)| op);
        let first = self.next_number.get(op).copied().unwrap_or(0);
        let numbers = (first..).take(count);
        numbers.map(|number| format!("{op}_{number}")).collect()
    }

    /// Returns the operands of the next node that use another than the first name of their value, as operand and name
    /// index. `None` if the names belong to other values.
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
        let mut second = Vec::new();
        for (place, (value, name)) in values.iter().zip(names).enumerate() {
            let own = self.of_value.get(value)?;
            match own.iter().position(|one| one == name)? {
                0 => {}
                other => second.push((place, other)),
            }
        }
        Some(second)
    }

    /// Returns the names of values; `second` lists the positions that use another than the first name.
    fn choose_names(&self, values: &[Operand], second: &[(usize, usize)]) -> Option<Vec<usize>> {
        let chosen = values.iter().enumerate().map(|(place, value)| {
            let other = second.iter().find(|(own, _)| *own == place);
            let other = other.map_or(0, |(_, name)| *name);
            self.of_value.get(value)?.get(other).copied()
        });
        chosen.collect()
    }

    /// Returns the text of the next block for an operation.
    pub(super) fn block_text(&self, op: &BlockOp) -> Option<String> {
        match op {
            BlockOp::Text(text) => Some(text.clone()),
            BlockOp::Node {
                text: Some(text), ..
            }
            | BlockOp::Second {
                text: Some(text), ..
            } => Some(text.clone()),
            BlockOp::Node {
                second,
                called,
                inputs,
                ..
            } => self.node_text(second, called.as_deref(), inputs),
            BlockOp::Second {
                said,
                names,
                parts,
                of,
                ..
            } => {
                let own = self.alias_names(said, names.as_deref(), *parts);
                let name = self.names.get(*of)?;
                let given = name.type_name.as_deref()?;
                let types = match parts {
                    None => given,
                    Some(_) => given.strip_prefix('[')?.strip_suffix(']')?,
                };
                let targets = if parts.is_some() {
                    let lines = own.iter().map(|one| format!("{INDENT}    {one},\n"));
                    format!("{INDENT}(\n{}{INDENT})", lines.collect::<String>())
                } else {
                    format!("{INDENT}{}", own.first()?)
                };
                let comment = format!("{INDENT}# {said}: ({types}) <- ({given})");
                Some(format!("{comment}\n{targets} = {}", name.text))
            }
            BlockOp::Return { second } => {
                let names = self.choose_names(&self.model.graph.returns, second)?;
                let names = names.iter().map(|&name| self.name(name));
                let names: Vec<&str> = names.collect::<Option<_>>()?;
                Some(format_names("return", &names))
            }
        }
    }

    fn alias_names(&self, said: &str, names: Option<&str>, parts: Option<usize>) -> Vec<String> {
        match names {
            Some(names) => names.split(',').map(str::to_owned).collect(),
            None => self.predict_names(said, parts.unwrap_or(1)),
        }
    }

    fn node_text(
        &self,
        second: &[(usize, usize)],
        called: Option<&str>,
        inputs: &CommentTypes,
    ) -> Option<String> {
        let graph = self.model.graph;
        let used = self.used_names(second)?;
        let texts = used.iter().map(|&name| self.name(name).map(str::to_owned));
        let texts: Vec<String> = texts.collect::<Option<_>>()?;
        let place = *graph.type_of_node.get(self.next_node)?;
        let signature = graph.types.get(place as usize)?.signature.as_str();
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
        let called = called.map(str::to_owned).or_else(|| self.next_op_name())?;
        let results = self.model.output_types.get(self.next_node)?;
        let mut text = format!("{INDENT}# {called}: ({results}) <- ({types})\n");
        let targets: Vec<&str> = self.next_names()?.split(',').collect();
        match targets.as_slice() {
            [target] => write_assignment(target, &call, &mut text),
            targets => write_wrapped(targets, &call, &mut text),
        }
        text.pop();
        Some(text)
    }

    /// Returns the names that the next node uses.
    fn used_names(&self, second: &[(usize, usize)]) -> Option<Vec<usize>> {
        let operands = self.model.graph.operands.get(self.next_node)?;
        self.choose_names(operands, second)
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
            BlockOp::Return { second } => {
                let names = self.choose_names(&self.model.graph.returns, second)?;
                self.returned = Some(names);
                Vec::new()
            }
            BlockOp::Second {
                said,
                names,
                parts,
                of,
                ..
            } => {
                self.add_alias(said, names.as_deref(), *parts, *of)?;
                vec![*of]
            }
            BlockOp::Node { second, inputs, .. } => {
                let used = self.used_names(second)?;
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
        said: &str,
        names: Option<&str>,
        parts: Option<usize>,
        of: usize,
    ) -> Option<()> {
        let own = self.alias_names(said, names, parts);
        let value = *self.value_of.get(of)?;
        let given = self.names.get(of)?.type_name.clone();
        if parts.is_none() {
            self.define(own.first()?, value, given, false);
            return Some(());
        }
        let types = given.unwrap_or_default();
        let mut types =
            split_types(types.trim_start_matches('[').trim_end_matches(']')).into_iter();
        for (part, name) in (0..).zip(&own) {
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
            let own = types.next().map(str::to_owned);
            self.define(name, Operand::Node(node, output), own, false);
        }
        self.next_node += 1;
        Some(())
    }

    /// Updates the types of arguments from a comment; they apply from there on.
    fn learn_types(&mut self, used: &[usize], types: &str) {
        let types = split_types(types).into_iter().filter(|one| *one != "None");
        let types: Vec<&str> = types.collect();
        if types.len() != used.len() {
            return;
        }
        for (&name, said) in used.iter().zip(types) {
            if let Some(name) = self.names.get_mut(name).filter(|name| name.argument) {
                name.type_name = Some(said.to_owned());
            }
        }
    }

    /// Returns the block of the last use of each name; `None` for unused names.
    fn last_uses(&self) -> Vec<Option<usize>> {
        let mut last = vec![None; self.names.len()];
        for (place, block) in self.blocks.iter().enumerate() {
            for &name in &block.uses {
                if let Some(slot) = last.get_mut(name) {
                    *slot = Some(place);
                }
            }
        }
        last
    }

    /// Index of the last block before the return.
    fn end(&self) -> usize {
        self.blocks.len().saturating_sub(2)
    }

    /// Returns which names stay alive until the end without a use there, given the names deleted after each block.
    pub(super) fn retained_names(&self, deleted: &[BTreeSet<&str>]) -> Vec<bool> {
        let end = self.end();
        let at_end = deleted.get(end);
        let names = self.names.iter().zip(self.last_uses());
        let kept = names.map(|(name, last)| {
            last != Some(end) && at_end.is_some_and(|names| names.contains(name.text.as_str()))
        });
        kept.collect()
    }

    /// Returns all blocks with their `del` statements.
    pub(super) fn finish(&self, kept: &[bool]) -> Option<String> {
        if kept.len() != self.names.len() || self.next_node != self.model.names.len() {
            return None;
        }
        let returned = self.returned.as_ref()?;
        let mut dead: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); self.blocks.len()];
        for (place, last) in self.last_uses().into_iter().enumerate() {
            let at = if *kept.get(place)? {
                Some(self.end())
            } else {
                last
            };
            if let Some(at) = at.filter(|_| !returned.contains(&place)) {
                dead.get_mut(at)?.insert(self.name(place)?);
            }
        }
        let blocks = self.blocks.iter().zip(&dead).map(|(block, dead)| {
            let names: Vec<&str> = dead.iter().copied().collect();
            match names.is_empty() {
                true => block.core.clone(),
                false => format!("{}\n{}", block.core, format_names("del", &names)),
            }
        });
        Some(blocks.collect::<Vec<_>>().join("\n\n"))
    }
}
