//! Tests which computations are equivalent and which are not.

mod alike;
mod inline;
mod programs;
mod real;
mod refused;
mod respelled;
mod written;
