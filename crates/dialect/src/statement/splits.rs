//! Expansion of `split('NAME')` and `table_version('records')` when a statement is planned.
//!
//! `split` becomes an expression over the keys of `records` in the same `FROM`, or over columns with these names. A
//! view keeps its original text, because it is planned again after commits.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow::{self, Break, Continue};

use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, Select, SetExpr,
    Statement as SqlStatement, TableFactor, Value, ValueWithSpan, VisitorMut,
};

use super::keys::has_keys;
use super::walk::visit_statement;
use crate::session_versions::SessionVersions;
use crate::splits::{SplitExpr, find_definition, split_expr as expression};
use crate::syntax::pieces::{null_expr, number_literal};
use tsql_error::{Error, Result};
use tsql_schema as schema;

/// Name of the function that returns a part.
const SPLIT: &str = "split";

/// Name of the function that returns a table version.
const VERSION: &str = "table_version";

/// Tables and views whose rows have the keys of records, by descending number of keys.
const KEYED_TABLES: [&str; 4] = [RECORDS, "retracted", "configurations", "graphs"];

const RECORDS: &str = "records";

/// Tables and views that splits are computed from.
pub(crate) const SPLIT_TABLES: [&str; 10] = [
    "splits",
    "graphs",
    "environments",
    "configurations",
    "samples",
    "sources",
    "network_tasks",
    "node_types",
    "tasks",
    "records",
];
pub(crate) const SPLIT_VIEWS: [&str; 1] = ["nodes"];

/// Requirements of a statement on the store besides its tables.
#[derive(Debug, Default)]
pub(crate) struct StoreRequests {
    /// Splits by name.
    pub(crate) splits: Vec<String>,
    /// Tables whose versions are requested.
    pub(crate) versions: Vec<String>,
}

/// Collects the splits and versions that a statement requests.
///
/// # Errors
/// [`Error::Refused`] for a call whose arguments are not text.
pub(crate) fn store_requests(statement: &Statement) -> Result<StoreRequests> {
    let mut calls = CallRewriter::default();
    match visit_statement(&mut statement.clone(), &mut calls) {
        Continue(()) => Ok(calls.asked),
        Break(error) => Err(error),
    }
}

/// Expanded calls of a statement.
#[derive(Default)]
pub(super) struct SplitCalls {
    splits: BTreeMap<String, SplitExpr>,
    /// Original text if the statement creates a view.
    view: Option<String>,
}

/// Expands the calls in a statement.
///
/// # Errors
/// [`Error::Unknown`] for an unknown split or table, [`Error::Refused`] for an invalid call.
pub(super) async fn expand_calls(
    context: &SessionContext,
    statement: &mut Statement,
) -> Result<SplitCalls> {
    let asked = store_requests(statement)?;
    let mut out = SplitCalls::default();
    if asked.splits.is_empty() && asked.versions.is_empty() {
        return Ok(out);
    }
    if let Statement::Statement(inner) = &*statement
        && let SqlStatement::CreateView(_) = inner.as_ref()
    {
        out.view = Some(inner.to_string());
    }
    for name in asked.splits {
        if let Entry::Vacant(place) = out.splits.entry(name) {
            let split = find_definition(context, place.key()).await?;
            place.insert(expression(context, &split).await?);
        }
    }
    let shown = SessionVersions::from_session(context);
    let mut versions = BTreeMap::new();
    for table in asked.versions {
        let name = schema::table(&table)?.name.as_str();
        let version = shown.as_ref().and_then(|shown| shown.version(name));
        versions.insert(table, version);
    }
    let mut calls = CallRewriter {
        splits: Some(&out.splits),
        versions: Some(&versions),
        ..CallRewriter::default()
    };
    match visit_statement(statement, &mut calls) {
        Continue(()) => Ok(out),
        Break(error) => Err(error),
    }
}

impl SplitCalls {
    /// Restores the original text of a created view in the plan.
    pub(super) fn restore_view_text(&self, mut plan: LogicalPlan) -> LogicalPlan {
        if let LogicalPlan::Ddl(DdlStatement::CreateView(view)) = &mut plan
            && self.view.is_some()
        {
            view.definition.clone_from(&self.view);
        }
        plan
    }

    /// Replaces a planning error by one about a missing key, if that is the reason.
    pub(super) fn explain_error(&self, error: Error) -> Error {
        let text = error.to_string();
        let mut splits = self.splits.iter();
        let missing = splits.find_map(|(name, written)| {
            let mut columns = written.columns().iter();
            let column = columns.find(|column| {
                text.contains(&format!("no column named `{column}`"))
                    || text.contains(&format!(".{column}`")) && text.contains("no column named")
            })?;
            Some((name, column, written))
        });
        let Some((name, column, written)) = missing else {
            return error;
        };
        let keys = written.columns().join(", ");
        Error::Refused(format!(
            "split('{name}') needs {keys} of each row, but there is no {column} here\n\
             hint: call it in the query that reads records: (SELECT *, split('{name}') AS part \
             FROM records)"
        ))
    }
}

/// Relations of a `SELECT` with keys.
#[derive(Clone, Default)]
struct KeyedRelations {
    /// The relation whose keys are used; `None` for unqualified columns.
    name: Option<String>,
    /// Further relations of the same table.
    others: Vec<String>,
}

