//! Python pickles, protocols 0 to 5, read into inert values.
//!
//! A pickle is a program for a small stack machine. In Python the machine resolves names and calls what they are bound
//! to. This one only records: a name is a [`Global`](Value::Global) of two texts, and a call is an [`Object`] with the
//! callee, its arguments and its state. Nothing is looked up, imported or called. So a malicious pickle is plain data,
//! or an [`Error`].
//!
//! Values are stored in one list and reference each other by index ([`Id`]). A million nested lists are a list of a
//! million values, which is read, walked and dropped without recursion. A list that contains itself has its own index
//! among its elements. Code that walks a pickle must bound the walk.
//!
//! Memory is bounded by the input: a length is checked against the remaining bytes before any allocation, and there are
//! at most [`MAX_VALUES`] values.

mod error;
mod input;
mod machine;
mod scalars;
#[cfg(test)]
mod tests;
mod text;
mod value;

pub use error::Error;
pub use machine::read;
pub use value::{Id, MAX_VALUES, Object, Pickle, Value};
