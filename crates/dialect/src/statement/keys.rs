//! `config_key`, `graph_key` and `environment_key` of `records`: columns of the tables that a record references.
//!
//! | input | rewritten |
//! |---|---|
//! | `SELECT config_key, runtime_ns FROM records` | `... FROM (SELECT r.*, k.config_key FROM records AS r LEFT JOIN configurations AS k USING (config_id)) AS records` |
//!
//! Queries without these keys need no join. As columns of the view, they would make `SELECT *` read two tables.

use std::ops::ControlFlow::{self, Break, Continue};

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor, TableWithJoins,
    VisitMut as _, VisitorMut, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::walk::visit_statement;
use crate::syntax::pieces::{derived_table, parse_query, quoted_ident};
use tsql_error::{Error, Result};
use tsql_schema as schema;

/// A key, its table, and the column by which a record references that table.
struct RecordKey {
    name: &'static str,
    table: &'static str,
    by: &'static str,
}

const KEYS: [RecordKey; 3] = [
    RecordKey {
        name: "config_key",
        table: "configurations",
        by: "config_id",
    },
    RecordKey {
        name: "graph_key",
        table: "graphs",
        by: "graph_id",
    },
    RecordKey {
        name: "environment_key",
        table: "environments",
        by: "environment_id",
    },
];

const RECORDS: &str = "records";

/// Alias of the records inside of the derived table that replaces them.
const OWN: &str = "__records";

/// Returns whether this is the derived table that replaces the records.
pub(super) fn has_keys(factor: &TableFactor) -> bool {
    let TableFactor::Derived { subquery, .. } = factor else {
        return false;
    };
    let SetExpr::Select(select) = subquery.body.as_ref() else {
        return false;
    };
    let first = select.from.first().map(|tables| &tables.relation);
    matches!(first, Some(TableFactor::Table { alias: Some(alias), .. }) if alias.name.value == OWN)
}

/// Expands the keys of records to joins.
///
/// # Errors
/// [`Error::Internal`] for a defect.
pub(super) fn expand_keys(statement: &mut Statement, sql: &str) -> Result<()> {
    let lower = sql.to_ascii_lowercase();
    let asked = KEYS.iter().filter(|key| lower.contains(key.name));
    let asked: Vec<&'static RecordKey> = asked.collect();
    if asked.is_empty() || !lower.contains(RECORDS) {
        return Ok(());
    }
    let mut keys = KeyExpander { asked };
    match visit_statement(statement, &mut keys) {
        Continue(()) => Ok(()),
        Break(error) => Err(Error::Internal(error.to_string())),
    }
}

struct KeyExpander {
    /// Keys that the text names.
    asked: Vec<&'static RecordKey>,
}

impl VisitorMut for KeyExpander {
    type Break = ParserError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<ParserError> {
        let shadowed = query.with.as_ref().is_some_and(|with| {
            let mut names = with.cte_tables.iter().map(|table| &table.alias.name);
            names.any(|name| name.value.eq_ignore_ascii_case(RECORDS))
        });
        if shadowed {
            // In this query the name `records` is a user-defined relation.
            self.asked.clear();
        }
        match add_keys(query, &self.asked) {
            Ok(()) => Continue(()),
            Err(error) => Break(error),
        }
    }
}

/// Adds those of these keys to the records of a query that the query names.
fn add_keys(query: &mut Query, asked: &[&'static RecordKey]) -> Result<(), ParserError> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Ok(());
    };
    // Relations in FROM are visited separately, except for the join conditions.
    let mut own = select.as_ref().clone();
    let from = std::mem::take(&mut own.from);
    let relations: Vec<&TableFactor> = from.iter().flat_map(relations).collect();
    let of_records_count = relations
        .iter()
        .filter(|one| records_name(one).is_some())
        .count();
    if of_records_count == 0 {
        return Ok(());
    }
    let mut wanted: Vec<(&RecordKey, KeyUse)> = Vec::new();
    for key in asked {
        let mut used = KeyUse::new(key.name);
        let _ = own.visit(&mut used);
        let _ = query.order_by.visit(&mut used);
        for join in from.iter().flat_map(|tables| &tables.joins) {
            match join_constraint(&join.join_operator) {
                Some(JoinConstraint::On(on)) => {
                    let _ = on.clone().visit(&mut used);
                }
                Some(JoinConstraint::Using(columns)) => {
                    used.shared |= columns.iter().any(|column| is_named(column, key.name));
                }
                _ => {}
            }
        }
        let mut others = relations.iter().filter(|one| records_name(one).is_none());
        used.bare &= of_records_count == 1 && !others.any(|other| may_have(other, key.name));
        wanted.push((key, used));
    }
    let is_alone = relations.len() == 1;
    for tables in &mut select.from {
        let joined = tables.joins.iter_mut().map(|join| &mut join.relation);
        for factor in std::iter::once(&mut tables.relation).chain(joined) {
            let Some(name) = records_name(factor) else {
                continue;
            };
            let keys = wanted.iter().filter(|(_, used)| used.is_of(&name));
            let keys: Vec<&RecordKey> = keys.map(|(key, _)| *key).collect();
            if !keys.is_empty() {
                let joined = join_keys(factor, &name, &keys)?;
                *factor = joined;
                hide_keys(&mut select.projection, &keys, &name, is_alone);
            }
        }
    }
    Ok(())
}

