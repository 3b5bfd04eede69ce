//! What is the same, and what is not.

mod alike;
mod inline;
mod programs;
mod real;
mod refused;
mod respelled;
mod written;
