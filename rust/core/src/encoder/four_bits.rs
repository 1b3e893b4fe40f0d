//! Weights of four bits, in the form Q4_0 of llama.cpp: blocks of 32 numbers with one scale.
//!
//! A block has 18 bytes: the scale as float16, then 16 bytes, of which byte `j` holds number `j` in its lower half and
//! number `j + 16` in its upper one, each 8 too large.

/// Numbers of a block.
pub const BLOCK: usize = 32;
/// Bytes of a block.
pub const BLOCK_BYTES: usize = 18;

/// Return the numbers of whole blocks; bytes beyond the last are ignored.
pub fn four_bit_numbers(bytes: &[u8]) -> Vec<f32> {
    let (blocks, _) = bytes.as_chunks::<BLOCK_BYTES>();
    let mut out = vec![0.0; blocks.len() * BLOCK];
    for (block, numbers) in blocks.iter().zip(out.as_chunks_mut::<BLOCK>().0) {
        let scale = float16(u16::from_le_bytes([block[0], block[1]]));
        let (lower, upper) = numbers.split_at_mut(BLOCK / 2);
        for ((&byte, low), high) in block[2..].iter().zip(lower).zip(upper) {
            *low = f32::from(i16::from(byte & 15) - 8) * scale;
            *high = f32::from(i16::from(byte >> 4) - 8) * scale;
        }
    }
    out
}

/// A float16 as float32, exactly; NaN stays NaN.
fn float16(bits: u16) -> f32 {
    /// From the smallest exponent of the one to that of the other: 2^(127 - 15).
    const REBIAS: f32 = f32::from_bits((127 + 127 - 15) << 23);
    let (sign, rest) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
    let size =
        if rest < 0x7c00 { f32::from_bits(rest << 13) * REBIAS } else { f32::from_bits(0x7f80_0000 | rest << 13) };
    f32::from_bits(sign | size.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float16_is_read_exactly() {
        for (bits, wanted) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0400, 6.103_515_6e-5),
            (0x0001, 5.960_464_5e-8),
            (0x83ff, -6.097_555e-5),
            (0x3555, 0.333_251_95),
            (0xfc00, f32::NEG_INFINITY),
        ] {
            assert_eq!(float16(bits), wanted, "{bits:x}");
        }
        assert!(float16(0x7e00).is_nan() && float16(0x8000).is_sign_negative());
    }

    #[test]
    fn a_block_has_its_lower_halves_before_its_upper_ones() {
        let mut block = [0_u8; BLOCK_BYTES];
        // The scale 0.5; lower halves 0, 1, …, upper halves 15, 14, ….
        block[..2].copy_from_slice(&[0x00, 0x38]);
        (0..16).for_each(|j| block[2 + j as usize] = (15 - j) << 4 | j);
        let numbers = four_bit_numbers(&[block, block].concat());
        assert_eq!(numbers.len(), 64);
        for (j, pair) in (0_u8..16).zip(numbers[..16].iter().zip(&numbers[16..])) {
            assert_eq!(pair, (&((f32::from(j) - 8.0) * 0.5), &((7.0 - f32::from(j)) * 0.5)));
        }
        assert_eq!(numbers[..32], numbers[32..]);
    }

    #[test]
    fn what_is_no_whole_block_is_left_out() {
        assert!(four_bit_numbers(&[1; BLOCK_BYTES - 1]).is_empty());
        assert_eq!(four_bit_numbers(&[0; BLOCK_BYTES + 5]), [0.0; BLOCK]);
    }
}
