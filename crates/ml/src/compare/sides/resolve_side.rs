//! Resolution of a side against a store: a version, and a SQL predicate over the columns of `records`.

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_store::{At, Store};

use super::condition::{condition, source_name_condition, time_range};
use super::side::{Side, SideTerm, TermKind};

/// Selection of the records of a side.
pub(in crate::compare) struct ResolvedSide {
    /// Tag of the version; `None` for the store as given.
    pub(in crate::compare) tag: Option<String>,
    /// SQL predicate over the columns of `records`.
    pub(in crate::compare) predicate: String,
}

/// Names that terms can refer to.
pub(in crate::compare) struct StoreNames<'a> {
    context: &'a SessionContext,
    platforms: Vec<String>,
    tags: Vec<String>,
    /// Labels as `KEY=VALUE`.
    labels: Vec<String>,
    sources: i64,
}

/// Maximum number of names that an error lists.
const MAX_LISTED_NAMES: usize = 12;

impl<'a> StoreNames<'a> {
    /// Reads the names from a store.
    pub(in crate::compare) async fn load(
        store: &Store,
        context: &'a SessionContext,
    ) -> Result<Self> {
        let tags = store.tags().await?.into_iter().map(|tag| tag.name);
        let labels = "SELECT DISTINCT concat(key, '=', value) AS name FROM labels";
        let platforms = "SELECT platform AS name FROM records GROUP BY platform";
        Ok(Self {
            context,
            platforms: names(context, platforms).await?,
            tags: tags.collect(),
            labels: names(context, labels).await?,
            sources: sum_rows(context, "SELECT count(*) AS rows FROM sources").await?,
        })
    }

    /// Resolves a side.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an unknown name, [`Error::Ambiguous`] for a name of several kinds.
    pub(in crate::compare) async fn resolve(&self, side: &Side) -> Result<ResolvedSide> {
        let mut tag = None;
        let mut conditions = Vec::new();
        for term in &side.terms {
            let kind = match term.kind {
                Some(kind) => self.check_exists(kind, &term.value).await?,
                None => self.infer_kind(term).await?,
            };
            if kind != TermKind::Tag {
                conditions.push(format!("({})", condition(kind, &term.value)?));
            } else if tag.replace(term.value.clone()).is_some() {
                let reason = format!("`{side}` has two tags, expected at most one");
                return Err(Error::Argument {
                    name: "side",
                    reason,
                });
            }
        }
        if conditions.is_empty() {
            conditions.push("true".to_owned());
        }
        Ok(ResolvedSide {
            tag,
            predicate: conditions.join(" AND "),
        })
    }

    /// Returns the only kind that has a name.
    async fn infer_kind(&self, term: &SideTerm) -> Result<TermKind> {
        let name = &term.value;
        let mut kinds = Vec::new();
        for kind in TermKind::ALL {
            if self.contains(kind, name).await? {
                kinds.push(kind);
            }
        }
        match kinds.as_slice() {
            [] => Err(Error::Unknown {
                kind: "platform, tag, label, source or time range",
                name: name.clone(),
                known: self.list_names(),
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
                    "`{name}` is ambiguous: it is {}\nhint: use {}",
                    words.join(" and "),
                    ways.join(" or ")
                )))
            }
        }
    }

    async fn check_exists(&self, kind: TermKind, name: &str) -> Result<TermKind> {
        // The parser of times has better error messages.
        if matches!(kind, TermKind::Where | TermKind::Time) || self.contains(kind, name).await? {
            return Ok(kind);
        }
        Err(Error::Unknown {
            kind: kind.word(),
            name: name.to_owned(),
            known: self.list_names(),
        })
    }

    async fn contains(&self, kind: TermKind, name: &str) -> Result<bool> {
        let is_in = |all: &[String]| all.iter().any(|one| one == name);
        Ok(match kind {
            TermKind::Platform => is_in(&self.platforms),
            TermKind::Tag => is_in(&self.tags),
            TermKind::Label => is_in(&self.labels),
            TermKind::Time => time_range(name).is_some(),
            TermKind::Where => false,
            TermKind::Source => {
                let sql = format!(
                    "SELECT count(*) AS rows FROM sources WHERE {}",
                    source_name_condition(name)
                );
                sum_rows(self.context, &sql).await? > 0
            }
        })
    }

    fn list_names(&self) -> String {
        let names = |kind: &str, names: &[String]| match names {
            [] => format!("no {kind}s"),
            names => {
                let more = if names.len() > MAX_LISTED_NAMES {
                    ", ..."
                } else {
                    ""
                };
                let first = names.get(..MAX_LISTED_NAMES).unwrap_or(names).join(", ");
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

/// Opens the version of the store with a tag; without a tag returns the store.
pub(in crate::compare) async fn open_version(store: &Store, tag: Option<&str>) -> Result<Store> {
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

async fn sum_rows(context: &SessionContext, sql: &str) -> Result<i64> {
    let mut rows = 0;
    for batch in collect(context, sql).await? {
        let counts = column::numbers::<Int64Type>(&batch, "rows")?;
        rows += counts.values().iter().sum::<i64>();
    }
    Ok(rows)
}
