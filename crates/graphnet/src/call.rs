//! Converts expressions to operation types: the called function, its arguments and the values that it consumes.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use tsql_codecs::opgraph::{OpType, Operand};

use super::expr::{Argument, Expr};

/// Operators with their names in Python's module `operator`.
const OPERATORS: [(&str, &str); 19] = [
    ("+", "add"),
    ("-", "sub"),
    ("*", "mul"),
    ("/", "truediv"),
    ("//", "floordiv"),
    ("%", "mod"),
    ("**", "pow"),
    ("@", "matmul"),
    ("&", "and_"),
    ("|", "or_"),
    ("^", "xor"),
    ("<<", "lshift"),
    (">>", "rshift"),
    ("==", "eq"),
    ("!=", "ne"),
    ("<", "lt"),
    ("<=", "le"),
    (">", "gt"),
    (">=", "ge"),
];

fn python_operator(mark: &str) -> Option<&'static str> {
    let entry = OPERATORS.iter().find(|(operator, _)| *operator == mark);
    entry.map(|(_, name)| *name)
}

/// Kind of statement that an expression is part of.
#[derive(Clone, Copy, Debug)]
pub(super) enum StatementForm<'e, 'a> {
    /// `x = value`
    Value(&'e Expr<'a>),
    /// `x += value`
    Augmented(&'e Expr<'a>, &'a str, &'e Expr<'a>),
    /// `x[index] = value`
    SetItem(&'e Expr<'a>, &'e Expr<'a>, &'e Expr<'a>),
}

/// Prints calls with `?` in place of each value.
pub(super) struct Printer<'s, 'a> {
    /// Returns the operand of a name, or `None` if the name is not a value.
    pub(super) value: &'s dyn Fn(&'a str) -> Option<Operand>,
    pub(super) operands: Vec<Operand>,
    pub(super) text: String,
    /// Replaces every number by `#`.
    pub(super) shape_free: bool,
}

impl<'a> Printer<'_, 'a> {
    pub(super) fn print_statement(&mut self, form: StatementForm<'_, 'a>) {
        match form {
            StatementForm::Value(value) => self.print_expr(value),
            StatementForm::Augmented(target, operator, value) => {
                self.print_expr(target);
                let _ = write!(self.text, " {operator}= ");
                self.print_expr(value);
            }
            StatementForm::SetItem(base, index, value) => {
                self.print_expr(base);
                self.text.push('[');
                self.print_expr(index);
                self.text.push_str("] = ");
                self.print_expr(value);
            }
        }
    }

    fn print_expr(&mut self, expr: &Expr<'a>) {
        match expr {
            Expr::Name(name) => match (self.value)(name) {
                Some(operand) => {
                    self.operands.push(operand);
                    self.text.push('?');
                }
                None => self.text.push_str(name),
            },
            Expr::Number(_) if self.shape_free => self.text.push('#'),
            Expr::Number(text) => self.text.push_str(text),
            Expr::Text(text) => self.text.push_str(text),
            Expr::Unary(mark, value) => {
                self.text.push_str(mark);
                if *mark == "not" {
                    self.text.push(' ');
                }
                self.inner(value);
            }
            Expr::Binary(left, mark, right) => {
                self.inner(left);
                let _ = write!(self.text, " {mark} ");
                self.inner(right);
            }
            Expr::Attribute(value, name) => {
                self.inner(value);
                self.text.push('.');
                self.text.push_str(name);
            }
            Expr::Index(value, index) => {
                self.inner(value);
                self.text.push('[');
                self.print_expr(index);
                self.text.push(']');
            }
            Expr::Call(callee, arguments) => self.print_call(callee, arguments),
            Expr::Tuple(elements) => {
                self.text.push('(');
                self.print_list(elements);
                self.text
                    .push_str(if elements.len() == 1 { ",)" } else { ")" });
            }
            Expr::List(elements) => {
                self.text.push('[');
                self.print_list(elements);
                self.text.push(']');
            }
            Expr::Choice(parts) => {
                let [value, condition, other] = parts.as_ref();
                self.inner(value);
                self.text.push_str(" if ");
                self.inner(condition);
                self.text.push_str(" else ");
                self.inner(other);
            }
            Expr::Lambda(body) => {
                self.text.push_str("lambda: ");
                self.print_expr(body);
            }
        }
    }

    fn print_call(&mut self, callee: &Expr<'a>, arguments: &[Argument<'a>]) {
        let is_number = matches!(callee, Expr::Name("float" | "int"));
        if self.shape_free && is_number {
            self.text.push('#');
            return;
        }
        self.inner(callee);
        self.text.push('(');
        for (index, argument) in arguments.iter().enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            if let Some(name) = argument.name {
                self.text.push_str(name);
                self.text.push('=');
            }
            self.print_expr(&argument.value);
        }
        self.text.push(')');
    }

    /// Prints an expression, in brackets if it binds looser than its context.
    fn inner(&mut self, expr: &Expr<'a>) {
        let binds_looser = matches!(
            expr,
            Expr::Binary(..) | Expr::Unary(..) | Expr::Choice(_) | Expr::Lambda(_)
        );
        if binds_looser {
            self.text.push('(');
        }
        self.print_expr(expr);
        if binds_looser {
            self.text.push(')');
        }
    }

    fn print_list(&mut self, elements: &[Expr<'a>]) {
        for (index, element) in elements.iter().enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            self.print_expr(element);
        }
    }
}

