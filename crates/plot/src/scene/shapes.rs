//! Shapes in drawing order. Units are relative to the top left corner.

use super::theme::Role;

/// A colour with an opacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Paint {
    pub(crate) role: Role,
    /// Opacity, from 0 to 1.
    pub(crate) alpha: f64,
}

impl Paint {
    pub(crate) const INK: Self = Self::new(Role::Ink);
    pub(crate) const GREY: Self = Self::new(Role::Grey);
    pub(crate) const RULE: Self = Self::new(Role::Rule);
    pub(crate) const BACKGROUND: Self = Self::new(Role::Background);

    pub(crate) const fn new(role: Role) -> Self {
        Self { role, alpha: 1.0 }
    }

    /// Colour of the series at an index.
    pub(crate) const fn series(index: usize) -> Self {
        Self::new(Role::Series(index))
    }

    pub(crate) const fn with_alpha(self, alpha: f64) -> Self {
        Self { alpha, ..self }
    }
}

/// Alignment of text relative to its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextAnchor {
    Left,
    Middle,
    Right,
}

/// Position and style of text: `(x, y)` is the top left of its line by default.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    /// Height of the em.
    pub(crate) size: f64,
    pub(crate) position: (f64, f64),
    pub(crate) anchor: TextAnchor,
    /// Whether the text is rotated to read upwards. `x` is then the top of its line, `y` its position along the line.
    pub(crate) is_upwards: bool,
    pub(crate) paint: Paint,
}

impl Text {
    pub(crate) const fn new(size: f64, x: f64, y: f64) -> Self {
        Self {
            size,
            position: (x, y),
            anchor: TextAnchor::Left,
            is_upwards: false,
            paint: Paint::INK,
        }
    }

    /// `x` is the centre of the text.
    pub(crate) const fn align_centre(self) -> Self {
        Self {
            anchor: TextAnchor::Middle,
            ..self
        }
    }

    /// `x` is the right end of the text.
    pub(crate) const fn align_right(self) -> Self {
        Self {
            anchor: TextAnchor::Right,
            ..self
        }
    }

    /// The text reads upwards.
    pub(crate) const fn rotate_up(self) -> Self {
        Self {
            is_upwards: true,
            ..self
        }
    }

    pub(crate) const fn with_paint(self, paint: Paint) -> Self {
        Self { paint, ..self }
    }
}

/// One shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Line {
        points: Vec<(f64, f64)>,
        width: f64,
        paint: Paint,
        /// Lengths of dash and gap along the line.
        dash: Option<(f64, f64)>,
    },
    Area {
        corners: Vec<(f64, f64)>,
        paint: Paint,
    },
    Box {
        from: (f64, f64),
        to: (f64, f64),
        paint: Paint,
    },
    Circle {
        centre: (f64, f64),
        radius: f64,
        paint: Paint,
    },
    Text {
        text: String,
        placement: Text,
    },
}

/// A shape, or the start or end of a group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SceneItem {
    Shape {
        shape: Shape,
        /// Tooltip.
        tooltip: Option<String>,
    },
    /// Attributes of the group, for tests and scripts: `data-...`.
    Open(Vec<(&'static str, String)>),
    Close,
}

/// A drawing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scene {
    pub(crate) size: (f64, f64),
    /// Alternative text for accessibility.
    pub(crate) title: String,
    pub(crate) items: Vec<SceneItem>,
    tooltip: Option<String>,
}

impl Scene {
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        Self {
            size: (width, height),
            title: title.to_owned(),
            items: Vec::new(),
            tooltip: None,
        }
    }

    fn push(&mut self, shape: Shape) {
        let tooltip = self.tooltip.take();
        self.items.push(SceneItem::Shape { shape, tooltip });
    }

    /// Sets the tooltip of the next shape.
    pub(crate) fn set_tooltip(&mut self, tooltip: String) -> &mut Self {
        self.tooltip = Some(tooltip);
        self
    }

    pub(crate) fn open(&mut self, attributes: Vec<(&'static str, String)>) {
        self.items.push(SceneItem::Open(attributes));
    }

    pub(crate) fn close(&mut self) {
        self.items.push(SceneItem::Close);
    }

    pub(crate) fn line(&mut self, points: &[(f64, f64)], paint: Paint, width: f64) {
        self.stroke(points, paint, width, None);
    }

    /// Draws a dashed line with lengths of dash and gap.
    pub(crate) fn dashes(
        &mut self,
        points: &[(f64, f64)],
        paint: Paint,
        width: f64,
        dash: (f64, f64),
    ) {
        self.stroke(points, paint, width, Some(dash));
    }

    fn stroke(
        &mut self,
        points: &[(f64, f64)],
        paint: Paint,
        width: f64,
        dash: Option<(f64, f64)>,
    ) {
        let points = points.to_vec();
        self.push(Shape::Line {
            points,
            width,
            paint,
            dash,
        });
    }

    pub(crate) fn area(&mut self, corners: &[(f64, f64)], paint: Paint) {
        let corners = corners.to_vec();
        self.push(Shape::Area { corners, paint });
    }

    pub(crate) fn rect(&mut self, from: (f64, f64), to: (f64, f64), paint: Paint) {
        let (left, right) = (from.0.min(to.0), from.0.max(to.0));
        let (top, bottom) = (from.1.min(to.1), from.1.max(to.1));
        self.push(Shape::Box {
            from: (left, top),
            to: (right, bottom),
            paint,
        });
    }

    pub(crate) fn circle(&mut self, centre: (f64, f64), radius: f64, paint: Paint) {
        self.push(Shape::Circle {
            centre,
            radius,
            paint,
        });
    }

    pub(crate) fn text(&mut self, text: &str, placement: Text) {
        let text = crate::text::single_line(text);
        if !text.is_empty() {
            self.push(Shape::Text { text, placement });
        }
    }
}
