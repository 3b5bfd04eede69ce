//! Rebuilds `model.py` of a torch graph: the statements of FX, formatted by black.
//!
//! The output of FX follows from the graph. Each argument gets a local name, and each value is set to None after its
//! last use. A comparison with the file shows deviations; a file with deviations is stored as text.

use std::collections::HashMap;

use tsql_codecs::opgraph::{OpGraph, Operand};

use super::expr::{Argument, Expr, ExprParser};

/// Line width of black.
pub(super) const LINE_WIDTH: usize = 88;

/// Black does not wrap a name that is shorter than this after names that fit on no line.
const SHORT_NAME: usize = 44;

/// Indentation of the statements of `forward`.
const BODY_INDENT: usize = 8;

/// Annotations of arguments by code.
const ANNOTATIONS: [(char, &str); 3] = [
    ('P', "torch.nn.parameter.Parameter"),
    ('T', "torch.Tensor"),
    ('S', "torch.SymInt"),
];

/// Content of a file besides the graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TorchModel<'a> {
    /// Text before the class.
    pub prelude: &'a str,
    pub graph: &'a OpGraph,
    pub arguments: &'a [String],
    /// Result names of each node.
    pub names: &'a [String],
    /// One letter per argument for its annotation: see [`ANNOTATIONS`].
    pub annotations: &'a str,
}

/// Returns the text before the class of a file, and one letter per argument for its annotation.
pub(crate) fn parse_frame(text: &str) -> Option<(&str, String)> {
    let (prelude, rest) = text.split_at_checked(text.find("class GraphModule")?)?;
    let (_, header) = rest.split_once("def forward(")?;
    let (header, _) = header.split_once("):\n")?;
    let parts = header.split(',').filter_map(|part| part.split_once(": "));
    let codes = parts.map(|(_, annotation)| {
        let annotations = ANNOTATIONS.iter();
        let mut annotations = annotations.filter(|(_, name)| *name == annotation.trim());
        annotations.next().map(|(code, _)| *code)
    });
    Some((prelude, codes.collect::<Option<String>>()?))
}

/// Returns the file; `None` if FX cannot print the graph.
pub(crate) fn write(model: &TorchModel<'_>) -> Option<String> {
    let mut text = model.prelude.to_owned();
    text.push_str("class GraphModule(torch.nn.Module):\n");
    write_header(model, &mut text)?;
    let locals: Vec<String> = model
        .arguments
        .iter()
        .map(|name| snake_case(name))
        .collect();
    for (argument, local) in model.arguments.iter().zip(&locals) {
        if argument != local {
            write_assignment(local, argument, &mut text);
        }
    }
    let statements = build_statements(model, &locals)?;
    let mut last_use: HashMap<&str, usize> = HashMap::new();
    for (index, statement) in statements.iter().enumerate() {
        for name in &statement.uses {
            last_use.insert(name, index);
        }
    }
    let returned = returned_names(model, &locals)?;
    for (index, statement) in statements.iter().enumerate() {
        statement.write(&mut text);
        let mut unused: Vec<&str> = Vec::new();
        for name in &statement.uses {
            let name = name.as_str();
            let is_needed =
                last_use.get(name) != Some(&index) || returned.iter().any(|other| other == name);
            if !is_needed && !unused.contains(&name) {
                unused.push(name);
            }
        }
        let result = statement.name.as_str();
        if !last_use.contains_key(result) && !returned.iter().any(|other| other == result) {
            unused.push(result);
        }
        write_deletes(&unused, &mut text);
    }
    let tuple = Expr::Tuple(returned.iter().map(|name| Expr::Name(name)).collect());
    let flat = format!("        return {}\n", print_expr(&tuple));
    if flat.len() <= LINE_WIDTH + 1 {
        text.push_str(&flat);
    } else {
        text.push_str("        return (\n");
        returned
            .iter()
            .for_each(|name| text.push_str(&format!("            {name},\n")));
        text.push_str("        )\n");
    }
    Some(text)
}

fn write_header(model: &TorchModel<'_>, text: &mut String) -> Option<()> {
    let arguments = model.arguments.iter().zip(model.annotations.chars());
    let arguments = arguments.map(|(name, code)| {
        let (_, annotation) = ANNOTATIONS
            .iter()
            .find(|(known_code, _)| *known_code == code)?;
        Some(format!("{name}: {annotation}"))
    });
    let arguments: Vec<String> = arguments.collect::<Option<_>>()?;
    let parameters = std::iter::once("self".to_owned()).chain(arguments);
    let parameters: Vec<String> = parameters.collect();
    let flat = format!("    def forward({}):\n", parameters.join(", "));
    let body = format!("        {}\n", parameters.join(", "));
    if flat.len() <= LINE_WIDTH + 1 {
        text.push_str(&flat);
    } else if body.len() <= LINE_WIDTH + 1 {
        text.push_str(&format!("    def forward(\n{body}    ):\n"));
    } else {
        text.push_str("    def forward(\n");
        parameters
            .iter()
            .for_each(|parameter| text.push_str(&format!("        {parameter},\n")));
        text.push_str("    ):\n");
    }
    Some(())
}

