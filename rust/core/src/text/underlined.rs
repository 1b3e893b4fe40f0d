//! Headings of reStructuredText: lines with a line of signs under them, or over and under them.

use super::outline::Outline;

/// A shorter underline must be as long as its title.
const SURE: usize = 4;

/// Return the headings of reStructuredText; the style of the first is level 1, the next new one level 2, and so on.
pub fn restructured(text: &str) -> Outline {
    let mut outline = Outline::default();
    let mut styles: Vec<(u8, bool)> = Vec::new();
    // The last three lines with the bytes they begin at, and whether a title may begin behind each.
    let (mut over, mut title) = ((0, ""), (0, ""));
    let (mut free_over, mut free_title) = (true, true);
    for (at, line) in (Lines { rest: text, at: 0 }) {
        if let Some(sign) = ruler(line)
            && !title.1.trim().is_empty()
            && fits(title.1, line)
        {
            let overlined = free_over && ruler(over.1) == Some(sign) && over.1.trim_end() == line.trim_end();
            let plain = free_title && !title.1.starts_with(char::is_whitespace) && ruler(title.1).is_none();
            if overlined || plain {
                let style = (sign, overlined);
                let level = styles.iter().position(|&known| known == style).unwrap_or_else(|| {
                    styles.push(style);
                    styles.len() - 1
                });
                outline.heading(if overlined { over.0 } else { title.0 }, level + 1, title.1);
                (over, title) = ((at, ""), (at, ""));
                (free_over, free_title) = (true, true);
                continue;
            }
        }
        let free = title.1.trim().is_empty();
        (over, free_over) = (title, free_title);
        (title, free_title) = ((at, line), free);
    }
    outline
}

/// Return the sign that a line repeats, if it is nothing else.
fn ruler(line: &str) -> Option<u8> {
    let line = line.trim_end();
    let sign = *line.as_bytes().first()?;
    (sign.is_ascii_punctuation() && line.bytes().all(|byte| byte == sign)).then_some(sign)
}

fn fits(title: &str, underline: &str) -> bool {
    let length = underline.trim_end().len();
    length >= SURE || length >= title.trim_end().chars().count()
}

/// The lines of a text with the bytes they begin at.
struct Lines<'t> {
    rest: &'t str,
    at: usize,
}

impl<'t> Iterator for Lines<'t> {
    type Item = (usize, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        let at = self.at;
        self.at += line.len() + 1;
        self.rest = rest;
        Some((at, line))
    }
}
