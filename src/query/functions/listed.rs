//! All functions that SQL has, with what is said of them: ours, then DataFusion's.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

use datafusion::logical_expr::{AggregateUDF, Documentation, ScalarUDF};
use datafusion::prelude::SessionContext;

use super::all::{aggregates, elements, register, scalars};
use super::elements::Elements;
use crate::error::{Error, Result};

/// What a function is applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FunctionKind {
    /// The values of a row.
    Scalar,
    /// The rows of a group.
    Aggregate,
    /// The rows of a window.
    Window,
}

impl FunctionKind {
    /// As it is printed.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Aggregate => "aggregate",
            Self::Window => "window",
        }
    }
}

/// What is said of a function, for those who write SQL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// How it is called: `name(one, two[, three])`.
    pub call: String,
    /// What it is applied to.
    pub kind: FunctionKind,
    /// Is it one of tsql's own? The others are DataFusion's, with what DataFusion says of them.
    pub is_ours: bool,
    /// What it gives, and where that is defined.
    pub doc: String,
    /// Its arguments: name and meaning.
    pub arguments: Vec<(String, String)>,
    /// A query that any store answers; of some of DataFusion's there is none.
    pub example: String,
    /// What the elements are of the list that a feature gives, for each value of the argument that decides about it.
    pub elements: Vec<Elements>,
}

/// The functions that SQL has, by name: those of tsql, then DataFusion's.
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
    // By name, whether DataFusion's (of which `true` comes later), and kind: some names are aggregates and windows.
    let mut known = BTreeMap::new();
    let mut add =
        |name: &str, aliases: &[String], kind: FunctionKind, said: Option<&Documentation>| {
            let is_ours = ours.contains(name);
            let key = (!is_ours, name.to_owned(), kind.word());
            known
                .entry(key)
                .or_insert_with(|| Function::of(name, aliases, kind, is_ours, said));
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
    fn of(
        name: &str,
        aliases: &[String],
        kind: FunctionKind,
        is_ours: bool,
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
            is_ours,
            doc: text(|said| said.description.trim().to_owned()),
            arguments: said
                .and_then(|said| said.arguments.clone())
                .unwrap_or_default(),
            example: text(|said| without_fences(said.sql_example.as_deref().unwrap_or_default())),
            elements: Vec::new(),
        }
    }

    /// Has its name, another name of it, or what is said of it this word?
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let names = std::iter::once(&self.name).chain(&self.aliases);
        names
            .chain([&self.doc])
            .any(|text| text.to_lowercase().contains(&word))
    }
}

/// An example without the marks of Markdown.
fn without_fences(example: &str) -> String {
    let lines = example
        .lines()
        .filter(|line| !line.trim_start().starts_with("```"));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The function of this name.
///
/// # Errors
/// [`Error::Unknown`] where there is none.
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
            .filter(|function| function.is_ours)
            .map(|function| function.name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    })
}
