//! Parser of expressions: recursive descent, with one function per precedence level.

use super::tree::{Function, Node, Operator};

/// Maximum characters, which bounds the depth of the tree.
const MAX_LENGTH: usize = 1000;

/// Maximum nesting of parentheses, signs and calls.
const MAX_DEPTH: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Integer(i64),
    Name(String),
    Symbol(&'static str),
}

/// Longer symbols first: `<=` is not `<` and `=`.
const SYMBOLS: [&str; 17] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")", ",",
];

/// Binary operators by precedence, lowest first.
const PRECEDENCE: [&[(&str, Operator)]; 5] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessEqual),
        (">=", Operator::GreaterEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[
        ("*", Operator::Multiply),
        ("/", Operator::Divide),
        ("%", Operator::Remainder),
    ],
];

/// Index of the comparisons in [`PRECEDENCE`].
const COMPARISONS: usize = 2;

pub(super) fn parse(text: &str) -> Result<Node, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("more than {MAX_LENGTH} characters"));
    }
    let mut parser = Parser {
        tokens: tokenize(text)?,
        next: 0,
        depth: 0,
    };
    let root = parser.parse_binary(0)?;
    match parser.peek() {
        None => Ok(root),
        Some(token) => Err(format!("unexpected {}", quote_token(token))),
    }
}

fn tokenize(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |keep: fn(char) -> bool| rest.find(|c| !keep(c)).unwrap_or(rest.len());
        let (token, length) = if first.is_ascii_digit() {
            let length = word(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
            let digits = rest.get(..length).unwrap_or_default();
            let value = digits
                .parse()
                .map_err(|_| format!("`{digits}` is not an integer of 64 bits"))?;
            (Token::Integer(value), length)
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = word(|c| c.is_ascii_alphanumeric() || c == '_');
            let name = rest.get(..length).unwrap_or_default();
            (Token::Name(name.to_owned()), length)
        } else {
            let symbol = SYMBOLS
                .iter()
                .find(|symbol| rest.starts_with(**symbol))
                .ok_or_else(|| format!("unexpected `{first}`"))?;
            (Token::Symbol(symbol), symbol.len())
        };
        tokens.push(token);
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

fn quote_token(token: &Token) -> String {
    match token {
        Token::Integer(value) => format!("`{value}`"),
        Token::Name(name) => format!("`{name}`"),
        Token::Symbol(symbol) => format!("`{symbol}`"),
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    /// Consumes `symbol` if it is next. Returns whether it was.
    fn accept(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(next)) if *next == symbol);
        if found {
            self.next += 1;
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.accept(symbol) {
            return Ok(());
        }
        Err(match self.peek() {
            Some(token) => format!("expected `{symbol}`, not {},", quote_token(token)),
            None => format!("expected `{symbol}` at the end"),
        })
    }

    fn parse_binary(&mut self, level: usize) -> Result<Node, String> {
        let Some(operators) = PRECEDENCE.get(level) else {
            return self.parse_unary();
        };
        let mut left = self.parse_binary(level + 1)?;
        let mut compared = false;
        while let Some((symbol, operator)) =
            operators.iter().find(|(symbol, _)| self.accept(symbol))
        {
            if compared {
                return Err(format!("`{symbol}` after another comparison"));
            }
            compared = level == COMPARISONS;
            let right = self.parse_binary(level + 1)?;
            left = Node::Binary(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn parse_unary(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} levels"));
        }
        let node = if self.accept("!") {
            Node::Not(Box::new(self.parse_unary()?))
        } else if self.accept("-") {
            Node::Negate(Box::new(self.parse_unary()?))
        } else {
            self.parse_primary()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn parse_primary(&mut self) -> Result<Node, String> {
        if self.accept("(") {
            let inner = self.parse_binary(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let token = self.peek().cloned();
        self.next += 1;
        match token {
            Some(Token::Integer(value)) => Ok(Node::Literal(value)),
            Some(Token::Name(name)) if self.accept("(") => self.parse_call(&name),
            Some(Token::Name(name)) => Ok(Node::Name(name)),
            Some(token) => Err(format!("unexpected {}", quote_token(&token))),
            None => Err("a value is missing at the end".to_owned()),
        }
    }

    fn parse_call(&mut self, name: &str) -> Result<Node, String> {
        let function = Function::from_name(name).ok_or_else(|| format!("no function `{name}`"))?;
        let mut arguments = vec![self.parse_binary(0)?];
        while self.accept(",") {
            arguments.push(self.parse_binary(0)?);
        }
        self.expect(")")?;
        let fits = match function {
            Function::Ceildiv => arguments.len() == 2,
            Function::Abs => arguments.len() == 1,
            Function::Min | Function::Max => true,
        };
        if fits {
            Ok(Node::Call(function, arguments))
        } else {
            Err(format!(
                "`{name}` does not accept {} arguments",
                arguments.len()
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Expression;

    fn parse_error(text: &str) -> String {
        Expression::parse(text).unwrap_err()
    }

    #[test]
    fn invalid_expressions_are_rejected_with_their_text() {
        assert_eq!(parse_error(""), "a value is missing at the end in ``");
        assert_eq!(parse_error("1 +"), "a value is missing at the end in `1 +`");
        assert_eq!(parse_error("1 2"), "unexpected `2` in `1 2`");
        assert_eq!(parse_error("A = 2"), "unexpected `=` in `A = 2`");
        assert_eq!(parse_error("(A"), "expected `)` at the end in `(A`");
        assert_eq!(parse_error("pow(2, 3)"), "no function `pow` in `pow(2, 3)`");
        assert!(parse_error("ceildiv(1)").contains("1 arguments"));
        assert!(parse_error("1.5").contains("`1.5` is not an integer"));
        assert!(parse_error("12M").contains("`12M` is not an integer"));
        assert!(parse_error("99999999999999999999").contains("is not an integer of 64 bits"));
        assert!(parse_error("A # B").contains("unexpected `#`"));
        assert!(parse_error("ä").contains("unexpected `ä`"));
    }

    #[test]
    fn comparisons_are_not_chained() {
        assert!(parse_error("1 < A < 4").contains("after another comparison"));
        assert!(Expression::parse("(1 < A) == (A < 4)").is_ok());
    }

    #[test]
    fn deep_and_long_expressions_are_rejected() {
        let deep = format!("{}1{}", "(".repeat(200), ")".repeat(200));
        assert!(parse_error(&deep).contains("levels"));
        assert!(parse_error(&"-".repeat(300)).contains("levels"));
        assert!(parse_error(&"1+".repeat(600)).contains("characters"));
        let chain = format!("{}1", "1+".repeat(400));
        assert!(Expression::parse(&chain).is_ok());
    }
}
