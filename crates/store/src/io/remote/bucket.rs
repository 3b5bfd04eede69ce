//! Buckets: server and credentials.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::ClientConfigKey;
use object_store::path::Path;

use super::credentials::{self, Chain};
use super::guard::WriteGuard;
use super::retry::ServerRetries;
use super::settings::Bucket;
use super::tail_cache::TailCache;
use super::traffic::CountingConnector;
use tsql_error as error;

/// Opens a bucket below `prefix`. Returns its objects, the cache of file tails, and the write guard.
pub(super) async fn open(
    bucket: &str,
    prefix: Path,
) -> error::Result<(Arc<dyn ObjectStore>, TailCache, WriteGuard)> {
    let settings = Bucket::load(bucket)?;
    if let (Some(file), Some(profile)) = (&settings.found_in, &settings.profile)
        && credentials::runs_a_program(profile).await
    {
        let file = file.display();
        return Err(error::Error::Setting(format!(
            "`{file}` of the working directory chooses the profile `{profile}`, which runs a program for its credentials\n\
                 hint: AWS_PROFILE={profile} chooses it, or the same settings in ~/.config/tsql/tsql.toml"
        )));
    }
    let (builder, server) = s3(bucket, &settings).await;
    let name = format!("{server}/{bucket}");
    let waiting = Arc::new(ServerRetries::new(&server, settings.retry_s)?);
    let timeout = AmazonS3ConfigKey::Client(ClientConfigKey::Timeout);
    let builder = match builder.get_config_value(&timeout) {
        Some(_) => builder,
        None => builder.with_config(timeout, format!("{}s", waiting.request_timeout().as_secs())),
    };
    let builder = builder
        .with_retry(waiting.retry_config())
        .with_http_connector(CountingConnector(Arc::clone(&waiting)));
    let inner = Arc::new(builder.build().map_err(error::Error::Storage)?);
    let guard = WriteGuard::new(&name, prefix, settings.single_writer, waiting);
    Ok((inner, TailCache::new(&name), guard))
}

/// Returns the client of a bucket, and the name of its server.
async fn s3(bucket: &str, settings: &Bucket) -> (AmazonS3Builder, String) {
    use AmazonS3ConfigKey as Key;
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    let has = |builder: &AmazonS3Builder, key: Key| builder.get_config_value(&key).is_some();
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_config(Key::S3Endpoint, endpoint);
    }
    if let Some(region) = &settings.region {
        builder = builder.with_region(region);
    }
    if let Some(virtual_hosted) = settings.virtual_hosted {
        builder = builder.with_virtual_hosted_style_request(virtual_hosted);
    }
    if settings.anonymous {
        builder = builder.with_skip_signature(true);
    }
    let signs = builder.get_config_value(&Key::SkipSignature).as_deref() != Some("true");
    let keys = has(&builder, Key::AccessKeyId) && has(&builder, Key::SecretAccessKey);
    if settings.profile.is_some() || (signs && !keys) {
        let known = credentials::config(settings.profile.as_deref()).await;
        if let Some(provider) = known.credentials_provider().filter(|_| signs) {
            builder = builder.with_credentials(Arc::new(Chain::new(provider)));
        }
        if let Some(region) = known.region().filter(|_| !has(&builder, Key::Region)) {
            builder = builder.with_region(region.to_string());
        }
        let endpoint = has(&builder, Key::Endpoint) || has(&builder, Key::S3Endpoint);
        if let Some(url) = known.endpoint_url().filter(|_| !endpoint) {
            builder = builder.with_config(Key::S3Endpoint, url);
        }
    }
    let endpoint = builder.get_config_value(&Key::S3Endpoint);
    let endpoint = endpoint.or_else(|| builder.get_config_value(&Key::Endpoint));
    if endpoint
        .as_ref()
        .is_some_and(|url| url.starts_with("http://"))
    {
        builder = builder.with_allow_http(true);
    }
    let server = endpoint.unwrap_or_else(|| "Amazon S3".to_owned());
    (builder, server)
}
