//! Module of a network that a parameter belongs to, parsed from tensor names.

/// Maximum number of path components that are shown.
const DEPTH: usize = 2;

/// Module of a parameter or buffer: the first components of the path in its name, as torch and paddle write it
/// (`L_self_modules_layer1_modules_0_modules_conv1_parameters_weight_`: `layer1.0`). `None` if the name contains no
/// path.
pub(super) fn module(name: &str) -> Option<String> {
    let (path, _) = name
        .split_once("_parameters_")
        .or_else(|| name.split_once("_buffers_"))?;
    let (_, path) = path.split_once("_modules_")?;
    let parts: Vec<&str> = path.split("_modules_").collect();
    // The last component is the operation itself, unless it is the only one.
    let shown = parts.len().saturating_sub(1).clamp(1, DEPTH);
    Some(
        parts
            .into_iter()
            .take(shown)
            .collect::<Vec<&str>>()
            .join("."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_read_off_names() {
        let of = |name| module(name).unwrap();
        assert_eq!(
            of("L_self_modules_layer1_modules_0_modules_conv1_parameters_weight_"),
            "layer1.0"
        );
        assert_eq!(of("L_self_modules_conv1_parameters_weight_"), "conv1");
        assert_eq!(
            of(
                "L_self_modules_bert_modules_encoder_modules_layer_modules_3_modules_key_parameters_bias_"
            ),
            "bert.encoder"
        );
        assert_eq!(of("L_self_modules_bn1_buffers_running_mean_"), "bn1");
        assert_eq!(module("L_x_"), None);
        assert_eq!(module("parameter_1"), None);
    }
}
