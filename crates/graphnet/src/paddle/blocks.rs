//! Prints the parts of a block (types, calls, lists of names) in the format of the exporter and black.

use tsql_codecs::tensors::Tensor;

use super::super::expr::{Argument, Expr};
use super::super::render::{LINE_WIDTH, print_expr, write_arguments, write_value};

/// Indentation of the statements of `forward`.
pub(super) const INDENT: &str = "        ";

/// Wrapper that the exporter adds if it expects several results from a call that may return one.
const WRAPPER: &str = "(lambda x, f: f(x))(";

/// Formats a type for comments: `100x1xf32`.
pub(super) fn type_comment(tensor: &Tensor) -> Option<String> {
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

/// Splits a name into prefix and number: `batch_norm_` and 12.
pub(super) fn split_number(name: &str) -> Option<(&str, u64)> {
    let (prefix, number) = name.rsplit_once('_')?;
    Some((prefix, number.parse().ok()?))
}

/// Splits types at commas; a list in brackets is one type.
pub(super) fn split_types(types: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (position, c) in types.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.extend(types.get(start..position).map(str::trim));
                start = position + 1;
            }
            _ => {}
        }
    }
    let last = types.get(start..).map(str::trim);
    parts.extend(last.filter(|last| !last.is_empty()));
    parts
}

/// Argument of a call for which a comment has a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CommentItem {
    Value,
    Nothing,
}

/// Returns the values of a call, and each `None` before the last value, or every `None` if `all` is set.
pub(super) fn call_items(call: &Expr<'_>, all: bool) -> Vec<CommentItem> {
    let mut items = Vec::new();
    match call {
        Expr::Call(callee, arguments) => {
            collect_items(callee, &mut items);
            for argument in arguments {
                match argument.value {
                    Expr::Name("None") => items.push(CommentItem::Nothing),
                    ref other => collect_items(other, &mut items),
                }
            }
        }
        other => collect_items(other, &mut items),
    }
    let last = items.iter().rposition(|item| *item == CommentItem::Value);
    if !all {
        items.truncate(last.map_or(0, |last| last + 1));
    }
    items
}

fn collect_items(expr: &Expr<'_>, items: &mut Vec<CommentItem>) {
    match expr {
        Expr::Name("?") => items.push(CommentItem::Value),
        Expr::Unary(_, inner) => collect_items(inner, items),
        Expr::Attribute(base, _) => collect_items(base, items),
        Expr::Binary(left, _, right) => {
            collect_items(left, items);
            collect_items(right, items);
        }
        Expr::Index(base, index) => {
            collect_items(base, items);
            collect_items(index, items);
        }
        Expr::Call(callee, arguments) => {
            collect_items(callee, items);
            arguments
                .iter()
                .for_each(|argument| collect_items(&argument.value, items));
        }
        Expr::Tuple(all) | Expr::List(all) => {
            all.iter().for_each(|element| collect_items(element, items))
        }
        _ => {}
    }
}

/// Writes `target = value`.
pub(super) fn write_assignment(target: &str, call: &Expr<'_>, text: &mut String) {
    let Expr::List(parts) = call else {
        write_value(&format!("{target} ="), call, text);
        return;
    };
    let flat = format!("{INDENT}{target} = {}", print_expr(call));
    if flat.chars().count() <= LINE_WIDTH {
        text.push_str(&format!("{flat}\n"));
        return;
    }
    text.push_str(&format!("{INDENT}{target} = [\n"));
    let line = parts.iter().map(print_expr).collect::<Vec<_>>().join(", ");
    if INDENT.len() + 4 + line.chars().count() <= LINE_WIDTH {
        text.push_str(&format!("{INDENT}    {line}\n"));
    } else {
        for part in parts {
            text.push_str(&format!("{INDENT}    {},\n", print_expr(part)));
        }
    }
    text.push_str(&format!("{INDENT}]\n"));
}

/// Writes `a, b = (lambda x, f: f(x))(call, lambda out: ...)`.
pub(super) fn write_wrapped(targets: &[&str], call: &Expr<'_>, text: &mut String) {
    let inner = format!("{INDENT}    ");
    let flat = format!("{INDENT}{} = {WRAPPER}", targets.join(", "));
    if flat.len() <= LINE_WIDTH {
        text.push_str(&format!("{flat}\n"));
    } else {
        text.push_str(&format!("{INDENT}(\n"));
        let lines = targets.iter().map(|target| format!("{inner}{target},\n"));
        text.extend(lines);
        text.push_str(&format!("{INDENT}) = {WRAPPER}\n"));
    }
    let line = format!("{inner}{},", print_expr(call));
    match call {
        Expr::Call(callee, arguments) if line.chars().count() > LINE_WIDTH => {
            text.push_str(&format!("{inner}{}(\n", print_expr(callee)));
            let arguments: &[Argument<'_>] = arguments;
            write_arguments(inner.len() + 4, arguments, text);
            text.push_str(&format!("{inner}),\n"));
        }
        _ => text.push_str(&format!("{line}\n")),
    }
    let nones = ", None".repeat(targets.len() - 1);
    let (test, other) = (
        "if isinstance(out, (list, tuple))",
        format!("else (out{nones}),"),
    );
    let line = format!("{inner}lambda out: out {test} {other}");
    if line.len() <= LINE_WIDTH {
        text.push_str(&format!("{line}\n"));
    } else {
        text.push_str(&format!(
            "{inner}lambda out: out\n{inner}{test}\n{inner}{other}\n"
        ));
    }
    text.push_str(&format!("{INDENT})\n"));
}

/// Formats a statement with names: on one line if they fit, else in brackets with one name per line.
pub(super) fn format_names(keyword: &str, names: &[&str]) -> String {
    let flat = format!("{INDENT}{keyword} {}", names.join(", "));
    if flat.len() <= LINE_WIDTH || names.len() < 2 {
        return flat;
    }
    let lines = names.iter().map(|name| format!("{INDENT}    {name},\n"));
    format!(
        "{INDENT}{keyword} (\n{}{INDENT})",
        lines.collect::<String>()
    )
}
