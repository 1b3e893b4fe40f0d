//! The SIMD levels of this machine and their names. [`Level::named`] is the one way to override the choice.

use std::sync::LazyLock;

#[cfg(target_arch = "aarch64")]
use super::tokens::Neon;
#[cfg(target_arch = "x86_64")]
use super::tokens::{Avx2, Avx512, AvxVnni};
use crate::error::{Error, Result};

/// A set of instructions this machine can run. A value exists only for a level that was detected.
#[derive(Clone, Copy, Debug)]
pub struct Level(Proof);

/// The token of a level's float instructions. A table of kernels matches on it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Proof {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    /// AVX2, with AVX-VNNI for codes: floats know no better instructions than those of AVX2.
    #[cfg(target_arch = "x86_64")]
    AvxVnni(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    Scalar,
}

static AVAILABLE: LazyLock<Vec<Level>> = LazyLock::new(|| {
    let mut levels = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        levels.extend(Avx512::detect().map(Proof::Avx512));
        levels.extend(AvxVnni::detect().map(|token| Proof::AvxVnni(token.avx2())));
        levels.extend(Avx2::detect().map(Proof::Avx2));
    }
    #[cfg(target_arch = "aarch64")]
    levels.extend(Neon::detect().map(Proof::Neon));
    levels.push(Proof::Scalar);
    levels.into_iter().map(Level).collect()
});

impl Level {
    /// The levels of this machine, fastest first; the last is always the scalar one.
    pub fn available() -> &'static [Level] {
        &AVAILABLE
    }

    /// The fastest level.
    pub fn best() -> Level {
        AVAILABLE.first().copied().unwrap_or(Level(Proof::Scalar))
    }

    /// The level of that name.
    ///
    /// # Errors
    /// [`Error::Name`] when this machine has no such level.
    pub fn named(name: &str) -> Result<Level> {
        Self::available().iter().copied().find(|level| level.name() == name).ok_or_else(|| Error::Name {
            what: "kernel",
            wanted: Self::available().iter().map(|level| level.name()).collect::<Vec<_>>().join(", "),
            got: name.to_owned(),
        })
    }

    /// `avx512`, `avx-vnni`, `avx2`, `neon` or `scalar`.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Proof::AvxVnni(_) => "avx-vnni",
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(_) => "avx2",
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(_) => "neon",
            Proof::Scalar => "scalar",
        }
    }

    /// The token of the level's float instructions.
    pub(crate) fn proof(self) -> Proof {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_is_always_there_and_names_are_unique() {
        let names: Vec<_> = Level::available().iter().map(|level| level.name()).collect();
        assert_eq!(names.last(), Some(&"scalar"));
        assert_eq!(names[0], Level::best().name());
        for name in &names {
            assert_eq!(Level::named(name).unwrap().name(), *name);
        }
        assert!(Level::named("mmx").unwrap_err().to_string().contains("scalar"));
    }
}
