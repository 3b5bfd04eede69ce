//! What the parts of a block look like: types, calls, lists of names, as the exporter writes and
//! black wraps them.

use tsql_codecs::tensors::Tensor;

use super::super::expr::{Argument, Expr};
use super::super::render::{WIDTH, bracketed, print, value};

/// Before every statement of `forward`.
pub(super) const INDENT: &str = "        ";

/// What the exporter calls when it wants several results from a call that may give one.
const WRAPPER: &str = "(lambda x, f: f(x))(";

/// A type as comments write it: `100x1xf32`.
pub(super) fn said(tensor: &Tensor) -> Option<String> {
    let sizes = tensor.shape.as_deref()?;
    let kind = match tensor.dtype.as_deref()? {
        "float32" => "f32",
        "float64" => "f64",
        "float16" => "f16",
        "bfloat16" => "bf16",
        "int64" => "i64",
        "int32" => "i32",
        "int16" => "i16",
        "int8" => "i8",
        "uint8" => "ui8",
        "bool" => "b",
        _ => return None,
    };
    Some(format!("{}x{kind}", sizes.replace(',', "x")))
}

/// A name as its begin and its number: `batch_norm_` and 12.
pub(super) fn numbered(name: &str) -> Option<(&str, u64)> {
    let (begin, number) = name.rsplit_once('_')?;
    Some((begin, number.parse().ok()?))
}

/// Types with commas between, lists in brackets being one each.
pub(super) fn split(types: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, c) in types.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.extend(types.get(start..at).map(str::trim));
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = types.get(start..).map(str::trim);
    parts.extend(last.filter(|last| !last.is_empty()));
    parts
}

/// What of a call a comment has a type for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Value,
    Nothing,
}

/// The values of a call, and each `None` before the last of them, or `all`.
pub(super) fn items(call: &Expr<'_>, all: bool) -> Vec<Item> {
    let mut items = Vec::new();
    match call {
        Expr::Call(called, arguments) => {
            values(called, &mut items);
            for argument in arguments {
                match argument.value {
                    Expr::Name("None") => items.push(Item::Nothing),
                    ref other => values(other, &mut items),
                }
            }
        }
        other => values(other, &mut items),
    }
    let last = items.iter().rposition(|item| *item == Item::Value);
    if !all {
        items.truncate(last.map_or(0, |last| last + 1));
    }
    items
}

fn values(expr: &Expr<'_>, items: &mut Vec<Item>) {
    match expr {
        Expr::Name("?") => items.push(Item::Value),
        Expr::Unary(_, inner) => values(inner, items),
        Expr::Attribute(base, _) => values(base, items),
        Expr::Binary(left, _, right) => {
            values(left, items);
            values(right, items);
        }
        Expr::Index(base, index) => {
            values(base, items);
            values(index, items);
        }
        Expr::Call(called, arguments) => {
            values(called, items);
            arguments.iter().for_each(|one| values(&one.value, items));
        }
        Expr::Tuple(all) | Expr::List(all) => all.iter().for_each(|one| values(one, items)),
        _ => {}
    }
}

/// `target = value`.
pub(super) fn assignment(target: &str, call: &Expr<'_>, text: &mut String) {
    let Expr::List(parts) = call else {
        value(&format!("{target} ="), call, text);
        return;
    };
    let flat = format!("{INDENT}{target} = {}", print(call));
    if flat.chars().count() <= WIDTH {
        text.push_str(&format!("{flat}\n"));
        return;
    }
    text.push_str(&format!("{INDENT}{target} = [\n"));
    let line = parts.iter().map(print).collect::<Vec<_>>().join(", ");
    if INDENT.len() + 4 + line.chars().count() <= WIDTH {
        text.push_str(&format!("{INDENT}    {line}\n"));
    } else {
        for part in parts {
            text.push_str(&format!("{INDENT}    {},\n", print(part)));
        }
    }
    text.push_str(&format!("{INDENT}]\n"));
}

/// `a, b = (lambda x, f: f(x))(call, lambda out: ...)`.
pub(super) fn wrapped(targets: &[&str], call: &Expr<'_>, text: &mut String) {
    let inner = format!("{INDENT}    ");
    let flat = format!("{INDENT}{} = {WRAPPER}", targets.join(", "));
    if flat.len() <= WIDTH {
        text.push_str(&format!("{flat}\n"));
    } else {
        text.push_str(&format!("{INDENT}(\n"));
        let lines = targets.iter().map(|target| format!("{inner}{target},\n"));
        text.extend(lines);
        text.push_str(&format!("{INDENT}) = {WRAPPER}\n"));
    }
    let line = format!("{inner}{},", print(call));
    match call {
        Expr::Call(called, arguments) if line.chars().count() > WIDTH => {
            text.push_str(&format!("{inner}{}(\n", print(called)));
            let arguments: &[Argument<'_>] = arguments;
            bracketed(inner.len() + 4, arguments, text);
            text.push_str(&format!("{inner}),\n"));
        }
        _ => text.push_str(&format!("{line}\n")),
    }
    let nothing = ", None".repeat(targets.len() - 1);
    let (test, other) = (
        "if isinstance(out, (list, tuple))",
        format!("else (out{nothing}),"),
    );
    let line = format!("{inner}lambda out: out {test} {other}");
    if line.len() <= WIDTH {
        text.push_str(&format!("{line}\n"));
    } else {
        text.push_str(&format!(
            "{inner}lambda out: out\n{inner}{test}\n{inner}{other}\n"
        ));
    }
    text.push_str(&format!("{INDENT})\n"));
}

/// A statement with names: on a line where they fit, else in brackets with a line for each.
pub(super) fn joined_or_listed(word: &str, names: &[&str]) -> String {
    let flat = format!("{INDENT}{word} {}", names.join(", "));
    if flat.len() <= WIDTH || names.len() < 2 {
        return flat;
    }
    let lines = names.iter().map(|name| format!("{INDENT}    {name},\n"));
    format!("{INDENT}{word} (\n{}{INDENT})", lines.collect::<String>())
}