/// Returns the operation type of a statement with this signature.
pub(super) fn build_op_type<'a>(
    form: StatementForm<'_, 'a>,
    signature: String,
    outputs: u32,
    list_op: Option<&str>,
    value: &dyn Fn(&'a str) -> Option<Operand>,
) -> OpType {
    let mut arguments = ArgumentCollector {
        value,
        attributes: Map::new(),
        operand_arguments: Vec::new(),
    };
    let mut position = 0;
    let mut next =
        |arguments: &mut ArgumentCollector<'_, 'a>, name: Option<&str>, expr: &Expr<'a>| {
            let own_position = position.to_string();
            arguments.add(name.unwrap_or(&own_position), expr);
            position += usize::from(name.is_none());
        };
    let function = |name: &str| (Some(name.to_owned()), Some(format!("operator.{name}")));
    let mut kind = "call_function";
    let (op, target) = match form {
        StatementForm::Augmented(target, mark, expr) => {
            next(&mut arguments, None, target);
            next(&mut arguments, None, expr);
            function(&format!("i{}", python_operator(mark).unwrap_or(mark)))
        }
        StatementForm::SetItem(base, index, expr) => {
            for operand in [base, index, expr] {
                next(&mut arguments, None, operand);
            }
            function("setitem")
        }
        StatementForm::Value(expr) => match expr {
            Expr::Call(callee, call_arguments) => {
                let op_and_target = match callee.as_ref() {
                    Expr::Attribute(base, name) if arguments.has_value(base) => {
                        kind = "call_method";
                        next(&mut arguments, None, base);
                        (Some(format!("Tensor.{name}")), Some((*name).to_owned()))
                    }
                    callee => {
                        let target = dotted_name(callee);
                        let op = target.rsplit('.').next().unwrap_or_default().to_owned();
                        (Some(op), Some(target))
                    }
                };
                for argument in call_arguments {
                    next(&mut arguments, argument.name, &argument.value);
                }
                op_and_target
            }
            Expr::Binary(left, mark, right) => {
                next(&mut arguments, None, left);
                next(&mut arguments, None, right);
                function(python_operator(mark).unwrap_or(mark))
            }
            Expr::Unary(mark, inner) => {
                next(&mut arguments, None, inner);
                let name = match *mark {
                    "-" => "neg",
                    "~" => "invert",
                    "+" => "pos",
                    _ => "not_",
                };
                function(name)
            }
            Expr::Index(base, index) => {
                next(&mut arguments, None, base);
                next(&mut arguments, None, index);
                function("getitem")
            }
            Expr::Attribute(base, name) => {
                next(&mut arguments, None, base);
                next(&mut arguments, None, &Expr::Text(name));
                (Some("getattr".to_owned()), Some("getattr".to_owned()))
            }
            other => {
                kind = "list";
                next(&mut arguments, None, other);
                (Some(list_op.unwrap_or("list").to_owned()), None)
            }
        },
    };
    OpType {
        signature,
        outputs,
        op,
        kind,
        target,
        attributes: Value::Object(arguments.attributes).to_string(),
        places: arguments.operand_arguments.join(","),
    }
}

