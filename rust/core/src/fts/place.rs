//! Where the posting of a slot is in a list.

use super::postings::Posting;

/// Guesses where a slot is in a list, and postings that are looked through around one.
const GUESSES: usize = 3;
const NEAR: usize = 16;

/// The place of the first posting of a slot or one after it, slots ascending.
///
/// Rows of a term lie about evenly, so a guess by proportion, and another from what stands there, lead to within a few
/// postings. That is two waits for memory, where halving the list waits at every step; and unlike a walk from the last
/// place it needs no other look-up to be done, so the processor has many under way.
pub(super) fn place_of(postings: &[Posting], slot: u32) -> usize {
    let guessed = || {
        let (first, last) = (postings.first()?.slot, postings.last()?.slot);
        let density = (postings.len() - 1) as f64 / f64::from(last.checked_sub(first)?);
        let from = |at: usize, there: u32| (at as f64 + (f64::from(slot) - f64::from(there)) * density) as usize;
        let mut guess = from(0, first);
        for _ in 0..GUESSES {
            let start = guess.saturating_sub(NEAR / 2).min(postings.len() - NEAR);
            let near: &[Posting; NEAR] = postings[start..].first_chunk()?;
            if near[0].slot < slot && slot <= near[NEAR - 1].slot {
                // Counted without a branch: where in these the slot is cannot be foreseen.
                return Some(start + near.iter().map(|posting| usize::from(posting.slot < slot)).sum::<usize>());
            }
            guess = from(start + NEAR / 2, near[NEAR / 2].slot);
        }
        None
    };
    let guessed = if postings.len() > NEAR { guessed() } else { None };
    guessed.unwrap_or_else(|| postings.partition_point(|posting| posting.slot < slot))
}

#[cfg(test)]
mod tests {
    use super::super::postings::Run;
    use super::*;

    fn posting(slot: u32) -> Posting {
        bytemuck::cast([slot, 0])
    }

    #[test]
    fn a_posting_is_found_wherever_slots_lie() {
        let evenly: Vec<u32> = (0..2_000).map(|i| 7 + i * 3).collect();
        let clumped: Vec<u32> = (0..500).chain((0..500).map(|i| 1_000_000 + i * i)).chain([u32::MAX]).collect();
        let growing: Vec<u32> = (0..300).map(|i| i * i * i).collect();
        for slots in [&evenly[..], &evenly[..17], &evenly[..16], &evenly[..1], &[], &clumped, &growing] {
            let listed: Vec<Posting> = slots.iter().map(|&slot| posting(slot)).collect();
            let wanted = slots.iter().flat_map(|&slot| [slot.wrapping_sub(1), slot, slot.wrapping_add(1)]);
            for slot in wanted.chain([0, 1, 5_000, u32::MAX]) {
                assert_eq!(place_of(&listed, slot), slots.partition_point(|&other| other < slot), "{slot}");
                let run = Run { postings: &listed, ..Run::default() };
                let results = run.find(slot as usize).map(|posting| posting.slot);
                assert_eq!(results, slots.contains(&slot).then_some(slot));
            }
        }
        let unsorted = [9, 3, 8].map(posting).repeat(20);
        (0..12).for_each(|slot| assert!(place_of(&unsorted, slot) <= unsorted.len()));
    }
}
