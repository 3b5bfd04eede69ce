//! Storage of a store: directories with durable writes, buckets, web servers, memory.

pub(crate) mod deferred_creation;
pub(crate) mod durable_fs;
#[doc(hidden)]
pub(crate) mod failing_store;
pub(crate) mod forward;
pub(crate) mod location;
pub(crate) mod remote;
pub(crate) mod write_queue;
