//! Files of autotuners: one document format for each format of `tensorsql-autotuners`, which detects and reads them.

mod naming;
mod tuner_file;

pub use naming::{FileNames, GraphName, NamingOptions};
pub use tuner_file::{ALL, TunerContent, TunerFile, detect};

pub use tsql_autotuners as readers;
