//! The subset of Python expressions that captured graphs use: names, literals, calls, subscripts, operators, tuples,
//! lists, and the lambdas that wrap Paddle's calls.

use super::lines::string_length;

/// Maximum nesting depth of brackets and operators. Deeper expressions are rejected.
const MAX_DEPTH: usize = 64;

/// Expression. Its texts are slices of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expr<'a> {
    /// Name, including `None`, `True` and `False`.
    Name(&'a str),
    Number(&'a str),
    /// String literal with its quotes.
    Text(&'a str),
    Unary(&'a str, Box<Expr<'a>>),
    /// Binary operation, including comparisons.
    Binary(Box<Expr<'a>>, &'a str, Box<Expr<'a>>),
    Attribute(Box<Expr<'a>>, &'a str),
    Index(Box<Expr<'a>>, Box<Expr<'a>>),
    Call(Box<Expr<'a>>, Vec<Argument<'a>>),
    Tuple(Vec<Expr<'a>>),
    List(Vec<Expr<'a>>),
    /// `value if condition else other`
    Choice(Box<[Expr<'a>; 3]>),
    Lambda(Box<Expr<'a>>),
}

/// Argument of a call; `name` is set for keyword arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) value: Expr<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    Number(&'a str),
    Text(&'a str),
    Mark(&'a str),
    End,
}

/// Tokens of several characters, the longer ones first.
const MARKS: [&str; 24] = [
    "**=", "//=", "<<=", ">>=", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "->", "+=", "-=",
    "*=", "/=", "%=", "@=", "&=", "|=", "^=", ":=", "...",
];

/// Binary operators by precedence, loosest first.
const BINARY_OPERATORS: [&[&str]; 8] = [
    &["or"],
    &["and"],
    &["<", ">", "==", "!=", "<=", ">=", "in", "is"],
    &["|"],
    &["^"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
];
const PRODUCT_OPERATORS: [&str; 5] = ["*", "/", "//", "%", "@"];

/// Recursive-descent parser of expressions.
pub(super) struct ExprParser<'a> {
    rest: &'a str,
    token: Token<'a>,
    depth: usize,
}

impl<'a> ExprParser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut parser = Self {
            rest: text,
            token: Token::End,
            depth: 0,
        };
        parser.advance();
        parser
    }

    /// Whether all input is consumed.
    pub(super) fn is_at_end(&self) -> bool {
        self.token == Token::End
    }

    /// Consumes this token if it comes next.
    pub(super) fn take(&mut self, expected: &str) -> bool {
        let is_next = match self.token {
            Token::Mark(text) | Token::Name(text) => text == expected,
            _ => false,
        };
        if is_next {
            self.advance();
        }
        is_next
    }

    /// Consumes a name.
    pub(super) fn take_name(&mut self) -> Option<&'a str> {
        let Token::Name(name) = self.token else {
            return None;
        };
        self.advance();
        Some(name)
    }

    /// Consumes the operator of `x += ..` and returns it without the `=`.
    pub(super) fn take_augmented(&mut self) -> Option<&'a str> {
        let Token::Mark(mark) = self.token else {
            return None;
        };
        let operator = mark.strip_suffix('=')?;
        if !(PRODUCT_OPERATORS.contains(&operator)
            || ["+", "-", "**", "&", "|", "^", "<<", ">>"].contains(&operator))
        {
            return None;
        }
        self.advance();
        Some(operator)
    }

    /// Parses an expression, or several separated by commas as a tuple.
    pub(super) fn parse_expressions(&mut self) -> Option<Expr<'a>> {
        let first = self.parse_expression()?;
        if !matches!(self.token, Token::Mark(",")) {
            return Some(first);
        }
        let mut elements = vec![first];
        while self.take(",") {
            if matches!(self.token, Token::End | Token::Mark("=" | ")" | "]")) {
                break;
            }
            elements.push(self.parse_expression()?);
        }
        Some(Expr::Tuple(elements))
    }

    pub(super) fn parse_expression(&mut self) -> Option<Expr<'a>> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let expression = if self.take("lambda") {
            while !self.take(":") {
                self.take_name()?;
                self.take(",");
            }
            Expr::Lambda(Box::new(self.parse_expression()?))
        } else {
            let value = self.binary(0)?;
            if self.take("if") {
                let condition = self.binary(0)?;
                if !self.take("else") {
                    return None;
                }
                Expr::Choice(Box::new([value, condition, self.parse_expression()?]))
            } else {
                value
            }
        };
        self.depth -= 1;
        Some(expression)
    }

    fn take_operator(&mut self, operators: &[&str]) -> Option<&'a str> {
        let (Token::Mark(text) | Token::Name(text)) = self.token else {
            return None;
        };
        if !operators.contains(&text) {
            return None;
        }
        self.advance();
        Some(text)
    }

    fn binary(&mut self, level: usize) -> Option<Expr<'a>> {
        let Some(operators) = BINARY_OPERATORS.get(level) else {
            return self.product();
        };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.take_operator(operators) {
            let right = self.binary(level + 1)?;
            left = Expr::Binary(Box::new(left), operator, Box::new(right));
        }
        Some(left)
    }

    fn product(&mut self) -> Option<Expr<'a>> {
        let mut left = self.unary()?;
        while let Some(operator) = self.take_operator(&PRODUCT_OPERATORS) {
            let right = self.unary()?;
            left = Expr::Binary(Box::new(left), operator, Box::new(right));
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Expr<'a>> {
        let mut signs = Vec::new();
        while let Some(sign) = self.take_operator(&["-", "+", "~", "not"]) {
            signs.push(sign);
            if signs.len() > MAX_DEPTH {
                return None;
            }
        }
        let base = self.postfix()?;
        let mut value = if self.take("**") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return None;
            }
            let power = self.unary()?;
            self.depth -= 1;
            Expr::Binary(Box::new(base), "**", Box::new(power))
        } else {
            base
        };
        for sign in signs.into_iter().rev() {
            value = Expr::Unary(sign, Box::new(value));
        }
        Some(value)
    }

    fn postfix(&mut self) -> Option<Expr<'a>> {
        let mut value = self.atom()?;
        let mut suffix_count = 0;
        loop {
            if self.take(".") {
                value = Expr::Attribute(Box::new(value), self.take_name()?);
            } else if self.take("(") {
                value = Expr::Call(Box::new(value), self.arguments()?);
            } else if self.take("[") {
                let index = self.parse_expressions()?;
                if !self.take("]") {
                    return None;
                }
                value = Expr::Index(Box::new(value), Box::new(index));
            } else {
                return Some(value);
            }
            suffix_count += 1;
            if suffix_count > MAX_DEPTH {
                return None;
            }
        }
    }

    fn arguments(&mut self) -> Option<Vec<Argument<'a>>> {
        let mut arguments = Vec::new();
        while !self.take(")") {
            let value = self.parse_expression()?;
            let argument = match value {
                Expr::Name(name) if self.take("=") => Argument {
                    name: Some(name),
                    value: self.parse_expression()?,
                },
                value => Argument { name: None, value },
            };
            arguments.push(argument);
            if !self.take(",") && !matches!(self.token, Token::Mark(")")) {
                return None;
            }
        }
        Some(arguments)
    }

    fn atom(&mut self) -> Option<Expr<'a>> {
        let token = self.token;
        match token {
            Token::Name(name) => {
                self.advance();
                Some(Expr::Name(name))
            }
            Token::Number(number) => {
                self.advance();
                Some(Expr::Number(number))
            }
            Token::Text(text) => {
                self.advance();
                Some(Expr::Text(text))
            }
            // Placeholder of a value in a signature.
            Token::Mark("?") => {
                self.advance();
                Some(Expr::Name("?"))
            }
            Token::Mark("...") => {
                self.advance();
                Some(Expr::Name("Ellipsis"))
            }
            Token::Mark("(") => {
                self.advance();
                if self.take(")") {
                    return Some(Expr::Tuple(Vec::new()));
                }
                let inner = self.parse_expressions()?;
                self.take(")").then_some(inner)
            }
            Token::Mark("[") => {
                self.advance();
                let mut elements = Vec::new();
                while !self.take("]") {
                    elements.push(self.parse_expression()?);
                    if !self.take(",") && !matches!(self.token, Token::Mark("]")) {
                        return None;
                    }
                }
                Some(Expr::List(elements))
            }
            _ => None,
        }
    }

    fn advance(&mut self) {
        self.rest = skip_blank(self.rest);
        let (length, make): (usize, fn(&'a str) -> Token<'a>) = match self.rest.bytes().next() {
            None => {
                self.token = Token::End;
                return;
            }
            Some(b'"' | b'\'') => (string_length(self.rest.as_bytes()), Token::Text),
            Some(byte) if byte.is_ascii_digit() => (number_length(self.rest), Token::Number),
            Some(b'.') if self.rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => {
                (number_length(self.rest), Token::Number)
            }
            Some(_) => {
                let word = self.rest.char_indices();
                let mut word = word.skip_while(|(_, c)| c.is_alphanumeric() || *c == '_');
                match word
                    .next()
                    .map_or(self.rest.len(), |(position, _)| position)
                {
                    0 => (mark_length(self.rest), Token::Mark),
                    length => (length, Token::Name),
                }
            }
        };
        let (text, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.token = make(text);
        self.rest = rest;
    }
}

/// Returns `text` without leading blanks, line breaks and comments.
fn skip_blank(text: &str) -> &str {
    let mut text = text;
    loop {
        text = text.trim_start_matches([' ', '\t', '\r', '\n', '\x0c', '\\']);
        let Some(comment) = text.strip_prefix('#') else {
            return text;
        };
        text = comment.split_once('\n').map_or("", |(_, rest)| rest);
    }
}

fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut length = 0;
    while let Some(&byte) = bytes.get(length) {
        let is_sign = b"+-".contains(&byte);
        let follows_exponent_mark =
            length > 0 && bytes.get(length - 1).is_some_and(|b| b"eE".contains(b));
        let is_hex = bytes.get(1).is_some_and(|b| b"xX".contains(b));
        if !(byte.is_ascii_alphanumeric()
            || b"._".contains(&byte)
            || is_sign && follows_exponent_mark && !is_hex)
        {
            break;
        }
        length += 1;
    }
    length
}

