//! Texts that many candidates share (kind, severity, domain), as numbers into a short list of names.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};

/// Names by number, append-only: a snapshot's arrays hold the numbers.
#[derive(Debug, Default)]
pub struct NameTable(RwLock<Vec<Arc<str>>>);

impl NameTable {
    /// Add names; the first gets the number `len()`.
    pub fn extend<T: AsRef<str>>(&self, names: &[T]) {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        held.extend(names.iter().map(|name| Arc::from(name.as_ref())));
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// True if there is no name.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, Vec<Arc<str>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One text a candidate `(m,)`; equal texts are stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    names: Vec<Arc<str>>,
    codes: Vec<u32>,
}

impl Labels {
    /// The texts as they are given.
    pub fn of_texts<T: AsRef<str>>(texts: &[T]) -> Self {
        let mut labels = Self::default();
        let mut known: FxHashMap<&str, u32> = FxHashMap::default();
        for text in texts {
            let names = &mut labels.names;
            let code = *known.entry(text.as_ref()).or_insert_with(|| {
                names.push(Arc::from(text.as_ref()));
                names.len() as u32 - 1
            });
            labels.codes.push(code);
        }
        labels
    }

    /// The names of numbers.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a number without a name.
    pub(super) fn of_numbers(numbers: impl Iterator<Item = i32>, table: &[Arc<str>]) -> Result<Self> {
        let mut labels = Self::default();
        labels.codes.reserve(numbers.size_hint().0);
        // Candidates have few distinct labels, so a list is searched faster than a map.
        let mut seen: Vec<i32> = Vec::new();
        for number in numbers {
            let code = match seen.iter().position(|&other| other == number) {
                Some(code) => code,
                None => {
                    let name = usize::try_from(number).ok().and_then(|at| table.get(at));
                    let name =
                        name.ok_or(Error::OutOfRange { what: "name", index: i64::from(number), len: table.len() })?;
                    seen.push(number);
                    labels.names.push(Arc::clone(name));
                    seen.len() - 1
                }
            };
            labels.codes.push(code as u32);
        }
        Ok(labels)
    }

    /// The number of candidates.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// True if there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The text of a candidate.
    ///
    /// # Panics
    /// If there is no such candidate.
    pub fn get(&self, candidate: usize) -> &str {
        &self.names[self.codes[candidate] as usize]
    }

    /// A value for each candidate `(m,)`, computed once for each distinct text.
    pub fn map(&self, value: impl Fn(&str) -> f64) -> Vec<f64> {
        let values: Vec<f64> = self.names.iter().map(|name| value(name)).collect();
        self.codes.iter().map(|&code| values[code as usize]).collect()
    }

    /// The labels of candidates, in the order given.
    pub(super) fn at(&self, candidates: &[usize]) -> Self {
        Self { names: self.names.clone(), codes: candidates.iter().map(|&i| self.codes[i]).collect() }
    }

    /// Add the labels of other candidates.
    pub(super) fn extend(&mut self, other: &Self) {
        let map: Vec<u32> = other.names.iter().map(|name| self.code_of(name)).collect();
        self.codes.extend(other.codes.iter().map(|&code| map[code as usize]));
    }

    fn code_of(&mut self, name: &Arc<str>) -> u32 {
        let known = self.names.iter().position(|other| other == name);
        known.unwrap_or_else(|| {
            self.names.push(Arc::clone(name));
            self.names.len() - 1
        }) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(labels: &Labels) -> Vec<&str> {
        (0..labels.len()).map(|i| labels.get(i)).collect()
    }

    #[test]
    fn labels_say_what_was_given_however_they_were_joined_and_picked() {
        let table = NameTable::default();
        table.extend(&["entry", "web", "rule"]);
        let mut labels = Labels::of_numbers([1, 0, 1].into_iter(), &table.read()).unwrap();
        labels.extend(&Labels::of_texts(&["chunk", "web", "chunk"]));
        assert_eq!(texts(&labels), ["web", "entry", "web", "chunk", "web", "chunk"]);
        assert_eq!(texts(&labels.at(&[5, 1, 1])), ["chunk", "entry", "entry"]);
        assert_eq!(labels.map(|name| name.len() as f64), [3.0, 5.0, 3.0, 5.0, 3.0, 5.0]);
    }

    #[test]
    fn a_number_without_a_name_is_refused() {
        let table = NameTable::default();
        table.extend(&["entry"]);
        for number in [-1, 1, i32::MAX] {
            assert!(Labels::of_numbers([0, number].into_iter(), &table.read()).is_err());
        }
    }
}
