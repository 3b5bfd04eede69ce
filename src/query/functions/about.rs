//! What is said of a function, and its signature, which follows from that.

use arrow::datatypes::DataType;
use datafusion::logical_expr::{DocSection, Documentation, Signature, TypeSignature, Volatility};

use super::elements::Named;

/// Where functions of ours stand in lists of functions.
const SECTION: DocSection = DocSection {
    include: true,
    label: "tsql",
    description: None,
};

/// Name, meaning, arguments, example and source of a function.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) name: &'static str,
    description: &'static str,
    arguments: Vec<Argument>,
    example: &'static str,
    source: Option<&'static str>,
    pub(super) elements: Option<Named>,
}

#[derive(Clone, Debug)]
struct Argument {
    name: &'static str,
    /// `None` for any.
    of: Option<DataType>,
    meaning: &'static str,
    optional: bool,
}

impl About {
    /// A function of this name, what it gives, and a query that any store answers.
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

    /// The same with one more argument.
    pub(super) fn takes(
        mut self,
        name: &'static str,
        of: impl Into<Option<DataType>>,
        meaning: &'static str,
    ) -> Self {
        self.arguments.push(Argument {
            name,
            of: of.into(),
            meaning,
            optional: false,
        });
        self
    }

    /// The same, where the last argument may be left out.
    pub(super) fn optionally(mut self) -> Self {
        if let Some(argument) = self.arguments.last_mut() {
            argument.optional = true;
        }
        self
    }

    /// The same, defined in a paper or in code of others.
    pub(super) fn by(self, source: &'static str) -> Self {
        Self {
            source: Some(source),
            ..self
        }
    }

    /// The same, which gives a list of fixed size with elements of these names.
    pub(super) fn with_elements(self, elements: Named) -> Self {
        Self {
            elements: Some(elements),
            ..self
        }
    }

    /// How many arguments cannot be left out.
    pub(super) fn needed(&self) -> usize {
        self.arguments.iter().filter(|one| !one.optional).count()
    }

    /// The types that it takes: all of them, or those without the last optional ones.
    pub(super) fn signature(&self) -> Signature {
        let types: Option<Vec<DataType>> =
            self.arguments.iter().map(|one| one.of.clone()).collect();
        let Some(types) = types else {
            return Signature::any(self.arguments.len(), Volatility::Immutable);
        };
        let needed = self.needed();
        let exact = |length| TypeSignature::Exact(types.iter().take(length).cloned().collect());
        let signature = if needed == types.len() {
            exact(needed)
        } else {
            TypeSignature::OneOf((needed..=types.len()).map(exact).collect())
        };
        Signature::new(signature, Volatility::Immutable)
    }

    /// As DataFusion keeps it, and lists it (`SHOW FUNCTIONS`).
    pub(super) fn documentation(&self) -> Documentation {
        let description = match self.source {
            Some(source) => format!("{}. Source: {source}", self.description),
            None => self.description.to_owned(),
        };
        let mut about = Documentation::builder(SECTION, description, self.syntax());
        for argument in &self.arguments {
            about = about.with_argument(argument.name, argument.meaning);
        }
        about.with_sql_example(self.example).build()
    }

    /// `name(one, two[, three[, four]])`.
    fn syntax(&self) -> String {
        let named = |optional| {
            let arguments = self.arguments.iter();
            let wanted = arguments.filter(move |one: &&Argument| one.optional == optional);
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
