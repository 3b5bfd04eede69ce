//! Element names of the fixed-size lists that feature functions return.

use serde::Serialize;

/// Names of the elements of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ElementNames {
    /// Argument value for which the names apply, such as `llvm`; empty if they always apply.
    pub argument_value: String,
    /// The name of each element, in order.
    pub names: Vec<String>,
}

impl ElementNames {
    /// Names that do not depend on arguments.
    pub(super) fn unconditional(names: impl IntoIterator<Item = impl Into<String>>) -> Vec<Self> {
        vec![Self::for_argument("", names)]
    }

    /// Names for a value of an argument.
    pub(super) fn for_argument(
        argument_value: &str,
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            argument_value: argument_value.to_owned(),
            names: names.into_iter().map(Into::into).collect(),
        }
    }
}

/// Constructs the names on demand.
pub(super) type ElementNamesFn = fn() -> Vec<ElementNames>;
