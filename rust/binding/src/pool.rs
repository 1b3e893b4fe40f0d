//! `Pool`: candidates as parallel arrays.

use std::borrow::Cow;
use std::collections::HashMap;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyList};
use septet_core::search::{self, Labels};

use super::Vector;
use super::errors::Result;

/// Candidates as parallel arrays, immutable.
#[pyclass(frozen, module = "septet._core")]
pub(super) struct Pool(pub(super) search::Pool);

#[pymethods]
impl Pool {
    #[new]
    fn new(
        rows: Vec<i64>,
        tiers: Vec<u32>,
        facts: &Bound<'_, PyDict>,
        columns: HashMap<String, Vector<'_, f64>>,
    ) -> Result<Self> {
        let texts = |name: &str| -> PyResult<Vec<PyBackedStr>> {
            facts.get_item(name)?.map_or_else(|| Ok(Vec::new()), |texts| texts.extract())
        };
        let labels = |name: &str| PyResult::Ok(Labels::of_texts(&texts(name)?));
        let mut pool = search::Pool::new(rows, tiers, labels("kind")?, labels("severity")?, labels("domain")?)?;
        if facts.contains("id")? {
            pool = pool.with_ids(&texts("id")?)?;
        }
        filled(pool, &columns)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Each candidate's row in its store.
    #[getter]
    fn rows(&self) -> Vec<i64> {
        self.0.rows().to_vec()
    }

    /// The place of each candidate's tier.
    #[getter]
    fn tiers(&self) -> Vec<u32> {
        self.0.tiers().to_vec()
    }

    /// The ids, None where they were not looked up.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        self.0.ids().map(|ids| PyList::new(py, ids.iter().map(|id| &**id))).transpose()
    }

    /// The columns by name.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for (name, values) in self.0.columns() {
            columns.set_item(name, PyArray1::from_slice(py, values))?;
        }
        Ok(columns)
    }

    /// The pool with columns added or replaced.
    fn with_columns(&self, columns: HashMap<String, Vector<'_, f64>>) -> Result<Self> {
        filled(self.0.clone(), &columns)
    }

    /// The pool with the ids of its candidates.
    fn with_ids(&self, ids: Vec<PyBackedStr>) -> Result<Self> {
        Ok(Self(self.0.clone().with_ids(&ids)?))
    }

    /// The candidates at the given positions, in that order.
    fn at(&self, positions: Vec<usize>) -> Result<Self> {
        Ok(Self(self.0.at(&positions)?))
    }

    /// Join pools given from the highest priority to the lowest.
    #[staticmethod]
    fn united(pools: Vec<Bound<'_, Self>>) -> Result<Self> {
        let pools: Vec<&search::Pool> = pools.iter().map(|pool| &pool.get().0).collect();
        Ok(Self(search::Pool::united(&pools)?))
    }
}

fn filled(mut pool: search::Pool, columns: &HashMap<String, Vector<'_, f64>>) -> Result<Pool> {
    for (name, values) in columns {
        pool = pool.with_column(Cow::Owned(name.clone()), values.slice()?.to_vec())?;
    }
    Ok(Pool(pool))
}
