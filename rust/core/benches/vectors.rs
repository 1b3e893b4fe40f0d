//! Time of top-k from codes of isotropic rows, the hardest: `cargo bench --bench vectors`. `benches/vectors.py` compares with other libraries.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use septet_core::vectors::{self, Codes, Level, Request, Rows};

const N: usize = 100_000;
const DIMENSIONS: usize = 384;
const QUERIES: usize = 64;

/// Numbers from 0 to 1 that are the same in every run (Steele, Lea, Flood 2014: splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Rows of unit length in directions without preference: the sum of four numbers is near enough to a Gaussian.
    fn rows(&mut self, n: usize) -> Vec<f32> {
        let data: Vec<f32> =
            (0..n * DIMENSIONS).map(|_| ((0..4).map(|_| self.next()).sum::<f64>() - 2.0) as f32).collect();
        Rows::new(&data, n, DIMENSIONS).and_then(vectors::unit_rows).expect("rows are finite and not zero")
    }
}

fn codes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("codes");
    let mut numbers = Numbers(1);
    let (data, questions) = (numbers.rows(N), numbers.rows(QUERIES));
    let (query, part) = (&questions[..DIMENSIONS], Rows::new(&data[..1_000 * DIMENSIONS], 1_000, DIMENSIONS));
    let (Ok(rows), Ok(part)) = (Rows::new(&data, N, DIMENSIONS), part) else { return };
    let (Ok(queries), Ok(codes)) = (Rows::new(&questions, QUERIES, DIMENSIONS), Codes::new(DIMENSIONS)) else { return };
    group.bench_function("append 1000", |bencher| {
        bencher.iter(|| Codes::new(DIMENSIONS).and_then(|codes| codes.append(part)));
    });
    let Ok(_) = codes.append(rows) else { return };
    let all = Request { k: 10, mask: None, level: Level::best(), threads: Some(1), within: None, front: None };
    for share in [0.01, 0.1, 0.5] {
        let mask: Vec<u8> = (0..N).map(|_| u8::from(numbers.next() < share)).collect();
        let request = Request { mask: Some(&mask), ..all };
        group.bench_function(BenchmarkId::new("allowed", share), |bencher| {
            bencher.iter(|| vectors::top_k_coded(&codes, query, rows, request));
        });
    }
    group.throughput(Throughput::Bytes((N * DIMENSIONS) as u64));
    for &level in Level::available() {
        for (name, front) in [("chosen", None), ("upper four bits first", Some(true)), ("whole codes", Some(false))] {
            let request = Request { level, front, ..all };
            group.bench_function(BenchmarkId::new(level.name(), name), |bencher| {
                bencher.iter(|| vectors::top_k_coded(&codes, query, rows, request));
            });
        }
    }
    for threads in [1, 2] {
        let request = Request { threads: Some(threads), ..all };
        group.bench_function(BenchmarkId::new("threads", threads), |bencher| {
            bencher.iter(|| vectors::top_k_coded(&codes, query, rows, request));
        });
        group.throughput(Throughput::Elements(QUERIES as u64));
        group.bench_function(BenchmarkId::new("64 queries, threads", threads), |bencher| {
            bencher.iter(|| vectors::top_k_batch_coded(&codes, queries, rows, request));
        });
    }
}

criterion_group! {
    name = kernels;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800));
    targets = codes
}
criterion_main!(kernels);
