//! The grammar of T1's values and conditions, a subset of Python's expressions.
//!
//! Literals, names, `+ - * / // % **`, comparisons (chained), `and or not`, parentheses, lists, `range`, `list(range)`,
//! and comprehensions of one variable without a condition.

/// Nesting limit of an expression.
const MAX_DEPTH: usize = 64;

/// Binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Node of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Integer(i64),
    Float(f64),
    Text(String),
    Bool(bool),
    Name(String),
    Negate(Box<Node>),
    Not(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    Compare(Box<Node>, Vec<(Operator, Node)>),
    List(Vec<Node>),
    Range(Vec<Node>),
    Comprehension(Box<Node>, String, Box<Node>),
}

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression(pub(crate) Node);

/// Reason why a text is no expression of the grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is outside the grammar of conditions: {reason}")]
pub struct ExpressionError {
    /// The text.
    pub text: String,
    /// Reason.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Integer(i64),
    Float(f64),
    Text(String),
    Name(String),
    Symbol(&'static str),
}

const SYMBOLS: [&str; 19] = [
    "**", "//", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", ",",
    "=",
];

impl Expression {
    /// Parses a text.
    ///
    /// # Errors
    /// The text is outside the grammar.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let error = |reason: String| ExpressionError {
            text: text.to_owned(),
            reason,
        };
        let mut parser = Parser {
            tokens: tokens(text).map_err(error)?,
            position: 0,
            depth: 0,
        };
        let node = parser.or().map_err(error)?;
        if parser.position == parser.tokens.len() {
            Ok(Self(node))
        } else {
            Err(error("text behind the expression".to_owned()))
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length;
        if first.is_ascii_digit() || first == '.' {
            let end = |character: char| !character.is_ascii_alphanumeric() && character != '.';
            length = rest.find(end).unwrap_or(rest.len());
            let word = rest.get(..length).unwrap_or_default();
            tokens.push(match word.parse::<i64>() {
                Ok(value) => Token::Integer(value),
                Err(_) => Token::Float(word.parse().map_err(|_| format!("`{word}`"))?),
            });
        } else if first.is_alphabetic() || first == '_' {
            let end = |character: char| !character.is_alphanumeric() && character != '_';
            length = rest.find(end).unwrap_or(rest.len());
            tokens.push(Token::Name(
                rest.get(..length).unwrap_or_default().to_owned(),
            ));
        } else if first == '"' || first == '\'' {
            let body = rest.get(1..).unwrap_or_default();
            let end = body.find(first).ok_or("text without its end")?;
            let word = body.get(..end).unwrap_or_default();
            if word.contains('\\') {
                return Err("escape in text".to_owned());
            }
            tokens.push(Token::Text(word.to_owned()));
            length = end + 2;
        } else {
            let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
            let symbol = symbol.ok_or_else(|| format!("`{first}`"))?;
            tokens.push(Token::Symbol(symbol));
            length = symbol.len();
        }
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
    depth: usize,
}

impl Parser {
    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found =
            matches!(self.tokens.get(self.position), Some(Token::Symbol(s)) if *s == symbol);
        self.position += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.get(self.position), Some(Token::Name(n)) if n == word);
        self.position += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.take_symbol(symbol) {
            Ok(())
        } else {
            Err(format!("expected `{symbol}`"))
        }
    }

    fn or(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("nested too deeply".to_owned());
        }
        let mut nodes = vec![self.and()?];
        while self.take_word("or") {
            nodes.push(self.and()?);
        }
        self.depth -= 1;
        Ok(single(nodes, Node::Or))
    }

    fn and(&mut self) -> Result<Node, String> {
        let mut nodes = vec![self.not()?];
        while self.take_word("and") {
            nodes.push(self.not()?);
        }
        Ok(single(nodes, Node::And))
    }

    fn not(&mut self) -> Result<Node, String> {
        let mut negations = 0;
        while self.take_word("not") {
            negations += 1;
        }
        let mut node = self.comparison()?;
        for _ in 0..negations {
            node = Node::Not(Box::new(node));
        }
        Ok(node)
    }

    fn comparison(&mut self) -> Result<Node, String> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        while let Some(operator) = self.operator(&[
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessEqual),
            (">=", Operator::GreaterEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ]) {
            rest.push((operator, self.sum()?));
        }
        Ok(if rest.is_empty() {
            first
        } else {
            Node::Compare(Box::new(first), rest)
        })
    }

    fn operator(&mut self, table: &[(&str, Operator)]) -> Option<Operator> {
        table
            .iter()
            .find(|(symbol, _)| self.take_symbol(symbol))
            .map(|(_, operator)| *operator)
    }

    fn sum(&mut self) -> Result<Node, String> {
        let mut node = self.product()?;
        while let Some(operator) = self.operator(&[("+", Operator::Add), ("-", Operator::Subtract)])
        {
            node = Node::Binary(operator, Box::new(node), Box::new(self.product()?));
        }
        Ok(node)
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut node = self.unary()?;
        while let Some(operator) = self.operator(&[
            ("*", Operator::Multiply),
            ("//", Operator::FloorDivide),
            ("/", Operator::Divide),
            ("%", Operator::Modulo),
        ]) {
            node = Node::Binary(operator, Box::new(node), Box::new(self.unary()?));
        }
        Ok(node)
    }

    fn unary(&mut self) -> Result<Node, String> {
        let mut negations = 0;
        loop {
            if self.take_symbol("-") {
                negations += 1;
            } else if !self.take_symbol("+") {
                break;
            }
        }
        let mut node = self.power()?;
        for _ in 0..negations {
            node = Node::Negate(Box::new(node));
        }
        Ok(node)
    }

    fn power(&mut self) -> Result<Node, String> {
        let base = self.atom()?;
        if self.take_symbol("**") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err("nested too deeply".to_owned());
            }
            let exponent = self.unary()?;
            self.depth -= 1;
            return Ok(Node::Binary(
                Operator::Power,
                Box::new(base),
                Box::new(exponent),
            ));
        }
        Ok(base)
    }

    fn atom(&mut self) -> Result<Node, String> {
        let token = self
            .tokens
            .get(self.position)
            .cloned()
            .ok_or("unexpected end")?;
        self.position += 1;
        match token {
            Token::Integer(value) => Ok(Node::Integer(value)),
            Token::Float(value) => Ok(Node::Float(value)),
            Token::Text(text) => Ok(Node::Text(text)),
            Token::Symbol("(") => {
                let node = self.or()?;
                self.expect(")")?;
                Ok(node)
            }
            Token::Symbol("[") => self.list(),
            Token::Name(name) => self.name(name),
            Token::Symbol(symbol) => Err(format!("unexpected `{symbol}`")),
        }
    }

    fn list(&mut self) -> Result<Node, String> {
        if self.take_symbol("]") {
            return Ok(Node::List(Vec::new()));
        }
        let first = self.or()?;
        if self.take_word("for") {
            let Some(Token::Name(name)) = self.tokens.get(self.position).cloned() else {
                return Err("expected a name after `for`".to_owned());
            };
            self.position += 1;
            if !self.take_word("in") {
                return Err("expected `in`".to_owned());
            }
            let source = self.or()?;
            self.expect("]")?;
            return Ok(Node::Comprehension(Box::new(first), name, Box::new(source)));
        }
        let mut nodes = vec![first];
        while self.take_symbol(",") {
            if self.take_symbol("]") {
                return Ok(Node::List(nodes));
            }
            nodes.push(self.or()?);
        }
        self.expect("]")?;
        Ok(Node::List(nodes))
    }

    fn name(&mut self, name: String) -> Result<Node, String> {
        match name.as_str() {
            "True" | "true" => return Ok(Node::Bool(true)),
            "False" | "false" => return Ok(Node::Bool(false)),
            "and" | "or" | "not" | "for" | "in" | "if" | "else" | "lambda" => {
                return Err(format!("unexpected `{name}`"));
            }
            _ => {}
        }
        if !self.take_symbol("(") {
            return Ok(Node::Name(name));
        }
        let mut arguments = vec![self.or()?];
        while self.take_symbol(",") {
            arguments.push(self.or()?);
        }
        self.expect(")")?;
        match (name.as_str(), arguments.len()) {
            ("range", 1..=3) => Ok(Node::Range(arguments)),
            ("list", 1) => Ok(arguments.swap_remove(0)),
            _ => Err(format!("function `{name}`")),
        }
    }
}

fn single(mut nodes: Vec<Node>, join: impl FnOnce(Vec<Node>) -> Node) -> Node {
    if nodes.len() == 1 {
        nodes.swap_remove(0)
    } else {
        join(nodes)
    }
}
