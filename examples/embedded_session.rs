//! Stores the timings of a running program and queries them beside a table of its own, in one process.
//!
//! ```console
//! $ cargo run --example embedded_session
//! ```
//!
//! `flush` returns when the records are durable: a tuner that continues after it never repeats them.

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use tsql::arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use tsql::arrow::util::pretty::pretty_format_batches;
use tsql::ingest::StreamFormat;
use tsql::{AppendOptions, Store};

/// Returns the sum of a matrix of `size` rows and columns, which is traversed in tiles.
fn sum_in_tiles(matrix: &[f64], size: usize, tile: usize) -> f64 {
    let mut sum = 0.0;
    for first in (0..size).step_by(tile) {
        for row in matrix.chunks_exact(size) {
            sum += row.iter().skip(first).take(tile).sum::<f64>();
        }
    }
    sum
}

/// Times a function; returns nanoseconds.
fn time(run: impl Fn() -> f64) -> f64 {
    let start = Instant::now();
    std::hint::black_box(run());
    start.elapsed().as_secs_f64() * 1e9
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = Store::create("memory:").await?;

    // One JSON object per record; docs/formats/own-data.md lists the keys.
    let options = AppendOptions::new("tuner-1", "this-machine").format(StreamFormat::MEASURED);
    let mut appender = store.appender(&options).await?;
    let size = 512;
    let matrix = vec![1.0; size * size];
    for tile in [8, 64, 512] {
        let repeats: Vec<f64> = (0..5)
            .map(|_| time(|| sum_in_tiles(&matrix, size, tile)))
            .collect();
        let line = format!(
            "{{\"workload_key\": [\"sum\", {size}], \"steps\": {{\"tile\": {tile}}}, \"repeats_ns\": {repeats:?}}}\n"
        );
        appender.write(line.as_bytes()).await?;
    }
    let position = appender.flush().await?;
    println!("{} lines are durable", position.lines);
    let report = appender.close().await?;
    assert!(report.is_clean(), "rejected: {:?}", report.first_rejects);

    // A session is a DataFusion session: any table can be registered beside those of the store.
    let context = store.session().await?;
    let machines: ArrayRef = Arc::new(StringArray::from(vec!["this-machine"]));
    let bandwidth: ArrayRef = Arc::new(Float64Array::from(vec![20.0]));
    let peaks = RecordBatch::try_from_iter([("platform", machines), ("peak_gb_per_s", bandwidth)])?;
    context.register_batch("peaks", peaks)?;
    let sql = "
        SELECT steps, min_ns / 1e3 AS fastest_us, 512 * 512 * 8 / min_ns / peak_gb_per_s AS fraction_of_peak
        FROM records JOIN configurations USING (graph_id, config_id) JOIN peaks USING (platform)
        ORDER BY line";
    let frame = tsql::query::run_sql(&context, sql, &[]).await?;
    println!("{}", pretty_format_batches(&frame.collect().await?)?);
    Ok(())
}
