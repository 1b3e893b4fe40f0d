//! Candidates as parallel arrays.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::labels::Labels;
use crate::error::{Error, Result};
use crate::formula::Candidates;

/// The name of a column.
pub type Name = Cow<'static, str>;

/// Unit vectors of candidates, row-major; those of one tier have one space.
#[derive(Debug)]
pub struct Vectors {
    /// Components of a vector.
    pub d: usize,
    /// The vectors.
    pub data: Vec<f32>,
}

impl Vectors {
    /// Vector `i`.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.d..(i + 1) * self.d]
    }
}

/// Where the vector of a candidate is: in which of the pool's [`Vectors`], and its place there. None without one.
pub type VectorAt = Option<(u32, u32)>;

/// Candidates `(m,)`, immutable. Their texts stay in the store.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    rows: Arc<[i64]>,
    tiers: Arc<[u32]>,
    kind: Arc<Labels>,
    severity: Arc<Labels>,
    domain: Arc<Labels>,
    ids: Option<Arc<[Arc<str>]>>,
    columns: Vec<(Name, Arc<[f64]>)>,
    vectors: Vec<Arc<Vectors>>,
    vector_at: Arc<[VectorAt]>,
    taken: Option<usize>,
}

impl Pool {
    /// Candidates of the given rows, tiers, kinds, severities and domains, without columns.
    ///
    /// # Errors
    /// [`Error::Length`] unless all have the length of `rows`.
    pub fn new(rows: Vec<i64>, tiers: Vec<u32>, kind: Labels, severity: Labels, domain: Labels) -> Result<Self> {
        let m = rows.len();
        let lengths = [("tiers", tiers.len()), ("kind", kind.len()), ("severity", severity.len())];
        for (what, got) in lengths.into_iter().chain([("domain", domain.len())]) {
            if got != m {
                return Err(Error::Length { what, got, wanted: m });
            }
        }
        let (kind, severity, domain) = (Arc::new(kind), Arc::new(severity), Arc::new(domain));
        let (rows, tiers, vector_at) = (rows.into(), tiers.into(), vec![None; m].into());
        Ok(Self {
            rows,
            tiers,
            kind,
            severity,
            domain,
            ids: None,
            columns: Vec::new(),
            vectors: Vec::new(),
            vector_at,
            taken: None,
        })
    }

    /// The candidates, with the number that each leg took.
    #[must_use]
    pub fn with_taken(mut self, taken: usize) -> Self {
        self.taken = Some(taken);
        self
    }

    /// The number of candidates.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Each candidate's row in its store.
    pub fn rows(&self) -> &[i64] {
        &self.rows
    }

    /// The place of each candidate's tier among those that are searched.
    pub fn tiers(&self) -> &[u32] {
        &self.tiers
    }

    /// Each candidate's severity.
    pub fn severity(&self) -> &Labels {
        &self.severity
    }

    /// Each candidate's domain.
    pub fn domain(&self) -> &Labels {
        &self.domain
    }

    /// Each candidate's id, if they were looked up.
    pub fn ids(&self) -> Option<&[Arc<str>]> {
        self.ids.as_deref()
    }

