//! What is the same, and what is not.

mod real;
