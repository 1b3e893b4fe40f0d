//! BLAKE2b of 16 bytes without a key (RFC 7693).

const START: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

/// Which words of a block each round mixes; rounds 10 and 11 are 0 and 1 again.
const ORDER: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

const BLOCK: usize = 128;

/// Return the digest of some bytes.
pub(super) fn digest(bytes: &[u8]) -> [u8; 16] {
    let mut state = START;
    // One byte each: length of the digest, of the key, fan-out, depth.
    state[0] ^= 0x0101_0000 ^ 16;
    // The last block is there even if it is empty, or full.
    let last = bytes.len().saturating_sub(1) / BLOCK;
    for i in 0..=last {
        let rest = &bytes[i * BLOCK..];
        let mut block = [0; BLOCK];
        let used = rest.len().min(BLOCK);
        block[..used].copy_from_slice(&rest[..used]);
        compress(&mut state, &block, i * BLOCK + used, i == last);
    }
    let mut out = [0; 16];
    for (to, word) in out.chunks_exact_mut(8).zip(state) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    out
}

fn compress(state: &mut [u64; 8], block: &[u8; BLOCK], so_far: usize, last: bool) {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    let mut v = [0; 16];
    v[..8].copy_from_slice(state);
    v[8..].copy_from_slice(&START);
    v[12] ^= so_far as u64;
    if last {
        v[14] = !v[14];
    }
    for round in 0..12 {
        let at = &ORDER[round % 10];
        let word = |i: usize| words[at[i]];
        for i in 0..4 {
            mix(&mut v, [i, 4 + i, 8 + i, 12 + i], word(2 * i), word(2 * i + 1));
        }
        for i in 0..4 {
            let diagonal = [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4];
            mix(&mut v, diagonal, word(8 + 2 * i), word(9 + 2 * i));
        }
    }
    for (i, word) in state.iter_mut().enumerate() {
        *word ^= v[i] ^ v[i + 8];
    }
}

#[inline(always)]
fn mix(v: &mut [u64; 16], [a, b, c, d]: [usize; 4], x: u64, y: u64) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(32);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(24);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(63);
}
