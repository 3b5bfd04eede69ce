//! Terminal rendering: Braille characters of eight dots in each cell, and text between them.

use super::shapes::{Paint, Scene, SceneItem, Shape, Text, TextAnchor};
use super::theme::{Role, Theme};
use crate::number::{float, round_to_count};

/// Number of dots across and down a cell.
const DOTS: (usize, usize) = (2, 4);

/// The empty Braille character, and the bits of the dots from the top left down.
const BRAILLE: u32 = 0x2800;
const BITS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// Opacity below which every second dot is omitted.
const DITHER_BELOW: f64 = 0.5;

/// Opacity below which nothing is drawn.
const MIN_ALPHA: f64 = 0.3;

#[derive(Clone, Copy, Default)]
struct Cell {
    dots: u32,
    character: Option<char>,
    role: Option<Role>,
}

struct TerminalScreen {
    columns: usize,
    rows: usize,
    cells: Vec<Cell>,
}

/// Renders a scene whose unit is a dot. Each line ends in a line break; colours are optional.
pub(crate) fn terminal(scene: &Scene, has_colours: bool) -> String {
    let (columns, rows) = (
        round_to_count(scene.size.0) / DOTS.0,
        round_to_count(scene.size.1) / DOTS.1,
    );
    let mut screen = TerminalScreen {
        columns,
        rows,
        cells: vec![Cell::default(); columns * rows],
    };
    let shapes = scene.items.iter().filter_map(|item| match item {
        SceneItem::Shape { shape, .. } => Some(shape),
        _ => None,
    });
    // Text takes precedence over shapes.
    let (texts, drawn): (Vec<&Shape>, Vec<&Shape>) =
        shapes.partition(|shape| matches!(shape, Shape::Text { .. }));
    for shape in drawn.into_iter().chain(texts) {
        screen.draw(shape);
    }
    screen.lines(has_colours)
}

/// Index of the dot at a coordinate; `None` if negative or too large.
fn dot_index(position: f64) -> Option<usize> {
    // Rounds values that are almost integers.
    (0.0..1e6)
        .contains(&position)
        .then(|| round_to_count((position + 1e-6).floor()))
}

