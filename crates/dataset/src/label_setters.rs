//! Setters of labels, for options with a field `labels`.

/// Implements `label`, with this documentation, and `labels`.
macro_rules! label_setters {
    ($(#[$about:meta])+) => {
        $(#[$about])+
        #[must_use]
        pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
            self.labels.push((key.into(), value.into()));
            self
        }

        /// Adds several labels: see [`label`](Self::label).
        #[must_use]
        pub fn labels(
            mut self,
            labels: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
        ) -> Self {
            let labels = labels.into_iter();
            self.labels.extend(labels.map(|(key, value)| (key.into(), value.into())));
            self
        }
    };
}

pub(crate) use label_setters;
