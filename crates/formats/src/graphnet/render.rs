//! A torch graph as `model.py` again: the statements of FX, laid out as black lays them out.
//!
//! What FX prints follows from the graph: each argument gets a local name, each value is set to
//! None after its last use. What is not as expected shows when the text is compared with the file;
//! such a file is kept as text.

use std::collections::HashMap;

use tsql_codecs::opgraph::{OpGraph, Operand};

use super::expr::{Argument, Expr, Parser};

/// Columns that black wraps lines at.
pub(super) const WIDTH: usize = 88;

/// After names that fit on no line, black leaves one of fewer letters where it is.
const SHORT_NAME: usize = 44;

/// Blanks before a statement of `forward`.
const BODY: usize = 8;

/// Annotations of arguments by letters.
const ANNOTATIONS: [(char, &str); 3] = [
    ('P', "torch.nn.parameter.Parameter"),
    ('T', "torch.Tensor"),
    ('S', "torch.SymInt"),
];

/// What a file says besides the graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model<'a> {
    /// All before the class.
    pub prelude: &'a str,
    pub graph: &'a OpGraph,
    pub arguments: &'a [String],
    /// Names of what each node returns.
    pub names: &'a [String],
    /// A letter for the annotation of each argument: see [`ANNOTATIONS`].
    pub annotations: &'a str,
}

/// The text before the class of a file, and a letter for the annotation of each argument.
pub(crate) fn framed(text: &str) -> Option<(&str, String)> {
    let (prelude, rest) = text.split_at_checked(text.find("class GraphModule")?)?;
    let (_, header) = rest.split_once("def forward(")?;
    let (header, _) = header.split_once("):\n")?;
    let parts = header.split(',').filter_map(|part| part.split_once(": "));
    let letters = parts.map(|(_, annotation)| {
        let known = ANNOTATIONS.iter();
        let mut known = known.filter(|(_, known)| *known == annotation.trim());
        known.next().map(|(letter, _)| *letter)
    });
    Some((prelude, letters.collect::<Option<String>>()?))
}

