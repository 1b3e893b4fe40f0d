//! Time of each kernel: `cargo bench`, or `cargo bench -- top_k` for one group.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use septet_core::facts::{self, Fading, Times};
use septet_core::formula::{self, Candidates, Expression, Missing};
use septet_core::fts::{self, Constants, Part, TextIndex, Wanted};
use septet_core::terms::{self, SpellingIndex, SpellingStatistics, TermIndex, TfidfVectorizer, Tokens};
use septet_core::vectors::{self, Level, Rows};
use septet_core::{fuse, terms::Frequencies};

const DIMENSIONS: usize = 384;

/// Numbers that are the same in every run (Steele, Lea, Flood 2014: splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Rows of unit length in directions without preference: the sum of four numbers is near enough to a Gaussian.
    fn rows(&mut self, n: usize, d: usize) -> Vec<f32> {
        let data: Vec<f32> = (0..n * d).map(|_| ((0..4).map(|_| self.unit()).sum::<f64>() - 2.0) as f32).collect();
        Rows::new(&data, n, d).and_then(vectors::unit_rows).expect("rows are finite and not zero")
    }

    /// English-looking text: frequent words are frequent, a third are stop words.
    fn text(&mut self, words: usize) -> String {
        let mut text = String::new();
        for _ in 0..words {
            let draw = self.unit();
            if draw < 0.35 {
                text.push_str(terms::STOP_WORDS[self.next() as usize % terms::STOP_WORDS.len()]);
            } else {
                let rank = (30_000.0_f64.powf(self.unit()) - 1.0) as u64;
                let mut letters = Numbers(rank);
                let length = 3 + letters.next() % 8;
                text.extend((0..length).map(|_| char::from(b"etaoinshrdlu"[letters.next() as usize % 12])));
            }
            text.push(' ');
        }
        text
    }
}

fn top_k(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("top_k");
    let mut numbers = Numbers(1);
    let data = numbers.rows(100_000, DIMENSIONS);
    let query = numbers.rows(1, DIMENSIONS);
    let tenth: Vec<u8> = (0..100_000).map(|_| u8::from(numbers.unit() < 0.1)).collect();
    for n in [1_000, 10_000, 100_000] {
        let data = &data[..n * DIMENSIONS];
        let Ok(rows) = Rows::new(data, n, DIMENSIONS) else { return };
        group.throughput(Throughput::Bytes(4 * data.len() as u64));
        for &level in Level::available() {
            group.bench_function(BenchmarkId::new(level.name(), n), |bencher| {
                bencher.iter(|| vectors::top_k(&query, rows, 10, None, level));
            });
        }
        group.bench_function(BenchmarkId::new("a tenth allowed", n), |bencher| {
            bencher.iter(|| vectors::top_k(&query, rows, 10, Some(&tenth[..n]), Level::best()));
        });
    }
}

fn at_candidates(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("at_candidates");
    let mut numbers = Numbers(2);
    let data = numbers.rows(10_000, DIMENSIONS);
    let Ok(rows) = Rows::new(&data, 10_000, DIMENSIONS) else { return };
    let query: Vec<f64> = numbers.rows(1, DIMENSIONS).into_iter().map(f64::from).collect();
    let at: Vec<i64> = (0..100).map(|_| (numbers.next() % 10_000) as i64).collect();
    group.bench_function("cosine_at 100", |bencher| bencher.iter(|| vectors::cosine_at(&query, rows, &at)));
    group.bench_function("unit_rows 10000", |bencher| bencher.iter(|| vectors::unit_rows(rows)));
}

fn tokens(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tokens");
    let german = "Die Größe der Straße über München für Müller naïve Ångström, Zürich déjà vu. ".repeat(8);
    let japanese = "東京都の認証トークンは有効期限が短いので更新する必要がある。".repeat(8);
    for (name, text) in [("ascii", Numbers(3).text(100)), ("german", german), ("japanese", japanese)] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("tokenize", name), |bencher| bencher.iter(|| terms::tokenize(&text)));
        group.bench_function(BenchmarkId::new("grams", name), |bencher| bencher.iter(|| terms::grams(&text)));
        group.bench_function(BenchmarkId::new("words", name), |bencher| bencher.iter(|| terms::words(&text)));
    }
}

fn corpus() -> (Vec<String>, TermIndex, Vec<i64>) {
    let mut numbers = Numbers(4);
    let texts: Vec<String> = (0..5_000).map(|_| numbers.text(90)).collect();
    let index = TermIndex::new();
    index.append(&texts, None);
    (texts, index, (0..5_000).collect())
}

fn tfidf(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tfidf");
    let (texts, index, slots) = corpus();
    let query = Numbers(5).text(12);
    let Ok(frequencies) = index.frequencies(&slots) else { return };
    let candidates: Vec<i64> = slots.iter().copied().step_by(166).take(30).collect();
    group.bench_function("cosines 30", |bencher| bencher.iter(|| index.cosines(&frequencies, &query, &candidates)));
    let moved = |frequencies: &Frequencies| frequencies.moved(&index, &[], &[7]);
    group.bench_function("moved 1", |bencher| bencher.iter(|| moved(black_box(&frequencies))));
    group.bench_function("frequencies 5000", |bencher| bencher.iter(|| index.frequencies(&slots)));
    group.throughput(Throughput::Bytes(texts.iter().map(|text| text.len() as u64).sum()));
    group.bench_function("append 5000", |bencher| bencher.iter(|| TermIndex::new().append(&texts, Some(1))));
    let vectorizer = TfidfVectorizer::new(Tokens::Words);
    group.bench_function("fit_transform 5000", |bencher| bencher.iter(|| vectorizer.fit_transform(&texts, Some(1))));
}

