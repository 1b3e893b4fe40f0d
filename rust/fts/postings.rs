//! The rows that hold a term, by slot, with what bounds their scores.

use rustc_hash::FxHashMap;

use super::bits::Bits;
use super::shapes::Shapes;

/// Postings that share one bound.
const BLOCK: usize = 128;
/// A term gets bits when it is in at least every sixteenth slot: then they take no more than a quarter of the postings.
const DENSE: usize = 16;

/// Stands for a shape or a number of tokens that does not fit into a posting. Tests meet it early.
const TOO_LARGE: u16 = if cfg!(test) { 12 } else { u16::MAX };

/// One row of a term. All that scoring needs is here, in eight bytes: a look-up by slot would be a wait for memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Posting {
    /// The row's slot.
    pub(super) slot: u32,
    /// The number of the tuple that says how often the term occurs in each column.
    shape: u16,
    /// The number of tokens of the row.
    tokens: u16,
}

/// What postings refer to.
#[derive(Debug)]
pub(super) struct Details {
    pub(super) shapes: Shapes,
    /// By slot the number of tokens of all columns.
    pub(super) tokens: Vec<u32>,
    /// By term and slot the shapes that do not fit into a posting.
    large: FxHashMap<(u32, u32), u32>,
}

impl Details {
    pub(super) fn new(columns: usize) -> Self {
        Self { shapes: Shapes::new(columns), tokens: Vec::new(), large: FxHashMap::default() }
    }

    /// The posting of a term in the row of the last slot.
    fn last_posting(&mut self, term: u32, shape: u32) -> Posting {
        let slot = self.tokens.len() as u32 - 1;
        let fitting = |number: u32| number.min(u32::from(TOO_LARGE)) as u16;
        if fitting(shape) == TOO_LARGE {
            self.large.insert((term, slot), shape);
        }
        Posting { slot, shape: fitting(shape), tokens: fitting(self.tokens[slot as usize]) }
    }

    /// The shape and the number of tokens of a term's posting.
    pub(super) fn of(&self, term: u32, posting: Posting) -> (u32, u32) {
        let shape = match posting.shape {
            TOO_LARGE => self.large.get(&(term, posting.slot)).copied().unwrap_or(u32::from(TOO_LARGE)),
            shape => u32::from(shape),
        };
        let tokens = match posting.tokens {
            TOO_LARGE => self.tokens[posting.slot as usize],
            tokens => u32::from(tokens),
        };
        (shape, tokens)
    }
}

/// What no posting of a block exceeds: the largest counts of any, and the fewest tokens of any row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peak {
    pub(super) shape: u32,
    pub(super) tokens: u32,
}

/// A frequent term's peaks and, if it is dense, its slots as bits.
#[derive(Debug, Default)]
struct Summary {
    peaks: Vec<Peak>,
    bits: Option<Bits>,
}

/// A term's postings, slots ascending. Most terms of a corpus have one, which needs no memory of its own.
#[derive(Debug)]
enum List {
    One(Posting),
    Many(Vec<Posting>),
}

/// A term's postings, slots ascending, append-only.
#[derive(Debug)]
pub(super) struct Postings {
    list: List,
    summary: Option<Box<Summary>>,
}

impl Postings {
    /// The postings of a term that is first met in the row of the last slot.
    pub(super) fn new(term: u32, shape: u32, details: &mut Details) -> Self {
        Self { list: List::One(details.last_posting(term, shape)), summary: None }
    }

    pub(super) fn as_slice(&self) -> &[Posting] {
        match &self.list {
            List::One(posting) => std::slice::from_ref(posting),
            List::Many(postings) => postings,
        }
    }

    /// Add the row of the last slot.
    pub(super) fn push(&mut self, term: u32, shape: u32, details: &mut Details) {
        let posting = details.last_posting(term, shape);
        match &mut self.list {
            List::One(first) => self.list = List::Many(vec![*first, posting]),
            List::Many(postings) => {
                if postings.len() == postings.capacity() {
                    // A vector left to itself doubles: across a corpus, a third of the memory stays empty.
                    postings.reserve_exact(postings.len().div_ceil(4));
                }
                postings.push(posting);
            }
        }
        let count = self.as_slice().len();
        if count == BLOCK {
            let mut summary = Summary::default();
            self.as_slice().iter().enumerate().for_each(|(at, &p)| summary.push(at, term, p, details));
            self.summary = Some(Box::new(summary));
        } else if let Some(summary) = &mut self.summary {
            summary.push(count - 1, term, posting, details);
            if summary.bits.is_none() && count * DENSE >= details.tokens.len() && count >= 8 * BLOCK {
                let mut bits = Bits::default();
                self.as_slice().iter().for_each(|p| bits.insert(p.slot as usize));
                if let Some(summary) = &mut self.summary {
                    summary.bits = Some(bits);
                }
            }
        }
    }

    /// The peaks of the blocks; none for a short list.
    pub(super) fn peaks(&self) -> &[Peak] {
        self.summary.as_ref().map_or(&[], |summary| &summary.peaks)
    }

    /// Add the slots to a set.
    pub(super) fn mark(&self, set: &mut Bits) {
        match self.summary.as_ref().and_then(|summary| summary.bits.as_ref()) {
            Some(bits) => set.unite(bits),
            None => self.as_slice().iter().for_each(|posting| set.insert(posting.slot as usize)),
        }
    }
}

impl Summary {
    /// Take note of the posting at a place.
    fn push(&mut self, at: usize, term: u32, posting: Posting, details: &mut Details) {
        let (shape, tokens) = details.of(term, posting);
        match self.peaks.get_mut(at / BLOCK) {
            None => self.peaks.push(Peak { shape, tokens }),
            Some(peak) => {
                peak.shape = details.shapes.peak(peak.shape, shape);
                peak.tokens = peak.tokens.min(tokens);
            }
        }
        if let Some(bits) = &mut self.bits {
            bits.insert(posting.slot as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_bound_their_block_and_bits_equal_the_list() {
        let mut details = Details::new(2);
        let numbers: Vec<u32> = (0..25).map(|i| details.shapes.number(&[i % 5, i / 5])).collect();
        let mut postings = None;
        for slot in 0..5_000_u32 {
            details.tokens.push(3 + slot * 7 % 31);
            let shape = numbers[(slot * 5 % 23) as usize];
            match &mut postings {
                None => postings = Some(Postings::new(9, shape, &mut details)),
                Some(postings) if slot % 3 < 2 => postings.push(9, shape, &mut details),
                Some(_) => {}
            }
        }
        let postings = postings.unwrap();
        assert_eq!(postings.peaks().len(), postings.as_slice().len().div_ceil(BLOCK));
        for (block, peak) in postings.as_slice().chunks(BLOCK).zip(postings.peaks()) {
            let highest = details.shapes.get(peak.shape);
            for &p in block {
                let (shape, tokens) = details.of(9, p);
                assert_eq!((shape, tokens), (numbers[(p.slot * 5 % 23) as usize], 3 + p.slot * 7 % 31));
                assert!(peak.tokens <= tokens);
                assert!(details.shapes.get(shape).iter().zip(highest).all(|(a, b)| a <= b));
            }
        }
        let (mut dense, mut listed) = (Bits::default(), Bits::default());
        assert!(postings.summary.as_ref().unwrap().bits.is_some());
        postings.mark(&mut dense);
        postings.as_slice().iter().for_each(|p| listed.insert(p.slot as usize));
        assert_eq!(dense, listed);
    }
}
