//! TenSet's `network_info`: which tasks a network consists of, how often, and what each computes.
//!
//! Three kinds of pickles, told by what is in them ([`read`]):
//!
//! | file | holds |
//! |---|---|
//! | `((resnet_50,[(1,3,224,224)]),cuda).task.pkl` | tasks of a network and their weights; both may be empty |
//! | `all_tasks.pkl` | tasks of all networks, without weights |
//! | `(resnet_50,[(1,3,224,224)]).relay.pkl` | the network in Relay, without its parameters |
//!
//! They are read without Python and without TVM: a pickle of TVM's objects holds their content as graphs of
//! JSON, and of a task's computation everything follows from that: tensors, operations, edges, and how
//! many operations on numbers they take ([`Dag::flop_count`]), and a form of it that is the same for the same
//! computation ([`Task::computation`]). What a file's name says of its network is
//! [`Network::of`].
//!
//! ```text
//! pickle ─▶ objects ─▶ tasks ─┬─▶ target, hardware
//! tvm_json ───────────────────┴─▶ dag ─▶ flops ─▶ expressions
//! ```
//!
//! ```no_run
//! use tsql_formats::tenset::networks::{self, Content, Network};
//!
//! let path = "network_info/((resnet_50,[(1,3,224,224)]),cuda).task.pkl";
//! let network = Network::of(path).expect("the name of a network");
//! assert_eq!((network.name.as_str(), network.target.as_deref()), ("resnet_50", Some("cuda")));
//! if let Content::Network(tasks) = networks::read(&std::fs::read(path)?)? {
//!     for task in tasks {
//!         println!("{} x {} {:?}", task.weight.unwrap_or(1), task.workload_key, task.dag.flop_count);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod class;
mod content;
mod dag;
mod error;
mod expressions;
mod flops;
mod hardware;
mod network;
mod objects;
mod relay;
mod target;
mod tasks;
#[cfg(test)]
mod tests;
mod text;
mod told;

pub use content::{Content, read};
pub use dag::{Dag, Operation, Tensor};
pub use error::{Error, Reason};
pub use hardware::Hardware;
pub use network::Network;
pub use relay::{Input, Relay};
pub use target::{Target, TargetValue};
pub use tasks::Task;
pub use told::{NAME, NetworkInfo};