fn relations(tables: &TableWithJoins) -> impl Iterator<Item = &TableFactor> {
    let joined = tables.joins.iter().map(|join| &join.relation);
    std::iter::once(&tables.relation).chain(joined)
}

/// Name or alias of the records; `None` for other relations.
fn records_name(factor: &TableFactor) -> Option<String> {
    let TableFactor::Table {
        name,
        alias,
        args: None,
        ..
    } = factor
    else {
        return None;
    };
    let [only] = name.0.as_slice() else {
        return None;
    };
    let called = alias.as_ref().map(|alias| alias.name.value.clone());
    let is_it = only.as_ident()?.value.eq_ignore_ascii_case(RECORDS);
    is_it.then(|| called.unwrap_or_else(|| RECORDS.to_owned()))
}

/// Returns whether a relation may have a column of this name.
fn may_have(factor: &TableFactor, key: &str) -> bool {
    let TableFactor::Table {
        name, args: None, ..
    } = factor
    else {
        return true;
    };
    let Some(name) = name.0.last().and_then(|part| part.as_ident()) else {
        return true;
    };
    let name = name.value.to_ascii_lowercase();
    let mut columns = schema::relation(&name).map(|relation| relation.columns.iter());
    columns
        .as_mut()
        .is_none_or(|columns| columns.any(|column| column.name == key))
}

/// Derived table of the records joined with these keys.
fn join_keys(
    records: &TableFactor,
    name: &str,
    keys: &[&RecordKey],
) -> Result<TableFactor, ParserError> {
    let (mut columns, mut joins) = (String::new(), String::new());
    for RecordKey { name, table, by } in keys {
        columns += &format!(", __{table}.{name}");
        joins += &format!(
            " LEFT JOIN (SELECT {by} AS __by, {name} FROM {table}) AS __{table} ON __{table}.__by = {OWN}.{by}"
        );
    }
    let sql = format!("SELECT {OWN}.*{columns} FROM {RECORDS} AS {OWN}{joins}");
    let called = match records {
        TableFactor::Table { alias, .. } => alias.clone(),
        _ => None,
    };
    let mut factor = derived_table(parse_query(&sql)?);
    if let TableFactor::Derived { alias, .. } = &mut factor {
        *alias = called.or_else(|| {
            Some(TableAlias {
                explicit: true,
                name: Ident::new(name),
                columns: Vec::new(),
                at: None,
            })
        });
    }
    Ok(factor)
}

/// Excludes the keys from the `*` of records alone, and from a qualified `*`. An unqualified `*` over several relations
/// is unchanged, and shows which relation each column belongs to.
fn hide_keys(items: &mut [SelectItem], keys: &[&RecordKey], name: &str, is_alone: bool) {
    for item in items {
        let options = match item {
            SelectItem::Wildcard(options) if is_alone => options,
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(of),
                options,
            ) if is_named(of, name) => options,
            _ => continue,
        };
        for key in keys {
            exclude_column(options, key.name);
        }
    }
}

fn exclude_column(options: &mut WildcardAdditionalOptions, key: &str) {
    let name = || ObjectName::from(vec![quoted_ident(key)]);
    let excluded = match options.opt_exclude.take() {
        None => vec![name()],
        Some(ExcludeSelectItem::Single(one)) => vec![one, name()],
        Some(ExcludeSelectItem::Multiple(mut several)) => {
            several.push(name());
            several
        }
    };
    options.opt_exclude = Some(ExcludeSelectItem::Multiple(excluded));
}

fn join_constraint(join: &JoinOperator) -> Option<&JoinConstraint> {
    match join {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint) => Some(constraint),
        _ => None,
    }
}

fn is_named(name: &ObjectName, key: &str) -> bool {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.is_some_and(|last| last.value.eq_ignore_ascii_case(key))
}

/// Positions at which a key is named, outside of subqueries.
struct KeyUse {
    key: &'static str,
    depth: usize,
    /// Without a qualifier.
    bare: bool,
    /// In `USING`.
    shared: bool,
    /// Relations whose key is named.
    of: Vec<String>,
}

impl KeyUse {
    fn new(key: &'static str) -> Self {
        Self {
            key,
            depth: 0,
            bare: false,
            shared: false,
            of: Vec::new(),
        }
    }

    fn is_of(&self, name: &str) -> bool {
        let named = self.of.iter().any(|of| of.eq_ignore_ascii_case(name));
        named || self.bare || self.shared
    }
}

impl VisitorMut for KeyUse {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth = self.depth.saturating_sub(1);
        Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) if self.depth == 0 => {
                self.bare |= name.value.eq_ignore_ascii_case(self.key);
            }
            Expr::CompoundIdentifier(names) => {
                if let [of, name] = names.as_slice()
                    && name.value.eq_ignore_ascii_case(self.key)
                {
                    self.of.push(of.value.clone());
                }
            }
            _ => {}
        }
        Continue(())
    }
}
