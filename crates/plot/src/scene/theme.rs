//! Colours by role, for a light and a dark theme.

/// Red, green, blue.
pub(crate) type Rgb = (u8, u8, u8);

/// Background of a plot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// White.
    #[default]
    Light,
    /// A dark screen or slide.
    Dark,
}

/// Role of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Text and axes.
    Ink,
    /// Notes.
    Grey,
    /// Grid lines.
    Rule,
    /// Background.
    Background,
    /// The series at an index.
    Series(usize),
    /// Position in the colour ramp, from 0 to 255.
    Ramp(u8),
    /// A colour that is the same in all themes.
    Fixed(Rgb),
}

/// Colours for people with colour vision deficiency: those of Okabe and Ito without yellow, then five that differ at
/// least as much from them and from each other for all viewers.
const LIGHT: [Rgb; 12] = [
    (0, 114, 178),
    (213, 94, 0),
    (0, 158, 115),
    (204, 121, 167),
    (230, 159, 0),
    (86, 180, 233),
    (0, 0, 0),
    (135, 0, 240),
    (90, 45, 0),
    (0, 30, 135),
    (90, 75, 90),
    (150, 120, 255),
];

/// The same hues, light enough for a dark background: the six of Okabe and Ito lightened, and their yellow for black.
const DARK: [Rgb; 12] = [
    (74, 163, 223),
    (240, 125, 50),
    (44, 190, 145),
    (226, 150, 192),
    (236, 176, 40),
    (150, 214, 248),
    (240, 228, 66),
    (190, 130, 255),
    (200, 150, 105),
    (130, 150, 255),
    (190, 175, 190),
    (222, 208, 255),
];

/// Samples of viridis (Smith and van der Walt), whose lightness rises monotonically for all viewers.
const RAMP: [Rgb; 9] = [
    (68, 1, 84),
    (71, 44, 122),
    (59, 81, 139),
    (44, 113, 142),
    (33, 144, 141),
    (39, 173, 129),
    (92, 200, 99),
    (170, 220, 50),
    (253, 231, 37),
];

impl Theme {
    /// Colour of a role.
    pub(crate) fn colour(self, role: Role) -> Rgb {
        let (light, dark) = match role {
            Role::Ink => ((30, 30, 30), (236, 236, 236)),
            Role::Grey => ((95, 95, 95), (172, 172, 172)),
            Role::Rule => ((226, 226, 226), (62, 64, 68)),
            Role::Background => ((255, 255, 255), (24, 26, 30)),
            Role::Series(index) => {
                let colour_at =
                    |colours: [Rgb; 12]| colours.get(index % 12).copied().unwrap_or_default();
                (colour_at(LIGHT), colour_at(DARK))
            }
            Role::Ramp(level) => (ramp(level), ramp(level)),
            Role::Fixed(rgb) => (rgb, rgb),
        };
        match self {
            Self::Light => light,
            Self::Dark => dark,
        }
    }
}

fn ramp(level: u8) -> Rgb {
    let position = f64::from(level) / 255.0 * 8.0;
    let below = usize::from(level) * 8 / 255;
    let sample = |position: usize| RAMP.get(position.min(8)).copied().unwrap_or_default();
    let (from, to) = (sample(below), sample(below + 1));
    let part = position.fract();
    let mixed = |from: u8, to: u8| {
        let value = f64::from(from) * (1.0 - part) + f64::from(to) * part;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between two bytes"
        )]
        let value = value.round() as u8;
        value
    };
    (
        mixed(from.0, to.0),
        mixed(from.1, to.1),
        mixed(from.2, to.2),
    )
}

/// Returns whether the line of a series is dashed, because its colour repeats.
pub(crate) fn is_dashed(index: usize) -> bool {
    (index / LIGHT.len()) % 2 == 1
}

/// Shape of the dots of a series; it changes when its colour repeats.
pub(crate) fn dot_shape(index: usize) -> usize {
    index + index / LIGHT.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance and contrast (WCAG 2.2).
    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let linear = |byte: u8| {
            let fraction = f64::from(byte) / 255.0;
            match fraction <= 0.040_45 {
                true => fraction / 12.92,
                false => ((fraction + 0.055) / 1.055).powf(2.4),
            }
        };
        let light = |(r, g, b): Rgb| 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
        let (a, b) = (light(a), light(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_lines_have_contrast_in_both_themes() {
        for theme in [Theme::Light, Theme::Dark] {
            let background = theme.colour(Role::Background);
            for text_role in [Role::Ink, Role::Grey] {
                assert!(contrast(theme.colour(text_role), background) > 4.5);
            }
            for index in 0..12 {
                let ratio = contrast(theme.colour(Role::Series(index)), background);
                assert!(ratio > 2.2, "{theme:?} {index}: {ratio}");
            }
        }
    }

    #[test]
    fn a_range_rises_in_lightness() {
        let lightness = |level| contrast(ramp(level), (0, 0, 0));
        assert!((0..255).all(|level| lightness(level) <= lightness(level + 1) + 1e-3));
        assert_eq!((ramp(0), ramp(255)), ((68, 1, 84), (253, 231, 37)));
    }
}
