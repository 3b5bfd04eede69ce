//! Expressions to operation types: what is called, with what, and which values it consumes.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use tsql_codecs::opgraph::{OpType, Operand};

use super::expr::{Argument, Expr};

/// Operators by Python's names for them (module `operator`).
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

fn operator(mark: &str) -> Option<&'static str> {
    let found = OPERATORS.iter().find(|(known, _)| *known == mark);
    found.map(|(_, name)| *name)
}

/// What a statement does with its expression.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'e, 'a> {
    /// `x = value`
    Value(&'e Expr<'a>),
    /// `x += value`
    Augmented(&'e Expr<'a>, &'a str, &'e Expr<'a>),
    /// `x[index] = value`
    SetItem(&'e Expr<'a>, &'e Expr<'a>, &'e Expr<'a>),
}

/// Writes calls with `?` for each value.
pub(super) struct Printer<'s, 'a> {
    /// Which names are values.
    pub(super) value: &'s dyn Fn(&'a str) -> Option<Operand>,
    pub(super) operands: Vec<Operand>,
    pub(super) text: String,
    /// Write `#` for every number.
    pub(super) shape_free: bool,
}

impl<'a> Printer<'_, 'a> {
    pub(super) fn statement(&mut self, form: Form<'_, 'a>) {
        match form {
            Form::Value(value) => self.expr(value),
            Form::Augmented(target, operator, value) => {
                self.expr(target);
                let _ = write!(self.text, " {operator}= ");
                self.expr(value);
            }
            Form::SetItem(base, index, value) => {
                self.expr(base);
                self.text.push('[');
                self.expr(index);
                self.text.push_str("] = ");
                self.expr(value);
            }
        }
    }

    fn expr(&mut self, expr: &Expr<'a>) {
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
                self.expr(index);
                self.text.push(']');
            }
            Expr::Call(called, arguments) => self.call(called, arguments),
            Expr::Tuple(all) => {
                self.text.push('(');
                self.list(all);
                self.text.push_str(if all.len() == 1 { ",)" } else { ")" });
            }
            Expr::List(all) => {
                self.text.push('[');
                self.list(all);
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
                self.expr(body);
            }
        }
    }

    fn call(&mut self, called: &Expr<'a>, arguments: &[Argument<'a>]) {
        let number = matches!(called, Expr::Name("float" | "int"));
        if self.shape_free && number {
            self.text.push('#');
            return;
        }
        self.inner(called);
        self.text.push('(');
        for (place, argument) in arguments.iter().enumerate() {
            if place > 0 {
                self.text.push_str(", ");
            }
            if let Some(name) = argument.name {
                self.text.push_str(name);
                self.text.push('=');
            }
            self.expr(&argument.value);
        }
        self.text.push(')');
    }

    /// What binds looser than its surroundings gets brackets.
    fn inner(&mut self, expr: &Expr<'a>) {
        let loose = matches!(
            expr,
            Expr::Binary(..) | Expr::Unary(..) | Expr::Choice(_) | Expr::Lambda(_)
        );
        if loose {
            self.text.push('(');
        }
        self.expr(expr);
        if loose {
            self.text.push(')');
        }
    }

    fn list(&mut self, all: &[Expr<'a>]) {
        for (place, one) in all.iter().enumerate() {
            if place > 0 {
                self.text.push_str(", ");
            }
            self.expr(one);
        }
    }
}

