//! A picture as a page of its own.

use tsql_plot::{Chart, Document, Figure, Graph, Look, Section};

/// A page with the picture, which shows what is below a pointer, and the query that it is the answer to.
#[must_use]
pub fn document(chart: &Chart, look: Look, sql: &str) -> String {
    let title = chart.title();
    let figure = Figure {
        svg: chart.figure(look),
        sql: sql.to_owned(),
        ..Figure::default()
    };
    let page = Document {
        title: if title.is_empty() {
            "An answer".to_owned()
        } else {
            title
        },
        sections: vec![Section {
            figures: vec![figure],
            ..Section::default()
        }],
        made: format!("Drawn by tsql {}.", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    };
    page.html()
}

/// A page with a graph that zooms.
#[must_use]
pub fn graph_document(graph: &Graph) -> String {
    let figure = Figure {
        svg: graph.figure(),
        is_wide: true,
        ..Figure::default()
    };
    let page = Document {
        title: graph.title.clone(),
        sections: vec![Section {
            figures: vec![figure],
            ..Section::default()
        }],
        made: format!("Drawn by tsql {}.", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    };
    page.html()
}
