//! Tests which computations are equivalent and which are not.

mod equivalence;
mod inline;
mod normalization;
mod programs;
mod real_files;
mod rejected;
mod synthetic;
