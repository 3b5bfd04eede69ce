//! Who signs: `AWS_*` variables, profiles, roles and single sign-on, by Amazon's own rules.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_config::environment::region::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use object_store::aws::AwsCredential;
use object_store::client::CredentialProvider;
use tokio::sync::Mutex;

/// How long before they end credentials are renewed.
const RENEWED_BEFORE: Duration = Duration::from_secs(120);

/// Profiles that get their credentials from each other, at most.
const PROFILES_FOLLOWED: usize = 100;

/// What variables and profiles say.
pub(super) async fn config(profile: Option<&str>) -> SdkConfig {
    let mut files = ProfileFileRegionProvider::builder();
    let mut loader = aws_config::defaults(BehaviorVersion::latest());
    if let Some(profile) = profile {
        files = files.profile_name(profile);
        loader = loader.profile_name(profile);
    }
    // No question to a machine's own metadata: outside of Amazon it takes seconds to fail.
    let region = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
        .or_else(files.build());
    loader.region(region).load().await
}

/// Would this profile, or one that it gets its credentials from, run a program for them?
pub(super) async fn runs_a_program(profile: &str) -> bool {
    let (system, variables, files) = Default::default();
    let loaded = aws_config::profile::load(&system, &variables, &files, None);
    // What cannot be read gives no credentials either.
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
    // A circle gives none.
    false
}

/// Credentials by Amazon's rules, renewed before they end.
#[derive(Debug)]
pub(super) struct Chain {
    provider: SharedCredentialsProvider,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    credential: Arc<AwsCredential>,
    ends: Option<SystemTime>,
}

impl Chain {
    pub(super) fn new(provider: SharedCredentialsProvider) -> Self {
        let known = Mutex::new(None);
        Self { provider, known }
    }
}

#[async_trait::async_trait]
impl CredentialProvider for Chain {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let mut known = self.known.lock().await;
        let fresh = |known: &&Known| {
            let soon = SystemTime::now() + RENEWED_BEFORE;
            known.ends.is_none_or(|ends| ends > soon)
        };
        if let Some(known) = known.as_ref().filter(fresh) {
            return Ok(Arc::clone(&known.credential));
        }
        let found = self.provider.provide_credentials().await;
        let found = found.map_err(|error| object_store::Error::Generic {
            store: "S3",
            source: format!(
                "no credentials: {}\nhint: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; \
                 AWS_SKIP_SIGNATURE=true for a bucket that anybody may read",
                reasons(&error)
            )
            .into(),
        })?;
        let credential = Arc::new(AwsCredential {
            key_id: found.access_key_id().to_owned(),
            secret_key: found.secret_access_key().to_owned(),
            token: found.session_token().map(str::to_owned),
        });
        *known = Some(Known {
            credential: Arc::clone(&credential),
            ends: found.expiry(),
        });
        Ok(credential)
    }
}

/// The error and what it came from.
fn reasons(error: &dyn std::error::Error) -> String {
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
