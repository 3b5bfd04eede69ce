//! A page for a store: one file that a browser opens without a network, with what the store has, how good it is, and pictures.
//!
//! ```
//! use tsql::Store;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::demo().await?;
//! let html = store.page("the sample").await?;
//! assert!(html.starts_with("<!DOCTYPE html>") && !html.contains("https://"));
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod chapters;
mod facts;
mod grids;

use datafusion::prelude::SessionContext;
use tsql_plot::{Chart, Document, Figure, Look, Section, Spec};

use crate::error::{Error, Result};
use crate::plot::{chart, of_question};
use crate::query::{Question, SessionOptions, ask, questions};
use crate::store::Store;
use chapters::{Chapter, Part, chapters};

/// Rows of a table that a page has at most.
const ROWS: usize = 500;

/// Tables whose versions say what was looked at.
const TABLES: [&str; 4] = ["sources", "records", "graphs", "samples"];

/// Graphs that are drawn.
const GRAPHS: usize = 3;

impl Store {
    /// The page of the store, as HTML: everything is in it, nothing is fetched. `name` is what the store is called there.
    ///
    /// What the store has no rows for is left out.
    ///
    /// # Errors
    /// Failures of the storage and of the queries.
    pub async fn page(&self, name: &str) -> Result<String> {
        self.page_with(name, &SessionOptions::default()).await
    }

    /// As [`Store::page`], within limits.
    ///
    /// # Errors
    /// As [`Store::page`].
    pub async fn page_with(&self, name: &str, options: &SessionOptions) -> Result<String> {
        let context = self.session_with(options).await?;
        let platforms = crate::query::platforms(self).await?;
        let mut page = Document {
            title: format!("tsql · {name}"),
            lead: "What this store holds, how good it is, and what it shows. Click a name to hide it, a head of a table to sort it.".to_owned(),
            names: platforms,
            made: made(self, &context).await?,
            ..Document::default()
        };
        for chapter in chapters() {
            let section = section(&context, &chapter).await?;
            if !section.figures.is_empty() || !section.grids.is_empty() || !section.facts.is_empty()
            {
                page.sections.push(section);
            }
        }
        let graphs = graphs(self, &context).await?;
        if !graphs.figures.is_empty() {
            page.sections.push(graphs);
        }
        Ok(page.html())
    }
}

/// Versions: of the program, and of the tables that were read.
async fn made(store: &Store, context: &SessionContext) -> Result<String> {
    let sql = "SELECT now() AS at";
    let at = grids::first(context, sql).await?;
    let at = at.split('.').next().unwrap_or_default().to_owned();
    let mut versions = Vec::new();
    for table in TABLES {
        if let Some(snapshot) = store.snapshot(table).await? {
            versions.push(format!("{table}@{}", snapshot.version()));
        }
    }
    let of = if versions.is_empty() {
        "an empty store".to_owned()
    } else {
        versions.join(", ")
    };
    Ok(format!(
        "Made by tsql {} at {at} UTC with `tsql report html`, of {of}.",
        env!("CARGO_PKG_VERSION")
    ))
}

async fn section(context: &SessionContext, chapter: &Chapter) -> Result<Section> {
    let mut section = Section {
        heading: chapter.heading.to_owned(),
        text: chapter.text.to_owned(),
        facts: match chapter.has_facts {
            true => facts::facts(context).await?,
            false => Vec::new(),
        },
        ..Section::default()
    };
    let all = questions();
    for part in &chapter.parts {
        match part {
            Part::Picture(name) => {
                let Some(question) = all.iter().find(|one| one.name == *name) else {
                    continue;
                };
                section.figures.extend(asked(context, question).await?);
            }
            Part::Drawn { caption, sql, spec } => {
                section
                    .figures
                    .extend(drawn(context, caption, sql, spec).await?);
            }
            Part::Table { caption, sql } => {
                let grid = grids::grid(context, caption, sql, ROWS).await?;
                section.grids.extend(grid);
            }
        }
    }
    Ok(section)
}

