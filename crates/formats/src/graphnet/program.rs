//! `model.py` to a graph: the statements of `forward`.
//!
//! Nothing is executed. A statement outside of the grammar becomes a node of the kind `unparsed`
//! that keeps its text.

use std::collections::HashMap;

use tsql_codecs::opgraph::{OpGraph, OpType, Operand};

use super::call::{Form, Printer, op_type};
use super::expr::{Argument, Expr, Parser};
use super::lines::{Line, Lines};

/// A captured graph with the names that the file gives.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it computes.
    pub graph: OpGraph,
    /// Names of the arguments.
    pub arguments: Vec<String>,
    /// Names of what each node returns, with commas between; empty for nothing.
    pub names: Vec<String>,
    /// Paddle: types of what each node returns, by the comment before it.
    pub output_types: Vec<String>,
    /// Lines of statements that are not understood.
    pub unparsed: Vec<u64>,
}

/// Why a file is no program, and where.
pub type Fault = (u64, String);

/// Reads a `model.py`.
pub fn read(text: &str) -> Result<Program, Fault> {
    let framework = if text.contains("import paddle") {
        "paddle"
    } else {
        "torch"
    };
    let mut lines = Lines::new(text).peekable();
    let header = lines.find(|line| {
        let mut parser = Parser::new(line.text);
        parser.take("def") && parser.name() == Some("forward")
    });
    let header = header.ok_or((1, "no method `forward`".to_owned()))?;
    let odd = || {
        (
            header.number,
            "parameters that are not understood".to_owned(),
        )
    };
    let arguments = parameters(header.text).ok_or_else(odd)?;
    let mut builder = Builder::new(framework, &arguments);
    let mut body = None;
    for line in lines {
        if line.indent <= header.indent {
            break;
        }
        let indent = *body.get_or_insert(line.indent);
        if line.indent > indent {
            builder.continued(line);
        } else {
            builder.line(line);
        }
    }
    if body.is_none() {
        return Err((header.number, "`forward` has no body".to_owned()));
    }
    Ok(builder.finish(&arguments))
}

/// The names of a method's parameters but `self`.
fn parameters(header: &str) -> Option<Vec<&str>> {
    let mut parser = Parser::new(header);
    parser.take("def");
    parser.name()?;
    if !parser.take("(") {
        return None;
    }
    let mut names = Vec::new();
    while !parser.take(")") {
        let starred = parser.take("*") || parser.take("**");
        let name = parser.name()?;
        if parser.take(":") {
            parser.expression()?;
        }
        if parser.take("=") {
            parser.expression()?;
        }
        if name != "self" && !starred {
            names.push(name);
        }
        if !parser.take(",") {
            return parser.take(")").then_some(names);
        }
    }
    Some(names)
}

/// A statement.
enum Statement<'a> {
    Assign(Vec<Expr<'a>>, Expr<'a>),
    Augmented(Expr<'a>, &'a str, Expr<'a>),
    Return(Option<Expr<'a>>),
    /// `del` and `pass`: no operation.
    Nothing,
}

fn statement(text: &str) -> Option<Statement<'_>> {
    let mut parser = Parser::new(text);
    if parser.take("del") {
        parser.expressions()?;
        return parser.at_end().then_some(Statement::Nothing);
    }
    if parser.take("pass") {
        return parser.at_end().then_some(Statement::Nothing);
    }
    if parser.take("return") {
        if parser.at_end() {
            return Some(Statement::Return(None));
        }
        let value = parser.expressions()?;
        return parser.at_end().then_some(Statement::Return(Some(value)));
    }
    let mut value = parser.expressions()?;
    if let Some(operator) = parser.take_augmented() {
        let right = parser.expressions()?;
        return parser
            .at_end()
            .then_some(Statement::Augmented(value, operator, right));
    }
    let mut targets = Vec::new();
    while parser.take("=") {
        targets.push(value);
        value = parser.expressions()?;
    }
    parser.at_end().then_some(Statement::Assign(targets, value))
}

