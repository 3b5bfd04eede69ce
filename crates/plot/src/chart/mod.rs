//! Tables as pictures.

mod axis;
mod bars;
mod data;
mod drawn;
mod forms;
mod frame;
mod gather;
mod groups;
mod heat;
mod legend;
mod lines;
mod marks;
mod names;
mod place;
mod points;
mod roles;
mod shares;
mod spec;
mod spread;
mod style;
mod table;
#[cfg(test)]
mod tests;
mod unit;

pub use drawn::Chart;
pub use gather::Gather;
pub(crate) use gather::{grouped, rows};
pub use roles::{Roles, What};
pub use spec::{Kind, Log, Spec};
pub use style::{Look, Size};
pub use table::{Column, Table, Values, Words};
