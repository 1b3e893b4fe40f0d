//! Texts cut into chunks of whole lines, each with its lines in the file.
//!
//! Lines end at LF alone, so a CR before it stays in the text. A line that is larger than the budget is cut into pieces,
//! which count as lines of the same number.

use super::costs::cost;

/// The cut of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// No chunk costs more than the budget, what it repeats of the one before included. Long lines are cut between
    /// characters; scripts without blanks cost what tokenizers make of them.
    Capped,
    /// As the documented system did: lengths are UTF-16 units, and a line is added after the repeated ones without
    /// looking again, so that a chunk may have twice the budget. A character cut in two becomes a U+FFFD on either side.
    Literal,
    /// As `Capped`, but each line that begins with `- `, and each heading, begins a chunk, which repeats nothing.
    Entries,
}

/// The size of chunks, in units of a quarter of a token.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    most: usize,
    overlap: usize,
}

impl Budget {
    /// The budget in tokens, and the number of them that a chunk repeats of the one before.
    pub fn of_tokens(tokens: usize, overlap: usize) -> Self {
        Self { most: tokens.saturating_mul(4).max(32), overlap: overlap.saturating_mul(4) }
    }
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its lines, joined by LF.
    pub text: String,
    /// The line it begins on, from 1.
    pub first_line: usize,
    /// The line it ends on.
    pub last_line: usize,
    /// Where in the text the part begins that the chunk before does not have.
    pub own_start: usize,
    /// Where in the text it ends.
    pub end: usize,
}

/// Cut a text into chunks that cover it; an empty text is one empty chunk.
///
/// `None` says that the chunks together would have more than `most_bytes`: an overlap near the budget repeats each line
/// many times.
pub fn chunks(text: &str, budget: Budget, variant: Variant, most_bytes: usize) -> Option<Vec<Chunk>> {
    let mut results =
        Found { text, budget, variant, held: Vec::new(), cost: 0, own: 0, chunks: Vec::new(), most_bytes };
    let mut start = 0;
    for (i, line) in text.split('\n').enumerate() {
        if variant == Variant::Entries && i > 0 && begins_entry(line) {
            results.flush()?;
            results.clear();
        }
        results.line(start, line, i + 1)?;
        start += line.len() + 1;
    }
    results.flush()?;
    Some(results.chunks)
}

/// True if a line of a curated file begins an entry: a bullet at its very start, or a heading.
fn begins_entry(line: &str) -> bool {
    let marks = line.bytes().take_while(|&byte| byte == b'#').count();
    line.starts_with("- ") || ((1..=6).contains(&marks) && line[marks..].chars().next().is_none_or(is_blank))
}

/// True for the blanks of the documented system: those of Unicode without NEL, and the BOM.
pub(super) fn is_blank(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

/// A line, or a piece of a long one.
#[derive(Clone, Copy)]
struct Segment {
    start: usize,
    end: usize,
    line: usize,
    cost: usize,
    /// True if it begins with the second half of a character, and ends with the first half of one.
    halves: (bool, bool),
}

struct Found<'t> {
    text: &'t str,
    budget: Budget,
    variant: Variant,
    /// The lines of the chunk that is being made, and what they cost with their line ends.
    held: Vec<Segment>,
    cost: usize,
    /// The number of them that the chunk before has too.
    own: usize,
    chunks: Vec<Chunk>,
    most_bytes: usize,
}

