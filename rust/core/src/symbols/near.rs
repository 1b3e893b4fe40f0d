//! The likeness of two names: 1 - Levenshtein distance / length of the longer.

/// Return how much two names are alike, 0 to 1, in characters; two empty names are the same.
pub fn similarity(one: &[char], other: &[char]) -> f64 {
    let longest = one.len().max(other.len());
    if longest == 0 { 1.0 } else { 1.0 - distance(one, other) as f64 / longest as f64 }
}

/// Return the similarity if it is above a bound; names whose lengths differ too much are not compared.
pub(super) fn similarity_above(one: &[char], other: &[char], least: f64) -> Option<f64> {
    let (shorter, longer) = (one.len().min(other.len()), one.len().max(other.len()));
    if longer == 0 || shorter as f64 / longer as f64 <= least {
        return None;
    }
    Some(similarity(one, other)).filter(|&results| results > least)
}

/// As documented for names that were renamed: 1 where either holds the other, which has three characters or more; else
/// their similarity. Names are in lower case.
pub fn proximity(one: &str, other: &str) -> f64 {
    let (shorter, longer) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if one == other || (shorter.chars().count() >= 3 && longer.contains(shorter)) {
        return if one.is_empty() { 0.0 } else { 1.0 };
    }
    similarity(&one.chars().collect::<Vec<_>>(), &other.chars().collect::<Vec<_>>())
}

fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, c) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (place, against) in other.iter().enumerate() {
            let here = (diagonal + usize::from(c != against)).min(row[place] + 1).min(row[place + 1] + 1);
            diagonal = std::mem::replace(&mut row[place + 1], here);
        }
    }
    row[other.len()]
}