impl TerminalScreen {
    fn set(&mut self, (x, y): (f64, f64), role: Role) {
        let (Some(x), Some(y)) = (dot_index(x), dot_index(y)) else {
            return;
        };
        let (column, row) = (x / DOTS.0, y / DOTS.1);
        let bit = BITS
            .get(x % DOTS.0)
            .and_then(|column| column.get(y % DOTS.1));
        if column >= self.columns {
            return;
        }
        let cell = self.cells.get_mut(row * self.columns + column);
        if let (Some(cell), Some(bit)) = (cell, bit) {
            cell.dots |= bit;
            cell.role = Some(role);
        }
    }

    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Line {
                points,
                paint,
                dash,
                ..
            } => self.line(points, *paint, *dash),
            // Dots of a band would hide the lines.
            Shape::Area { paint, .. } if paint.alpha < MIN_ALPHA => {}
            Shape::Area { corners, paint } => self.area(corners, *paint),
            Shape::Box { from, to, paint } => {
                // A box has at least one dot, however thin it is.
                let right = to.0.max(from.0.floor() + 1.0);
                let bottom = to.1.max(from.1.floor() + 1.0);
                let corners = [*from, (right, from.1), (right, bottom), (from.0, bottom)];
                self.area(&corners, *paint);
            }
            Shape::Circle { centre, paint, .. } => self.set(*centre, paint.role),
            Shape::Text { text, placement } => self.text(text, placement),
        }
    }

    fn line(&mut self, points: &[(f64, f64)], paint: Paint, dash: Option<(f64, f64)>) {
        let mut done = 0.0;
        for (from, to) in points.iter().zip(points.iter().skip(1)) {
            let (across, down) = (to.0 - from.0, to.1 - from.1);
            let steps = across.abs().max(down.abs()).min(1e5).ceil().max(1.0);
            for step in 0..=round_to_count(steps) {
                let part = float(step) / steps;
                let along = done + part * across.hypot(down);
                let is_gap = dash.is_some_and(|(on, off)| along % (on + off) >= on);
                if !is_gap {
                    self.set((from.0 + part * across, from.1 + part * down), paint.role);
                }
            }
            done += across.hypot(down);
        }
    }

    /// Sets the dots whose centre is inside the polygon.
    fn area(&mut self, corners: &[(f64, f64)], paint: Paint) {
        let tops = corners.iter().map(|corner| corner.1);
        let (top, bottom) = tops.fold((f64::MAX, f64::MIN), |(top, bottom), y| {
            (top.min(y), bottom.max(y))
        });
        let last = bottom.min(float(self.rows * DOTS.1));
        let mut y = top.max(0.0).floor() + 0.5;
        while y < last {
            let next = corners.iter().cycle().skip(1);
            let sides = corners.iter().zip(next);
            let crossed = sides.filter(|(from, to)| (from.1 <= y) != (to.1 <= y));
            let crossings =
                crossed.map(|(from, to)| from.0 + (y - from.1) / (to.1 - from.1) * (to.0 - from.0));
            let mut crossings: Vec<f64> = crossings.collect();
            crossings.sort_by(f64::total_cmp);
            for pair in crossings.chunks_exact(2) {
                let &[left, right] = pair else { continue };
                let mut x = left.max(0.0).floor() + 0.5;
                while x < right.min(float(self.columns * DOTS.0)) {
                    let is_left_out = paint.alpha < DITHER_BELOW
                        && (round_to_count(x - 0.5) + round_to_count(y - 0.5)) % 2 == 1;
                    if x >= left && !is_left_out {
                        self.set((x, y), paint.role);
                    }
                    x += 1.0;
                }
            }
            y += 1.0;
        }
    }

    fn text(&mut self, text: &str, placement: &Text) {
        let count = text.chars().count();
        let column = placement.position.0 / 2.0;
        let half = float(count) / 2.0;
        let start = match placement.anchor {
            TextAnchor::Left => column,
            TextAnchor::Middle => (column - half).max(0.0),
            TextAnchor::Right => column - 2.0 * half,
        };
        let Some(row) = dot_index(placement.position.1 / 4.0 + 0.5) else {
            return;
        };
        let start = start.round();
        for (offset, character) in text.chars().enumerate() {
            let Some(column) = dot_index(start + float(offset)) else {
                continue;
            };
            if column >= self.columns {
                return;
            }
            if let Some(cell) = self.cells.get_mut(row * self.columns + column) {
                cell.character = Some(character);
                cell.role = Some(placement.paint.role);
            }
        }
    }

    fn lines(&self, has_colours: bool) -> String {
        let mut out = String::new();
        for row in self.cells.chunks(self.columns.max(1)) {
            let is_visible =
                |cell: &Cell| cell.character.is_some_and(|l| l != ' ') || cell.dots > 0;
            let end = row.iter().rposition(is_visible).map_or(0, |last| last + 1);
            let mut code = String::new();
            for cell in row.iter().take(end) {
                let escape = match cell.role {
                    Some(role) if has_colours && is_visible(cell) => colour_escape(role),
                    _ => String::new(),
                };
                if escape != code {
                    if !code.is_empty() {
                        out.push_str("\x1b[0m");
                    }
                    out.push_str(&escape);
                    code = escape;
                }
                let braille = char::from_u32(BRAILLE + cell.dots).unwrap_or(' ');
                let drawn = if cell.dots == 0 { ' ' } else { braille };
                out.push(cell.character.unwrap_or(drawn));
            }
            if !code.is_empty() {
                out.push_str("\x1b[0m");
            }
            out.push('\n');
        }
        out
    }
}

/// Escape sequence for the colour of a role. Text has the terminal's own colour.
fn colour_escape(role: Role) -> String {
    let theme = match role {
        Role::Ink | Role::Background => return String::new(),
        Role::Grey | Role::Rule => return "\x1b[2m".to_owned(),
        // Colours that are dark in the light theme would be invisible on a dark screen.
        Role::Series(index) if index % 12 >= 6 => Theme::Dark,
        _ => Theme::Light,
    };
    let (red, green, blue) = theme.colour(role);
    format!("\x1b[38;2;{red};{green};{blue}m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_and_glyphs_have_their_cells() {
        let mut scene = Scene::new(12.0, 8.0, "t");
        scene.line(&[(0.0, 0.0), (11.0, 7.0)], Paint::series(0), 1.0);
        scene.text("ab", Text::new(4.0, 12.0, 4.0).align_right());
        assert_eq!(terminal(&scene, false), "⠉⠒⢄⡀\n   ⠈ab\n");
        let coloured = terminal(&scene, true);
        assert!(
            coloured.starts_with("\x1b[38;2;0;114;178m⠉"),
            "{coloured:?}"
        );
        assert!(coloured.ends_with("\x1b[0mab\n"), "{coloured:?}");
    }

    #[test]
    fn areas_are_filled() {
        let mut scene = Scene::new(4.0, 4.0, "t");
        scene.rect((0.0, 0.0), (2.0, 4.0), Paint::INK);
        assert_eq!(terminal(&scene, false), "⣿\n");
        let mut scene = Scene::new(4.0, 4.0, "t");
        scene.rect((2.0, 3.0), (4.0, 3.2), Paint::INK);
        assert_eq!(terminal(&scene, false), " ⣀\n");
    }
}
