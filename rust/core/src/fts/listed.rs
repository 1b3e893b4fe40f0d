//! The terms of rows with their counts, for those who keep them elsewhere.

use super::index::TextIndex;
use crate::terms::TermLists;

/// The terms of rows `(n,)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedRows {
    /// The terms.
    pub terms: TermLists,
    /// Occurrences of each term of each row in each of the `c` columns `(p, c)`.
    pub counts: Vec<i32>,
    /// The number of tokens of each row, in all columns `(n,)`.
    pub tokens: Vec<i32>,
}

impl TextIndex {
    /// The terms of all slots.
    pub fn listed(&self) -> ListedRows {
        let (contents, columns) = (self.read(), self.columns());
        let mut results = ListedRows { terms: TermLists::of(contents.names().names()), ..ListedRows::default() };
        for slot in 0..contents.forward.len() {
            contents.forward.get(slot).for_each(|term| results.terms.push(term));
            results.terms.end();
            results.tokens.push(contents.details.tokens(slot) as i32);
        }
        results.counts = vec![0; columns * results.terms.terms.len()];
        // Terms ascend in every slot, so each slot is filled from its first term on.
        let mut next: Vec<usize> = results.terms.offsets.iter().map(|&offset| columns * offset as usize).collect();
        for term in 0..contents.terms() as u32 {
            for posting in contents.runs(term).iter().flat_map(|run| run.postings) {
                let (counts, place) = (&mut results.counts, &mut next[posting.slot as usize]);
                let tuple = contents.details.column_counts.get(contents.details.of(term, *posting).0);
                counts[*place..].iter_mut().zip(tuple).for_each(|(to, &count)| *to = count as i32);
                *place += columns;
            }
        }
        results
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_stands_at_its_term() {
        let index = TextIndex::new(2).unwrap();
        index.append(&[["red fox", "foxes, red fox"], ["", ""], ["Blue", "fox"]]).unwrap();
        let results = index.listed();
        assert_eq!((&results.terms.offsets, &results.tokens), (&vec![0, 2, 2, 4], &vec![5, 0, 2]));
        let name = |at: usize| results.terms.names[results.terms.terms[at] as usize].as_str();
        let rows: Vec<_> = (0..4).map(|at| (name(at), &results.counts[2 * at..2 * at + 2])).collect();
        assert_eq!(rows[..2], [("red", &[1, 1][..]), ("fox", &[1, 2])]);
        assert_eq!(rows[2..], [("fox", &[0, 1][..]), ("blue", &[1, 0])]);
    }
}
