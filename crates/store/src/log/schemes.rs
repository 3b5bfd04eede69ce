//! URL schemes of logs that delta-rs does not know.

use std::sync::{Arc, Once};

use deltalake_core::DeltaResult;
use deltalake_core::logstore::{
    LogStoreFactory, LogStoreRef, ObjectStoreRef, StorageConfig, default_logstore,
    logstore_factories,
};
use url::Url;

use crate::io::location::LOCAL_SCHEME;

/// URL schemes of logs besides `memory`. Web servers use `web`: delta-rs cannot identify `http` by its scheme alone.
const SCHEMES: [&str; 3] = [LOCAL_SCHEME, "s3", "web"];

/// Registers the same log implementation for these schemes.
pub(super) fn register() {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| {
        for scheme in SCHEMES {
            if let Ok(url) = Url::parse(&format!("{scheme}://")) {
                logstore_factories().insert(url, Arc::new(PlainLogs));
            }
        }
    });
}

/// Logs whose object store has conditional creation of files.
struct PlainLogs;

impl LogStoreFactory for PlainLogs {
    fn with_options(
        &self,
        prefixed: ObjectStoreRef,
        root: ObjectStoreRef,
        location: &Url,
        options: &StorageConfig,
    ) -> DeltaResult<LogStoreRef> {
        Ok(default_logstore(prefixed, root, location, options))
    }
}