fn spelling(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("spelling");
    let mut numbers = Numbers(9);
    let texts: Vec<String> = (0..20_000).map(|_| numbers.text(60)).collect();
    let (index, query) = (SpellingIndex::new(), Numbers(5).text(8));
    index.append(&texts);
    let candidates: Vec<i64> = (0..58).map(|i| i * 341).collect();
    let slots: Vec<i64> = (0..20_000).collect();
    let Ok(all) = SpellingStatistics::default().moved(&index, &slots, &[]) else { return };
    group.bench_function("bm25 58", |bencher| bencher.iter(|| index.bm25(&all, &query, &candidates)));
    group.bench_function("moved 1", |bencher| bencher.iter(|| all.moved(&index, &[], &[7])));
    group.throughput(Throughput::Elements(20_000));
    group.bench_function("append 20000", |bencher| bencher.iter(|| SpellingIndex::new().append(&texts)));
}

fn full_text(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("full_text");
    let mut numbers = Numbers(7);
    let rows: Vec<[String; 2]> = (0..50_000).map(|_| [numbers.text(6), numbers.text(50)]).collect();
    let Ok(index) = TextIndex::new(2) else { return };
    let slots: Vec<i64> = (0..50_000).collect();
    let Ok(_) = index.append(&rows) else { return };
    let Ok(statistics) = index.statistics(&slots) else { return };
    let parts =
        [Part { index: &index, statistics: &statistics, weights: &[10.0, 1.0], constants: Constants::default() }];
    let queries = [("natural", Numbers(8).text(5)), ("stop words", "the of and is to".to_owned())];
    let tenth: Vec<u8> = (0..50_000).map(|_| u8::from(numbers.unit() < 0.1)).collect();
    for (name, query) in &queries {
        let terms: Vec<&str> = query.split_whitespace().collect();
        for (rows, mask) in [("all", None), ("a tenth", Some(&tenth[..]))] {
            let wanted = Wanted { k: 30, mask, ties: Some(&slots) };
            group.bench_function(BenchmarkId::new(*name, rows), |bencher| {
                bencher.iter(|| fts::bm25_top_k(&parts, &terms, wanted));
            });
        }
        group.bench_function(BenchmarkId::new("at 30", *name), |bencher| {
            bencher.iter(|| fts::bm25_at(&parts, &terms, &slots[..30]));
        });
    }
    group.bench_function("moved 1", |bencher| bencher.iter(|| statistics.moved(&index, &[], &[7])));
    group.throughput(Throughput::Elements(1_000));
    group.bench_function("append 1000", |bencher| {
        bencher.iter(|| TextIndex::new(2).and_then(|index| index.append(&rows[..1_000])));
    });
}

/// Candidates of which one column is known.
struct OneColumn<'a>(&'a [f64]);

impl Candidates for OneColumn<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn column(&self, _: &str) -> Option<&[f64]> {
        Some(self.0)
    }

    fn is_kind(&self, _: usize, _: &str) -> bool {
        true
    }
}

fn fusion(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fusion");
    let mut numbers = Numbers(6);
    let lists: Vec<Vec<i64>> = (0..2).map(|_| (0..30).map(|_| (numbers.next() % 60) as i64).collect()).collect();
    let lists: Vec<&[i64]> = lists.iter().map(Vec::as_slice).collect();
    group.bench_function("rrf 2 x 30", |bencher| bencher.iter(|| fuse::rrf(&lists, &[1.0, 1.0], 60.0, 1)));
    let column: Vec<f64> = (0..1_000).map(|_| numbers.unit()).collect();
    let columns = column.repeat(8);
    let signals = vec![Expression::Scale(Box::new(Expression::Column("bm25".to_owned())), 0.0); 7];
    let candidates = OneColumn(&column[..60]);
    group.bench_function("score 7 signals of 60", |bencher| {
        bencher.iter(|| formula::score(&signals, Missing::Share, &candidates, &[0.1; 7]));
    });
    group.bench_function("order 1000", |bencher| bencher.iter(|| fuse::order(&column)));
    group.bench_function("weighted_sum 8 x 1000", |bencher| {
        bencher.iter(|| fuse::weighted_sum(&columns, 1_000, &[0.1; 8]));
    });
    let absent = vec![f64::NAN; 1_000];
    let times = Times { created: &column, updated: &absent, valid_from: &absent, valid_until: &absent };
    let fading = Fading { half_life_s: 365.0 * 86_400.0, ramp: 0.25 };
    group.bench_function("decay 1000", |bencher| bencher.iter(|| facts::decay(1e6, times, fading)));
    let tags = vec![vec!["jwt", "auth", "token"]; 100];
    group.bench_function("jaccards 100", |bencher| bencher.iter(|| facts::jaccards(&["jwt", "cache"], &tags)));
}

criterion_group! {
    name = kernels;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800));
    targets = top_k, at_candidates, tokens, tfidf, spelling, full_text, fusion
}
criterion_main!(kernels);
