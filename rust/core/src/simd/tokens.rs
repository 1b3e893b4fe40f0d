//! Tokens: each proves that the processor has some instructions. Only `detect` makes one, so a kernel that takes its
//! token may run them. Every use of a token's instructions lies in the SIMD files, as methods of the token.

macro_rules! token {
    ($(#[$doc:meta])* $name:ident, $detected:ident, $($feature:tt),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name(());

        impl $name {
            /// A token, where the processor has the instructions.
            pub(crate) fn detect() -> Option<Self> {
                let here = $(std::arch::$detected!($feature))&&+;
                here.then_some(Self(()))
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
token! {
    /// AVX-512F, with the AVX2 and FMA that come with it.
    Avx512, is_x86_feature_detected, "avx512f", "avx2", "fma"
}

#[cfg(target_arch = "x86_64")]
token! {
    /// AVX2 and FMA.
    Avx2, is_x86_feature_detected, "avx2", "fma"
}

#[cfg(target_arch = "x86_64")]
token! {
    /// AVX-512F, BW and VNNI: dot products of bytes.
    Vnni, is_x86_feature_detected, "avx512f", "avx512bw", "avx512vnni", "avx2", "fma"
}

/// AVX2 and FMA, with AVX-VNNI: dot products of bytes on machines without AVX-512.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AvxVnni(Avx2);

#[cfg(target_arch = "x86_64")]
impl AvxVnni {
    /// A token, where the processor has the instructions.
    pub(crate) fn detect() -> Option<Self> {
        if std::arch::is_x86_feature_detected!("avxvnni") { Avx2::detect().map(Self) } else { None }
    }

    /// For what AVX-VNNI does not do faster.
    pub(crate) fn avx2(self) -> Avx2 {
        self.0
    }
}

#[cfg(target_arch = "aarch64")]
token! {
    /// NEON.
    Neon, is_aarch64_feature_detected, "neon"
}

#[cfg(target_arch = "aarch64")]
token! {
    /// NEON with its dot product of bytes.
    Dotprod, is_aarch64_feature_detected, "neon", "dotprod"
}
