//! Converts `model.py` to a graph: the statements of `forward`.
//!
//! Nothing is executed. A statement outside of the grammar becomes a node of kind `unparsed` that stores its text.

use std::collections::HashMap;

use tsql_codecs::opgraph::{OpGraph, OpType, Operand};

use super::call::{Printer, StatementForm, build_op_type};
use super::expr::{Argument, Expr, ExprParser};
use super::lines::{LogicalLine, LogicalLines};

/// Captured graph with the names of the file.
#[derive(Clone, Debug)]
pub struct Program {
    /// Captured graph.
    pub graph: OpGraph,
    /// Names of the arguments.
    pub arguments: Vec<String>,
    /// Result names of each node, separated by commas; empty for none.
    pub names: Vec<String>,
    /// Paddle: result types of each node, from the preceding comment.
    pub output_types: Vec<String>,
    /// Lines of unsupported statements.
    pub unparsed: Vec<u64>,
}

/// Line and reason of a parse error.
pub type ParseFault = (u64, String);

/// Parses a `model.py`.
pub fn read(text: &str) -> Result<Program, ParseFault> {
    let framework = if text.contains("import paddle") {
        "paddle"
    } else {
        "torch"
    };
    let mut lines = LogicalLines::new(text).peekable();
    let header = lines.find(|line| {
        let mut parser = ExprParser::new(line.text);
        parser.take("def") && parser.take_name() == Some("forward")
    });
    let header = header.ok_or((1, "no method `forward`".to_owned()))?;
    let unsupported = || (header.number, "unsupported parameters".to_owned());
    let arguments = parse_parameters(header.text).ok_or_else(unsupported)?;
    let mut builder = ProgramBuilder::new(framework, &arguments);
    let mut body = None;
    for line in lines {
        if line.indent <= header.indent {
            break;
        }
        let indent = *body.get_or_insert(line.indent);
        if line.indent > indent {
            builder.add_continuation(line);
        } else {
            builder.add_line(line);
        }
    }
    if body.is_none() {
        return Err((header.number, "`forward` has no body".to_owned()));
    }
    Ok(builder.finish(&arguments))
}

/// Returns the parameter names of a method, except `self`.
fn parse_parameters(header: &str) -> Option<Vec<&str>> {
    let mut parser = ExprParser::new(header);
    parser.take("def");
    parser.take_name()?;
    if !parser.take("(") {
        return None;
    }
    let mut names = Vec::new();
    while !parser.take(")") {
        let is_starred = parser.take("*") || parser.take("**");
        let name = parser.take_name()?;
        if parser.take(":") {
            parser.parse_expression()?;
        }
        if parser.take("=") {
            parser.parse_expression()?;
        }
        if name != "self" && !is_starred {
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
    NoOperation,
}

fn parse_statement(text: &str) -> Option<Statement<'_>> {
    let mut parser = ExprParser::new(text);
    if parser.take("del") {
        parser.parse_expressions()?;
        return parser.is_at_end().then_some(Statement::NoOperation);
    }
    if parser.take("pass") {
        return parser.is_at_end().then_some(Statement::NoOperation);
    }
    if parser.take("return") {
        if parser.is_at_end() {
            return Some(Statement::Return(None));
        }
        let value = parser.parse_expressions()?;
        return parser.is_at_end().then_some(Statement::Return(Some(value)));
    }
    let mut value = parser.parse_expressions()?;
    if let Some(operator) = parser.take_augmented() {
        let right = parser.parse_expressions()?;
        return parser
            .is_at_end()
            .then_some(Statement::Augmented(value, operator, right));
    }
    let mut targets = Vec::new();
    while parser.take("=") {
        targets.push(value);
        value = parser.parse_expressions()?;
    }
    parser
        .is_at_end()
        .then_some(Statement::Assign(targets, value))
}

struct ProgramBuilder<'a> {
    graph: OpGraph,
    /// Values of the names in scope.
    values: HashMap<&'a str, Operand>,
    /// Index of each signature.
    type_indexes: HashMap<(String, u32), u32>,
    names: Vec<String>,
    output_types: Vec<String>,
    unparsed: Vec<u64>,
    /// Node of the last statement, if it modified a value in place.
    in_place: Option<u32>,
    /// Whether the last statement was unsupported, so that deeper indented lines belong to it.
    is_open: bool,
}