fn mark_length(text: &str) -> usize {
    let longest = MARKS.iter().find(|mark| text.starts_with(**mark));
    let first = text.chars().next().map_or(0, char::len_utf8);
    longest.map_or(first, |mark| mark.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<Expr<'_>> {
        let mut parser = ExprParser::new(text);
        let expression = parser.parse_expressions()?;
        parser.is_at_end().then_some(expression)
    }

    #[test]
    fn operators_bind_as_in_python() {
        let parsed = |text| parse(text).unwrap();
        assert_eq!(parsed("a + b * c"), parsed("a + (b * c)"));
        assert_eq!(parsed("-a ** b"), parsed("-(a ** b)"));
        assert_eq!(parsed("a - b - c"), parsed("(a - b) - c"));
        assert_eq!(parsed("a == b + 1"), parsed("a == (b + 1)"));
        assert_eq!(parsed("a & b | c"), parsed("(a & b) | c"));
        assert_eq!(
            parsed("x[..., 1:]".replace("1:", "1").as_str()),
            parsed("x[(Ellipsis, 1)]")
        );
    }

    #[test]
    fn invalid_expressions_are_rejected() {
        for text in [
            "",
            "a b",
            "f(",
            "[1, 2",
            "a +",
            "f(x for x in y)",
            "{1: 2}",
            "x[1:2]",
            "'a",
        ] {
            let is_accepted = text == "'a";
            assert_eq!(parse(text).is_some(), is_accepted, "{text}");
        }
        assert_eq!(parse(&"(".repeat(100_000)), None);
        assert_eq!(parse(&"-".repeat(100_000)), None);
        assert_eq!(parse(&format!("a{}", ".b".repeat(100_000))), None);
        assert_eq!(parse(&format!("a{}", "**b".repeat(100_000))), None);
    }

    #[test]
    fn numbers_and_strings_keep_their_text() {
        let Some(Expr::Tuple(elements)) =
            parse("1e-05, .5, 0x1f, 1_000, 3.4028234663852886e+38, 'a\\'b'")
        else {
            panic!("no tuple");
        };
        let texts: Vec<&str> = elements
            .iter()
            .map(|element| match element {
                Expr::Number(text) | Expr::Text(text) => *text,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            texts,
            [
                "1e-05",
                ".5",
                "0x1f",
                "1_000",
                "3.4028234663852886e+38",
                "'a\\'b'"
            ]
        );
    }
}
