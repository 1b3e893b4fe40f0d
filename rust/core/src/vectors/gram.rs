//! The dot products of all rows with each other.

use super::rows::Rows;
use crate::simd::Level;

/// Return the float32 dot products of every two of few rows, row-major `(n, n)`.
pub fn gram(rows: Rows<'_>) -> Vec<f32> {
    let (n, level) = (rows.n(), Level::best());
    let mut products = vec![0.0; n * n];
    for i in 0..n {
        // Those with the rows before are known.
        level.dots(rows.row(i), rows.rest(i), &mut products[i * n + i..(i + 1) * n]);
        for j in i + 1..n {
            products[j * n + i] = products[i * n + j];
        }
    }
    products
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_product_is_there_twice() {
        let data = [1.0, 2.0, 3.0, 4.0, 5.0, -6.0];
        let results = gram(Rows::new(&data, 3, 2).unwrap());
        assert_eq!(results, [5.0, 11.0, -7.0, 11.0, 25.0, -9.0, -7.0, -9.0, 61.0]);
        assert!(gram(Rows::new(&[], 0, 2).unwrap()).is_empty());
    }
}
