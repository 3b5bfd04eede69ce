//! `tsql plot graph`: a graph of the store.

use clap::Args;
use tsql_server::plot::plot_graph;

use super::super::outcome::{DONE, Failure};
use super::super::store_options::StoreOptions;
use super::plot_output::Drawn;

/// Draw a graph: operations from top to bottom, shapes at the edges, modules in color, configurable nodes in orange
///
/// In graphs of more than 600 nodes, repeated consecutive blocks are drawn once, with their number.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql plot graph 5410231177902211 -o graph.svg\n  \
    tsql plot graph timm/resnet18 -o resnet18.html\n  \
    tsql plot graph layout:xla:default:unet3d -o unet3d.html")]
pub(super) struct Drawing {
    /// Number of a graph (`graphs.graph_id`), path of a GraphNet sample, or COLLECTION:NAME or the file name of a
    /// TpuGraphs file; the end of a path or name is enough
    #[arg(value_name = "GRAPH|SAMPLE|FILE", allow_negative_numbers = true)]
    graph: String,
    #[command(flatten)]
    drawn: Drawn,
}

pub(super) async fn run(place: &StoreOptions, command: Drawing) -> Result<u8, Failure> {
    // A wrong file name fails before the store is opened.
    command.drawn.form()?;
    let store = place.open().await?;
    let graph = plot_graph(&store, &command.graph).await?;
    command.drawn.show_graph(&graph)?;
    Ok(DONE)
}
