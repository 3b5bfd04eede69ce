//! SQL over a store: one DataFusion session with the tables, the views and the functions.

mod functions;
mod library;
mod session;

pub use library::{Parameter, Question, question, questions};
