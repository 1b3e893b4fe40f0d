//! The cost of a text in a chunk's budget: units of a quarter of a model's token, as tokenizers cut each script.

/// Characters that cost more than their UTF-16 units, by first and last code point, ascending.
const DENSE: [(u32, u32, u8); 30] = [
    (0xb7, 0xb7, 4),
    (0x2c7, 0x2c7, 8),
    (0x2c9, 0x2cb, 8),
    (0x2d9, 0x2d9, 8),
    (0x2ea, 0x2eb, 8),
    (0x305, 0x305, 8),
    (0x323, 0x323, 8),
    (0x1100, 0x11ff, 12),
    (0x2e80, 0x2fff, 12),
    (0x3000, 0x319f, 4),
    (0x31a0, 0x4dff, 12),
    (0x4e00, 0x9fa5, 4),
    (0x9fa6, 0x9fff, 12),
    (0xa000, 0xa4ff, 12),
    (0xa700, 0xa707, 12),
    (0xa960, 0xa97f, 12),
    (0xac00, 0xd7af, 4),
    (0xd7b0, 0xd7ff, 12),
    (0xf900, 0xfaff, 12),
    (0xfe10, 0xfe4f, 8),
    (0xff01, 0xff60, 4),
    (0xff61, 0xffdc, 8),
    (0xffe0, 0xffe6, 8),
    (0x16fe0, 0x16fff, 16),
    (0x1aff0, 0x1afff, 16),
    (0x1b000, 0x1b16f, 16),
    (0x1d360, 0x1d371, 12),
    (0x1f200, 0x1f2ff, 16),
    (0x20000, 0x2fa1f, 16),
    (0x30000, 0x3347f, 16),
];

/// The units a character costs: 1 a UTF-16 unit, and of scripts without blanks what a tokenizer makes of it.
pub fn cost(c: char) -> usize {
    let code = c as u32;
    if code < 0xb7 {
        return 1;
    }
    // Common ideographs and Hangul, most of a text that costs more.
    if (0x4e00..=0x9fa5).contains(&code) || (0xac00..=0xd7af).contains(&code) {
        return 4;
    }
    let at = DENSE.partition_point(|&(_, last, _)| last < code);
    match DENSE.get(at) {
        Some(&(first, _, units)) if first <= code => usize::from(units),
        _ => c.len_utf16(),
    }
}
