//! What the elements of a list of fixed size are, for functions that give such: features of programs and graphs.

use serde::Serialize;

/// Names of the elements of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Elements {
    /// The value of an argument for which they are so: `llvm`; empty where they always are.
    pub of: String,
    /// The name of each element, in order.
    pub names: Vec<String>,
}

impl Elements {
    /// Names that do not depend on arguments.
    pub(super) fn always(names: impl IntoIterator<Item = impl Into<String>>) -> Vec<Self> {
        vec![Self::of("", names)]
    }

    /// Names for a value of an argument.
    pub(super) fn of(of: &str, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            of: of.to_owned(),
            names: names.into_iter().map(Into::into).collect(),
        }
    }
}

/// Makes the names when they are asked for.
pub(super) type Named = fn() -> Vec<Elements>;
