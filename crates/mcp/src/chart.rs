//! The tool that plots a query.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::ContentBlock;
use tsql_engine::execute_stream_cancellable;
use tsql_error::{Error, Result};
use tsql_server::plot::{
    Appearance, PlotSize, PlotSpec, Theme, draw_stream, project_columns, spec_for_query,
};

use super::arguments::{self, Plot};
use super::query::{plan_named, plan_sql, with_timeout};
use super::server_state::ServerState;

/// Width of an image in pixels.
const WIDTH: u32 = 1280;

/// Draws the result of a query, and returns the image with a caption.
pub(crate) async fn plot(state: &ServerState, arguments: Plot) -> Result<Vec<ContentBlock>> {
    let time = arguments::timeout(arguments.timeout_seconds)?;
    with_timeout(time, draw(state, arguments)).await
}

async fn draw(state: &ServerState, arguments: Plot) -> Result<Vec<ContentBlock>> {
    let own: PlotSpec = arguments.spec.parse().map_err(|reason| Error::Argument {
        name: "spec",
        reason,
    })?;
    let given = arguments::parameter_texts(arguments.parameters)?;
    let (frame, spec) = match (arguments.sql, arguments.name) {
        (Some(sql), None) => (plan_sql(state, &sql).await?, own),
        (None, Some(name)) => {
            let plan = plan_named(state, &name, &given).await?;
            let spec = spec_for_query(&plan.query, own)?;
            (plan.frame, spec)
        }
        _ => {
            return Err(Error::Argument {
                name: "sql",
                reason: "a plot needs either `sql` or `name`".to_owned(),
            });
        }
    };
    let (frame, units) = project_columns(frame, &spec)?;
    let rows = execute_stream_cancellable(frame).await?;
    let chart = draw_stream(rows, &spec, &units).await?;
    if chart.rows() == 0 {
        let reason = "the result has no rows, so there is nothing to plot";
        return Err(Error::Empty(reason.to_owned()));
    }
    let theme = if arguments.dark {
        Theme::Dark
    } else {
        Theme::Light
    };
    let look = Appearance {
        theme,
        size: PlotSize::Column,
    };
    let png = chart.png(look, WIDTH).map_err(Error::Drawing)?;
    let caption = format!("{} plot of {} rows", chart.kind(), chart.rows());
    Ok(vec![
        ContentBlock::image(STANDARD.encode(png), "image/png"),
        ContentBlock::text(caption),
    ])
}
