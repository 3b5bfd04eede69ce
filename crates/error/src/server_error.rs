//! Errors of object stores: the request, the status, and the error code of S3, without the XML of the response.

/// Text before the status of a response.
const STATUS: &str = "Server returned non-2xx status code: ";

/// Text before the request.
const REQUEST: &str = "Error performing ";

/// Error codes of S3, and a way out for each.
const HINTS: [(&str, &str); 14] = [
    ("SignatureDoesNotMatch", SECRET),
    ("InvalidAccessKeyId", KEY),
    ("InvalidClientTokenId", KEY),
    ("ExpiredToken", SESSION),
    ("InvalidToken", SESSION),
    ("TokenRefreshRequired", SESSION),
    ("AccessDenied", PERMISSIONS),
    ("AllAccessDisabled", PERMISSIONS),
    (
        "NoSuchBucket",
        "check the name of the bucket, and the server in AWS_ENDPOINT_URL",
    ),
    ("PermanentRedirect", REGION),
    ("AuthorizationHeaderMalformed", REGION),
    ("IllegalLocationConstraintException", REGION),
    ("RequestTimeTooSkewed", "set the clock of this machine"),
    ("SlowDown", "send fewer requests, or try again later"),
];

const SECRET: &str = "AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID; check both, or the profile AWS_PROFILE";
const KEY: &str =
    "the server does not know AWS_ACCESS_KEY_ID; check it, AWS_PROFILE and AWS_ENDPOINT_URL";
const SESSION: &str = "get new temporary credentials, and set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN";
const PERMISSIONS: &str = "the credentials lack a permission: reading needs s3:GetObject and s3:ListBucket, writing also \
     s3:PutObject and s3:DeleteObject";
const REGION: &str = "set AWS_REGION to the region of the bucket";

/// Hint for a rejection without a code: responses to HEAD have no body.
const REJECTED: &str = "check the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_PROFILE) and their permissions";

/// Returns the message of a response in `text` that rejects a request, with a hint; `None` if there is none.
pub(super) fn server_message(text: &str) -> Option<String> {
    let (before, response) = text.split_once(STATUS)?;
    let request = before.rsplit_once(REQUEST)?.1;
    let (request, _) = request.rsplit_once(" in ").unwrap_or((request, ""));
    let (status, body) = response.split_once(": ").unwrap_or((response, ""));
    let status = status.lines().next().unwrap_or_default().trim();
    // Without a body, nothing follows the colon.
    let status = status.trim_end_matches(':');
    let code = element(body, "Code");
    let hint = match code {
        Some(code) => HINTS.iter().find(|(known, _)| *known == code),
        None => None,
    };
    let is_rejected = status.starts_with("403") || status.starts_with("401");
    let hint = hint.map(|(_, hint)| *hint);
    let hint = hint.or((is_rejected && code.is_none()).then_some(REJECTED));
    let reason = match (code, element(body, "Message")) {
        (Some(code), None) => format!(" ({code})"),
        (Some(code), Some(_)) if hint.is_some() => format!(" ({code})"),
        (Some(code), Some(message)) => format!(" ({code}: {message})"),
        (None, _) => String::new(),
    };
    let fact = format!("the server rejected `{request}`: {status}{reason}");
    Some(match hint {
        Some(hint) => format!("{fact}\nhint: {hint}"),
        None => fact,
    })
}

/// Returns the text of an XML element.
fn element<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    let text = text.trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: &str, body: &str) -> String {
        format!(
            "The operation lacked the necessary privileges to complete for path x: Error performing GET \
             http://host:1/bucket/x in 13.1ms - Server returned non-2xx status code: {status}: {body}"
        )
    }

    #[test]
    fn a_rejection_names_the_code_and_a_way_out() {
        let body = "<?xml version=\"1.0\"?>\n<Error><Code>SignatureDoesNotMatch</Code><Message>No.</Message></Error>";
        let message = server_message(&response("403 Forbidden", body)).unwrap();
        let (fact, hint) = message.split_once("\nhint: ").unwrap();
        assert_eq!(
            fact,
            "the server rejected `GET http://host:1/bucket/x`: 403 Forbidden (SignatureDoesNotMatch)"
        );
        assert!(hint.contains("AWS_SECRET_ACCESS_KEY"), "{hint}");
        let message = server_message(response("403 Forbidden", "").trim_end()).unwrap();
        assert!(
            message.contains("403 Forbidden\nhint: check the credentials"),
            "{message}"
        );
    }

    #[test]
    fn an_unknown_code_is_shown_with_its_message() {
        let body = "<Error><Code>Odd</Code><Message>It is odd.</Message></Error>";
        assert_eq!(
            server_message(&response("400 Bad Request", body)).unwrap(),
            "the server rejected `GET http://host:1/bucket/x`: 400 Bad Request (Odd: It is odd.)"
        );
        assert_eq!(server_message("connection refused"), None);
    }
}
