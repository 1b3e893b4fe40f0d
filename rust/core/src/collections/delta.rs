//! Ascending numbers as differences, in units of 8 or 16 bits; the highest bit says that the number goes on.
//!
//! Units of 16 bits suit lists that are read at once: nearly all numbers have one unit, so the processor guesses right.
//! Units of 8 bits suit lists that are kept and seldom read: they take a little less.

/// A unit of a list.
pub(crate) trait Unit: Copy {
    /// Bits of a number that a unit holds.
    const BITS: u32;
    /// The unit of the lowest bits of a number, and whether more follow.
    fn of(number: u32, more: bool) -> Self;
    /// The bits of the number that the unit holds.
    fn bits(self) -> u32;
    /// True if more units of the same number follow.
    fn has_more(self) -> bool;
}

macro_rules! unit {
    ($unit:ty) => {
        impl Unit for $unit {
            const BITS: u32 = <$unit>::BITS - 1;

            #[inline]
            fn of(number: u32, more: bool) -> Self {
                let bits = number as $unit & (<$unit>::MAX >> 1);
                if more { bits | 1 << <Self as Unit>::BITS } else { bits }
            }

            #[inline]
            fn bits(self) -> u32 {
                u32::from(self & (<$unit>::MAX >> 1))
            }

            #[inline]
            fn has_more(self) -> bool {
                self >> <Self as Unit>::BITS != 0
            }
        }
    };
}

unit!(u8);
unit!(u16);

/// Add ascending numbers, each as often as it occurs.
pub(crate) fn push_numbers<U: Unit>(units: &mut Vec<U>, numbers: impl IntoIterator<Item = u32>) {
    let mut last = 0;
    for number in numbers {
        let mut rest = number - last;
        last = number;
        while rest >> U::BITS != 0 {
            units.push(U::of(rest, true));
            rest >>= U::BITS;
        }
        units.push(U::of(rest, false));
    }
}

/// The numbers of a list. Those of a file that was tampered with may wrap around.
#[inline]
pub(crate) fn numbers<U: Unit>(units: &[U]) -> impl Iterator<Item = u32> + '_ {
    let (mut units, mut number) = (units.iter(), 0_u32);
    std::iter::from_fn(move || {
        number = number.wrapping_add(next(&mut units)?);
        Some(number)
    })
}

/// Call `each` with the numbers.
#[inline]
pub(crate) fn for_each_number<U: Unit>(units: &[U], mut each: impl FnMut(u32)) {
    let (mut units, mut number) = (units.iter(), 0_u32);
    while let Some(difference) = next(&mut units) {
        number = number.wrapping_add(difference);
        each(number);
    }
}

/// Call `each` with the distinct numbers, and how often each occurs.
#[inline]
pub(crate) fn for_each_count<U: Unit>(units: &[U], mut each: impl FnMut(u32, u32)) {
    let (mut last, mut count) = (0, 0);
    for_each_number(units, |number| {
        if number != last && count > 0 {
            each(last, count);
            count = 0;
        }
        (last, count) = (number, count + 1);
    });
    if count > 0 {
        each(last, count);
    }
}

/// The next difference.
#[inline]
fn next<U: Unit>(units: &mut std::slice::Iter<'_, U>) -> Option<u32> {
    let unit = *units.next()?;
    Some(if unit.has_more() { unit.bits() | upper(units) << U::BITS } else { unit.bits() })
}

/// The bits of a number above those of its first unit. A number without an end ends with its list.
#[cold]
fn upper<U: Unit>(units: &mut std::slice::Iter<'_, U>) -> u32 {
    let (mut upper, mut shift) = (0, 0);
    for unit in units {
        upper |= unit.bits().unbounded_shl(shift);
        shift += U::BITS;
        if !unit.has_more() {
            break;
        }
    }
    upper
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(listed: &[u32]) -> Vec<(u32, u32)> {
        let (mut units, mut counts) = (Vec::<u16>::new(), Vec::new());
        push_numbers(&mut units, listed.iter().copied());
        for_each_count(&units, |number, count| counts.push((number, count)));
        counts
    }

    #[test]
    fn numbers_are_counted() {
        assert_eq!(counted(&[]), []);
        assert_eq!(counted(&[0, 0, 7]), [(0, 2), (7, 1)]);
        assert_eq!(counted(&[5, 70_000, 70_000, u32::MAX]), [(5, 1), (70_000, 2), (u32::MAX, 1)]);
    }

    #[test]
    fn a_number_without_an_end_ends_with_its_list() {
        let results: Vec<u32> = numbers(&[1, u16::MAX, u16::MAX, u16::MAX, u16::MAX]).collect();
        assert_eq!((results.len(), results[0]), (2, 1));
        assert_eq!(numbers(&[1, 0x80_u8, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn a_file_keeps_its_bytes() {
        let (mut bytes, mut units) = (Vec::<u8>::new(), Vec::<u16>::new());
        push_numbers(&mut bytes, [0, 127, 255, 16_639]);
        push_numbers(&mut units, [0, 32_767, 65_535]);
        assert_eq!(bytes, [0, 127, 0x80, 1, 0x80, 0x80, 1]);
        assert_eq!(units, [0, 32_767, 0x8000, 1]);
    }

    proptest! {
        #![proptest_config(crate::seeded(256))]
        #[test]
        fn numbers_come_back(
            mut listed in prop::collection::vec(prop_oneof![0..300_u32, 30_000..70_000_u32, any::<u32>()], 0..80),
        ) {
            listed.sort_unstable();
            let (mut bytes, mut units) = (Vec::<u8>::new(), Vec::<u16>::new());
            push_numbers(&mut bytes, listed.iter().copied());
            push_numbers(&mut units, listed.iter().copied());
            prop_assert!(numbers(&bytes).eq(listed.iter().copied()));
            prop_assert!(numbers(&units).eq(listed.iter().copied()));
        }
    }
}
