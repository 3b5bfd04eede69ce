//! Panics of readers as errors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `read` and catches panics. Returns the reason of a panic.
///
/// A panic in a library must not end the run, and must not pass unnoticed.
pub fn catch_panic<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read))
        .map_err(|panic| format!("the reader failed on it: {}", panic_text(panic.as_ref())))
}

/// Text of a panic payload.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic")
}

#[cfg(test)]
mod tests {
    use super::catch_panic;

    #[test]
    fn a_panic_is_a_reason() {
        assert_eq!(catch_panic(|| 7), Ok(7));
        let failed = catch_panic(|| -> u32 { panic!("at {}", 7) });
        assert_eq!(failed, Err("the reader failed on it: at 7".to_owned()));
        assert!(
            catch_panic(|| -> u32 { panic!("plain") })
                .unwrap_err()
                .ends_with("plain")
        );
    }
}