    /// The columns, in the order in which they were filled.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.columns.iter().map(|(name, values)| (&**name, &**values))
    }

    /// The vectors, and where that of each candidate is.
    pub fn vectors(&self) -> (&[Arc<Vectors>], &[VectorAt]) {
        (&self.vectors, &self.vector_at)
    }

    /// The candidates of one tier with their vectors, given the place of each among them.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one place a candidate; [`Error::OutOfRange`] for one.
    pub fn with_vectors(mut self, vectors: Vectors, places: &[Option<u32>]) -> Result<Self> {
        self.check("places", places.len())?;
        let len = vectors.data.len() / vectors.d.max(1);
        if let Some(&at) = places.iter().flatten().find(|&&at| at as usize >= len) {
            return Err(Error::OutOfRange { what: "vector", index: at.into(), len });
        }
        self.vectors = vec![Arc::new(vectors)];
        self.vector_at = places.iter().map(|place| place.map(|at| (0, at))).collect();
        Ok(self)
    }

    /// The candidates with their ids.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one a candidate.
    pub fn with_ids<T: AsRef<str>>(mut self, ids: &[T]) -> Result<Self> {
        self.check("ids", ids.len())?;
        self.ids = Some(ids.iter().map(|id| Arc::from(id.as_ref())).collect());
        Ok(self)
    }

    /// The candidates with a column added or replaced.
    ///
    /// # Errors
    /// [`Error::Length`] unless it has one value a candidate.
    pub fn with_column(mut self, name: Name, values: Vec<f64>) -> Result<Self> {
        self.check("a column", values.len())?;
        let values = values.into();
        match self.columns.iter_mut().find(|(other, _)| *other == name) {
            Some(place) => place.1 = values,
            None => self.columns.push((name, values)),
        }
        Ok(self)
    }

    /// The candidates at the given positions, in that order.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a position.
    pub fn at(&self, positions: &[usize]) -> Result<Self> {
        if let Some(&at) = positions.iter().find(|&&at| at >= self.len()) {
            return Err(Error::OutOfRange { what: "candidate", index: at as i64, len: self.len() });
        }
        Ok(Self {
            rows: positions.iter().map(|&i| self.rows[i]).collect(),
            tiers: positions.iter().map(|&i| self.tiers[i]).collect(),
            kind: Arc::new(self.kind.at(positions)),
            severity: Arc::new(self.severity.at(positions)),
            domain: Arc::new(self.domain.at(positions)),
            ids: self.ids.as_ref().map(|ids| positions.iter().map(|&i| Arc::clone(&ids[i])).collect()),
            columns: self.picked(positions),
            vectors: self.vectors.clone(),
            vector_at: positions.iter().map(|&i| self.vector_at[i]).collect(),
            taken: self.taken,
        })
    }

    fn picked(&self, positions: &[usize]) -> Vec<(Name, Arc<[f64]>)> {
        let pick = |values: &Arc<[f64]>| positions.iter().map(|&i| values[i]).collect();
        self.columns.iter().map(|(name, values)| (name.clone(), pick(values))).collect()
    }

    /// Join pools given from the highest priority to the lowest: of equal ids the first one stays. A column that a pool
    /// lacks is unknown (NaN) for its candidates. Pools of one tier, all without ids, are joined by rows.
    ///
    /// # Errors
    /// [`Error::Missing`] when a pool has no ids and there are others.
    pub fn united(pools: &[&Self]) -> Result<Self> {
        let filled: Vec<&Self> = pools.iter().copied().filter(|pool| !pool.is_empty()).collect();
        let (first, rest) = match filled.as_slice() {
            [] => return Ok(Self::default()),
            [one] => return Ok((*one).clone()),
            [first, rest @ ..] => (*first, rest),
        };
        let by_row = filled.iter().all(|pool| pool.ids.is_none());
        let mut seen: FxHashSet<Key<'_>> = FxHashSet::default();
        let mut joined = first.fresh(&mut seen, by_row)?;
        let mut columns: Vec<(Name, Vec<f64>)> =
            joined.columns.iter().map(|(name, values)| (name.clone(), values.to_vec())).collect();
        let (mut rows, mut tiers) = (joined.rows.to_vec(), joined.tiers.to_vec());
        let (mut vectors, mut vector_at) = (joined.vectors.clone(), joined.vector_at.to_vec());
        let mut ids: Vec<Arc<str>> = joined.ids.iter().flat_map(|ids| ids.iter().cloned()).collect();
        for pool in rest {
            let fresh = pool.fresh(&mut seen, by_row)?;
            for (name, _) in &fresh.columns {
                if !columns.iter().any(|(other, _)| other == name) {
                    columns.push((name.clone(), vec![f64::NAN; rows.len()]));
                }
            }
            for (name, values) in &mut columns {
                match fresh.column(name) {
                    Some(more) => values.extend_from_slice(more),
                    None => values.resize(rows.len() + fresh.len(), f64::NAN),
                }
            }
            rows.extend_from_slice(&fresh.rows);
            tiers.extend_from_slice(&fresh.tiers);
            let before = vectors.len() as u32;
            vectors.extend(fresh.vectors.iter().cloned());
            vector_at.extend(fresh.vector_at.iter().map(|place| place.map(|(of, at)| (before + of, at))));
            ids.extend(fresh.ids.iter().flat_map(|ids| ids.iter().cloned()));
            Arc::make_mut(&mut joined.kind).extend(&fresh.kind);
            Arc::make_mut(&mut joined.severity).extend(&fresh.severity);
            Arc::make_mut(&mut joined.domain).extend(&fresh.domain);
        }
        let columns = columns.into_iter().map(|(name, values)| (name, values.into())).collect();
        let (rows, tiers, ids, vector_at) =
            (rows.into(), tiers.into(), (!by_row).then(|| ids.into()), vector_at.into());
        Ok(Self { rows, tiers, ids, columns, vectors, vector_at, ..joined })
    }

    /// The candidates that were not seen before, by row or by id.
    fn fresh<'a>(&'a self, seen: &mut FxHashSet<Key<'a>>, by_row: bool) -> Result<Self> {
        let keys: Vec<Key<'a>> = match self.ids.as_deref() {
            Some(ids) if !by_row => ids.iter().map(|id| Key::Id(id)).collect(),
            _ if by_row => self.tiers.iter().zip(&*self.rows).map(|(&tier, &row)| Key::Row(tier, row)).collect(),
            _ => return Err(Error::Missing { what: "the ids of candidates that are to be united" }),
        };
        let kept: Vec<usize> = (0..self.len()).filter(|&i| !seen.contains(&keys[i])).collect();
        seen.extend(keys);
        self.at(&kept)
    }

    fn check(&self, what: &'static str, got: usize) -> Result<()> {
        if got == self.len() { Ok(()) } else { Err(Error::Length { what, got, wanted: self.len() }) }
    }
}

