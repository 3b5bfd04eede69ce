//! From the text of an expression to its tree: a recursive descent, one function for each level of precedence.

use super::tree::{Function, Node, Operator};

/// Characters at most, so that a tree is never too deep to walk.
const MAX_LENGTH: usize = 1000;

/// Parentheses, signs and calls in one another at most.
const MAX_DEPTH: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Integer(i64),
    Name(String),
    Symbol(&'static str),
}

/// Longer ones first: `<=` is not `<` and `=`.
const SYMBOLS: [&str; 17] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")", ",",
];

/// Binary operators by level, the loosest first.
const LEVELS: [&[(&str, Operator)]; 5] = [
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

/// Where the comparisons stand in [`LEVELS`].
const COMPARISONS: usize = 2;

pub(super) fn parse(text: &str) -> Result<Node, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("more than {MAX_LENGTH} characters"));
    }
    let mut parser = Parser {
        tokens: tokens(text)?,
        next: 0,
        depth: 0,
    };
    let root = parser.binary(0)?;
    match parser.peek() {
        None => Ok(root),
        Some(token) => Err(format!("unexpected {}", shown(token))),
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |keep: fn(char) -> bool| rest.find(|c| !keep(c)).unwrap_or(rest.len());
        let (token, length) = if first.is_ascii_digit() {
            let length = word(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
            let digits = rest.get(..length).unwrap_or_default();
            let value = digits
                .parse()
                .map_err(|_| format!("`{digits}` is no integer of 64 bits"))?;
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

fn shown(token: &Token) -> String {
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

    /// Takes `symbol` if it comes next.
    fn take(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(next)) if *next == symbol);
        if found {
            self.next += 1;
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.take(symbol) {
            return Ok(());
        }
        Err(match self.peek() {
            Some(token) => format!("expected `{symbol}`, not {},", shown(token)),
            None => format!("expected `{symbol}` at the end"),
        })
    }

    fn binary(&mut self, level: usize) -> Result<Node, String> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        let mut compared = false;
        while let Some((symbol, operator)) = operators.iter().find(|(symbol, _)| self.take(symbol))
        {
            if compared {
                return Err(format!("`{symbol}` after another comparison"));
            }
            compared = level == COMPARISONS;
            let right = self.binary(level + 1)?;
            left = Node::Binary(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} levels"));
        }
        let node = if self.take("!") {
            Node::Not(Box::new(self.unary()?))
        } else if self.take("-") {
            Node::Negate(Box::new(self.unary()?))
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn primary(&mut self) -> Result<Node, String> {
        if self.take("(") {
            let inner = self.binary(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let token = self.peek().cloned();
        self.next += 1;
        match token {
            Some(Token::Integer(value)) => Ok(Node::Literal(value)),
            Some(Token::Name(name)) if self.take("(") => self.call(&name),
            Some(Token::Name(name)) => Ok(Node::Name(name)),
            Some(token) => Err(format!("unexpected {}", shown(&token))),
            None => Err("a value is missing at the end".to_owned()),
        }
    }

    fn call(&mut self, name: &str) -> Result<Node, String> {
        let function = Function::named(name).ok_or_else(|| format!("no function `{name}`"))?;
        let mut arguments = vec![self.binary(0)?];
        while self.take(",") {
            arguments.push(self.binary(0)?);
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
                "{} arguments are not what `{name}` takes",
                arguments.len()
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Expression;

    fn refusal(text: &str) -> String {
        Expression::parse(text).unwrap_err()
    }

    #[test]
    fn what_is_not_an_expression_is_refused_with_its_text() {
        assert_eq!(refusal(""), "a value is missing at the end in ``");
        assert_eq!(refusal("1 +"), "a value is missing at the end in `1 +`");
        assert_eq!(refusal("1 2"), "unexpected `2` in `1 2`");
        assert_eq!(refusal("A = 2"), "unexpected `=` in `A = 2`");
        assert_eq!(refusal("(A"), "expected `)` at the end in `(A`");
        assert_eq!(refusal("pow(2, 3)"), "no function `pow` in `pow(2, 3)`");
        assert!(refusal("ceildiv(1)").contains("1 arguments"));
        assert!(refusal("1.5").contains("`1.5` is no integer"));
        assert!(refusal("12M").contains("`12M` is no integer"));
        assert!(refusal("99999999999999999999").contains("no integer of 64 bits"));
        assert!(refusal("A # B").contains("unexpected `#`"));
        assert!(refusal("ä").contains("unexpected `ä`"));
    }

    #[test]
    fn comparisons_are_not_chained() {
        assert!(refusal("1 < A < 4").contains("after another comparison"));
        assert!(Expression::parse("(1 < A) == (A < 4)").is_ok());
    }

    #[test]
    fn deep_and_long_ones_are_refused_before_they_hurt() {
        let deep = format!("{}1{}", "(".repeat(200), ")".repeat(200));
        assert!(refusal(&deep).contains("levels"));
        assert!(refusal(&"-".repeat(300)).contains("levels"));
        assert!(refusal(&"1+".repeat(600)).contains("characters"));
        let chain = format!("{}1", "1+".repeat(400));
        assert!(Expression::parse(&chain).is_ok());
    }
}
