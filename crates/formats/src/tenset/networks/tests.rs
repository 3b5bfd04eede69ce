//! Against what other decoders found in real files, and against files of our own making.

mod golden;
mod made;
mod pickled;
