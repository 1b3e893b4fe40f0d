//! A floor to begin with: guessed from a part of the rows, and proven by what the search finds.

use super::keep::Keep;
use super::line::BLOCK;
use super::scan::{Chunk, Scratch, Task};

/// Blocks per block that is sampled.
const STRIDE: usize = if cfg!(test) { 3 } else { 32 };
/// Minimum rows, as a multiple of the sampled ones, for a guess to pay.
const PAYS: usize = 4 * STRIDE * BLOCK;

impl Task {
    /// Guess a floor that at least k rows reach, for a task of one query; minus infinity where that would not pay.
    ///
    /// Without a floor all rows of the first blocks remain, and until k good ones were seen most of the others: a tenth
    /// of all whole codes is read to learn what a few blocks from everywhere show. The sampled blocks hold their share
    /// of the k best rows, give or take the square root of the number; a row so far down among them that more than k of
    /// all are above it is the floor.
    pub(super) fn guess(&self) -> f32 {
        if self.allowed < PAYS.max(STRIDE * self.k / 4) {
            return f32::NEG_INFINITY;
        }
        let here = self.k as f64 / STRIDE as f64;
        let mut keep = [Keep::new((here + 2.0 * here.sqrt()).ceil() as usize + 2)];
        let mut scratch = Scratch::default();
        for (segment, part) in self.rows.segments.iter().enumerate() {
            let end = part.below(self.n);
            for from in (0..end).step_by(STRIDE * BLOCK) {
                self.scan(&Chunk { segment, rows: from..end.min(from + BLOCK) }, 0..1, &mut keep, &mut scratch);
            }
        }
        keep[0].floor()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Level, Rows, top_k};
    use super::super::tests::{coded, numbers, request};
    use super::super::{Request, top_k_coded};
    use super::{BLOCK, STRIDE};

    #[test]
    fn rows_are_found_whether_the_guess_is_good_or_misled() {
        let (n, d) = (24 * STRIDE * BLOCK + 17, 8);
        let mut number = numbers(5);
        let mut data: Vec<f32> = (0..n * d).map(|_| number()).collect();
        let query: Vec<f32> = data[..d].to_vec();
        let some: Vec<u8> = (0..n).map(|row| u8::from(row % 3 != 1)).collect();
        for misled in [false, true] {
            if misled {
                // Wherever a guess looks there are the best rows, and far fewer of them than are wanted.
                for row in (0..n).filter(|row| (row / BLOCK).is_multiple_of(STRIDE)) {
                    data[row * d..(row + 1) * d].iter_mut().zip(&query).for_each(|(x, q)| *x = 2.0 * q + *x / 64.0);
                }
            }
            let rows = Rows::new(&data, n, d).unwrap();
            let codes = coded(rows);
            for &level in Level::available() {
                for (k, mask, threads) in [(1, None, 1), (100, None, 2), (n / 4, None, 1), (700, Some(&some[..]), 3)] {
                    let wanted = top_k(&query, rows, k, mask, level).unwrap();
                    let request = Request { threads: Some(threads), ..request(k, mask, level) };
                    assert_eq!(top_k_coded(&codes, &query, rows, request).unwrap(), wanted, "{level:?} {k} {misled}");
                }
            }
        }
    }
}