struct Builder<'a> {
    graph: OpGraph,
    /// What the names in scope stand for.
    values: HashMap<&'a str, Operand>,
    /// Place of each signature.
    places: HashMap<(String, u32), u32>,
    names: Vec<String>,
    output_types: Vec<String>,
    unparsed: Vec<u64>,
    /// The node of the last statement, where that wrote a value in place.
    in_place: Option<u32>,
    /// The last statement was not understood, so what is indented below it is part of it.
    open: bool,
}

impl<'a> Builder<'a> {
    fn new(framework: &'static str, arguments: &[&'a str]) -> Self {
        let count = u32::try_from(arguments.len()).unwrap_or(u32::MAX);
        let places = (0..count).map(Operand::Argument);
        let values = arguments.iter().copied().zip(places);
        Self {
            graph: OpGraph {
                framework,
                argument_count: count,
                types: Vec::new(),
                shape_free: Vec::new(),
                type_of_node: Vec::new(),
                operands: Vec::new(),
                returns: Vec::new(),
            },
            values: values.collect(),
            places: HashMap::new(),
            names: Vec::new(),
            output_types: Vec::new(),
            unparsed: Vec::new(),
            in_place: None,
            open: false,
        }
    }

    fn line(&mut self, line: Line<'a>) {
        self.open = false;
        let understood = statement(line.text).and_then(|found| self.statement(found, line));
        if understood.is_none() {
            self.unparsed(line);
            self.open = true;
        }
    }

    /// A line that is indented deeper than the body.
    fn continued(&mut self, line: Line<'a>) {
        if self.open {
            self.unparsed(line);
        } else {
            self.line(line);
        }
    }

    fn unparsed(&mut self, line: Line<'a>) {
        self.unparsed.push(line.number);
        let one = OpType {
            signature: line.text.to_owned(),
            kind: "unparsed",
            attributes: "{}".to_owned(),
            ..OpType::default()
        };
        let free = line.text.to_owned();
        self.push(one.signature.clone(), 0, Vec::new(), free, |_| one);
        self.names.push(String::new());
        self.output_types.push(String::new());
    }

    fn statement(&mut self, statement: Statement<'a>, line: Line<'a>) -> Option<()> {
        match statement {
            Statement::Nothing => {}
            Statement::Return(value) => {
                for one in value.iter().flat_map(elements) {
                    let operand = self.operand(one, line);
                    self.graph.returns.push(operand);
                }
            }
            Statement::Augmented(target, operator, value) => {
                let Expr::Name(name) = target else {
                    return None;
                };
                let form = Form::Augmented(&target, operator, &value);
                self.in_place = Some(self.node(form, &[name], line));
            }
            Statement::Assign(targets, value) => return self.assign(&targets, &value, line),
        }
        Some(())
    }

    /// The value of an expression; a node of its own where it is no name.
    fn operand(&mut self, expr: &Expr<'a>, line: Line<'a>) -> Operand {
        if let Expr::Name(name) = expr
            && let Some(&operand) = self.values.get(name)
        {
            return operand;
        }
        Operand::Node(self.node(Form::Value(expr), &[], line), 0)
    }

    fn assign(&mut self, targets: &[Expr<'a>], value: &Expr<'a>, line: Line<'a>) -> Option<()> {
        if matches!(value, Expr::Name("None")) {
            // The value is not needed any more.
            return Some(());
        }
        let value = unwrapped(value);
        match targets {
            [Expr::Index(base, index)] => {
                let form = Form::SetItem(base, index, value);
                let names: Vec<&'a str> = name_of(base).into_iter().collect();
                self.in_place = Some(self.node(form, &names, line));
            }
            [] => {
                self.node(Form::Value(value), &[], line);
            }
            [target] => {
                let names: Option<Vec<&'a str>> = elements(target).map(name_of).collect();
                let names = names?;
                let single = matches!(target, Expr::Name(_));
                if let Some(known) = name_of(value).and_then(|name| self.values.get(name)) {
                    // Another name for it, or names for its parts.
                    let known = *known;
                    for (output, name) in (0..).zip(names) {
                        let part = match known {
                            Operand::Node(node, _) if !single => Operand::Node(node, output),
                            known => known,
                        };
                        self.rename(part, name);
                        self.values.insert(name, part);
                    }
                } else {
                    self.node(Form::Value(value), &names, line);
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// What is written in place is known by the name that it gets afterwards.
    fn rename(&mut self, value: Operand, name: &str) {
        let Operand::Node(node, 0) = value else {
            return;
        };
        if self.in_place == Some(node)
            && let Some(own) = self.names.get_mut(node as usize)
        {
            self.in_place = None;
            name.clone_into(own);
        }
    }

    /// Adds a node, whose outputs get these names.
    fn node(&mut self, form: Form<'_, 'a>, names: &[&'a str], line: Line<'a>) -> u32 {
        self.in_place = None;
        let outputs = u32::try_from(names.len()).unwrap_or(u32::MAX);
        let values = &self.values;
        let value = |name: &'a str| values.get(name).copied();
        let print = |shape_free| {
            let mut printer = Printer {
                value: &value,
                operands: Vec::new(),
                text: String::new(),
                shape_free,
            };
            printer.statement(form);
            (printer.text, printer.operands)
        };
        let (signature, operands) = print(false);
        let known = self.places.contains_key(&(signature.clone(), outputs));
        let (said, types) = line.comment.and_then(typed).unzip();
        let made = (!known).then(|| {
            let one = op_type(form, signature.clone(), outputs, said, &value);
            (one, print(true).0)
        });
        let (one, free) = made.unzip();
        let node = self.push(
            signature,
            outputs,
            operands,
            free.unwrap_or_default(),
            |_| one.unwrap_or_default(),
        );
        self.names.push(names.join(","));
        self.output_types.push(types.unwrap_or_default().to_owned());
        for (output, name) in (0..).zip(names) {
            self.values.insert(name, Operand::Node(node, output));
        }
        node
    }

    fn push(
        &mut self,
        signature: String,
        outputs: u32,
        operands: Vec<Operand>,
        shape_free: String,
        make: impl FnOnce(()) -> OpType,
    ) -> u32 {
        let next = u32::try_from(self.graph.types.len()).unwrap_or(u32::MAX);
        let place = *self.places.entry((signature, outputs)).or_insert(next);
        if place == next {
            self.graph.types.push(make(()));
            self.graph.shape_free.push(shape_free);
        }
        self.graph.type_of_node.push(place);
        self.graph.operands.push(operands);
        u32::try_from(self.graph.type_of_node.len() - 1).unwrap_or(u32::MAX)
    }

    fn finish(self, arguments: &[&str]) -> Program {
        Program {
            graph: self.graph,
            arguments: arguments.iter().map(|&name| name.to_owned()).collect(),
            names: self.names,
            output_types: self.output_types,
            unparsed: self.unparsed,
        }
    }
}

fn name_of<'a>(expr: &Expr<'a>) -> Option<&'a str> {
    match expr {
        Expr::Name(name) => Some(name),
        _ => None,
    }
}

/// The parts of a tuple or list, or the expression itself.
fn elements<'e, 'a>(expr: &'e Expr<'a>) -> std::slice::Iter<'e, Expr<'a>> {
    match expr {
        Expr::Tuple(all) | Expr::List(all) => all.iter(),
        one => std::slice::from_ref(one).iter(),
    }
}

/// The call inside of the lambdas that Paddle's extractor wraps around calls of several outputs.
fn unwrapped<'e, 'a>(expr: &'e Expr<'a>) -> &'e Expr<'a> {
    if let Expr::Call(called, arguments) = expr
        && matches!(called.as_ref(), Expr::Lambda(_))
        && let [
            Argument { name: None, value },
            Argument { value: second, .. },
        ] = arguments.as_slice()
        && matches!(second, Expr::Lambda(_))
    {
        return value;
    }
    expr
}

/// Operation and output types of a comment `pd_op.name: (outputs) <- (inputs)`.
fn typed(comment: &str) -> Option<(&str, &str)> {
    let (name, types) = comment.split_once(": (")?;
    let op = name
        .strip_prefix("pd_op.")
        .or(name.strip_prefix("builtin."))?;
    let (outputs, _) = types.split_once(") <- (")?;
    Some((op, outputs))
}
