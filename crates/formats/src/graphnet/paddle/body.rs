//! The blocks of `forward`, one after the other: what is known of its values at each, and how a
//! block reads.

use std::collections::{BTreeSet, HashMap};

use tsql_codecs::opgraph::Operand;
use tsql_codecs::tensors::Tensor;

use super::super::expr::Parser;
use super::super::render::named;
use super::blocks::{
    INDENT, Item, assignment, items, joined_or_listed, numbered, said, split, wrapped,
};
use super::model::Model;
use super::ops::{Inputs, Op};

/// Operations that are no part of paddle's own dialect.
const BUILTIN: [&str; 2] = ["combine", "split"];

/// A name of a value.
struct Name {
    text: String,
    /// As comments write it; `None` where nothing says it.
    type_name: Option<String>,
    argument: bool,
}

/// A block without its `del`.
struct Block {
    core: String,
    /// The names that it uses.
    uses: Vec<usize>,
}

/// All blocks so far.
pub(super) struct Body<'m> {
    model: Model<'m>,
    names: Vec<Name>,
    by_text: HashMap<String, usize>,
    /// The names of each value, the first one first.
    of_value: HashMap<Operand, Vec<usize>>,
    value_of: Vec<Operand>,
    /// The number of the next name with this beginning.
    next_number: HashMap<String, u64>,
    next_node: usize,
    blocks: Vec<Block>,
    returned: Option<Vec<usize>>,
}