fn dotted_name(expr: &Expr<'_>) -> String {
    match expr {
        Expr::Name(name) => (*name).to_owned(),
        Expr::Attribute(base, name) => format!("{}.{name}", dotted_name(base)),
        other => print_constant(other),
    }
}

/// Prints an expression without values.
fn print_constant(expr: &Expr<'_>) -> String {
    let mut printer = Printer {
        value: &|_| None,
        operands: Vec::new(),
        text: String::new(),
        shape_free: false,
    };
    printer.print_expr(expr);
    printer.text
}

struct ArgumentCollector<'s, 'a> {
    value: &'s dyn Fn(&'a str) -> Option<Operand>,
    attributes: Map<String, Value>,
    operand_arguments: Vec<String>,
}

impl<'a> ArgumentCollector<'_, 'a> {
    fn add(&mut self, argument: &str, expr: &Expr<'a>) {
        let length_before = self.operand_arguments.len();
        let value = self.print_json(expr);
        for operand in self.operand_arguments.iter_mut().skip(length_before) {
            argument.clone_into(operand);
        }
        let is_value = matches!(expr, Expr::Name(name) if (self.value)(name).is_some());
        if !is_value {
            self.attributes.insert(argument.to_owned(), value);
        }
    }

    fn has_value(&self, expr: &Expr<'a>) -> bool {
        match expr {
            Expr::Name(name) => (self.value)(name).is_some(),
            Expr::Attribute(base, _) => self.has_value(base),
            // Any computed expression: `(-x).item()`, `f(x).y()`.
            _ => true,
        }
    }

    /// Converts an expression to JSON: `"?"` for values, text for everything that JSON cannot express.
    fn print_json(&mut self, expr: &Expr<'a>) -> Value {
        match expr {
            Expr::Name("None") => Value::Null,
            Expr::Name("True") => Value::Bool(true),
            Expr::Name("False") => Value::Bool(false),
            Expr::Number(text) => number_to_json(text),
            Expr::Text(text) => Value::String(text.trim_matches(['"', '\'']).to_owned()),
            Expr::Unary("-", inner) if matches!(inner.as_ref(), Expr::Number(_)) => {
                number_to_json(&print_constant(expr))
            }
            Expr::Tuple(elements) | Expr::List(elements) => Value::Array(
                elements
                    .iter()
                    .map(|element| self.print_json(element))
                    .collect(),
            ),
            Expr::Call(callee, arguments) if matches!(callee.as_ref(), Expr::Name("float")) => {
                match arguments.first().map(|argument| &argument.value) {
                    Some(Expr::Text(text)) => number_to_json(text.trim_matches(['"', '\''])),
                    _ => self.text(expr),
                }
            }
            other => self.text(other),
        }
    }

    fn text(&mut self, expr: &Expr<'a>) -> Value {
        let mut printer = Printer {
            value: self.value,
            operands: Vec::new(),
            text: String::new(),
            shape_free: false,
        };
        printer.print_expr(expr);
        let operands = printer.operands.len();
        self.operand_arguments
            .extend(std::iter::repeat_n(String::new(), operands));
        Value::String(printer.text)
    }
}

/// Returns a JSON number, or the text if JSON cannot express it.
fn number_to_json(text: &str) -> Value {
    let digits = text.replace('_', "");
    if let Ok(integer) = digits.parse::<i64>() {
        return Value::from(integer);
    }
    let float = digits.parse::<f64>().ok().filter(|value| value.is_finite());
    float.map_or_else(|| Value::String(text.to_owned()), Value::from)
}
