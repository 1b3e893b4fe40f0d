//! Errors of the core, as exceptions of Python.

use numpy::{AsSliceError, BorrowError};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::{CastError, CastIntoError, PyErr};
use septet_core::Error;

pyo3::create_exception!(septet._core, Damaged, PyValueError, "A file of arrays is not what it was when it was made.");

/// An exception on its way to Python, which `?` makes of an error of the core, of pyo3 or of numpy.
pub struct Raised(PyErr);

/// A result whose error Python raises.
pub type Result<T, E = Raised> = std::result::Result<T, E>;

impl From<Error> for Raised {
    fn from(error: Error) -> Self {
        Self(match error {
            Error::File { path, code: Some(code), reason } => {
                // The number of Windows stands fourth: Python finds the one of POSIX that means it.
                PyOSError::new_err((code, reason, path, cfg!(windows).then_some(code)))
            }
            Error::File { .. } => PyOSError::new_err(error.to_string()),
            Error::Damaged { .. } => Damaged::new_err(error.to_string()),
            _ => PyValueError::new_err(error.to_string()),
        })
    }
}

macro_rules! from_python {
    ($($error:ty),*) => {$(
        impl From<$error> for Raised {
            fn from(error: $error) -> Self {
                Self(error.into())
            }
        }
    )*};
}

from_python!(PyErr, CastError<'_, '_>, CastIntoError<'_>, AsSliceError, BorrowError);

impl From<Raised> for PyErr {
    fn from(raised: Raised) -> Self {
        raised.0
    }
}
