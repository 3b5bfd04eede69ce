//! Compares with the results of other decoders on real files, and tests synthetic files.

mod golden;
mod pickled;
mod synthetic;