impl<'a> ProgramBuilder<'a> {
    fn new(framework: &'static str, arguments: &[&'a str]) -> Self {
        let count = u32::try_from(arguments.len()).unwrap_or(u32::MAX);
        let operands = (0..count).map(Operand::Argument);
        let values = arguments.iter().copied().zip(operands);
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
            type_indexes: HashMap::new(),
            names: Vec::new(),
            output_types: Vec::new(),
            unparsed: Vec::new(),
            in_place: None,
            is_open: false,
        }
    }

    fn add_line(&mut self, line: LogicalLine<'a>) {
        self.is_open = false;
        let added =
            parse_statement(line.text).and_then(|statement| self.add_statement(statement, line));
        if added.is_none() {
            self.add_unparsed(line);
            self.is_open = true;
        }
    }

    /// Adds a line that is indented deeper than the body.
    fn add_continuation(&mut self, line: LogicalLine<'a>) {
        if self.is_open {
            self.add_unparsed(line);
        } else {
            self.add_line(line);
        }
    }

    fn add_unparsed(&mut self, line: LogicalLine<'a>) {
        self.unparsed.push(line.number);
        let op_type = OpType {
            signature: line.text.to_owned(),
            kind: "unparsed",
            attributes: "{}".to_owned(),
            ..OpType::default()
        };
        let shape_free = line.text.to_owned();
        self.push(op_type.signature.clone(), 0, Vec::new(), shape_free, |_| {
            op_type
        });
        self.names.push(String::new());
        self.output_types.push(String::new());
    }

    fn add_statement(&mut self, statement: Statement<'a>, line: LogicalLine<'a>) -> Option<()> {
        match statement {
            Statement::NoOperation => {}
            Statement::Return(value) => {
                for element in value.iter().flat_map(elements) {
                    let operand = self.operand(element, line);
                    self.graph.returns.push(operand);
                }
            }
            Statement::Augmented(target, operator, value) => {
                let Expr::Name(name) = target else {
                    return None;
                };
                let form = StatementForm::Augmented(&target, operator, &value);
                self.in_place = Some(self.add_node(form, &[name], line));
            }
            Statement::Assign(targets, value) => return self.assign(&targets, &value, line),
        }
        Some(())
    }

    /// Returns the value of an expression. Adds a node unless it is a name.
    fn operand(&mut self, expr: &Expr<'a>, line: LogicalLine<'a>) -> Operand {
        if let Expr::Name(name) = expr
            && let Some(&operand) = self.values.get(name)
        {
            return operand;
        }
        Operand::Node(self.add_node(StatementForm::Value(expr), &[], line), 0)
    }

    fn assign(
        &mut self,
        targets: &[Expr<'a>],
        value: &Expr<'a>,
        line: LogicalLine<'a>,
    ) -> Option<()> {
        if matches!(value, Expr::Name("None")) {
            // The value is unused afterwards.
            return Some(());
        }
        let value = unwrap_lambda(value);
        match targets {
            [Expr::Index(base, index)] => {
                let form = StatementForm::SetItem(base, index, value);
                let names: Vec<&'a str> = name_of(base).into_iter().collect();
                self.in_place = Some(self.add_node(form, &names, line));
            }
            [] => {
                self.add_node(StatementForm::Value(value), &[], line);
            }
            [target] => {
                let names: Option<Vec<&'a str>> = elements(target).map(name_of).collect();
                let names = names?;
                let is_single = matches!(target, Expr::Name(_));
                if let Some(operand) = name_of(value).and_then(|name| self.values.get(name)) {
                    // Another name for the value, or names for its parts.
                    let operand = *operand;
                    for (output, name) in (0..).zip(names) {
                        let part = match operand {
                            Operand::Node(node, _) if !is_single => Operand::Node(node, output),
                            operand => operand,
                        };
                        self.rename(part, name);
                        self.values.insert(name, part);
                    }
                } else {
                    self.add_node(StatementForm::Value(value), &names, line);
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Gives a value that was modified in place the name that it is assigned to.
    fn rename(&mut self, value: Operand, name: &str) {
        let Operand::Node(node, 0) = value else {
            return;
        };
        if self.in_place == Some(node)
            && let Some(node_name) = self.names.get_mut(node as usize)
        {
            self.in_place = None;
            name.clone_into(node_name);
        }
    }

    /// Adds a node with these output names.
    fn add_node(
        &mut self,
        form: StatementForm<'_, 'a>,
        names: &[&'a str],
        line: LogicalLine<'a>,
    ) -> u32 {
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
            printer.print_statement(form);
            (printer.text, printer.operands)
        };
        let (signature, operands) = print(false);
        let is_known = self
            .type_indexes
            .contains_key(&(signature.clone(), outputs));
        let (comment_op, types) = line.comment.and_then(parse_type_comment).unzip();
        let type_and_shape_free = (!is_known).then(|| {
            let op_type = build_op_type(form, signature.clone(), outputs, comment_op, &value);
            (op_type, print(true).0)
        });
        let (op_type, shape_free_signature) = type_and_shape_free.unzip();
        let node = self.push(
            signature,
            outputs,
            operands,
            shape_free_signature.unwrap_or_default(),
            |_| op_type.unwrap_or_default(),
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
        create: impl FnOnce(()) -> OpType,
    ) -> u32 {
        let next = u32::try_from(self.graph.types.len()).unwrap_or(u32::MAX);
        let type_index = *self
            .type_indexes
            .entry((signature, outputs))
            .or_insert(next);
        if type_index == next {
            self.graph.types.push(create(()));
            self.graph.shape_free.push(shape_free);
        }
        self.graph.type_of_node.push(type_index);
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

/// Returns the elements of a tuple or list, or the expression itself.
fn elements<'e, 'a>(expr: &'e Expr<'a>) -> std::slice::Iter<'e, Expr<'a>> {
    match expr {
        Expr::Tuple(parts) | Expr::List(parts) => parts.iter(),
        single => std::slice::from_ref(single).iter(),
    }
}

/// Returns the call inside of the lambdas that Paddle's extractor wraps around calls with several outputs.
fn unwrap_lambda<'e, 'a>(expr: &'e Expr<'a>) -> &'e Expr<'a> {
    if let Expr::Call(callee, arguments) = expr
        && matches!(callee.as_ref(), Expr::Lambda(_))
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

/// Returns operation and output types of a comment `pd_op.name: (outputs) <- (inputs)`.
fn parse_type_comment(comment: &str) -> Option<(&str, &str)> {
    let (name, types) = comment.split_once(": (")?;
    let op = name
        .strip_prefix("pd_op.")
        .or(name.strip_prefix("builtin."))?;
    let (outputs, _) = types.split_once(") <- (")?;
    Some((op, outputs))
}