/// The operation type of a statement with this signature.
pub(super) fn op_type<'a>(
    form: Form<'_, 'a>,
    signature: String,
    outputs: u32,
    said: Option<&str>,
    value: &dyn Fn(&'a str) -> Option<Operand>,
) -> OpType {
    let mut arguments = Arguments {
        value,
        attributes: Map::new(),
        places: Vec::new(),
    };
    let mut place = 0;
    let mut next = |arguments: &mut Arguments<'_, 'a>, name: Option<&str>, expr: &Expr<'a>| {
        let own = place.to_string();
        arguments.add(name.unwrap_or(&own), expr);
        place += usize::from(name.is_none());
    };
    let function = |name: &str| (Some(name.to_owned()), Some(format!("operator.{name}")));
    let mut kind = "call_function";
    let (op, target) = match form {
        Form::Augmented(target, mark, expr) => {
            next(&mut arguments, None, target);
            next(&mut arguments, None, expr);
            function(&format!("i{}", operator(mark).unwrap_or(mark)))
        }
        Form::SetItem(base, index, expr) => {
            for one in [base, index, expr] {
                next(&mut arguments, None, one);
            }
            function("setitem")
        }
        Form::Value(expr) => match expr {
            Expr::Call(called, own) => {
                let found = match called.as_ref() {
                    Expr::Attribute(base, name) if arguments.has_value(base) => {
                        kind = "call_method";
                        next(&mut arguments, None, base);
                        (Some(format!("Tensor.{name}")), Some((*name).to_owned()))
                    }
                    called => {
                        let target = dotted(called);
                        let op = target.rsplit('.').next().unwrap_or_default().to_owned();
                        (Some(op), Some(target))
                    }
                };
                for argument in own {
                    next(&mut arguments, argument.name, &argument.value);
                }
                found
            }
            Expr::Binary(left, mark, right) => {
                next(&mut arguments, None, left);
                next(&mut arguments, None, right);
                function(operator(mark).unwrap_or(mark))
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
                (Some(said.unwrap_or("list").to_owned()), None)
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
        places: arguments.places.join(","),
    }
}

fn dotted(expr: &Expr<'_>) -> String {
    match expr {
        Expr::Name(name) => (*name).to_owned(),
        Expr::Attribute(base, name) => format!("{}.{name}", dotted(base)),
        other => print(other),
    }
}

/// An expression in which no name is a value.
fn print(expr: &Expr<'_>) -> String {
    let mut printer = Printer {
        value: &|_| None,
        operands: Vec::new(),
        text: String::new(),
        shape_free: false,
    };
    printer.expr(expr);
    printer.text
}

struct Arguments<'s, 'a> {
    value: &'s dyn Fn(&'a str) -> Option<Operand>,
    attributes: Map<String, Value>,
    places: Vec<String>,
}

impl<'a> Arguments<'_, 'a> {
    fn add(&mut self, place: &str, expr: &Expr<'a>) {
        let before = self.places.len();
        let value = self.json(expr);
        for operand in self.places.iter_mut().skip(before) {
            place.clone_into(operand);
        }
        let is_value = matches!(expr, Expr::Name(name) if (self.value)(name).is_some());
        if !is_value {
            self.attributes.insert(place.to_owned(), value);
        }
    }

    fn has_value(&self, expr: &Expr<'a>) -> bool {
        match expr {
            Expr::Name(name) => (self.value)(name).is_some(),
            Expr::Attribute(base, _) => self.has_value(base),
            // Anything that is computed: `(-x).item()`, `f(x).y()`.
            _ => true,
        }
    }

    /// Constants as JSON, `"?"` for values, text for what JSON does not have.
    fn json(&mut self, expr: &Expr<'a>) -> Value {
        match expr {
            Expr::Name("None") => Value::Null,
            Expr::Name("True") => Value::Bool(true),
            Expr::Name("False") => Value::Bool(false),
            Expr::Number(text) => number(text),
            Expr::Text(text) => Value::String(text.trim_matches(['"', '\'']).to_owned()),
            Expr::Unary("-", inner) if matches!(inner.as_ref(), Expr::Number(_)) => {
                number(&print(expr))
            }
            Expr::Tuple(all) | Expr::List(all) => {
                Value::Array(all.iter().map(|one| self.json(one)).collect())
            }
            Expr::Call(called, arguments) if matches!(called.as_ref(), Expr::Name("float")) => {
                match arguments.first().map(|argument| &argument.value) {
                    Some(Expr::Text(text)) => number(text.trim_matches(['"', '\''])),
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
        printer.expr(expr);
        let operands = printer.operands.len();
        self.places
            .extend(std::iter::repeat_n(String::new(), operands));
        Value::String(printer.text)
    }
}

/// A number where JSON has it, else its text.
fn number(text: &str) -> Value {
    let plain = text.replace('_', "");
    if let Ok(whole) = plain.parse::<i64>() {
        return Value::from(whole);
    }
    let float = plain.parse::<f64>().ok().filter(|value| value.is_finite());
    float.map_or_else(|| Value::String(text.to_owned()), Value::from)
}