/// The file; `None` where the graph has what FX does not print.
pub(crate) fn write(model: &Model<'_>) -> Option<String> {
    let mut text = model.prelude.to_owned();
    text.push_str("class GraphModule(torch.nn.Module):\n");
    header(model, &mut text)?;
    let locals: Vec<String> = model.arguments.iter().map(|name| local(name)).collect();
    for (argument, local) in model.arguments.iter().zip(&locals) {
        if argument != local {
            assign(local, argument, &mut text);
        }
    }
    let statements = statements(model, &locals)?;
    let mut last_use: HashMap<&str, usize> = HashMap::new();
    for (place, statement) in statements.iter().enumerate() {
        for name in &statement.uses {
            last_use.insert(name, place);
        }
    }
    let returned = returned(model, &locals)?;
    for (place, statement) in statements.iter().enumerate() {
        statement.write(&mut text);
        let mut dead: Vec<&str> = Vec::new();
        for name in &statement.uses {
            let name = name.as_str();
            let needed =
                last_use.get(name) != Some(&place) || returned.iter().any(|one| one == name);
            if !needed && !dead.contains(&name) {
                dead.push(name);
            }
        }
        let own = statement.name.as_str();
        if !last_use.contains_key(own) && !returned.iter().any(|one| one == own) {
            dead.push(own);
        }
        deletes(&dead, &mut text);
    }
    let tuple = Expr::Tuple(returned.iter().map(|name| Expr::Name(name)).collect());
    let flat = format!("        return {}\n", print(&tuple));
    if flat.len() <= WIDTH + 1 {
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

fn header(model: &Model<'_>, text: &mut String) -> Option<()> {
    let arguments = model.arguments.iter().zip(model.annotations.chars());
    let arguments = arguments.map(|(name, letter)| {
        let (_, annotation) = ANNOTATIONS.iter().find(|(known, _)| *known == letter)?;
        Some(format!("{name}: {annotation}"))
    });
    let arguments: Vec<String> = arguments.collect::<Option<_>>()?;
    let all = std::iter::once("self".to_owned()).chain(arguments);
    let all: Vec<String> = all.collect();
    let flat = format!("    def forward({}):\n", all.join(", "));
    let body = format!("        {}\n", all.join(", "));
    if flat.len() <= WIDTH + 1 {
        text.push_str(&flat);
    } else if body.len() <= WIDTH + 1 {
        text.push_str(&format!("    def forward(\n{body}    ):\n"));
    } else {
        text.push_str("    def forward(\n");
        all.iter()
            .for_each(|one| text.push_str(&format!("        {one},\n")));
        text.push_str("    ):\n");
    }
    Some(())
}

/// The name that FX gives to an argument: its own in snake case.
fn local(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    let mut lower_before = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && lower_before {
            snake.push('_');
        }
        lower_before = c.is_ascii_lowercase();
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// A statement with its names.
struct Statement {
    /// The name of its value; for what is written in place, the name that it gets afterwards.
    name: String,
    text: Vec<String>,
    /// The names that it uses, in order.
    uses: Vec<String>,
}

impl Statement {
    fn write(&self, text: &mut String) {
        for line in &self.text {
            text.push_str(line);
        }
    }
}

/// How a node's value is called where it is used.
fn statements(model: &Model<'_>, locals: &[String]) -> Option<Vec<Statement>> {
    let graph = model.graph;
    let mut called: Vec<String> = Vec::with_capacity(graph.type_of_node.len());
    let mut statements = Vec::with_capacity(graph.type_of_node.len());
    let nodes = graph
        .type_of_node
        .iter()
        .zip(&graph.operands)
        .zip(model.names);
    for ((&place, operands), name) in nodes {
        let signature = graph.types.get(place as usize)?.signature.as_str();
        let uses: Option<Vec<String>> = operands
            .iter()
            .map(|operand| match operand {
                Operand::Argument(place) => locals.get(*place as usize).cloned(),
                Operand::Node(node, 0) => called.get(*node as usize).cloned(),
                Operand::Node(..) => None,
            })
            .collect();
        let uses = uses?;
        let mut names = uses.iter();
        let mut parser = Parser::new(signature);
        let left = named(parser.expressions()?, &mut names)?;
        let mut text = Vec::new();
        let mut now = name.clone();
        if let Some(operator) = parser.take_augmented() {
            let right = named(parser.expressions()?, &mut names)?;
            let base = print(&left);
            let mut line = String::new();
            value(&format!("{base} {operator}="), &right, &mut line);
            text.push(line);
            let mut alias = String::new();
            assign(name, &base, &mut alias);
            text.push(alias);
        } else if parser.take("=") {
            let right = named(parser.expressions()?, &mut names)?;
            let Expr::Index(base, _) = &left else {
                return None;
            };
            let base = print(base);
            let mut line = String::new();
            value(&format!("{} =", print(&left)), &right, &mut line);
            text.push(line);
            let mut alias = String::new();
            assign(name, &base, &mut alias);
            text.push(alias);
            now = base;
        } else {
            let mut line = String::new();
            value(&format!("{name} ="), &left, &mut line);
            text.push(line);
        }
        if !parser.at_end() || names.next().is_some() {
            return None;
        }
        called.push(now);
        statements.push(Statement {
            name: name.clone(),
            text,
            uses,
        });
    }
    Some(statements)
}

fn returned(model: &Model<'_>, locals: &[String]) -> Option<Vec<String>> {
    let names = model.graph.returns.iter().map(|operand| match operand {
        Operand::Argument(place) => locals.get(*place as usize).cloned(),
        Operand::Node(node, 0) => model.names.get(*node as usize).cloned(),
        Operand::Node(..) => None,
    });
    names.collect()
}

/// An expression with names in place of `?`, in order.
pub(super) fn named<'a>(
    expr: Expr<'a>,
    names: &mut std::slice::Iter<'a, String>,
) -> Option<Expr<'a>> {
    let mut next = |expr: Expr<'a>| named(expr, names);
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
        Expr::Call(called, arguments) => {
            let called = Box::new(next(*called)?);
            let arguments = arguments.into_iter().map(|argument| {
                Some(Argument {
                    name: argument.name,
                    value: next(argument.value)?,
                })
            });
            Expr::Call(called, arguments.collect::<Option<_>>()?)
        }
        Expr::Tuple(all) => Expr::Tuple(all.into_iter().map(next).collect::<Option<_>>()?),
        Expr::List(all) => Expr::List(all.into_iter().map(next).collect::<Option<_>>()?),
        Expr::Choice(_) | Expr::Lambda(_) => return None,
        other => other,
    })
}