/// The identity of a candidate.
#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Id(&'a str),
    Row(u32, i64),
}

impl Candidates for Pool {
    fn count(&self) -> usize {
        self.len()
    }

    fn column(&self, name: &str) -> Option<&[f64]> {
        self.columns.iter().find(|(other, _)| other == name).map(|(_, values)| &**values)
    }

    fn is_kind(&self, candidate: usize, kind: &str) -> bool {
        self.kind.get(candidate) == kind
    }

    fn taken(&self) -> Option<usize> {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(ids: &[&str], column: &'static str, values: &[f64]) -> Pool {
        let labels = || Labels::of_texts(&vec!["entry"; ids.len()]);
        let rows = (0..ids.len() as i64).collect();
        let pool = Pool::new(rows, vec![0; ids.len()], labels(), labels(), labels()).unwrap();
        pool.with_ids(ids).unwrap().with_column(Cow::Borrowed(column), values.to_vec()).unwrap()
    }

    fn ids(pool: &Pool) -> Vec<&str> {
        pool.ids().unwrap().iter().map(|id| &**id).collect()
    }

    #[test]
    fn united_pools_keep_the_first_of_equal_ids_and_know_what_is_unknown() {
        let (first, second) = (pool(&["a", "b"], "bm25", &[1.0, 2.0]), pool(&["b", "c"], "cosine", &[0.1, 0.2]));
        let joined = Pool::united(&[&first, &Pool::default(), &second]).unwrap();
        assert_eq!((ids(&joined), joined.rows()), (vec!["a", "b", "c"], &[0, 1, 1][..]));
        let bm25 = joined.column("bm25").unwrap();
        assert_eq!(bm25[..2], [1.0, 2.0]);
        assert!(bm25[2].is_nan() && joined.column("cosine").unwrap()[..2].iter().all(|x| x.is_nan()));
        assert_eq!(joined.column("cosine").unwrap()[2], 0.2);
    }

    #[test]
    fn an_id_twice_in_one_pool_stays_twice_and_pools_without_ids_cannot_be_united() {
        let twice = pool(&["a", "a"], "bm25", &[1.0, 2.0]);
        assert_eq!(ids(&Pool::united(&[&twice, &pool(&["a", "z"], "bm25", &[3.0, 4.0])]).unwrap()), ["a", "a", "z"]);
        let bare =
            Pool::new(vec![1], vec![0], Labels::of_texts(&["x"]), Labels::of_texts(&["x"]), Labels::of_texts(&["x"]));
        assert!(Pool::united(&[&twice, &bare.unwrap()]).is_err());
    }

    #[test]
    fn pools_without_ids_are_united_by_rows() {
        let bare = |rows: &[i64]| {
            let labels = || Labels::of_texts(&vec!["entry"; rows.len()]);
            Pool::new(rows.to_vec(), vec![0; rows.len()], labels(), labels(), labels()).unwrap()
        };
        let joined = Pool::united(&[&bare(&[3, 1]), &bare(&[]), &bare(&[1, 2])]).unwrap();
        assert_eq!((joined.rows(), joined.ids()), (&[3, 1, 2][..], None));
        assert!(Pool::united(&[&bare(&[3]), &pool(&["a"], "bm25", &[1.0])]).is_err());
    }

    #[test]
    fn picking_candidates_picks_all_that_is_known_of_them() {
        let results = pool(&["a", "b", "c"], "bm25", &[1.0, 2.0, 3.0]).at(&[2, 0]).unwrap();
        assert_eq!((ids(&results), results.column("bm25").unwrap()), (vec!["c", "a"], &[3.0, 1.0][..]));
        assert!(results.at(&[2]).is_err());
    }
}
