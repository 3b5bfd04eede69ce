//! Python pickles, protocols 0 to 5, read into inert values.
//!
//! A pickle is a program for a small machine with a stack. Python's runs it: a name in it becomes whatever
//! that name is bound to, which is then called. This one only takes notes: a name is a
//! [`Global`](Value::Global) of two texts, a call is an [`Object`] with what was called and its arguments,
//! and a state is kept beside it. Nothing is looked up, imported or called, so a pickle that means harm is data
//! like any other, or an [`Error`].
//!
//! Values lie in one list and refer to each other by their places in it ([`Id`]): a million lists within each
//! other are a list of a million values, read, walked and dropped without recursion, and a list that
//! holds itself is one that has its own place among its elements. Whoever walks a pickle bounds the walk.
//!
//! Memory follows the bytes that are there: a length is compared with what is left before anything is
//! allocated, and there are at most [`MAX_VALUES`] values.

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
