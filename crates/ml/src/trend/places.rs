//! Places of each platform, oldest first.

use std::collections::HashMap;

use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema::column;

/// Places by platform.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    by_platform: HashMap<String, PlatformPlaces>,
}

/// Places of a platform, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct PlatformPlaces {
    names: Vec<String>,
    indices: HashMap<String, usize>,
}

impl Places {
    pub(super) fn is_empty(&self) -> bool {
        self.by_platform.is_empty()
    }

    pub(super) fn get(&self, platform: &str) -> Option<&PlatformPlaces> {
        self.by_platform.get(platform)
    }

    /// Total number of places.
    pub(super) fn count(&self) -> usize {
        self.by_platform
            .values()
            .map(|places| places.names.len())
            .sum()
    }
}

impl PlatformPlaces {
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.indices.get(name).copied()
    }

    pub(super) fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or("", String::as_str)
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }
}

/// Reads the places of the runs.
pub(super) async fn read_places(context: &SessionContext, runs: &str) -> Result<Places> {
    let sql = format!(
        "SELECT platform, place FROM ({runs}) AS placed GROUP BY platform, place \
         ORDER BY platform, min(at) NULLS FIRST, place"
    );
    let mut places = Places::default();
    for batch in collect(context, &sql).await? {
        let platforms = column::text(&batch, "platform")?;
        let names = column::text(&batch, "place")?;
        for row in 0..batch.num_rows() {
            let platform = places.by_platform.entry(platforms.value(row).to_owned());
            let platform = platform.or_default();
            let name = names.value(row).to_owned();
            platform.indices.insert(name.clone(), platform.names.len());
            platform.names.push(name);
        }
    }
    Ok(places)
}
