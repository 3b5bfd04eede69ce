//! Credentials from `AWS_*` variables, profiles, roles and single sign-on, in the order of Amazon's SDK.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::environment::region::EnvironmentVariableRegionProvider;
use aws_config::imds;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use object_store::aws::AwsCredential;
use object_store::client::CredentialProvider;
use tokio::sync::Mutex;

/// Time before expiry at which credentials are renewed.
const RENEWED_BEFORE: Duration = Duration::from_secs(120);

/// Maximum length of a chain of profiles.
const PROFILES_FOLLOWED: usize = 100;

/// Timeout of the machine's metadata service. The service is on the machine or its host, if it exists.
const METADATA_TIMEOUT: Duration = Duration::from_secs(1);

/// Time for which missing credentials are cached.
const REFUSED_FOR: Duration = Duration::from_secs(10);

/// Loads the configuration from variables and profiles.
pub(super) async fn config(profile: Option<&str>) -> SdkConfig {
    let mut files = ProfileFileRegionProvider::builder();
    let mut loader = aws_config::defaults(BehaviorVersion::latest());
    if let Some(profile) = profile {
        files = files.profile_name(profile);
        loader = loader.profile_name(profile);
    }
    // Skips the region from the machine's metadata, which takes seconds to fail outside of Amazon.
    let region = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
        .or_else(files.build());
    let region = region.region().await;
    let metadata = imds::Client::builder()
        .max_attempts(1)
        .connect_timeout(METADATA_TIMEOUT)
        .read_timeout(METADATA_TIMEOUT)
        .operation_attempt_timeout(METADATA_TIMEOUT)
        .operation_timeout(METADATA_TIMEOUT);
    let mut chain = DefaultCredentialsChain::builder()
        .imds_client(metadata.build())
        .region(region.clone());
    if let Some(profile) = profile {
        chain = chain.profile_name(profile);
    }
    let loader = loader
        .region(region)
        .credentials_provider(chain.build().await);
    loader.load().await
}

/// Returns whether this profile, or one that it takes its credentials from, runs a program for them.
pub(super) async fn runs_a_program(profile: &str) -> bool {
    let (system, variables, files) = Default::default();
    let loaded = aws_config::profile::load(&system, &variables, &files, None);
    // An unreadable profile gives no credentials either.
    let Ok(profiles) = loaded.await else {
        return false;
    };
    let mut next = profiles.get_profile(profile);
    for _ in 0..PROFILES_FOLLOWED {
        let Some(profile) = next else {
            return false;
        };
        if profile.get("credential_process").is_some() {
            return true;
        }
        next = profile
            .get("source_profile")
            .and_then(|source| profiles.get_profile(source));
    }
    // A cycle gives no credentials.
    false
}

/// Credential provider of Amazon's SDK, with renewal before expiry.
#[derive(Debug)]
pub(super) struct Chain {
    provider: SharedCredentialsProvider,
    answered: Mutex<CredentialCache>,
}

/// Cached response of the provider.
#[derive(Debug, Default)]
struct CredentialCache {
    known: Option<CachedCredential>,
    /// Time and reason of the last failure.
    refused: Option<(Instant, String)>,
}

#[derive(Debug)]
struct CachedCredential {
    credential: Arc<AwsCredential>,
    ends: Option<SystemTime>,
}

impl Chain {
    pub(super) fn new(provider: SharedCredentialsProvider) -> Self {
        Self {
            provider,
            answered: Mutex::default(),
        }
    }
}

#[async_trait::async_trait]
impl CredentialProvider for Chain {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let mut answered = self.answered.lock().await;
        let fresh = |known: &&CachedCredential| {
            let soon = SystemTime::now() + RENEWED_BEFORE;
            known.ends.is_none_or(|ends| ends > soon)
        };
        if let Some(known) = answered.known.as_ref().filter(fresh) {
            return Ok(Arc::clone(&known.credential));
        }
        let again = |(asked, _): &&(Instant, String)| asked.elapsed() < REFUSED_FOR;
        if let Some((_, reason)) = answered.refused.as_ref().filter(again) {
            return Err(missing_error(reason));
        }
        let found = self.provider.provide_credentials().await;
        let found = found.map_err(|error| {
            let reason = error_chain(&error);
            let refused = missing_error(&reason);
            answered.refused = Some((Instant::now(), reason));
            refused
        })?;
        let credential = Arc::new(AwsCredential {
            key_id: found.access_key_id().to_owned(),
            secret_key: found.secret_access_key().to_owned(),
            token: found.session_token().map(str::to_owned),
        });
        answered.known = Some(CachedCredential {
            credential: Arc::clone(&credential),
            ends: found.expiry(),
        });
        Ok(credential)
    }
}

/// Returns an error that is not retried: missing credentials are not a failure of the server.
fn missing_error(reason: &str) -> object_store::Error {
    let disabled = std::env::var("AWS_EC2_METADATA_DISABLED");
    let metadata = if disabled.is_ok_and(|value| value.eq_ignore_ascii_case("true")) {
        ""
    } else {
        "; the metadata service of this machine (169.254.169.254) returned none within 1 s, \
         AWS_EC2_METADATA_DISABLED=true skips it"
    };
    object_store::Error::Unauthenticated {
        path: "the bucket".to_owned(),
        source: format!(
            "no credentials: {reason}{metadata}\nhint: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; \
             AWS_SKIP_SIGNATURE=true for a public bucket"
        )
        .into(),
    }
}

/// Returns the error with its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text.push_str(": ");
            text.push_str(&reason);
        }
        source = error.source();
    }
    text
}
