//! The best rows for the terms of a query, span by span: FTS5's formula, its terms added in its order.

use std::cmp::Ordering;

use super::changes::Changes;
use super::{Block, Blocks, COLUMNS, MEMORY, ONCE, REMOVED, SPAN, slot_of, united};
use crate::collections::TopKHeap;
use crate::error::Result;
use crate::fts::{Constants, weighted};

/// Numbers of tokens whose part of the formula is kept.
const COMMON_LENGTHS: usize = 1_024;
const PARTS: usize = 2;

/// A term of a query, in the order in which scores are added.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The table: 0 for texts, 1 for grams.
    pub part: u8,
    /// The term.
    pub term: &'a str,
    /// Its inverse document frequency; None where it scores nothing and only tells whether a word is held.
    pub weight: Option<f64>,
}

/// A way to hold a needed word: of each group any term, by its position in the query.
pub type Way = Vec<Vec<usize>>;

/// The parameters of scores, and the rows that count.
#[derive(Clone, Debug)]
pub struct Ranking<'a> {
    /// The weights of the columns of texts.
    pub weights: [f64; COLUMNS],
    /// The tokens of an average row, by table.
    pub average: [f64; PARTS],
    /// k1 and b.
    pub constants: Constants,
    /// By needed word the ways to hold it.
    pub needed: &'a [Vec<Way>],
    /// Rows that do not count, ascending.
    pub outside: &'a [i64],
    /// True if memories count.
    pub memories: bool,
    /// The number of rows wanted.
    pub most: usize,
}

/// A row that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// True if it holds every needed word.
    pub whole: bool,
    /// Its score.
    pub score: f64,
    /// Its number.
    pub row: i64,
}

impl Eq for Best {}

impl Ord for Best {
    /// Better rows are greater: those that hold every needed word, then by score, then the lower number.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = || self.score.total_cmp(&other.score).then(other.row.cmp(&self.row));
        self.whole.cmp(&other.whole).then_with(by_score)
    }
}

