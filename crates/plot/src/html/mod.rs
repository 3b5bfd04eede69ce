//! A page of pictures and tables in one file: style, script and data are in it, and nothing is fetched.

mod document;

pub use document::{Document, Figure, Grid, PICTURE_SCRIPT, Section, colours};