/// Returns FX's local name of an argument: the argument name in snake case.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    let mut follows_lowercase = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && follows_lowercase {
            snake.push('_');
        }
        follows_lowercase = c.is_ascii_lowercase();
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// Statement with its names.
struct Statement {
    /// Name of its value; for in-place modifications, the name that the value gets afterwards.
    name: String,
    text: Vec<String>,
    /// Names that the statement uses, in order.
    uses: Vec<String>,
}

impl Statement {
    fn write(&self, text: &mut String) {
        for line in &self.text {
            text.push_str(line);
        }
    }
}

/// Builds the statements of all nodes.
fn build_statements(model: &TorchModel<'_>, locals: &[String]) -> Option<Vec<Statement>> {
    let graph = model.graph;
    let mut value_names: Vec<String> = Vec::with_capacity(graph.type_of_node.len());
    let mut statements = Vec::with_capacity(graph.type_of_node.len());
    let nodes = graph
        .type_of_node
        .iter()
        .zip(&graph.operands)
        .zip(model.names);
    for ((&type_index, operands), name) in nodes {
        let signature = graph.types.get(type_index as usize)?.signature.as_str();
        let uses: Option<Vec<String>> = operands
            .iter()
            .map(|operand| match operand {
                Operand::Argument(index) => locals.get(*index as usize).cloned(),
                Operand::Node(node, 0) => value_names.get(*node as usize).cloned(),
                Operand::Node(..) => None,
            })
            .collect();
        let uses = uses?;
        let mut names = uses.iter();
        let mut parser = ExprParser::new(signature);
        let left = fill_names(parser.parse_expressions()?, &mut names)?;
        let mut text = Vec::new();
        let mut value_name = name.clone();
        if let Some(operator) = parser.take_augmented() {
            let right = fill_names(parser.parse_expressions()?, &mut names)?;
            let base = print_expr(&left);
            let mut line = String::new();
            write_value(&format!("{base} {operator}="), &right, &mut line);
            text.push(line);
            let mut alias = String::new();
            write_assignment(name, &base, &mut alias);
            text.push(alias);
        } else if parser.take("=") {
            let right = fill_names(parser.parse_expressions()?, &mut names)?;
            let Expr::Index(base, _) = &left else {
                return None;
            };
            let base = print_expr(base);
            let mut line = String::new();
            write_value(&format!("{} =", print_expr(&left)), &right, &mut line);
            text.push(line);
            let mut alias = String::new();
            write_assignment(name, &base, &mut alias);
            text.push(alias);
            value_name = base;
        } else {
            let mut line = String::new();
            write_value(&format!("{name} ="), &left, &mut line);
            text.push(line);
        }
        if !parser.is_at_end() || names.next().is_some() {
            return None;
        }
        value_names.push(value_name);
        statements.push(Statement {
            name: name.clone(),
            text,
            uses,
        });
    }
    Some(statements)
}

fn returned_names(model: &TorchModel<'_>, locals: &[String]) -> Option<Vec<String>> {
    let names = model.graph.returns.iter().map(|operand| match operand {
        Operand::Argument(index) => locals.get(*index as usize).cloned(),
        Operand::Node(node, 0) => model.names.get(*node as usize).cloned(),
        Operand::Node(..) => None,
    });
    names.collect()
}

/// Replaces each `?` of an expression by the next name.
pub(super) fn fill_names<'a>(
    expr: Expr<'a>,
    names: &mut std::slice::Iter<'a, String>,
) -> Option<Expr<'a>> {
    let mut next = |expr: Expr<'a>| fill_names(expr, names);
    Some(match expr {
        Expr::Name("?") => Expr::Name(names.next()?),
        Expr::Unary(mark, inner) => Expr::Unary(mark, Box::new(next(*inner)?)),
        Expr::Binary(left, mark, right) => {
            let left = Box::new(next(*left)?);
            Expr::Binary(left, mark, Box::new(next(*right)?))
        }
        Expr::Attribute(base, name) => Expr::Attribute(Box::new(next(*base)?), name),
        Expr::Index(base, index) => {
            let base = Box::new(next(*base)?);
            Expr::Index(base, Box::new(next(*index)?))
        }
        Expr::Call(callee, arguments) => {
            let callee = Box::new(next(*callee)?);
            let arguments = arguments.into_iter().map(|argument| {
                Some(Argument {
                    name: argument.name,
                    value: next(argument.value)?,
                })
            });
            Expr::Call(callee, arguments.collect::<Option<_>>()?)
        }
        Expr::Tuple(elements) => {
            Expr::Tuple(elements.into_iter().map(next).collect::<Option<_>>()?)
        }
        Expr::List(elements) => Expr::List(elements.into_iter().map(next).collect::<Option<_>>()?),
        Expr::Choice(_) | Expr::Lambda(_) => return None,
        other => other,
    })
}