/// An expression on one line.
pub(super) fn print(expr: &Expr<'_>) -> String {
    match expr {
        Expr::Name(text) | Expr::Number(text) | Expr::Text(text) => (*text).to_owned(),
        Expr::Unary(mark, inner) => format!("{mark}{}", print(inner)),
        Expr::Binary(left, "**", right) if simple(left) && simple(right) => {
            format!("{}**{}", print(left), print(right))
        }
        Expr::Binary(left, mark, right) => format!("{} {mark} {}", print(left), print(right)),
        Expr::Attribute(base, name) => format!("{}.{name}", print(base)),
        Expr::Index(base, index) => format!("{}[{}]", print(base), print(index)),
        Expr::Call(called, arguments) => {
            let arguments: Vec<String> = arguments.iter().map(argument).collect();
            format!("{}({})", print(called), arguments.join(", "))
        }
        Expr::Tuple(all) if all.len() == 1 => format!("({},)", joined(all)),
        Expr::Tuple(all) => format!("({})", joined(all)),
        Expr::List(all) => format!("[{}]", joined(all)),
        Expr::Choice(_) | Expr::Lambda(_) => String::new(),
    }
}

/// What black writes `**` next to without blanks.
fn simple(expr: &Expr<'_>) -> bool {
    match expr {
        Expr::Name(_) | Expr::Number(_) => true,
        Expr::Unary(_, inner) => matches!(inner.as_ref(), Expr::Number(_)),
        Expr::Attribute(base, _) => simple(base),
        _ => false,
    }
}

