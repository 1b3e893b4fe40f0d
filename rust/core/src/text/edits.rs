//! Parts of a text with something else in their place, after several rounds of that.

/// A part of a text that something else stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masked {
    /// Where it begins in the text as it was, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The rule that masked it last.
    pub rule: usize,
    /// The number of bytes that replace it.
    pub now: usize,
}

/// Something to put in place of a part of a text, in bytes.
pub(super) struct Edit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) put: String,
}

/// Return a text with edits, which are ascending and apart.
pub(super) fn edited(text: &str, edits: &[Edit]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for edit in edits {
        result.push_str(&text[done..edit.start]);
        result.push_str(&edit.put);
        done = edit.end;
    }
    result.push_str(&text[done..]);
    result
}

/// The masks after edits of a text that had masks before.
pub(super) fn joined(before: &[Masked], edits: &[Edit], rule: usize) -> Vec<Masked> {
    let mut result: Vec<Masked> = Vec::with_capacity(before.len() + edits.len());
    let mut parts = before.iter().copied().peekable();
    // Bytes of the parts in front of where we are: what they were, and what stands for them.
    let (mut was, mut is) = (0, 0);
    // Where the last edit ends, with the parts that it touches.
    let mut last = 0;
    for edit in edits {
        while let Some(part) = parts.next_if(|part| part.start + is + part.now <= edit.start + was) {
            (was, is) = (was + part.end - part.start, is + part.now);
            result.push(part);
        }
        let (mut start, mut from, mut to) = (edit.start + was - is, edit.start, edit.end.max(last));
        while let Some(part) = parts.next_if(|part| part.start + is < edit.end + was) {
            let at = part.start + is - was;
            (start, from, to) = (start.min(part.start), from.min(at), to.max(at + part.now));
            (was, is) = (was + part.end - part.start, is + part.now);
        }
        let mut now = edit.start - from + edit.put.len() + to - edit.end;
        if edit.start < last
            && let Some(touched) = result.pop()
        {
            // Both edits touch what was masked before.
            start = touched.start;
            now = now + touched.now + edit.start - last;
        }
        result.push(Masked { start, end: to + was - is, rule, now });
        last = to;
    }
    result.extend(parts);
    result
}