/// Prints an expression on one line.
pub(super) fn print_expr(expr: &Expr<'_>) -> String {
    match expr {
        Expr::Name(text) | Expr::Number(text) | Expr::Text(text) => (*text).to_owned(),
        Expr::Unary(mark, inner) => format!("{mark}{}", print_expr(inner)),
        Expr::Binary(left, "**", right) if is_simple(left) && is_simple(right) => {
            format!("{}**{}", print_expr(left), print_expr(right))
        }
        Expr::Binary(left, mark, right) => {
            format!("{} {mark} {}", print_expr(left), print_expr(right))
        }
        Expr::Attribute(base, name) => format!("{}.{name}", print_expr(base)),
        Expr::Index(base, index) => format!("{}[{}]", print_expr(base), print_expr(index)),
        Expr::Call(callee, arguments) => {
            let arguments: Vec<String> = arguments.iter().map(print_argument).collect();
            format!("{}({})", print_expr(callee), arguments.join(", "))
        }
        Expr::Tuple(elements) if elements.len() == 1 => format!("({},)", print_list(elements)),
        Expr::Tuple(elements) => format!("({})", print_list(elements)),
        Expr::List(elements) => format!("[{}]", print_list(elements)),
        Expr::Choice(_) | Expr::Lambda(_) => String::new(),
    }
}

/// Whether black writes `**` without blanks next to this operand.
fn is_simple(expr: &Expr<'_>) -> bool {
    match expr {
        Expr::Name(_) | Expr::Number(_) => true,
        Expr::Unary(_, inner) => matches!(inner.as_ref(), Expr::Number(_)),
        Expr::Attribute(base, _) => is_simple(base),
        _ => false,
    }
}

