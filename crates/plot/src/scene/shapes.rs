//! Shapes in the units of a picture, from its top left corner, in the order in which they are drawn.

use super::theme::Role;

/// A colour, as much of it as covers what is below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Paint {
    pub(crate) role: Role,
    /// From 0, nothing, to 1.
    pub(crate) alpha: f64,
}

impl Paint {
    pub(crate) const INK: Self = Self::of(Role::Ink);
    pub(crate) const GREY: Self = Self::of(Role::Grey);
    pub(crate) const RULE: Self = Self::of(Role::Rule);
    pub(crate) const PAPER: Self = Self::of(Role::Paper);

    pub(crate) const fn of(role: Role) -> Self {
        Self { role, alpha: 1.0 }
    }

    /// That of the series at a place.
    pub(crate) const fn series(place: usize) -> Self {
        Self::of(Role::Series(place))
    }

    pub(crate) const fn with_alpha(self, alpha: f64) -> Self {
        Self { alpha, ..self }
    }
}

/// Which part of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Middle,
    Right,
}

/// Where and how text is written: `(x, y)` is the top of its line, at the left of the text unless told otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    /// Height of the em.
    pub(crate) size: f64,
    pub(crate) at: (f64, f64),
    pub(crate) side: Side,
    /// Does it read upwards? `x` is the top of its line then, `y` its place along it.
    pub(crate) is_upwards: bool,
    pub(crate) paint: Paint,
}

impl Text {
    pub(crate) const fn new(size: f64, x: f64, y: f64) -> Self {
        Self {
            size,
            at: (x, y),
            side: Side::Left,
            is_upwards: false,
            paint: Paint::INK,
        }
    }

    /// `x` is the middle of the text.
    pub(crate) const fn centred(self) -> Self {
        Self {
            side: Side::Middle,
            ..self
        }
    }

    /// `x` is the right end of the text.
    pub(crate) const fn right(self) -> Self {
        Self {
            side: Side::Right,
            ..self
        }
    }

    /// The text reads upwards.
    pub(crate) const fn upwards(self) -> Self {
        Self {
            is_upwards: true,
            ..self
        }
    }

    pub(crate) const fn coloured(self, paint: Paint) -> Self {
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
        /// Drawn and left out, along the line.
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
        how: Text,
    },
}

/// A shape, or where a group of them begins or ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Shape {
        shape: Shape,
        /// What is said of it where a pointer rests.
        said: Option<String>,
    },
    /// Attributes of the group, for tests and scripts: `data-...`.
    Open(Vec<(&'static str, String)>),
    Close,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scene {
    pub(crate) size: (f64, f64),
    /// What it shows, for who cannot see it.
    pub(crate) title: String,
    pub(crate) items: Vec<Item>,
    said: Option<String>,
}

impl Scene {
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        Self {
            size: (width, height),
            title: title.to_owned(),
            items: Vec::new(),
            said: None,
        }
    }

    fn push(&mut self, shape: Shape) {
        let said = self.said.take();
        self.items.push(Item::Shape { shape, said });
    }

    /// What is said of the next shape.
    pub(crate) fn say(&mut self, said: String) -> &mut Self {
        self.said = Some(said);
        self
    }

    pub(crate) fn open(&mut self, attributes: Vec<(&'static str, String)>) {
        self.items.push(Item::Open(attributes));
    }

    pub(crate) fn close(&mut self) {
        self.items.push(Item::Close);
    }

    pub(crate) fn line(&mut self, points: &[(f64, f64)], paint: Paint, width: f64) {
        self.stroke(points, paint, width, None);
    }

    /// A line with gaps: so much drawn, so much not.
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

    pub(crate) fn filled(&mut self, corners: &[(f64, f64)], paint: Paint) {
        let corners = corners.to_vec();
        self.push(Shape::Area { corners, paint });
    }

    pub(crate) fn block(&mut self, from: (f64, f64), to: (f64, f64), paint: Paint) {
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

    pub(crate) fn text(&mut self, text: &str, how: Text) {
        let text = crate::text::clean(text);
        if !text.is_empty() {
            self.push(Shape::Text { text, how });
        }
    }
}
