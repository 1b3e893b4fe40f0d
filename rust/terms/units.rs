//! Ascending numbers, compact: differences, fifteen bits a unit.
//!
//! Bytes would take little less, and the processor could not tell how many the next number has; nearly all numbers have
//! one unit.

/// Set in a unit that is not the last of its number.
const MORE: u16 = 1 << 15;

/// Add ascending numbers, each as often as it occurs.
pub(super) fn push_numbers(units: &mut Vec<u16>, numbers: &[u32]) {
    let mut last = 0;
    for &number in numbers {
        let mut rest = number - last;
        last = number;
        while rest >= u32::from(MORE) {
            units.push(rest as u16 | MORE);
            rest >>= 15;
        }
        units.push(rest as u16);
    }
}

/// Call `each` with the numbers.
#[inline]
pub(super) fn for_each_number(units: &[u16], mut each: impl FnMut(u32)) {
    let mut number = 0_u32;
    let mut units = units.iter().copied();
    while let Some(unit) = units.next() {
        let mut rest = u32::from(unit & !MORE);
        if unit & MORE != 0 {
            rest |= upper(&mut units) << 15;
        }
        number = number.wrapping_add(rest);
        each(number);
    }
}

/// Call `each` with the distinct numbers, and how often each occurs.
#[inline]
pub(super) fn for_each_count(units: &[u16], mut each: impl FnMut(u32, u32)) {
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

#[cold]
fn upper(units: &mut impl Iterator<Item = u16>) -> u32 {
    let (mut upper, mut shift) = (0, 0);
    for unit in units {
        upper |= u32::from(unit & !MORE).unbounded_shl(shift);
        shift += 15;
        if unit & MORE == 0 {
            break;
        }
    }
    upper
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(numbers: &[u32]) -> Vec<(u32, u32)> {
        let (mut units, mut counts) = (Vec::new(), Vec::new());
        push_numbers(&mut units, numbers);
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
        let mut numbers = Vec::new();
        for_each_number(&[1, u16::MAX, u16::MAX, u16::MAX, u16::MAX], |number| numbers.push(number));
        assert_eq!((numbers.len(), numbers[0]), (2, 1));
    }
}
