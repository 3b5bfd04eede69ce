//! TpuGraphs: training steps that read one graph and a few of its configurations, and the scores of the competition.
//!
//! [`training_graph`] reads a file of the dataset once. Each later step picks and expands samples, in well
//! under a millisecond.
//!
//! ```no_run
//! use tsql_store::Store;
//! use tsql_ml::tpugraphs;
//! use tsql_ml::tpugraphs::Form;
//! use tsql_ml::tpugraphs::Pick;
//! use tsql_ml::tpugraphs::Picking;
//! # async fn example() -> Result<(), tsql_error::Error> {
//! let store = Store::open("store").await?;
//! let graph = tpugraphs::training_graph(&store, "layout:xla:default:unet3d").await?;
//! let picking = Picking::new(Pick::Random, 128).seed(7);
//! for step in 0..1000 {
//!     let samples = graph.pick(&picking, step);
//!     let rows = graph.batch(&samples, Form::Int8)?; // an Arrow batch: a row for each sample
//! }
//! # Ok(()) }
//! ```
//!
//! Several files, or all of a collection, are one stream of steps with [`training_graphs`]: each file once an
//! epoch, with a bounded number of open files, prefetched by threads.
//!
//! [`write_graph_files`] writes graphs with all configurations as training files.
//!
//! [`write_submission`] converts predictions to a submission to Kaggle's "Fast or Slow?", and
//! [`score_submission`] scores one as Kaggle did.

mod files;
mod score;
mod training;

pub use files::{GraphFilesOptions, verify_graph_files, write_graph_files};
pub use score::{RowScore, SubmissionScore, is_submission, score_submission, write_submission};
pub use training::{
    Form, GraphArrays, GraphStep, GraphsIter, GraphsOptions, Number, Pick, Picking, StepTable,
    Tensor, TrainingFile, TrainingGraph, TrainingGraphs, training_files, training_graph,
    training_graphs,
};