/// The picture of a question; none where the store has nothing for it.
async fn asked(context: &SessionContext, question: &Question) -> Result<Option<Figure>> {
    if question.lacks(context).await?.is_some() {
        return Ok(None);
    }
    let values = match question.values(context, &[]).await {
        Err(Error::Empty(_)) => return Ok(None),
        values => values?,
    };
    let mut spec = of_question(question, Spec::default())?;
    let title = spec.title.take().unwrap_or_default();
    let is_said = |name: &str| {
        let mut all = question.parameters.iter();
        all.any(|parameter| parameter.name == name && parameter.is_platform())
    };
    let said: Vec<String> = values
        .iter()
        .filter(|(name, _)| is_said(name))
        .map(|(name, value)| format!("{} = {value}", name.replace('_', " ")))
        .collect();
    let frame = question.ask(context, &values).await?;
    let drawn = chart(frame, &spec).await?;
    let set = values
        .iter()
        .map(|(name, value)| format!(" --set {name}={value}"));
    let command = format!(
        "tsql plot @{}{} -o {}.svg",
        question.name,
        set.collect::<String>(),
        question.name
    );
    let caption = match said.as_slice() {
        [] => title,
        said => format!("{title} ({})", said.join(", ")),
    };
    Ok(figure(&drawn, &caption, &question.sql, &command))
}

async fn drawn(
    context: &SessionContext,
    caption: &str,
    sql: &str,
    spec: &str,
) -> Result<Option<Figure>> {
    let spec: Spec = spec.parse().map_err(Error::Drawing)?;
    let drawn = chart(ask(context, sql, &[]).await?, &spec).await?;
    Ok(figure(&drawn, caption, sql, ""))
}

fn figure(chart: &Chart, caption: &str, sql: &str, command: &str) -> Option<Figure> {
    (chart.rows() > 0).then(|| Figure {
        caption: caption.to_owned(),
        svg: chart.figure(Look::default()),
        sql: sql.to_owned(),
        command: command.to_owned(),
        is_wide: false,
    })
}

/// The graphs with most operations, one of each kind.
async fn graphs(store: &Store, context: &SessionContext) -> Result<Section> {
    let sql = "SELECT CAST(graph_id AS VARCHAR) FROM (
  SELECT graph_id, node_count, row_number() OVER (PARTITION BY dataset, kind ORDER BY node_count DESC, graph_id) AS place
  FROM graphs WHERE node_count > 0) AS g
WHERE place = 1 ORDER BY node_count DESC";
    let mut section = Section {
        heading: "Graphs".to_owned(),
        text: "The largest graph of each kind. The wheel zooms, a drag moves; blocks that repeat are drawn once.".to_owned(),
        ..Section::default()
    };
    for graph_id in grids::column(context, sql).await?.into_iter().take(GRAPHS) {
        let graph = match store.plot_graph(&graph_id).await {
            Err(Error::Empty(_)) => continue,
            graph => graph?,
        };
        section.figures.push(Figure {
            caption: graph.title.clone(),
            svg: graph.figure(),
            sql: format!("SELECT * FROM nodes WHERE graph_id = {graph_id}"),
            command: format!("tsql plot graph {graph_id} -o graph.svg"),
            is_wide: true,
        });
    }
    Ok(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_page_shows_a_store_and_an_empty_one() {
        let store = Store::demo().await.unwrap();
        let html = store.page("a <sample>").await.unwrap();
        assert!(html.contains("tsql · a &lt;sample&gt;") && html.len() < 10 << 20);
        for text in [
            "Best so far",
            "data-name=\"epyc-1t\"",
            "tsql plot @failures-by-kind",
            "class=\"copy\"",
        ] {
            assert!(html.contains(text), "{text}");
        }
        // Counted by hand of the logs that the sample is made of, and by SQL.
        let context = store.session().await.unwrap();
        let records = grids::first(&context, "SELECT count(*) FROM records")
            .await
            .unwrap();
        let grouped = html
            .split("<dt>records</dt><dd>")
            .nth(1)
            .unwrap()
            .split("</dd>")
            .next()
            .unwrap();
        assert_eq!(grouped.replace('\u{202f}', ""), records);
        let empty = Store::create("memory:").await.unwrap();
        let html = empty.page("nothing").await.unwrap();
        assert!(html.contains("<dt>records</dt><dd>0</dd>") && !html.contains("<figure"));
    }
}