fn joined(all: &[Expr<'_>]) -> String {
    all.iter().map(print).collect::<Vec<_>>().join(", ")
}

fn argument(argument: &Argument<'_>) -> String {
    match argument.name {
        Some(name) => format!("{name}={}", print(&argument.value)),
        None => print(&argument.value),
    }
}

/// `target = name`.
fn assign(target: &str, name: &str, text: &mut String) {
    value(&format!("{target} ="), &Expr::Name(name), text);
}

/// `head expression`, in one of black's ways.
pub(super) fn value(head: &str, expr: &Expr<'_>, text: &mut String) {
    let indent = " ".repeat(BODY);
    let flat = print(expr);
    let fits = |indent: usize, text: &str| indent + text.chars().count() <= WIDTH;
    let line = format!("{head} {flat}");
    if fits(BODY, &line) {
        text.push_str(&format!("{indent}{line}\n"));
        return;
    }
    let parens = format!("{head} (");
    let name = matches!(expr, Expr::Name(_));
    let wrapped = fits(BODY + 4, &flat) && (name || fits(BODY, &parens));
    if let Expr::Call(called, arguments) = expr
        && !arguments.is_empty()
    {
        let opening = format!("{head} {}(", print(called));
        let inner = format!("{}(", print(called));
        let listed: Vec<String> = arguments.iter().map(argument).collect();
        let nested = fits(BODY, &parens) && fits(BODY + 4, &inner);
        if !fits(BODY, &opening) && !wrapped && nested && fits(BODY + 8, &listed.join(", ")) {
            text.push_str(&format!("{indent}{parens}\n{indent}    {inner}\n"));
            bracketed(BODY + 8, arguments, text);
            text.push_str(&format!("{indent}    )\n{indent})\n"));
            return;
        }
        if fits(BODY, &opening) || !wrapped {
            text.push_str(&format!("{indent}{opening}\n"));
            bracketed(BODY + 4, arguments, text);
            text.push_str(&format!("{indent})\n"));
            return;
        }
    }
    let index_of_tuple = matches!(
        expr,
        Expr::Index(base, index)
            if matches!(index.as_ref(), Expr::Tuple(_)) && fits(BODY, &format!("{head} {}[", print(base)))
    );
    let empty_call = matches!(expr, Expr::Call(_, arguments) if arguments.is_empty());
    if (wrapped && !index_of_tuple) || (empty_call && fits(BODY, &parens)) {
        text.push_str(&format!(
            "{indent}{parens}\n{indent}    {flat}\n{indent})\n"
        ));
        return;
    }
    match expr {
        Expr::Binary(left, mark, right) if fits(BODY, &parens) => {
            let (left, right) = (print(left), print(right));
            text.push_str(&format!(
                "{indent}{parens}\n{indent}    {left}\n{indent}    {mark} {right}\n{indent})\n"
            ));
        }
        Expr::Index(base, index) => {
            text.push_str(&format!("{indent}{head} {}[\n", print(base)));
            let inner = print(index);
            match index.as_ref() {
                Expr::Tuple(parts) if !fits(BODY + 4, &inner) => {
                    text.push_str(&format!("{indent}    (\n"));
                    for part in parts {
                        text.push_str(&format!("{indent}        {},\n", print(part)));
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

/// The arguments of a call: on a line where they fit, else on one each.
pub(super) fn bracketed(indent: usize, arguments: &[Argument<'_>], text: &mut String) {
    let blanks = " ".repeat(indent);
    let all: Vec<String> = arguments.iter().map(argument).collect();
    let line = all.join(", ");
    if indent + line.chars().count() <= WIDTH {
        text.push_str(&format!("{blanks}{line}\n"));
        return;
    }
    // A single argument gets no comma.
    let comma = if arguments.len() > 1 { "," } else { "" };
    for (one, flat) in arguments.iter().zip(all) {
        let parts = match &one.value {
            Expr::List(parts) => Some((parts, '[', ']')),
            Expr::Tuple(parts) => Some((parts, '(', ')')),
            _ => None,
        };
        let parts = parts.filter(|(parts, ..)| one.name.is_none() && !parts.is_empty());
        match parts {
            Some((parts, open, close)) if indent + flat.chars().count() + comma.len() > WIDTH => {
                text.push_str(&format!("{blanks}{open}\n"));
                for part in parts {
                    text.push_str(&format!("{blanks}    {},\n", print(part)));
                }
                text.push_str(&format!("{blanks}{close}{comma}\n"));
            }
            _ => text.push_str(&format!("{blanks}{flat}{comma}\n")),
        }
    }
}

/// `a = b = None`, where nothing needs a and b any more.
fn deletes(names: &[&str], text: &mut String) {
    let Some((first, rest)) = names.split_first() else {
        return;
    };
    let indent = " ".repeat(BODY);
    let fits = |name: &str| BODY + 4 + name.len() <= WIDTH;
    let mut line = format!("{indent}{first}");
    if rest.is_empty() {
        let flat = format!("{line} = None\n");
        if flat.len() <= WIDTH + 1 {
            text.push_str(&flat);
        } else {
            text.push_str(&format!("{line} = (\n{indent}    None\n{indent})\n"));
        }
        return;
    }
    let mut rest = rest;
    loop {
        let flat: String = rest.iter().map(|name| format!(" = {name}")).collect();
        if line.len() + flat.len() + " = None".len() <= WIDTH {
            text.push_str(&format!("{line}{flat} = None\n"));
            return;
        }
        // Black breaks before the first name that fits on a line of its own.
        let Some(place) = rest.iter().position(|name| fits(name)) else {
            text.push_str(&format!("{line}{flat} = (None)\n"));
            return;
        };
        let (long, after) = rest.split_at_checked(place).unwrap_or((rest, &[]));
        long.iter()
            .for_each(|name| line.push_str(&format!(" = {name}")));
        let Some((name, mut after)) = after.split_first() else {
            return;
        };
        let mut broken = *name;
        if !long.is_empty() && name.len() < SHORT_NAME {
            line.push_str(&format!(" = ({name})"));
            match after.split_first() {
                Some((next, others)) => (broken, after) = (*next, others),
                None => {
                    text.push_str(&format!("{line} = (\n{indent}    None\n{indent})\n"));
                    return;
                }
            }
        }
        text.push_str(&format!("{line} = (\n{indent}    {broken}\n"));
        line = format!("{indent})");
        rest = after;
        if rest.is_empty() {
            text.push_str(&format!("{line} = None\n"));
            return;
        }
    }
}
