//! The terms of each slot, compact: ascending numbers as differences of seven bits a byte.

/// Lists of ascending numbers, append-only.
#[derive(Debug, Default)]
pub(super) struct Forward {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Forward {
    /// The number of lists.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Add a list of ascending numbers.
    pub(super) fn push(&mut self, numbers: impl Iterator<Item = u32>) {
        let mut last = 0;
        for number in numbers {
            let mut rest = number - last;
            last = number;
            while rest >= 0x80 {
                self.bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            self.bytes.push(rest as u8);
        }
        self.ends.push(self.bytes.len());
    }

    /// The numbers of a list.
    pub(super) fn get(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        let start = if list == 0 { 0 } else { self.ends[list - 1] };
        let mut bytes = self.bytes[start..self.ends[list]].iter();
        let mut last = 0;
        std::iter::from_fn(move || {
            let (mut rest, mut shift) = (0, 0);
            loop {
                let byte = *bytes.next()?;
                rest |= u32::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    last += rest;
                    return Some(last);
                }
                shift += 7;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Forward;

    #[test]
    fn lists_come_back() {
        let lists: [&[u32]; 4] = [&[0, 1, 127, 128, 300, 70_000, u32::MAX], &[], &[0], &[1 << 31]];
        let mut forward = Forward::default();
        lists.iter().for_each(|list| forward.push(list.iter().copied()));
        assert_eq!(forward.len(), 4);
        for (i, list) in lists.iter().enumerate() {
            assert_eq!(forward.get(i).collect::<Vec<_>>(), *list);
        }
    }
}
