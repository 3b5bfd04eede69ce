//! Options from arguments that may be absent.

/// Builders whose settings are optional arguments of a command or a function.
pub trait OptionalSetting: Sized {
    /// Applies a setting of a builder if there is a value.
    fn set_if<T>(self, value: Option<T>, set: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => set(self, value),
            None => self,
        }
    }
}

impl<T> OptionalSetting for T {}
