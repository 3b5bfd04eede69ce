//! Schemes of the URLs of logs, which delta-rs does not know by itself.

use std::sync::{Arc, Once};

use deltalake_core::DeltaResult;
use deltalake_core::logstore::{
    LogStoreFactory, LogStoreRef, ObjectStoreRef, StorageConfig, default_logstore,
    logstore_factories,
};
use url::Url;

use crate::io::location::LOCAL_SCHEME;

/// Schemes of URLs that logs have besides `memory`. A web server's is `web`: delta-rs cannot tell `http` by its scheme alone.
const SCHEMES: [&str; 3] = [LOCAL_SCHEME, "s3", "web"];

/// Logs of other schemes than delta-rs knows by itself are read and written in the same way.
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

/// Logs whose object store creates a file only once.
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
