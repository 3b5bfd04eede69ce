//! `weight_meta.py` and `input_meta.py`: parser and writer of tensor metadata.

use tsql_codecs::tensors::{Tensor, TensorData};

use super::expr::{Expr, ExprParser};
use super::lines::LogicalLines;
use super::program::ParseFault;

/// Prefixes of the class names by framework: torch, paddle.
const CLASS_PREFIXES: [&str; 2] = ["Program_weight_tensor_meta_", "Program_weight_tensor_"];

/// Names of `min_val` and `max_val` before September 2025.
const OLD_MIN_KEY: &str = "low";
const OLD_MAX_KEY: &str = "high";

/// Line width of black.
const LINE_WIDTH: usize = 88;

/// Parses the tensors of a file in order, and the faults of unsupported lines.
pub fn read(text: &str) -> (Vec<Tensor>, Vec<ParseFault>) {
    let mut tensors: Vec<Tensor> = Vec::new();
    let mut faults = Vec::new();
    let mut is_skipping = true;
    for line in LogicalLines::new(text) {
        if let Some(name) = class_name(line.text) {
            is_skipping = false;
            let name = CLASS_PREFIXES
                .iter()
                .find_map(|prefix| name.strip_prefix(prefix));
            tensors.push(Tensor {
                name: name.unwrap_or_default().to_owned(),
                ..Tensor::default()
            });
            continue;
        }
        let current = tensors
            .last_mut()
            .filter(|_| line.indent > 0 && !is_skipping);
        if current
            .and_then(|tensor| parse_attribute(line.text, tensor))
            .is_none()
        {
            faults.push((line.number, "not an attribute of a tensor".to_owned()));
        }
    }
    (tensors, faults)
}

fn class_name(text: &str) -> Option<&str> {
    let mut parser = ExprParser::new(text);
    if !parser.take("class") {
        return None;
    }
    let name = parser.take_name()?;
    (parser.take(":") && parser.is_at_end()).then_some(name)
}

fn parse_attribute(text: &str, tensor: &mut Tensor) -> Option<()> {
    let mut parser = ExprParser::new(text);
    let key = parser.take_name()?;
    if !parser.take("=") {
        return None;
    }
    let value = parser.parse_expressions()?;
    if !parser.is_at_end() {
        return None;
    }
    match key {
        "name" => tensor.name = string_value(&value)?.to_owned(),
        "original_name" => tensor.original_name = Some(string_value(&value)?.to_owned()),
        "dtype" => tensor.dtype = Some(string_value(&value)?.to_owned()),
        "device" => tensor.device = Some(string_value(&value)?.to_owned()),
        "shape" => {
            let Expr::List(sizes) = &value else {
                return None;
            };
            let sizes: Option<Vec<String>> = sizes.iter().map(number_text).collect();
            tensor.shape = Some(sizes?.join(","));
        }
        "mean" => tensor.mean = Some(number_text(&value)?),
        "std" => tensor.std = Some(number_text(&value)?),
        "min_val" | OLD_MIN_KEY if tensor.min_val.is_none() => {
            tensor.min_val = Some(number_text(&value)?)
        }
        "max_val" | OLD_MAX_KEY if tensor.max_val.is_none() => {
            tensor.max_val = Some(number_text(&value)?)
        }
        "data" => {
            tensor.data = match &value {
                Expr::Name("None") => TensorData::Unlisted,
                Expr::List(elements) => {
                    let texts: Option<Vec<String>> = elements.iter().map(number_text).collect();
                    let texts = texts?;
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    TensorData::parse(&texts)
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

fn string_value<'a>(expr: &Expr<'a>) -> Option<&'a str> {
    let Expr::Text(text) = expr else { return None };
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains(['\\', '\n', '"'])).then_some(inner)
}

/// Number as written; `float("x")` becomes `float x`.
fn number_text(expr: &Expr<'_>) -> Option<String> {
    match expr {
        Expr::Name(name) => Some((*name).to_owned()),
        Expr::Number(text) => Some((*text).to_owned()),
        Expr::Unary("-", inner) => match inner.as_ref() {
            Expr::Number(text) => Some(format!("-{text}")),
            _ => None,
        },
        Expr::Call(callee, arguments) if matches!(callee.as_ref(), Expr::Name("float")) => {
            match arguments.as_slice() {
                [argument] if argument.name.is_none() => {
                    Some(format!("{FLOAT_PREFIX}{}", string_value(&argument.value)?))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

const FLOAT_PREFIX: &str = "float ";

/// Value of a number that was parsed by [`read`]; `None` for `None`.
pub fn parse_number(text: &str) -> Option<f64> {
    text.strip_prefix(FLOAT_PREFIX).unwrap_or(text).parse().ok()
}

/// Returns the file of these tensors, formatted like black.
pub fn write(tensors: &[Tensor], framework: &str) -> String {
    let [torch, paddle] = CLASS_PREFIXES;
    let prefix = if framework == "torch" { torch } else { paddle };
    let mut text = String::new();
    for (index, tensor) in tensors.iter().enumerate() {
        if index > 0 {
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
        match value.strip_prefix(FLOAT_PREFIX) {
            Some(inner) => format!("float(\"{inner}\")"),
            None => value.to_owned(),
        }
    };
    let attribute_line = |value: String| format!("    {key} = {value}\n");
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
            if width(key) + width(&value) + 7 > LINE_WIDTH && width(&value) + 8 <= LINE_WIDTH {
                format!("    {key} = (\n        {value}\n    )\n")
            } else {
                attribute_line(value)
            }
        }
        "shape" => {
            let shape = tensor.shape.as_deref().unwrap_or_default();
            attribute_line(format!("[{}]", shape.replace(',', ", ")))
        }
        "mean" => attribute_line(number(&tensor.mean)),
        "std" => attribute_line(number(&tensor.std)),
        "min_val" | OLD_MIN_KEY => attribute_line(number(&tensor.min_val)),
        "max_val" | OLD_MAX_KEY => attribute_line(number(&tensor.max_val)),
        _ => match tensor.data.texts() {
            None => attribute_line("None".to_owned()),
            Some(texts) => {
                let joined = attribute_line(format!("[{}]", texts.join(", ")));
                if joined.len() <= LINE_WIDTH + 1 {
                    joined
                } else {
                    let lines: String = texts
                        .iter()
                        .map(|element| format!("        {element},\n"))
                        .collect();
                    format!("    {key} = [\n{lines}    ]\n")
                }
            }
        },
    };
    text.push_str(&line);
}
