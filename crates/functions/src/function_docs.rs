//! Documentation of a function, and the signature that follows from it.

use arrow::datatypes::DataType;
use datafusion::logical_expr::{DocSection, Documentation, Signature, TypeSignature, Volatility};

use super::elements::ElementNamesFn;

/// Documentation section of tsql's functions in function lists.
const DOC_SECTION: DocSection = DocSection {
    include: true,
    label: "tsql",
    description: None,
};

/// Name, description, arguments, example and source of a function.
#[derive(Clone, Debug)]
pub(super) struct FunctionDocs {
    pub(super) name: &'static str,
    description: &'static str,
    arguments: Vec<ArgumentDocs>,
    example: &'static str,
    source: Option<&'static str>,
    pub(super) elements: Option<ElementNamesFn>,
}

#[derive(Clone, Debug)]
struct ArgumentDocs {
    name: &'static str,
    /// `None` for any type.
    of: Option<DataType>,
    meaning: &'static str,
    optional: bool,
}

impl FunctionDocs {
    /// Documents a function: its name, its result, and an example query that every store can run.
    pub(super) fn new(
        name: &'static str,
        description: &'static str,
        example: &'static str,
    ) -> Self {
        Self {
            name,
            description,
            arguments: Vec::new(),
            example,
            source: None,
            elements: None,
        }
    }

    /// Adds an argument.
    pub(super) fn argument(
        mut self,
        name: &'static str,
        of: impl Into<Option<DataType>>,
        meaning: &'static str,
    ) -> Self {
        self.arguments.push(ArgumentDocs {
            name,
            of: of.into(),
            meaning,
            optional: false,
        });
        self
    }

    /// Makes the last argument optional.
    pub(super) fn optional(mut self) -> Self {
        if let Some(argument) = self.arguments.last_mut() {
            argument.optional = true;
        }
        self
    }

    /// Adds the paper or code that defines the function.
    pub(super) fn source(self, source: &'static str) -> Self {
        Self {
            source: Some(source),
            ..self
        }
    }

    /// Declares the element names of the fixed-size list that the function returns.
    pub(super) fn with_elements(self, elements: ElementNamesFn) -> Self {
        Self {
            elements: Some(elements),
            ..self
        }
    }

    /// Number of required arguments.
    pub(super) fn required_count(&self) -> usize {
        self.arguments.iter().filter(|one| !one.optional).count()
    }

    /// Signature: all argument types, also without the trailing optional ones.
    pub(super) fn signature(&self) -> Signature {
        let types: Option<Vec<DataType>> =
            self.arguments.iter().map(|one| one.of.clone()).collect();
        let Some(types) = types else {
            return Signature::any(self.arguments.len(), Volatility::Immutable);
        };
        let needed = self.required_count();
        let exact = |length| TypeSignature::Exact(types.iter().take(length).cloned().collect());
        let signature = if needed == types.len() {
            exact(needed)
        } else {
            TypeSignature::OneOf((needed..=types.len()).map(exact).collect())
        };
        Signature::new(signature, Volatility::Immutable)
    }

    /// Documentation as DataFusion stores it and lists it (`SHOW FUNCTIONS`).
    pub(super) fn documentation(&self) -> Documentation {
        let description = match self.source {
            Some(source) => format!("{}. Source: {source}", self.description),
            None => self.description.to_owned(),
        };
        let mut about = Documentation::builder(DOC_SECTION, description, self.syntax());
        for argument in &self.arguments {
            about = about.with_argument(argument.name, argument.meaning);
        }
        about.with_sql_example(self.example).build()
    }

    /// `name(one, two[, three[, four]])`.
    fn syntax(&self) -> String {
        let named = |optional| {
            let arguments = self.arguments.iter();
            let wanted = arguments.filter(move |one: &&ArgumentDocs| one.optional == optional);
            wanted.map(|one| one.name).collect::<Vec<_>>()
        };
        let (needed, optional) = (named(false).join(", "), named(true));
        let opened: String = optional.iter().map(|name| format!("[, {name}")).collect();
        format!(
            "{}({needed}{opened}{})",
            self.name,
            "]".repeat(optional.len())
        )
    }
}
