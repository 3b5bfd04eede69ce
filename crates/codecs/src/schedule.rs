//! Model features of a program's transform steps, from their text alone: schedule numbers, and TLP tokens.
//!
//! ```text
//! [["SP", 2, 0, 1000, [8, 1, 1], 1], ["AN", 2, 4, 2], ["PR", 2, 0, "auto_unroll_max_step$64"]]
//!   kind stage iterator extent lengths inner_to_outer     annotation
//! ```

mod numbers;
mod scan;
mod tokens;

pub use numbers::{WIDTH, number_names, numbers};
pub use tokens::{Target, token_names, tokens};
