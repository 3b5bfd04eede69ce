//! What a side means in a store: a version of it, and SQL over the columns of `records`.

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;

use super::condition::{condition, of_sources, times};
use super::side::{Kind, Side, Term};
use crate::column;
use crate::error::{Error, Result};
use crate::query::collect;
use crate::store::{At, Store};

/// The records of a side.
pub(super) struct Selected {
    /// The tag whose version they are of; `None` for the store as it is given.
    pub(super) tag: Option<String>,
    /// SQL over the columns of `records`.
    pub(super) predicate: String,
}

/// What terms can name.
pub(super) struct Known<'a> {
    context: &'a SessionContext,
    platforms: Vec<String>,
    tags: Vec<String>,
    /// Labels as `KEY=VALUE`.
    labels: Vec<String>,
    sources: i64,
}

/// Names that an error lists at most.
const LISTED: usize = 12;

impl<'a> Known<'a> {
    /// What a store has.
    pub(super) async fn of(store: &Store, context: &'a SessionContext) -> Result<Self> {
        let tags = store.tags().await?.into_iter().map(|tag| tag.name);
        let labels = "SELECT DISTINCT concat(key, '=', value) AS name FROM labels";
        let platforms = "SELECT platform AS name FROM records GROUP BY platform";
        Ok(Self {
            context,
            platforms: names(context, platforms).await?,
            tags: tags.collect(),
            labels: names(context, labels).await?,
            sources: counted(context, "SELECT count(*) AS rows FROM sources").await?,
        })
    }

    /// What a side means.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a name that nothing has, [`Error::Ambiguous`] for one that several kinds have.
    pub(super) async fn selected(&self, side: &Side) -> Result<Selected> {
        let mut tag = None;
        let mut conditions = Vec::new();
        for term in &side.terms {
            let kind = match term.kind {
                Some(kind) => self.checked(kind, &term.value).await?,
                None => self.told(term).await?,
            };
            if kind != Kind::Tag {
                conditions.push(format!("({})", condition(kind, &term.value)?));
            } else if tag.replace(term.value.clone()).is_some() {
                let reason = format!("`{side}` names two versions of the store");
                return Err(Error::Argument {
                    name: "side",
                    reason,
                });
            }
        }
        if conditions.is_empty() {
            conditions.push("true".to_owned());
        }
        Ok(Selected {
            tag,
            predicate: conditions.join(" AND "),
        })
    }

    /// The only kind that knows a name.
    async fn told(&self, term: &Term) -> Result<Kind> {
        let name = &term.value;
        let mut kinds = Vec::new();
        for kind in Kind::ALL {
            if self.has(kind, name).await? {
                kinds.push(kind);
            }
        }
        match kinds.as_slice() {
            [] => Err(Error::Unknown {
                kind: "platform, tag, label, source or time range",
                name: name.clone(),
                known: self.listed(),
            }),
            [one] => Ok(*one),
            many => {
                let words: Vec<String> = many
                    .iter()
                    .map(|kind| format!("a {}", kind.word()))
                    .collect();
                let ways: Vec<String> = many
                    .iter()
                    .map(|kind| format!("`{}:{name}`", kind.word()))
                    .collect();
                Err(Error::Ambiguous(format!(
                    "`{name}` is {}\nhint: {} says which",
                    words.join(" and "),
                    ways.join(" or ")
                )))
            }
        }
    }

    async fn checked(&self, kind: Kind, name: &str) -> Result<Kind> {
        // What is wrong with a time is told better by the one who reads it.
        if matches!(kind, Kind::Where | Kind::Time) || self.has(kind, name).await? {
            return Ok(kind);
        }
        Err(Error::Unknown {
            kind: kind.word(),
            name: name.to_owned(),
            known: self.listed(),
        })
    }

    async fn has(&self, kind: Kind, name: &str) -> Result<bool> {
        let is_in = |all: &[String]| all.iter().any(|one| one == name);
        Ok(match kind {
            Kind::Platform => is_in(&self.platforms),
            Kind::Tag => is_in(&self.tags),
            Kind::Label => is_in(&self.labels),
            Kind::Time => times(name).is_some(),
            Kind::Where => false,
            Kind::Source => {
                let sql = format!(
                    "SELECT count(*) AS rows FROM sources WHERE {}",
                    of_sources(name)
                );
                counted(self.context, &sql).await? > 0
            }
        })
    }

    fn listed(&self) -> String {
        let names = |kind: &str, names: &[String]| match names {
            [] => format!("no {kind}s"),
            names => {
                let more = if names.len() > LISTED { ", ..." } else { "" };
                let first = names.get(..LISTED).unwrap_or(names).join(", ");
                format!("the {kind}s {first}{more}")
            }
        };
        [
            names("platform", &self.platforms),
            names("tag", &self.tags),
            names("label", &self.labels),
            format!(
                "{} sources (`tsql \"SELECT name FROM sources\"`), and times like 2026-11-01..2026-11-08",
                self.sources
            ),
        ]
        .join("; ")
    }
}

/// A version of the store that a tag names, or the store.
pub(super) async fn version(store: &Store, tag: Option<&str>) -> Result<Store> {
    match tag {
        Some(tag) => store.at(&At::Tag(tag.to_owned())).await,
        None => Ok(store.clone()),
    }
}

async fn names(context: &SessionContext, sql: &str) -> Result<Vec<String>> {
    let sql = format!("SELECT arrow_cast(name, 'Utf8View') AS name FROM ({sql}) ORDER BY name");
    let mut found = Vec::new();
    for batch in collect(context, &sql).await? {
        let names = column::text(&batch, "name")?;
        found.extend(names.iter().flatten().map(str::to_owned));
    }
    Ok(found)
}

async fn counted(context: &SessionContext, sql: &str) -> Result<i64> {
    let mut rows = 0;
    for batch in collect(context, sql).await? {
        let counts = column::numbers::<Int64Type>(&batch, "rows")?;
        rows += counts.values().iter().sum::<i64>();
    }
    Ok(rows)
}
