//! `weight_meta.py` and `input_meta.py`: what is known of each tensor, read and written again.

use tsql_codecs::tensors::{Data, Tensor};

use super::expr::{Expr, Parser};
use super::lines::Lines;
use super::program::Fault;

/// Begins of the class names by framework: torch, paddle.
const PREFIXES: [&str; 2] = ["Program_weight_tensor_meta_", "Program_weight_tensor_"];

/// What `min_val` and `max_val` were called before September 2025.
const LOW: &str = "low";
const HIGH: &str = "high";

/// Columns that black wraps lines at.
const WIDTH: usize = 88;

/// The tensors of a file in its order, and lines that say something else.
pub fn read(text: &str) -> (Vec<Tensor>, Vec<Fault>) {
    let mut tensors: Vec<Tensor> = Vec::new();
    let mut faults = Vec::new();
    let mut skipping = true;
    for line in Lines::new(text) {
        if let Some(name) = class_name(line.text) {
            skipping = false;
            let name = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
            tensors.push(Tensor {
                name: name.unwrap_or_default().to_owned(),
                ..Tensor::default()
            });
            continue;
        }
        let taken = tensors.last_mut().filter(|_| line.indent > 0 && !skipping);
        if taken
            .and_then(|tensor| attribute(line.text, tensor))
            .is_none()
        {
            faults.push((line.number, "no attribute of a tensor".to_owned()));
        }
    }
    (tensors, faults)
}

fn class_name(text: &str) -> Option<&str> {
    let mut parser = Parser::new(text);
    if !parser.take("class") {
        return None;
    }
    let name = parser.name()?;
    (parser.take(":") && parser.at_end()).then_some(name)
}

fn attribute(text: &str, tensor: &mut Tensor) -> Option<()> {
    let mut parser = Parser::new(text);
    let key = parser.name()?;
    if !parser.take("=") {
        return None;
    }
    let value = parser.expressions()?;
    if !parser.at_end() {
        return None;
    }
    match key {
        "name" => tensor.name = string(&value)?.to_owned(),
        "original_name" => tensor.original_name = Some(string(&value)?.to_owned()),
        "dtype" => tensor.dtype = Some(string(&value)?.to_owned()),
        "device" => tensor.device = Some(string(&value)?.to_owned()),
        "shape" => {
            let Expr::List(sizes) = &value else {
                return None;
            };
            let sizes: Option<Vec<String>> = sizes.iter().map(literal).collect();
            tensor.shape = Some(sizes?.join(","));
        }
        "mean" => tensor.mean = Some(literal(&value)?),
        "std" => tensor.std = Some(literal(&value)?),
        "min_val" | LOW if tensor.min_val.is_none() => tensor.min_val = Some(literal(&value)?),
        "max_val" | HIGH if tensor.max_val.is_none() => tensor.max_val = Some(literal(&value)?),
        "data" => {
            tensor.data = match &value {
                Expr::Name("None") => Data::Unlisted,
                Expr::List(elements) => {
                    let texts: Option<Vec<String>> = elements.iter().map(literal).collect();
                    let texts = texts?;
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    Data::of(&texts)
                }
                _ => return None,
            }
        }
        _ => return None,
    }
    if !tensor.keys.is_empty() {
        tensor.keys.push(',');
    }
    tensor.keys.push_str(key);
    Some(())
}

fn string<'a>(expr: &Expr<'a>) -> Option<&'a str> {
    let Expr::Text(text) = expr else { return None };
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains(['\\', '\n', '"'])).then_some(inner)
}

/// Numbers as they are written; `float("x")` as `float x`.
fn literal(expr: &Expr<'_>) -> Option<String> {
    match expr {
        Expr::Name(name) => Some((*name).to_owned()),
        Expr::Number(text) => Some((*text).to_owned()),
        Expr::Unary("-", inner) => match inner.as_ref() {
            Expr::Number(text) => Some(format!("-{text}")),
            _ => None,
        },
        Expr::Call(called, arguments) if matches!(called.as_ref(), Expr::Name("float")) => {
            match arguments.as_slice() {
                [argument] if argument.name.is_none() => {
                    Some(format!("{FLOAT}{}", string(&argument.value)?))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

const FLOAT: &str = "float ";

/// The value of a number that [`read`] took; `None` for `None`.
pub fn value(text: &str) -> Option<f64> {
    text.strip_prefix(FLOAT).unwrap_or(text).parse().ok()
}

/// The file that says this of these tensors, formatted as black does.
pub fn write(tensors: &[Tensor], framework: &str) -> String {
    let [torch, paddle] = PREFIXES;
    let prefix = if framework == "torch" { torch } else { paddle };
    let mut text = String::new();
    for (place, tensor) in tensors.iter().enumerate() {
        if place > 0 {
            text.push_str("\n\n");
        }
        text.push_str(&format!("class {prefix}{}:\n", tensor.name));
        for key in tensor.keys.split(',') {
            write_attribute(key, tensor, &mut text);
        }
    }
    text
}

fn write_attribute(key: &str, tensor: &Tensor, text: &mut String) {
    let quoted = |value: Option<&String>| format!("\"{}\"", value.map_or("", String::as_str));
    let number = |value: &Option<String>| {
        let value = value.as_deref().unwrap_or_default();
        match value.strip_prefix(FLOAT) {
            Some(inner) => format!("float(\"{inner}\")"),
            None => value.to_owned(),
        }
    };
    let own_line = |value: String| format!("    {key} = {value}\n");
    let line = match key {
        "name" | "original_name" | "dtype" | "device" => {
            let value = match key {
                "name" => Some(&tensor.name),
                "original_name" => tensor.original_name.as_ref(),
                "dtype" => tensor.dtype.as_ref(),
                _ => tensor.device.as_ref(),
            };
            let value = quoted(value);
            let width = |text: &str| text.chars().count();
            if width(key) + width(&value) + 7 > WIDTH && width(&value) + 8 <= WIDTH {
                format!("    {key} = (\n        {value}\n    )\n")
            } else {
                own_line(value)
            }
        }
        "shape" => {
            let shape = tensor.shape.as_deref().unwrap_or_default();
            own_line(format!("[{}]", shape.replace(',', ", ")))
        }
        "mean" => own_line(number(&tensor.mean)),
        "std" => own_line(number(&tensor.std)),
        "min_val" | LOW => own_line(number(&tensor.min_val)),
        "max_val" | HIGH => own_line(number(&tensor.max_val)),
        _ => match tensor.data.texts() {
            None => own_line("None".to_owned()),
            Some(texts) => {
                let joined = own_line(format!("[{}]", texts.join(", ")));
                if joined.len() <= WIDTH + 1 {
                    joined
                } else {
                    let lines: String = texts
                        .iter()
                        .map(|one| format!("        {one},\n"))
                        .collect();
                    format!("    {key} = [\n{lines}    ]\n")
                }
            }
        },
    };
    text.push_str(&line);
}
