//! An index as columns of a file: base and tail become one base.

use super::base::NO_BITS;
use super::contents::Contents;
use super::postings::{Peak, Posting, is_dense, peaks_of};
use crate::arrays::{ArrayWriter, Ends};
use crate::error::Result;

/// Write the columns of an index, their names beginning with `prefix`.
pub(super) fn write(contents: &Contents, to: &mut ArrayWriter, prefix: &str) -> Result<()> {
    let name = |column: &str| format!("{prefix}{column}");
    contents.names().write(to, prefix)?;
    let terms = 0..contents.terms() as u32;
    to.begin::<Posting>(&name("postings"))?;
    let mut ends = Ends::default();
    for term in terms.clone() {
        for run in contents.runs(term) {
            to.put(run.postings)?;
            ends.grow(run.postings.len());
        }
        ends.end();
    }
    to.column(&name("posting_ends"), ends.as_slice())?;
    let mut column_counts = contents.details.column_counts.clone();
    to.begin::<Peak>(&name("peaks"))?;
    let mut ends = Ends::default();
    for term in terms.clone() {
        let peaks = peaks_of(
            contents.runs(term),
            |tuple, other| column_counts.peak(tuple, other),
            |p| contents.details.of(term, p),
        );
        to.put(&peaks)?;
        ends.grow(peaks.len());
        ends.end();
    }
    to.column(&name("peak_ends"), ends.as_slice())?;
    write_bits(contents, to, name)?;
    column_counts.write(to, &name("shapes"))?;
    contents.details.write(to, name)?;
    contents.forward.write(to, name)
}

fn write_bits(contents: &Contents, to: &mut ArrayWriter, name: impl Fn(&str) -> String) -> Result<()> {
    let slots = contents.forward.len();
    let mut dense = Vec::with_capacity(contents.terms());
    let mut number = 0;
    to.begin::<u64>(&name("bits"))?;
    for term in 0..contents.terms() as u32 {
        let runs = contents.runs(term);
        if !is_dense(runs.iter().map(|run| run.postings.len()).sum(), slots) {
            dense.push(NO_BITS);
            continue;
        }
        let mut words = vec![0_u64; slots.div_ceil(64)];
        for posting in runs.iter().flat_map(|run| run.postings) {
            if let Some(word) = words.get_mut(posting.slot as usize / 64) {
                *word |= 1 << (posting.slot % 64);
            }
        }
        to.put(&words)?;
        dense.push(number);
        number += 1;
    }
    to.column(&name("dense"), &dense)
}