impl<'m> Body<'m> {
    pub(super) fn new(model: &Model<'m>) -> Self {
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
            let said = tensors.get(name.as_str()).and_then(|tensor| said(tensor));
            body.define(name, Operand::Argument(place), said, true);
        }
        body
    }

    fn define(&mut self, text: &str, value: Operand, type_name: Option<String>, argument: bool) {
        let place = self.names.len();
        if let Some((begin, number)) = numbered(text) {
            let next = number.saturating_add(1);
            self.next_number.insert(begin.to_owned(), next);
        }
        self.by_text.insert(text.to_owned(), place);
        self.of_value.entry(value).or_default().push(place);
        self.value_of.push(value);
        self.names.push(Name {
            text: text.to_owned(),
            type_name,
            argument,
        });
    }

    /// The text of a name.
    pub(super) fn name(&self, place: usize) -> Option<&str> {
        self.names.get(place).map(|name| name.text.as_str())
    }

    /// The place of a name.
    pub(super) fn named(&self, text: &str) -> Option<usize> {
        self.by_text.get(text).copied()
    }

    /// What the results of the next node are called.
    pub(super) fn next_names(&self) -> Option<&'m str> {
        self.model.names.get(self.next_node).map(String::as_str)
    }

    /// What the comment of the next node should call it.
    pub(super) fn next_called(&self) -> Option<String> {
        let first = self.next_names()?.split(',').next()?;
        let (op, _) = numbered(first)?;
        let dialect = if BUILTIN.contains(&op) {
            "builtin"
        } else {
            "pd_op"
        };
        Some(format!("{dialect}.{op}"))
    }

    /// The names that come next for what a comment names, or this operation.
    pub(super) fn predicted(&self, said: &str, count: usize) -> Vec<String> {
        let op = said.split_once(": (").map_or(said, |(op, _)| op);
        let op = op.rsplit_once('.').map_or(op, |(_, op)| op);
        let first = self.next_number.get(op).copied().unwrap_or(0);
        let numbers = (first..).take(count);
        numbers.map(|number| format!("{op}_{number}")).collect()
    }

    /// Which of its value's names each operand of the next node has, where that is not the first;
    /// `None` where these are other values.
    pub(super) fn second_of_operands(&self, names: &[usize]) -> Option<Vec<(usize, usize)>> {
        let operands = self.model.graph.operands.get(self.next_node)?;
        self.second(operands, names)
    }

    /// The same of what is returned.
    pub(super) fn second_of_returns(&self, names: &[usize]) -> Option<Vec<(usize, usize)>> {
        self.second(&self.model.graph.returns, names)
    }

    fn second(&self, values: &[Operand], names: &[usize]) -> Option<Vec<(usize, usize)>> {
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

    /// The names of values, which have these other names in some places.
    fn chosen(&self, values: &[Operand], second: &[(usize, usize)]) -> Option<Vec<usize>> {
        let chosen = values.iter().enumerate().map(|(place, value)| {
            let other = second.iter().find(|(own, _)| *own == place);
            let other = other.map_or(0, |(_, name)| *name);
            self.of_value.get(value)?.get(other).copied()
        });
        chosen.collect()
    }

    /// The block of an operation that comes next.
    pub(super) fn core(&self, op: &Op) -> Option<String> {
        match op {
            Op::Text(text) => Some(text.clone()),
            Op::Node {
                text: Some(text), ..
            }
            | Op::Second {
                text: Some(text), ..
            } => Some(text.clone()),
            Op::Node {
                second,
                called,
                inputs,
                ..
            } => self.node(second, called.as_deref(), inputs),
            Op::Second {
                said,
                names,
                parts,
                of,
                ..
            } => {
                let own = self.second_names(said, names.as_deref(), *parts);
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
            Op::Return { second } => {
                let names = self.chosen(&self.model.graph.returns, second)?;
                let names = names.iter().map(|&name| self.name(name));
                let names: Vec<&str> = names.collect::<Option<_>>()?;
                Some(joined_or_listed("return", &names))
            }
        }
    }

    fn second_names(&self, said: &str, names: Option<&str>, parts: Option<usize>) -> Vec<String> {
        match names {
            Some(names) => names.split(',').map(str::to_owned).collect(),
            None => self.predicted(said, parts.unwrap_or(1)),
        }
    }

    fn node(
        &self,
        second: &[(usize, usize)],
        called: Option<&str>,
        inputs: &Inputs,
    ) -> Option<String> {
        let graph = self.model.graph;
        let used = self.used(second)?;
        let texts = used.iter().map(|&name| self.name(name).map(str::to_owned));
        let texts: Vec<String> = texts.collect::<Option<_>>()?;
        let place = *graph.type_of_node.get(self.next_node)?;
        let signature = graph.types.get(place as usize)?.signature.as_str();
        let mut parser = Parser::new(signature);
        let call = parser.expressions()?;
        let types = match inputs {
            Inputs::Text(types) => types.clone(),
            other => {
                let items = items(&call, *other == Inputs::All);
                let mut used = used.iter();
                let types = items.iter().map(|item| match item {
                    Item::Nothing => Some("None"),
                    Item::Value => self.names.get(*used.next()?)?.type_name.as_deref(),
                });
                types.collect::<Option<Vec<_>>>()?.join(", ")
            }
        };
        let mut texts = texts.iter();
        let call = named(call, &mut texts)?;
        if !parser.at_end() || texts.next().is_some() {
            return None;
        }
        let called = called.map(str::to_owned).or_else(|| self.next_called())?;
        let results = self.model.output_types.get(self.next_node)?;
        let mut text = format!("{INDENT}# {called}: ({results}) <- ({types})\n");
        let targets: Vec<&str> = self.next_names()?.split(',').collect();
        match targets.as_slice() {
            [target] => assignment(target, &call, &mut text),
            targets => wrapped(targets, &call, &mut text),
        }
        text.pop();
        Some(text)
    }

    /// The names that the next node uses.
    fn used(&self, second: &[(usize, usize)]) -> Option<Vec<usize>> {
        let operands = self.model.graph.operands.get(self.next_node)?;
        self.chosen(operands, second)
    }

    /// Adds a block.
    pub(super) fn push(&mut self, op: &Op) -> Option<()> {
        let core = self.core(op)?;
        self.push_read(op, core)
    }

    /// Adds a block that reads like this.
    pub(super) fn push_read(&mut self, op: &Op, core: String) -> Option<()> {
        let uses = match op {
            Op::Text(_) => Vec::new(),
            Op::Return { second } => {
                let names = self.chosen(&self.model.graph.returns, second)?;
                self.returned = Some(names);
                Vec::new()
            }
            Op::Second {
                said,
                names,
                parts,
                of,
                ..
            } => {
                self.name_again(said, names.as_deref(), *parts, *of)?;
                vec![*of]
            }
            Op::Node { second, inputs, .. } => {
                let used = self.used(second)?;
                if let Inputs::Text(types) = inputs {
                    self.learn(&used, types);
                }
                self.results()?;
                used
            }
        };
        self.blocks.push(Block { core, uses });
        Some(())
    }

    fn name_again(
        &mut self,
        said: &str,
        names: Option<&str>,
        parts: Option<usize>,
        of: usize,
    ) -> Option<()> {
        let own = self.second_names(said, names, parts);
        let value = *self.value_of.get(of)?;
        let given = self.names.get(of)?.type_name.clone();
        if parts.is_none() {
            self.define(own.first()?, value, given, false);
            return Some(());
        }
        let types = given.unwrap_or_default();
        let mut types = split(types.trim_start_matches('[').trim_end_matches(']')).into_iter();
        for (part, name) in (0..).zip(&own) {
            let value = match value {
                Operand::Node(node, _) => Operand::Node(node, part),
                argument => argument,
            };
            self.define(name, value, types.next().map(str::to_owned), false);
        }
        Some(())
    }

    /// Names what the next node returns, and goes on to the one after it.
    fn results(&mut self) -> Option<()> {
        let node = u32::try_from(self.next_node).ok()?;
        let types = self.model.output_types.get(self.next_node)?;
        let names: Vec<&str> = self.next_names()?.split(',').collect();
        let mut types = match names.len() {
            1 => vec![types.as_str()],
            _ => split(types),
        }
        .into_iter();
        for (output, name) in (0..).zip(names) {
            let own = types.next().map(str::to_owned);
            self.define(name, Operand::Node(node, output), own, false);
        }
        self.next_node += 1;
        Some(())
    }

    /// What a comment says of the types of arguments holds from there on.
    fn learn(&mut self, used: &[usize], types: &str) {
        let types = split(types).into_iter().filter(|one| *one != "None");
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

    /// The block after which each name is not used any more; `None` for names without any use.
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

    /// The last block before what is returned.
    fn end(&self) -> usize {
        self.blocks.len().saturating_sub(2)
    }

    /// Which names live to the end though nothing uses them there, if these are deleted after each
    /// block.
    pub(super) fn kept(&self, deleted: &[BTreeSet<&str>]) -> Vec<bool> {
        let end = self.end();
        let at_end = deleted.get(end);
        let names = self.names.iter().zip(self.last_uses());
        let kept = names.map(|(name, last)| {
            last != Some(end) && at_end.is_some_and(|names| names.contains(name.text.as_str()))
        });
        kept.collect()
    }

    /// All blocks, with what is deleted after each.
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
                false => format!("{}\n{}", block.core, joined_or_listed("del", &names)),
            }
        });
        Some(blocks.collect::<Vec<_>>().join("\n\n"))
    }
}