impl Found<'_> {
    /// Add a line, cut into pieces if it is larger than the budget.
    fn line(&mut self, start: usize, line: &str, number: usize) -> Option<()> {
        let most = self.budget.most;
        if line.len() <= most && line.is_ascii() {
            return self.segment(start, start + line.len(), number, line.len(), (false, false));
        }
        if self.variant == Variant::Literal {
            return self.blind_pieces(start, line, number);
        }
        let mut at = 0;
        while at < line.len() {
            let (coarse, cost) = prefix(&line[at..], most);
            if cost <= most {
                self.segment(start + at, start + at + coarse, number, cost, (false, false))?;
            } else {
                self.dense_pieces(start + at, &line[at..at + coarse], number)?;
            }
            at += coarse;
        }
        Some(())
    }

    /// Add a stretch of a line that has few characters for its cost.
    fn dense_pieces(&mut self, start: usize, part: &str, number: usize) -> Option<()> {
        let (mut from, mut spent) = (0, 0);
        for (at, c) in part.char_indices() {
            let units = cost(c);
            if spent + units > self.budget.most {
                self.segment(start + from, start + at, number, spent, (false, false))?;
                (from, spent) = (at, 0);
            }
            spent += units;
        }
        self.segment(start + from, start + part.len(), number, spent, (false, false))
    }

    /// Add a line in pieces of the maximum of UTF-16 units, whatever they cut.
    fn blind_pieces(&mut self, start: usize, line: &str, number: usize) -> Option<()> {
        let most = self.budget.most;
        let (mut from, mut units, mut half) = (0, 0, false);
        for (at, c) in line.char_indices() {
            if units == most {
                self.segment(start + from, start + at, number, units, (half, false))?;
                (from, units, half) = (at, 0, false);
            }
            units += c.len_utf16();
            if units > most {
                self.segment(start + from, start + at, number, most, (half, true))?;
                (from, units, half) = (at + c.len_utf8(), 1, true);
            }
        }
        self.segment(start + from, start + line.len(), number, units, (half, false))
    }

    fn segment(&mut self, start: usize, end: usize, line: usize, units: usize, halves: (bool, bool)) -> Option<()> {
        // A line end is part of what a line costs.
        let cost = units.saturating_add(1);
        if self.cost.saturating_add(cost) > self.budget.most && !self.held.is_empty() {
            self.flush()?;
            match self.variant {
                Variant::Literal => self.carry_at_least(),
                _ => self.carry_at_most(self.budget.overlap.min(self.budget.most.saturating_sub(cost))),
            }
            self.own = self.held.len();
        }
        self.held.push(Segment { start, end, line, cost, halves });
        self.cost = self.cost.saturating_add(cost);
        Some(())
    }

    /// Keep the last lines of which less would be under the overlap.
    fn carry_at_least(&mut self) {
        let (mut kept, mut sum) = (self.held.len(), 0);
        while kept > 0 && sum < self.budget.overlap {
            kept -= 1;
            sum += self.held[kept].cost;
        }
        self.held.drain(..kept);
        self.cost = sum;
    }

    /// Keep the last lines that cost no more than `window`; of the very last, if it costs more, its end.
    fn carry_at_most(&mut self, window: usize) {
        let (mut kept, mut sum) = (self.held.len(), 0);
        while kept > 0 && sum < window {
            let last = self.held[kept - 1];
            if sum + last.cost > window {
                if sum == 0 {
                    let (start, cost) = self.tail(last, window - 1);
                    if start < last.end {
                        kept -= 1;
                        sum = cost + 1;
                        self.held[kept] = Segment { start, cost: sum, halves: (false, false), ..last };
                    }
                }
                break;
            }
            kept -= 1;
            sum += last.cost;
        }
        self.held.drain(..kept);
        self.cost = sum;
    }

    /// Return the start of the longest end of a line that costs at most `most`, and its cost.
    fn tail(&self, line: Segment, most: usize) -> (usize, usize) {
        let (mut start, mut spent) = (line.end, 0);
        for (at, c) in self.text[line.start..line.end].char_indices().rev() {
            if spent + cost(c) > most {
                break;
            }
            (start, spent) = (line.start + at, spent + cost(c));
        }
        (start, spent)
    }

    fn clear(&mut self) {
        self.held.clear();
        (self.cost, self.own) = (0, 0);
    }

    /// Make a chunk of the lines held; they stay.
    fn flush(&mut self) -> Option<()> {
        let (Some(first), Some(last)) = (self.held.first(), self.held.last()) else { return Some(()) };
        let halves = |line: &Segment| 3 * (usize::from(line.halves.0) + usize::from(line.halves.1));
        let size = self.held.iter().map(|line| line.end - line.start + 1 + halves(line)).sum();
        self.most_bytes = self.most_bytes.checked_sub(size)?;
        let mut text = String::with_capacity(size);
        for (i, line) in self.held.iter().enumerate() {
            text.push_str(if i > 0 { "\n" } else { "" });
            text.push_str(if line.halves.0 { "\u{fffd}" } else { "" });
            text.push_str(&self.text[line.start..line.end]);
            text.push_str(if line.halves.1 { "\u{fffd}" } else { "" });
        }
        self.chunks.push(Chunk {
            text,
            first_line: first.line,
            last_line: last.line,
            own_start: self.held[self.own.min(self.held.len() - 1)].start,
            end: last.end,
        });
        Some(())
    }
}

/// Return the bytes of the longest beginning of a line with at most `most` UTF-16 units, in whole characters, and its
/// cost.
fn prefix(line: &str, most: usize) -> (usize, usize) {
    let head = &line.as_bytes()[..line.len().min(most)];
    if head.is_ascii() {
        return (head.len(), head.len());
    }
    let mut units = 0;
    let mut spent = 0;
    for (at, c) in line.char_indices() {
        units += c.len_utf16();
        if units > most {
            return (at, spent);
        }
        spent += cost(c);
    }
    (line.len(), spent)
}

/// Cut a text into pieces of at most `most` bytes, none in the middle of a character; a single character may be larger.
///
/// A limit of 0 is none.
pub fn split_bytes(text: &str, most: usize) -> Vec<&str> {
    if most == 0 || text.len() <= most {
        return vec![text];
    }
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = rest.len().min(most);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        if end == 0 {
            end = rest.chars().next().map_or(rest.len(), char::len_utf8);
        }
        let (piece, more) = rest.split_at(end);
        pieces.push(piece);
        rest = more;
    }
    pieces
}
