//! Charts as separate HTML pages.

use tsql_plot::{Appearance, Chart, Figure, Graph, HtmlDocument, Section};

/// Returns a page with the chart, with tooltips, and its query.
#[must_use]
pub fn html_document(chart: &Chart, look: Appearance, sql: &str) -> String {
    let title = chart.title();
    let figure = Figure {
        svg: chart.figure(look),
        sql: sql.to_owned(),
        ..Figure::default()
    };
    let page = HtmlDocument {
        title: if title.is_empty() {
            "Result".to_owned()
        } else {
            title
        },
        sections: vec![Section {
            figures: vec![figure],
            ..Section::default()
        }],
        made: format!("Drawn by tsql {}.", env!("CARGO_PKG_VERSION")),
        ..HtmlDocument::default()
    };
    page.html()
}

/// Returns a page with a graph that can be zoomed.
#[must_use]
pub fn html_graph_document(graph: &Graph) -> String {
    let figure = Figure {
        svg: graph.figure(),
        is_wide: true,
        ..Figure::default()
    };
    let page = HtmlDocument {
        title: graph.title.clone(),
        sections: vec![Section {
            figures: vec![figure],
            ..Section::default()
        }],
        made: format!("Drawn by tsql {}.", env!("CARGO_PKG_VERSION")),
        ..HtmlDocument::default()
    };
    page.html()
}