/// Finds the calls, and expands them once their replacements are known.
#[derive(Default)]
struct CallRewriter<'a> {
    asked: StoreRequests,
    splits: Option<&'a BTreeMap<String, SplitExpr>>,
    versions: Option<&'a BTreeMap<String, Option<u64>>>,
    rows: Vec<KeyedRelations>,
}

impl VisitorMut for CallRewriter<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        // For its ORDER BY.
        self.rows.push(match query.body.as_ref() {
            SetExpr::Select(select) => keyed_relations(select),
            _ => KeyedRelations::default(),
        });
        Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.rows.pop();
        Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.rows.push(keyed_relations(select));
        Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Error> {
        self.rows.pop();
        Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let written = match parse_call(expr) {
            Some((SPLIT, args)) => self.rewrite_split(&args),
            Some((_, args)) => self.rewrite_version(&args),
            None => return Continue(()),
        };
        match written {
            Ok(None) => {}
            Ok(Some(written)) => *expr = written,
            Err(error) => return Break(error),
        }
        Continue(())
    }
}

impl CallRewriter<'_> {
    fn rewrite_split(&mut self, args: &[Option<String>]) -> Result<Option<Expr>> {
        let (name, rows) = match args {
            [Some(name)] => (name, None),
            [Some(name), Some(rows)] => (name, Some(rows)),
            _ => {
                let reason = "split expects the name of a split in quotes: split('by-task'), \
                    split('by-task@2')\nhint: `tsql split list` lists the splits";
                return Err(Error::Refused(reason.to_owned()));
            }
        };
        let Some(splits) = self.splits else {
            self.asked.splits.push(name.clone());
            return Ok(None);
        };
        let Some(written) = splits.get(name) else {
            return Ok(None);
        };
        let known = self.rows.last().cloned().unwrap_or_default();
        if rows.is_none()
            && let Some(first) = known.name.as_ref().filter(|_| !known.others.is_empty())
        {
            let all = known.others.join(", ");
            return Err(Error::Refused(format!(
                "split('{name}') is ambiguous, because {first}, {all} have keys\n\
                 hint: select one relation: split('{name}', {first})"
            )));
        }
        let rows = rows.or(known.name.as_ref()).map(String::as_str);
        // Parenthesized, to be safe in any context.
        written
            .expr(rows)
            .map(|expr| Some(Expr::Nested(Box::new(expr))))
    }

    fn rewrite_version(&mut self, args: &[Option<String>]) -> Result<Option<Expr>> {
        let [Some(table)] = args else {
            let reason =
                "table_version expects the name of a table in quotes: table_version('records')";
            return Err(Error::Refused(reason.to_owned()));
        };
        let Some(versions) = self.versions else {
            self.asked.versions.push(table.clone());
            return Ok(None);
        };
        let version = versions.get(table).copied().flatten();
        let version = version.and_then(|version| usize::try_from(version).ok());
        Ok(Some(version.map_or_else(null_expr, number_literal)))
    }
}

/// Parses a call of one of these functions, with its text and name arguments.
fn parse_call(expr: &Expr) -> Option<(&'static str, Vec<Option<String>>)> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let [part] = function.name.0.as_slice() else {
        return None;
    };
    let name = part.as_ident()?.value.to_ascii_lowercase();
    let name = [SPLIT, VERSION].into_iter().find(|own| *own == name)?;
    let FunctionArguments::List(list) = &function.args else {
        return Some((name, Vec::new()));
    };
    let text = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text),
            ..
        }))) => Some(text.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name))) => {
            Some(name.value.clone()).filter(|_| list.args.len() > 1)
        }
        _ => None,
    };
    Some((name, list.args.iter().map(text).collect()))
}

/// Relations of a `SELECT` that have the keys of records.
fn keyed_relations(select: &Select) -> KeyedRelations {
    let tables = select.from.iter();
    let tables = tables.flat_map(|table| {
        let joined = table.joins.iter().map(|join| &join.relation);
        std::iter::once(&table.relation).chain(joined)
    });
    let named: Vec<(String, String)> = tables.filter_map(table_and_name).collect();
    for keyed in KEYED_TABLES {
        let mut own = named.iter().filter(|(table, _)| table == keyed);
        if let Some((_, name)) = own.next() {
            return KeyedRelations {
                name: Some(name.clone()),
                others: own.map(|(_, name)| name.clone()).collect(),
            };
        }
    }
    KeyedRelations::default()
}

/// Table name and alias of a relation.
fn table_and_name(factor: &TableFactor) -> Option<(String, String)> {
    let (table, alias) = match factor {
        TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } => (normalize(name.0.last()?.as_ident()?), alias),
        TableFactor::Derived { alias, .. } if has_keys(factor) => (RECORDS.to_owned(), alias),
        _ => return None,
    };
    let called = alias.as_ref().map(|alias| normalize(&alias.name));
    Some((table.clone(), called.unwrap_or(table)))
}

/// Normalizes a name as the planner does.
fn normalize(name: &Ident) -> String {
    match name.quote_style {
        None => name.value.to_ascii_lowercase(),
        Some(_) => name.value.clone(),
    }
}