impl PartialOrd for Best {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The result of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranked {
    /// The best rows, best first.
    pub best: Vec<Best>,
    /// The number of all rows that hold a term with a weight.
    pub matches: usize,
    /// Number of these that hold every needed word; 0 if none is needed.
    pub whole: usize,
}

/// Return the best rows for the terms of a query.
///
/// # Arguments
/// `blocks` by part and term the bytes of its blocks; `changes` of writes, in their order, that the blocks do not have.
///
/// # Errors
/// [`crate::Error::Damaged`] for bytes that are no blocks or changes.
pub fn rank(
    asked: &[Asked<'_>],
    blocks: &[(u8, &str, &[u8])],
    changes: &[&[u8]],
    ranking: &Ranking<'_>,
) -> Result<Ranked> {
    let lists = lists(asked, blocks, changes)?;
    let mut spans: Vec<i64> = lists.iter().flatten().map(|block| block.span).collect();
    spans.sort_unstable();
    spans.dedup();
    let mut query = Query::new(asked, ranking);
    let mut left: Vec<&[Block<'_>]> = lists.iter().map(Vec::as_slice).collect();
    for span in spans {
        for (place, left) in left.iter_mut().enumerate() {
            let (here, rest) = left.split_at(left.iter().take_while(|block| block.span == span).count());
            *left = rest;
            if let Some(block) = united(here, &mut Vec::new())? {
                query.add_block(place, &block)?;
            }
        }
        query.end_span();
    }
    Ok(Ranked { best: query.best.into_sorted(), matches: query.matches, whole: query.whole })
}

/// The blocks of each term that is asked for, ascending by span; of one span the older first.
fn lists<'a>(
    asked: &[Asked<'_>],
    blocks: &[(u8, &str, &'a [u8])],
    changes: &[&'a [u8]],
) -> Result<Vec<Vec<Block<'a>>>> {
    let mut lists = vec![Vec::new(); asked.len()];
    let mut put = |part: u8, term: &str, bytes: &'a [u8]| {
        for (list, one) in lists.iter_mut().zip(asked) {
            if one.part == part && one.term == term {
                for block in Blocks::of(bytes) {
                    list.push(block?);
                }
            }
        }
        Ok(())
    };
    blocks.iter().try_for_each(|&(part, term, bytes)| put(part, term, bytes))?;
    for write in changes {
        for change in Changes::of(write) {
            let change = change?;
            put(change.part, change.term, change.blocks)?;
        }
    }
    // Stable, so that of one span what came later stays behind.
    lists.iter_mut().for_each(|list| list.sort_by_key(|block: &Block<'_>| block.span));
    Ok(lists)
}

/// By number of tokens the part of the formula that depends on it, as far as it was asked for: NaN where it was not.
pub(super) struct Lengths {
    known: Vec<f64>,
    constants: Constants,
    average: f64,
}

impl Lengths {
    pub(super) fn new(constants: Constants, average: f64) -> Self {
        Self { known: vec![f64::NAN; COMMON_LENGTHS], constants, average }
    }

    /// `k1 * (1 - b + b * tokens / average)`.
    #[inline]
    pub(super) fn of(&mut self, tokens: u32) -> f64 {
        let Constants { k1, b } = self.constants;
        let length = || k1 * (1.0 - b + b * f64::from(tokens) / self.average);
        match self.known.get(tokens as usize) {
            None => length(),
            Some(known) if !known.is_nan() => *known,
            Some(_) => {
                let result = length();
                self.known[tokens as usize] = result;
                result
            }
        }
    }
}

/// The rows of one span, and the best of those before.
struct Query<'a> {
    asked: &'a [Asked<'a>],
    ranking: &'a Ranking<'a>,
    lengths: [Lengths; PARTS],
    /// By table and columns, a bit each, the frequency of a term that each of them holds once.
    once: [[f64; 1 << COLUMNS]; PARTS],
    /// By position in the span the sums of each table, and the number of the row.
    sums: Vec<[f64; PARTS]>,
    rows: Vec<i64>,
    /// Which positions have a score.
    scored: [u64; SPAN / 64],
    /// By position the terms it holds, a bit each; none where no word is needed.
    held: Vec<u64>,
    bits: usize,
    best: TopKHeap<Best>,
    /// The last of the best, once there are as many as are wanted.
    least: Option<Best>,
    matches: usize,
    whole: usize,
}

impl<'a> Query<'a> {
    fn new(asked: &'a [Asked<'a>], ranking: &'a Ranking<'a>) -> Self {
        let bits = if ranking.needed.is_empty() { 0 } else { asked.len().div_ceil(64) };
        let mut query = Self {
            asked,
            ranking,
            once: [[0.0; 1 << COLUMNS]; PARTS],
            lengths: ranking.average.map(|average| Lengths::new(ranking.constants, average)),
            sums: vec![[0.0; PARTS]; SPAN],
            rows: vec![0; SPAN],
            scored: [0; SPAN / 64],
            held: vec![0; SPAN * bits],
            bits,
            best: TopKHeap::new(ranking.most),
            least: None,
            matches: 0,
            whole: 0,
        };
        for part in 0..PARTS {
            for columns in 0..1 << COLUMNS {
                let counts = std::array::from_fn(|column| columns as u32 >> column & 1);
                query.once[part][columns] = query.frequency(part, &counts);
            }
        }
        query
    }

    /// Add what the postings of a term score in its rows.
    fn add_block(&mut self, place: usize, block: &Block<'_>) -> Result<()> {
        let every = self.asked;
        let (asked, mut postings) = (&every[place], block.postings());
        let part = usize::from(asked.part != 0);
        let most = self.ranking.constants.most();
        while !postings.is_at_end() {
            let (row, flags) = postings.head()?;
            if flags & REMOVED != 0 {
                continue;
            }
            let frequency = if flags & ONCE != 0 {
                self.once[part][usize::from(flags) % self.once[part].len()]
            } else {
                self.frequency(part, &postings.counts(flags)?)
            };
            let tokens = postings.reader.count()?;
            if flags & MEMORY != 0 && !self.ranking.memories {
                continue;
            }
            let slot = slot_of(row);
            self.rows[slot] = row;
            if self.bits > 0 {
                self.held[slot * self.bits + place / 64] |= 1 << (place % 64);
            }
            if let Some(weight) = asked.weight {
                let length = self.lengths[part].of(tokens);
                self.sums[slot][part] += weight * ((frequency * most) / (frequency + length));
                self.scored[slot / 64] |= 1 << (slot % 64);
            }
        }
        Ok(())
    }

    /// The weighted frequency of a term in a row; grams are in the second column.
    fn frequency(&self, part: usize, counts: &[u32; COLUMNS]) -> f64 {
        if part == 0 { weighted(counts, &self.ranking.weights) } else { f64::from(counts[1]) }
    }

    fn end_span(&mut self) {
        for word in 0..self.scored.len() {
            let mut bits = std::mem::take(&mut self.scored[word]);
            while bits != 0 {
                self.end_row(word * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
        self.held.fill(0);
    }

    #[inline]
    fn end_row(&mut self, slot: usize) {
        let [texts, grams] = std::mem::take(&mut self.sums[slot]);
        let row = self.rows[slot];
        if self.ranking.outside.binary_search(&row).is_ok() {
            return;
        }
        let whole = self.bits > 0 && self.holds_all(slot);
        self.matches += 1;
        self.whole += usize::from(whole);
        let results = Best { whole, score: texts + grams, row };
        if self.least.is_none_or(|least| results > least) {
            self.least = self.best.push(results).or(self.least);
        }
    }

    fn holds_all(&self, slot: usize) -> bool {
        let held = &self.held[slot * self.bits..][..self.bits];
        let holds = |&place: &usize| held.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 != 0);
        let holds_by = |way: &Way| way.iter().all(|group| group.iter().any(holds));
        !self.ranking.needed.is_empty() && self.ranking.needed.iter().all(|ways| ways.iter().any(holds_by))
    }
}
