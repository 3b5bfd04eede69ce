//! List of all SQL functions with their documentation: those of tsql, then those of DataFusion.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

use datafusion::logical_expr::{AggregateUDF, Documentation, ScalarUDF};
use datafusion::prelude::SessionContext;

use super::all::{aggregates, elements, register, scalars};
use super::elements::ElementNames;
use tsql_error::{Error, Result};

/// Kind of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FunctionKind {
    /// Function of the values of a row.
    Scalar,
    /// Function of the rows of a group.
    Aggregate,
    /// Function of the rows of a window.
    Window,
}

impl FunctionKind {
    /// Display name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Aggregate => "aggregate",
            Self::Window => "window",
        }
    }
}

/// Documentation of a function for SQL users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// Syntax: `name(one, two[, three])`.
    pub call: String,
    /// Kind of the function.
    pub kind: FunctionKind,
    /// Whether the function belongs to tsql. The others are DataFusion's, with DataFusion's documentation.
    pub is_tsql: bool,
    /// Description and source.
    pub doc: String,
    /// Arguments: name and description.
    pub arguments: Vec<(String, String)>,
    /// Example query that every store can run; empty for some functions of DataFusion.
    pub example: String,
    /// Element names of the list that a feature function returns, for each value of the argument that selects them.
    pub elements: Vec<ElementNames>,
}

/// All SQL functions by name: those of tsql, then those of DataFusion.
#[must_use]
pub fn functions() -> Vec<Function> {
    let ours: BTreeSet<String> = scalars()
        .into_iter()
        .map(|scalar| ScalarUDF::from(scalar).name().to_owned())
        .chain(
            aggregates()
                .iter()
                .map(|one| AggregateUDF::name(one).to_owned()),
        )
        .collect();
    let context = SessionContext::new();
    register(&context);
    let state = context.state();
    // By name, origin (DataFusion's are `true` and come later) and kind. Some names are both aggregate and window
    // functions.
    let mut known = BTreeMap::new();
    let mut add =
        |name: &str, aliases: &[String], kind: FunctionKind, said: Option<&Documentation>| {
            let is_tsql = ours.contains(name);
            let key = (!is_tsql, name.to_owned(), kind.word());
            known.entry(key).or_insert_with(|| {
                Function::from_documentation(name, aliases, kind, is_tsql, said)
            });
        };
    for function in state.scalar_functions().values() {
        let said = function.documentation();
        add(
            function.name(),
            function.aliases(),
            FunctionKind::Scalar,
            said,
        );
    }
    for function in state.aggregate_functions().values() {
        let said = function.documentation();
        add(
            function.name(),
            function.aliases(),
            FunctionKind::Aggregate,
            said,
        );
    }
    for function in state.window_functions().values() {
        let said = function.documentation();
        add(
            function.name(),
            function.aliases(),
            FunctionKind::Window,
            said,
        );
    }
    for (name, named) in elements() {
        let of_name = known
            .values_mut()
            .filter(|one: &&mut Function| one.name == name);
        of_name.for_each(|function| function.elements = named());
    }
    known.into_values().collect()
}

impl Function {
    fn from_documentation(
        name: &str,
        aliases: &[String],
        kind: FunctionKind,
        is_tsql: bool,
        said: Option<&Documentation>,
    ) -> Self {
        let text = |of: fn(&Documentation) -> String| said.map(of).unwrap_or_default();
        let call = text(|said| said.syntax_example.clone());
        Self {
            name: name.to_owned(),
            aliases: aliases.to_vec(),
            call: if call.is_empty() {
                format!("{name}(...)")
            } else {
                call
            },
            kind,
            is_tsql,
            doc: text(|said| said.description.trim().to_owned()),
            arguments: said
                .and_then(|said| said.arguments.clone())
                .unwrap_or_default(),
            example: text(|said| without_fences(said.sql_example.as_deref().unwrap_or_default())),
            elements: Vec::new(),
        }
    }

    /// Returns whether the name, an alias or the documentation contains this word.
    #[must_use]
    pub fn mentions(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let names = std::iter::once(&self.name).chain(&self.aliases);
        names
            .chain([&self.doc])
            .any(|text| text.to_lowercase().contains(&word))
    }
}

/// Removes Markdown code fences from an example.
fn without_fences(example: &str) -> String {
    let lines = example
        .lines()
        .filter(|line| !line.trim_start().starts_with("```"));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Finds a function by name.
///
/// # Errors
/// [`Error::Unknown`] if there is none.
pub fn function(name: &str) -> Result<Function> {
    let functions = functions();
    let is_it = |function: &&Function| {
        function.name == name || function.aliases.iter().any(|alias| alias == name)
    };
    let found = functions.iter().find(is_it);
    found.cloned().ok_or_else(|| Error::Unknown {
        kind: "function",
        name: name.to_owned(),
        known: functions
            .iter()
            .filter(|function| function.is_tsql)
            .map(|function| function.name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    })
}
