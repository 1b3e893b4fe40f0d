//! The outline of a text: its headings, and the targets of its links.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// Maximum bytes of a text that are parsed, up to the end of a line: a parser may need a hundred times as much memory.
const PARSED_BYTES: usize = 8 << 20;
/// Maximum characters kept of a heading.
const HEADING_CHARS: usize = 200;
/// Targets and anchors of more bytes are no names of files or headings.
const NAME_BYTES: usize = 1_024;

/// A heading of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The byte it begins at.
    pub at: usize,
    /// The level, from 1.
    pub level: usize,
    /// The text, on one line.
    pub text: String,
    /// The heading that it is under.
    pub parent: Option<usize>,
}

/// The target of a link in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The byte that the link begins at.
    pub at: usize,
    /// The note or the path as it is written, resolved against nothing.
    pub target: String,
    /// The heading in it; empty if none is named.
    pub anchor: String,
    /// True if it is a `[[wiki link]]`.
    pub wiki: bool,
}

/// The headings and mentions of a text, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Headings outside lists, quotes and code.
    pub headings: Vec<Heading>,
    /// The targets of links; images, URLs and links into the text itself are left out.
    pub mentions: Vec<Mention>,
    /// Where a text that is too large was left: what is behind is under no heading.
    pub left_at: Option<usize>,
}

impl Outline {
    /// Note a heading; one without text is none.
    pub(super) fn heading(&mut self, at: usize, level: usize, value: &str) {
        let mut text = String::new();
        for word in value.split_whitespace() {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
            if text.len() > 4 * HEADING_CHARS {
                break;
            }
        }
        if let Some((end, _)) = text.char_indices().nth(HEADING_CHARS) {
            text.truncate(end);
            text.truncate(text.trim_end().len());
        }
        if !text.is_empty() {
            let parent =
                self.upwards(self.headings.len().checked_sub(1)).find(|&above| self.headings[above].level < level);
            self.headings.push(Heading { at, level, text, parent });
        }
    }

    /// Return which heading a place is under.
    pub fn heading_at(&self, place: usize) -> Option<usize> {
        if self.left_at.is_some_and(|end| place >= end) {
            return None;
        }
        self.headings.partition_point(|heading| heading.at <= place).checked_sub(1)
    }

    /// Return the headings that lead to one, from the outermost to itself.
    pub fn path(&self, heading: usize) -> Vec<&str> {
        let mut path: Vec<&str> = self.upwards(Some(heading)).map(|above| self.headings[above].text.as_str()).collect();
        path.reverse();
        path
    }

    fn upwards(&self, heading: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(heading, |&above| self.headings[above].parent)
    }

    /// Return what is mentioned from one place to before another.
    pub fn mentions_between(&self, start: usize, end: usize) -> &[Mention] {
        let at = |place: usize| self.mentions.partition_point(|mention| mention.at < place);
        &self.mentions[at(start)..at(end.max(start))]
    }
}

/// Return the outline of Markdown: CommonMark with tables and wiki links.
pub fn markdown(text: &str) -> Outline {
    let mut outline = Outline::default();
    let text = parsed(text, &mut outline);
    if !has_structure(text) {
        return outline;
    }
    let options = Options::ENABLE_WIKILINKS | Options::ENABLE_TABLES;
    // The number of open quotes, lists and tables, and the open heading.
    let (mut depth, mut open): (usize, Option<(usize, usize, String)>) = (0, None);
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                open = Some((range.start, level as usize, String::new()));
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((at, level, value)) = open.take() {
                    outline.heading(at, level, &value);
                }
            }
            Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                mention(&mut outline, range.start, link_type, &dest_url)
            }
            // An embedded note, `![[note]]`; pictures are no notes.
            Event::Start(Tag::Image { link_type: link_type @ LinkType::WikiLink { .. }, dest_url, .. }) => {
                mention(&mut outline, range.start, link_type, &dest_url)
            }
            Event::Text(value) | Event::Code(value) => {
                if let Some((_, _, heading)) = &mut open {
                    heading.push_str(&value);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some((_, _, heading)) = &mut open {
                    heading.push(' ');
                }
            }
            Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::Table(_)) => depth += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Table) => depth -= 1,
            _ => {}
        }
    }
    outline
}

/// Return the lines that are parsed.
fn parsed<'t>(text: &'t str, outline: &mut Outline) -> &'t str {
    if text.len() <= PARSED_BYTES {
        return text;
    }
    let end = text.as_bytes()[..PARSED_BYTES].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    outline.left_at = Some(end);
    &text[..end]
}

/// True if there may be a heading or a link, so that prose costs no parsing.
fn has_structure(text: &str) -> bool {
    text.contains(['[', '#']) || text.split('\n').any(|line| line.trim_start_matches(' ').starts_with(['=', '-']))
}

fn mention(outline: &mut Outline, at: usize, kind: LinkType, url: &str) {
    let wiki = matches!(kind, LinkType::WikiLink { .. });
    if matches!(kind, LinkType::Autolink | LinkType::Email) || !is_relative(url, wiki) {
        return;
    }
    let (target, anchor) = url.split_once('#').unwrap_or((url, ""));
    let (target, anchor) = if wiki {
        // In a table the bar before an alias is escaped.
        (target.trim_end_matches('\\').trim().to_owned(), anchor.trim_end_matches('\\').trim().to_owned())
    } else {
        (target.split('?').next().unwrap_or_default().to_owned(), anchor.to_owned())
    };
    let is_name = |name: &str| name.len() <= NAME_BYTES && !name.chars().any(char::is_control);
    if !target.is_empty() && is_name(&target) && is_name(&anchor) {
        outline.mentions.push(Mention { at, target, anchor, wiki });
    }
}

/// True if a link leads to another file below the root: no URL, no other host, not this file.
fn is_relative(url: &str, wiki: bool) -> bool {
    if url.is_empty() || url.starts_with("//") || url.starts_with(['\\', '#', '?']) {
        return false;
    }
    let head = url.split(['/', '?', '#']).next().unwrap_or_default();
    // The title of a note may have a colon; what has one before a slash is a URL.
    if wiki { !url.contains("://") } else { !head.contains(':') }
}
