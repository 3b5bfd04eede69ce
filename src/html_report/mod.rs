//! HTML report of a store: one file that a browser opens without a network, with the content of the store, its quality,
//! and plots.
//!
//! ```
//! use tsql::Store;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::demo().await?;
//! let html = store.html_report("the sample").await?;
//! assert!(html.starts_with("<!DOCTYPE html>") && !html.contains("https://"));
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod chapters;
mod facts;
mod grids;

use datafusion::prelude::SessionContext;
use tsql_plot::{Appearance, Chart, Figure, HtmlDocument, PlotSpec, Section};

use crate::error::{Error, Result};
use crate::plot::{chart, spec_for_query};
use crate::query::{NamedQuery, SessionOptions, built_in_queries, run_sql};
use crate::store::Store;
use chapters::{Chapter, ChapterPart, chapters};

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 500;

/// Tables whose versions are reported.
const TABLES: [&str; 4] = ["sources", "records", "graphs", "samples"];

/// Maximum number of drawn graphs.
const MAX_GRAPHS: usize = 3;

impl Store {
    /// Returns the HTML report of the store as one self-contained page. `name` is the displayed name of the store.
    ///
    /// Sections without rows are omitted.
    ///
    /// # Errors
    /// Failures of the storage and of the queries.
    pub async fn html_report(&self, name: &str) -> Result<String> {
        self.html_report_with(name, &SessionOptions::default())
            .await
    }

    /// As [`Store::html_report`], with limits on the queries.
    ///
    /// # Errors
    /// As [`Store::html_report`].
    pub async fn html_report_with(&self, name: &str, options: &SessionOptions) -> Result<String> {
        let context = self.session_with(options).await?;
        let platforms = crate::query::platforms(self).await?;
        let mut page = HtmlDocument {
            title: format!("tsql · {name}"),
            lead: "What this store holds, how good it is, and what it shows. Click a name to hide it, a head of a table to sort it.".to_owned(),
            names: platforms,
            made: versions_text(self, &context).await?,
            ..HtmlDocument::default()
        };
        for chapter in chapters() {
            let section = section(&context, &chapter).await?;
            if !section.figures.is_empty() || !section.grids.is_empty() || !section.facts.is_empty()
            {
                page.sections.push(section);
            }
        }
        let graphs = graph_section(self, &context).await?;
        if !graphs.figures.is_empty() {
            page.sections.push(graphs);
        }
        Ok(page.html())
    }
}

/// Versions of the program and of the tables that were read.
async fn versions_text(store: &Store, context: &SessionContext) -> Result<String> {
    let sql = "SELECT now() AS at";
    let at = grids::single_value(context, sql).await?;
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
            true => facts::count_rows(context).await?,
            false => Vec::new(),
        },
        ..Section::default()
    };
    let all = built_in_queries();
    for part in &chapter.parts {
        match part {
            ChapterPart::Picture(name) => {
                let Some(question) = all.iter().find(|one| one.name == *name) else {
                    continue;
                };
                section
                    .figures
                    .extend(query_figure(context, question).await?);
            }
            ChapterPart::Drawn { caption, sql, spec } => {
                section
                    .figures
                    .extend(plot_figure(context, caption, sql, spec).await?);
            }
            ChapterPart::Table { caption, sql } => {
                let grid = grids::query_table(context, caption, sql, MAX_ROWS).await?;
                section.grids.extend(grid);
            }
        }
    }
    Ok(section)
}

/// Plot of a built-in query; `None` if the store has no data for it.
async fn query_figure(context: &SessionContext, question: &NamedQuery) -> Result<Option<Figure>> {
    if question.missing_data(context).await?.is_some() {
        return Ok(None);
    }
    let values = match question.parameter_values(context, &[]).await {
        Err(Error::Empty(_)) => return Ok(None),
        values => values?,
    };
    let mut spec = spec_for_query(question, PlotSpec::default())?;
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
    let frame = question.run(context, &values).await?;
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

async fn plot_figure(
    context: &SessionContext,
    caption: &str,
    sql: &str,
    spec: &str,
) -> Result<Option<Figure>> {
    let spec: PlotSpec = spec.parse().map_err(Error::Drawing)?;
    let drawn = chart(run_sql(context, sql, &[]).await?, &spec).await?;
    Ok(figure(&drawn, caption, sql, ""))
}

fn figure(chart: &Chart, caption: &str, sql: &str, command: &str) -> Option<Figure> {
    (chart.rows() > 0).then(|| Figure {
        caption: caption.to_owned(),
        svg: chart.figure(Appearance::default()),
        sql: sql.to_owned(),
        command: command.to_owned(),
        is_wide: false,
    })
}

/// The graphs with most operations, one of each kind.
async fn graph_section(store: &Store, context: &SessionContext) -> Result<Section> {
    let sql = "SELECT CAST(graph_id AS VARCHAR) FROM (
  SELECT graph_id, node_count, row_number() OVER (PARTITION BY dataset, kind ORDER BY node_count DESC, graph_id) AS place
  FROM graphs WHERE node_count > 0) AS g
WHERE place = 1 ORDER BY node_count DESC";
    let mut section = Section {
        heading: "Graphs".to_owned(),
        text: "The largest graph of each kind. The wheel zooms, a drag moves; blocks that repeat are drawn once.".to_owned(),
        ..Section::default()
    };
    for graph_id in grids::first_column(context, sql)
        .await?
        .into_iter()
        .take(MAX_GRAPHS)
    {
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
        let html = store.html_report("a <sample>").await.unwrap();
        assert!(html.contains("tsql · a &lt;sample&gt;") && html.len() < 10 << 20);
        for text in [
            "Best so far",
            "data-name=\"epyc-1t\"",
            "tsql plot @failures-by-kind",
            "class=\"copy\"",
        ] {
            assert!(html.contains(text), "{text}");
        }
        // Counted by hand in the logs of the sample, and by SQL.
        let context = store.session().await.unwrap();
        let records = grids::single_value(&context, "SELECT count(*) FROM records")
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
        let html = empty.html_report("nothing").await.unwrap();
        assert!(html.contains("<dt>records</dt><dd>0</dd>") && !html.contains("<figure"));
    }
}
