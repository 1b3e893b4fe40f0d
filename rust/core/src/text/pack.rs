//! Windows: which of the places where a text may be cut are taken.

use super::breaks::{Break, WORD};

/// A stretch of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The byte it begins at; the first window begins at 0, every other one where the one before ends.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
    /// The line of its first word, from 1.
    pub first_line: usize,
    /// The line of its last word.
    pub last_line: usize,
}

/// Cut a text at some of its breaks into windows of at most `words` words.
///
/// A cut is taken at the strongest break between a half and the whole of that size, the last of equal ones. The last
/// window has a quarter of it or more. So text appended at the end changes the last two windows at most.
///
/// Breaks that are more than `words` apart make a larger window.
pub fn pack(text: &str, breaks: Vec<Break>, words: usize) -> Vec<Window> {
    let most = (words.max(1) as u64).saturating_mul(WORD);
    let total = breaks.last().map_or(0, |last| last.points);
    let mut windows = Vec::new();
    let (mut first, mut start, mut base, mut line) = (0, 0, 0, 1);
    while first < breaks.len() {
        let chosen = choose(&breaks[first..], base, total, most);
        first += chosen + 1;
        let Break { end, points, .. } = breaks[first - 1];
        windows.push(window(text, start, end, &mut line));
        (start, base) = (end, points);
    }
    windows
}

/// Return which of the breaks after `base` to take.
fn choose(breaks: &[Break], base: u64, total: u64, most: u64) -> usize {
    let left = total - base;
    if left <= most {
        return breaks.len() - 1;
    }
    let wanted = most / 2..=most.min(left - most / 4);
    let (mut last, mut best) = (0, None);
    for (i, place) in breaks.iter().enumerate() {
        let size = place.points - base;
        if size > most {
            break;
        }
        last = i;
        if wanted.contains(&size) && best.is_none_or(|(strength, _)| place.strength >= strength) {
            best = Some((place.strength, i));
        }
    }
    best.map_or(last, |(_, i)| i)
}

/// Return a window, and move on the number of the line that it begins on.
fn window(text: &str, start: usize, end: usize, line: &mut usize) -> Window {
    let lines = |part: &str| part.bytes().filter(|&byte| byte == b'\n').count();
    let own = &text[start..end];
    let words = own.trim();
    let before = if words.is_empty() { 0 } else { lines(&own[..own.len() - own.trim_start().len()]) };
    let first_line = *line + before;
    *line += lines(own);
    Window { start, end, first_line, last_line: first_line + lines(words) }
}
