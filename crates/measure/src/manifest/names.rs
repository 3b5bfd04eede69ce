//! Valid names in a manifest: usable as C macros, and unambiguous in expressions.

use super::super::expr;

/// Keywords of C, C++ and CUDA, which macros must not replace.
const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "default",
    "defined",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "long",
    "main",
    "mutable",
    "namespace",
    "new",
    "nullptr",
    "operator",
    "private",
    "protected",
    "public",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "size_t",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typename",
    "uint8_t",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "blockDim",
    "blockIdx",
    "gridDim",
    "threadIdx",
    "warpSize",
];

/// Reason why `name` is not a valid C identifier; `None` if it is.
pub(super) fn identifier_error(name: &str) -> Option<String> {
    let mut bytes = name.bytes();
    let starts = bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
    if !starts || !bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Some(format!("`{name}` is not a C identifier"));
    }
    if name.len() > 63 {
        return Some(format!("`{name}` is longer than 63 characters"));
    }
    KEYWORDS
        .contains(&name)
        .then(|| format!("`{name}` is a keyword of the language"))
}

/// Reason why `name` is not a valid macro name; `None` if it is.
pub(super) fn macro_error(name: &str) -> Option<String> {
    if name.starts_with("__") {
        return Some(format!(
            "`{name}` is reserved: names with `__` are the compiler's"
        ));
    }
    if expr::is_function(name) {
        return Some(format!("`{name}` is a function of expressions"));
    }
    identifier_error(name)
}