fn print_list(elements: &[Expr<'_>]) -> String {
    elements
        .iter()
        .map(print_expr)
        .collect::<Vec<_>>()
        .join(", ")
}

fn print_argument(argument: &Argument<'_>) -> String {
    match argument.name {
        Some(name) => format!("{name}={}", print_expr(&argument.value)),
        None => print_expr(&argument.value),
    }
}

/// Writes `target = name`.
fn write_assignment(target: &str, name: &str, text: &mut String) {
    write_value(&format!("{target} ="), &Expr::Name(name), text);
}

/// Writes `head expression` with the line breaks of black.
pub(super) fn write_value(head: &str, expr: &Expr<'_>, text: &mut String) {
    let indent = " ".repeat(BODY_INDENT);
    let flat = print_expr(expr);
    let fits = |indent: usize, text: &str| indent + text.chars().count() <= LINE_WIDTH;
    let line = format!("{head} {flat}");
    if fits(BODY_INDENT, &line) {
        text.push_str(&format!("{indent}{line}\n"));
        return;
    }
    let opening_bracket = format!("{head} (");
    let is_name = matches!(expr, Expr::Name(_));
    let fits_in_brackets =
        fits(BODY_INDENT + 4, &flat) && (is_name || fits(BODY_INDENT, &opening_bracket));
    if let Expr::Call(callee, arguments) = expr
        && !arguments.is_empty()
    {
        let opening = format!("{head} {}(", print_expr(callee));
        let inner = format!("{}(", print_expr(callee));
        let argument_texts: Vec<String> = arguments.iter().map(print_argument).collect();
        let fits_nested = fits(BODY_INDENT, &opening_bracket) && fits(BODY_INDENT + 4, &inner);
        if !fits(BODY_INDENT, &opening)
            && !fits_in_brackets
            && fits_nested
            && fits(BODY_INDENT + 8, &argument_texts.join(", "))
        {
            text.push_str(&format!("{indent}{opening_bracket}\n{indent}    {inner}\n"));
            write_arguments(BODY_INDENT + 8, arguments, text);
            text.push_str(&format!("{indent}    )\n{indent})\n"));
            return;
        }
        if fits(BODY_INDENT, &opening) || !fits_in_brackets {
            text.push_str(&format!("{indent}{opening}\n"));
            write_arguments(BODY_INDENT + 4, arguments, text);
            text.push_str(&format!("{indent})\n"));
            return;
        }
    }
    let has_tuple_index = matches!(
        expr,
        Expr::Index(base, index)
            if matches!(index.as_ref(), Expr::Tuple(_)) && fits(BODY_INDENT, &format!("{head} {}[", print_expr(base)))
    );
    let is_empty_call = matches!(expr, Expr::Call(_, arguments) if arguments.is_empty());
    if (fits_in_brackets && !has_tuple_index)
        || (is_empty_call && fits(BODY_INDENT, &opening_bracket))
    {
        text.push_str(&format!(
            "{indent}{opening_bracket}\n{indent}    {flat}\n{indent})\n"
        ));
        return;
    }
    match expr {
        Expr::Binary(left, mark, right) if fits(BODY_INDENT, &opening_bracket) => {
            let (left, right) = (print_expr(left), print_expr(right));
            text.push_str(&format!(
                "{indent}{opening_bracket}\n{indent}    {left}\n{indent}    {mark} {right}\n{indent})\n"
            ));
        }
        Expr::Index(base, index) => {
            text.push_str(&format!("{indent}{head} {}[\n", print_expr(base)));
            let inner = print_expr(index);
            match index.as_ref() {
                Expr::Tuple(parts) if !fits(BODY_INDENT + 4, &inner) => {
                    text.push_str(&format!("{indent}    (\n"));
                    for part in parts {
                        text.push_str(&format!("{indent}        {},\n", print_expr(part)));
                    }
                    text.push_str(&format!("{indent}    )\n"));
                }
                _ => text.push_str(&format!("{indent}    {inner}\n")),
            }
            text.push_str(&format!("{indent}]\n"));
        }
        _ => text.push_str(&format!("{indent}{line}\n")),
    }
}

/// Writes the arguments of a call: on one line if they fit, else one per line.
pub(super) fn write_arguments(indent: usize, arguments: &[Argument<'_>], text: &mut String) {
    let blanks = " ".repeat(indent);
    let texts: Vec<String> = arguments.iter().map(print_argument).collect();
    let line = texts.join(", ");
    if indent + line.chars().count() <= LINE_WIDTH {
        text.push_str(&format!("{blanks}{line}\n"));
        return;
    }
    // A single argument gets no comma.
    let comma = if arguments.len() > 1 { "," } else { "" };
    for (argument, flat) in arguments.iter().zip(texts) {
        let parts = match &argument.value {
            Expr::List(parts) => Some((parts, '[', ']')),
            Expr::Tuple(parts) => Some((parts, '(', ')')),
            _ => None,
        };
        let parts = parts.filter(|(parts, ..)| argument.name.is_none() && !parts.is_empty());
        match parts {
            Some((parts, open, close))
                if indent + flat.chars().count() + comma.len() > LINE_WIDTH =>
            {
                text.push_str(&format!("{blanks}{open}\n"));
                for part in parts {
                    text.push_str(&format!("{blanks}    {},\n", print_expr(part)));
                }
                text.push_str(&format!("{blanks}{close}{comma}\n"));
            }
            _ => text.push_str(&format!("{blanks}{flat}{comma}\n")),
        }
    }
}

/// Writes `a = b = None` for values after their last use.
fn write_deletes(names: &[&str], text: &mut String) {
    let Some((first, rest)) = names.split_first() else {
        return;
    };
    let indent = " ".repeat(BODY_INDENT);
    let fits = |name: &str| BODY_INDENT + 4 + name.len() <= LINE_WIDTH;
    let mut line = format!("{indent}{first}");
    if rest.is_empty() {
        let flat = format!("{line} = None\n");
        if flat.len() <= LINE_WIDTH + 1 {
            text.push_str(&flat);
        } else {
            text.push_str(&format!("{line} = (\n{indent}    None\n{indent})\n"));
        }
        return;
    }
    let mut rest = rest;
    loop {
        let flat: String = rest.iter().map(|name| format!(" = {name}")).collect();
        if line.len() + flat.len() + " = None".len() <= LINE_WIDTH {
            text.push_str(&format!("{line}{flat} = None\n"));
            return;
        }
        // Black breaks before the first name that fits on a line of its own.
        let Some(position) = rest.iter().position(|name| fits(name)) else {
            text.push_str(&format!("{line}{flat} = (None)\n"));
            return;
        };
        let (too_long, after) = rest.split_at_checked(position).unwrap_or((rest, &[]));
        too_long
            .iter()
            .for_each(|name| line.push_str(&format!(" = {name}")));
        let Some((name, mut after)) = after.split_first() else {
            return;
        };
        let mut wrapped_name = *name;
        if !too_long.is_empty() && name.len() < SHORT_NAME {
            line.push_str(&format!(" = ({name})"));
            match after.split_first() {
                Some((next, others)) => (wrapped_name, after) = (*next, others),
                None => {
                    text.push_str(&format!("{line} = (\n{indent}    None\n{indent})\n"));
                    return;
                }
            }
        }
        text.push_str(&format!("{line} = (\n{indent}    {wrapped_name}\n"));
        line = format!("{indent})");
        rest = after;
        if rest.is_empty() {
            text.push_str(&format!("{line} = None\n"));
            return;
        }
    }
}
