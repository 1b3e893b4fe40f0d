//! Codes in an array file: written once, then searched where they are mapped.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytemuck::Pod;

use super::centre::Centre;
use super::line::lines;
use super::lists::Lists;
use super::published::Published;
use super::segment::{Coded, Segment};
use super::{Codes, MOST_DIMENSIONS};
use crate::arrays::{Array, ArrayFile, ArrayWriter};
use crate::error::{Error, Result};

/// Segments of one centre, which become one in a file, and how many of their rows are written.
struct Run<'a> {
    segments: &'a [Arc<Segment>],
    rows: usize,
}

impl Codes {
    /// Write the codes of the first `n` rows as columns of a file, their names behind a prefix.
    ///
    /// # Errors
    /// [`Error::Length`] when there are fewer rows; [`Error::File`].
    pub fn write(&self, to: &mut ArrayWriter, prefix: &str, n: usize) -> Result<()> {
        let published = self.published();
        let listed = published.lists.as_ref().map_or(0, |lists| lists.rows);
        if !(listed..=published.len()).contains(&n) {
            return Err(Error::Length { what: "rows", got: n, wanted: published.len() });
        }
        let segments = &published.segments;
        let name = |name: &str| format!("{prefix}{name}");
        let runs = runs(segments, n);
        to.column::<u64>(&name("dimensions"), &[self.d as u64])?;
        to.column::<u64>(&name("segments"), &runs.iter().map(|run| run.rows as u64).collect::<Vec<_>>())?;
        to.begin::<f32>(&name("centres"))?;
        runs.iter().try_for_each(|run| to.put(run.segments[0].centre().components()))?;
        let rows = (segments.as_slice(), n);
        put(to, &name("high"), rows, lines(self.d), |coded| &coded.high)?;
        put(to, &name("low"), rows, lines(self.d), |coded| &coded.low)?;
        put(to, &name("scales"), rows, 1, |coded| &coded.scales)?;
        put(to, &name("roughs"), rows, 1, |coded| &coded.roughs)?;
        put(to, &name("residuals"), rows, 1, |coded| &coded.residuals)?;
        put(to, &name("norms"), rows, 1, |coded| &coded.norms)?;
        if self.distances {
            put(to, &name("halves"), rows, 1, |coded| &coded.halves)?;
        }
        published.lists.as_ref().map_or(Ok(()), |lists| lists.write(to, &name("lists/"), segments))
    }

    /// The codes in a file, mapped; rows added later are kept in memory. They are of distances if there is a column
    /// `halves`.
    ///
    /// Whatever the columns hold, a search is safe. Values that were not written by [`Codes::write`] make wrong bounds,
    /// and so wrong answers; [`ArrayFile::verify`] tells.
    ///
    /// # Errors
    /// [`Error::Damaged`] when columns are missing or do not fit each other.
    pub fn open(file: &ArrayFile, prefix: &str) -> Result<Self> {
        let name = |name: &str| format!("{prefix}{name}");
        let dimensions: Array<u64> = file.column(&name("dimensions"))?;
        let d = match *dimensions {
            [d] if d <= MOST_DIMENSIONS as u64 => d as usize,
            _ => return Err(damaged()),
        };
        let (sizes, centres): (Array<u64>, Array<f32>) =
            (file.column(&name("segments"))?, file.column(&name("centres"))?);
        let distances = file.names().any(|known| known == name("halves"));
        let all = Coded {
            high: file.column(&name("high"))?,
            low: file.column(&name("low"))?,
            scales: file.column(&name("scales"))?,
            roughs: file.column(&name("roughs"))?,
            residuals: file.column(&name("residuals"))?,
            norms: file.column(&name("norms"))?,
            halves: if distances { file.column(&name("halves"))? } else { Array::default() },
        };
        if distances && all.halves.len() != all.scales.len() {
            return Err(damaged());
        }
        let lists = Lists::open(file, &name("lists/"), d)?;
        let listed = lists.as_ref().map_or(0, |(lists, _)| lists.segments);
        let mut segments = Vec::with_capacity(sizes.len());
        let (mut at, mut first) = (0_usize, lists.as_ref().map_or(0, |(lists, _)| lists.rows));
        if centres.len() != sizes.len().saturating_mul(d) || sizes.len() < listed {
            return Err(damaged());
        }
        for (i, &size) in sizes.iter().enumerate() {
            // Rows of a segment are counted in 32 bits.
            let rows = u32::try_from(size).ok().and_then(|rows| Some(at..at.checked_add(rows as usize)?));
            let centre = centres.get(i * d..(i + 1) * d).map(<[f32]>::to_vec);
            let part = rows.clone().and_then(|rows| all.part(rows, lines(d)));
            let (Some(centre), Some(coded), Some(rows)) = (centre, part, rows) else { return Err(damaged()) };
            let centre = Arc::new(Centre::at(centre));
            at = rows.end;
            segments.push(Arc::new(match &lists {
                Some((_, order)) if i < listed => {
                    Segment::of_lists(order.part(rows).ok_or_else(damaged)?, centre, coded)
                }
                _ => {
                    first += rows.len();
                    Segment::closed(first - rows.len(), centre, coded)
                }
            }));
        }
        let ordered = segments[..listed].iter().map(|list| list.len()).sum::<usize>();
        let lists = match lists {
            Some((lists, order)) if order.len() == ordered => {
                lists.placed(&segments[..listed]).ok_or_else(damaged)?.into()
            }
            Some(_) => return Err(damaged()),
            None => None,
        };
        // No column holds more than the segments.
        let whole = all.part(0..at, lines(d)).is_some_and(|whole| whole.lengths() == all.lengths());
        let Coded { scales, roughs, residuals, norms, .. } = &all;
        let are_finite = |column: &[f32]| column.iter().all(|x| x.is_finite());
        if !whole || ![&**scales, roughs, residuals, norms, &centres].into_iter().all(are_finite) {
            return Err(damaged());
        }
        let published = Published { lists: lists.map(Arc::new), segments };
        Ok(Self { d, distances, appending: Mutex::default(), published: Mutex::new(Arc::new(published)) })
    }
}

pub(super) fn damaged() -> Error {
    Error::Damaged { what: "a column of codes" }
}

impl Coded {
    fn part(&self, rows: Range<usize>, lines: usize) -> Option<Self> {
        let in_lines = rows.start.checked_mul(lines)?..rows.end.checked_mul(lines)?;
        Some(Self {
            high: self.high.part(in_lines.clone())?,
            low: self.low.part(in_lines)?,
            scales: self.scales.part(rows.clone())?,
            roughs: self.roughs.part(rows.clone())?,
            residuals: self.residuals.part(rows.clone())?,
            norms: self.norms.part(rows.clone())?,
            halves: if self.halves.is_empty() { Array::default() } else { self.halves.part(rows)? },
        })
    }

    fn lengths(&self) -> [usize; 7] {
        let Self { high, low, scales, roughs, residuals, norms, halves } = self;
        [high.len(), low.len(), scales.len(), roughs.len(), residuals.len(), norms.len(), halves.len()]
    }
}

/// The segments that hold the first `n` rows, those with equal centres together.
fn runs(segments: &[Arc<Segment>], n: usize) -> Vec<Run<'_>> {
    let used = segments.iter().take_while(|segment| segment.first() < n).count();
    let alike = |a: &Arc<Segment>, b: &Arc<Segment>| Arc::ptr_eq(a.centre(), b.centre()) || a.centre() == b.centre();
    let joins = |a: &Arc<Segment>, b: &Arc<Segment>| a.rows().is_none() && b.rows().is_none() && alike(a, b);
    let groups = segments[..used].chunk_by(joins);
    let rows = |group: &[Arc<Segment>]| group.iter().map(|segment| segment.below(n)).sum();
    groups.map(|segments| Run { segments, rows: rows(segments) }).collect()
}

/// Write a column of the first `n` rows, with `each` items a row.
fn put<T: Pod>(
    to: &mut ArrayWriter,
    name: &str,
    (segments, n): (&[Arc<Segment>], usize),
    each: usize,
    column: impl Fn(&Coded) -> &Array<T>,
) -> Result<()> {
    to.begin::<T>(name)?;
    for segment in segments.iter().take_while(|segment| segment.first() < n) {
        let rows = segment.below(n);
        to.put(&column(segment.columns())[..rows * each])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::line::Line;
    use super::*;
    use crate::arrays::folder::Folder;
    use crate::vectors::{Level, Request, Rows, top_k, top_k_coded};

    const D: usize = 20;
    const COLUMNS: [&str; 9] =
        ["dimensions", "segments", "centres", "high", "low", "scales", "roughs", "residuals", "norms"];

    fn written(folder: &Folder, with: impl FnOnce(&mut ArrayWriter)) -> ArrayFile {
        let path = folder.another();
        let mut writer = ArrayWriter::create(&path, b"").unwrap();
        with(&mut writer);
        writer.finish().unwrap();
        ArrayFile::open(&path).unwrap()
    }

    fn data(n: usize) -> Vec<f32> {
        (0..n * D).map(|i| ((i * i) as f32 * 0.37).sin() + if i < 2500 * D { 0.0 } else { 2.0 }).collect()
    }

    fn request(front: Option<bool>) -> Request<'static> {
        Request { k: 9, mask: None, level: Level::best(), threads: Some(1), within: None, front }
    }

    #[test]
    fn codes_in_a_file_answer_as_those_in_memory_and_take_in_rows() {
        let data = data(5000);
        let rows = |n: usize| Rows::new(&data[..n * D], n, D).unwrap();
        let codes = Codes::new(D).unwrap();
        for (from, to) in [(0, 40), (40, 2500), (2500, 2501), (2501, 4500)] {
            codes.append(Rows::new(&data[from * D..to * D], to - from, D).unwrap()).unwrap();
        }
        let folder = Folder::new("codes-answers");
        for n in [0, 1, 1500, 2500, 4500] {
            let file = written(&folder, |to| codes.write(to, "codes/", n).unwrap());
            let opened = Codes::open(&file, "codes/").unwrap();
            assert_eq!((opened.len(), opened.d(), opened.size_bytes()), (n, D, 0));
            opened.append(Rows::new(&data[n * D..], 5000 - n, D).unwrap()).unwrap();
            for query in [7, 2600, 4999] {
                let (query, all) = (rows(5000).row(query), rows(5000));
                let wanted = top_k(query, all, 9, None, Level::best());
                for front in [None, Some(true), Some(false)] {
                    assert_eq!(top_k_coded(&opened, query, all, request(front)), wanted, "{n}");
                }
            }
        }
        assert!(matches!(written(&folder, |to| assert!(codes.write(to, "", 4501).is_err())).verify(), Ok(())));
    }

    /// The change of a column: left out, or filled with bytes of one value.
    type Harm = Option<(usize, u8)>;

    fn copy<T: Pod>(from: &ArrayFile, to: &mut ArrayWriter, name: &str, harm: Option<Harm>) {
        let items = match harm {
            None => from.column::<T>(name).unwrap().to_vec(),
            Some(None) => return,
            Some(Some((length, value))) => {
                vec![value; length].chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
            }
        };
        to.column::<T>(name, &items).unwrap();
    }

    /// Codes of 70 rows, one column harmed.
    fn harmed(folder: &Folder, column: &str, harm: Harm) -> Result<Codes> {
        let codes = Codes::new(D).unwrap();
        codes.append(Rows::new(&data(70), 70, D).unwrap()).unwrap();
        let whole = written(folder, |to| codes.write(to, "", 70).unwrap());
        let file = written(folder, |to| {
            for name in COLUMNS {
                let harm = (name == column).then_some(harm);
                match name {
                    "dimensions" | "segments" => copy::<u64>(&whole, to, name, harm),
                    "high" | "low" => copy::<Line>(&whole, to, name, harm),
                    _ => copy::<f32>(&whole, to, name, harm),
                }
            }
        });
        Codes::open(&file, "")
    }

    #[test]
    fn columns_that_do_not_fit_are_refused_and_wrong_values_are_harmless() {
        let folder = Folder::new("codes-harmed");
        let data = data(70);
        let rows = Rows::new(&data, 70, D).unwrap();
        for column in COLUMNS {
            assert!(harmed(&folder, column, None).is_err(), "{column}");
            for length in [0, 64, 640, 4544] {
                assert!(harmed(&folder, column, Some((length, 1))).is_err(), "{column} {length}");
            }
            let right = match column {
                "dimensions" | "segments" => 8,
                "centres" => 4 * D,
                "high" | "low" => 64 * 70,
                _ => 4 * 70,
            };
            for value in [0x00, 0x01, 0x7f, 0x80, 0xff] {
                let Ok(codes) = harmed(&folder, column, Some((right, value))) else { continue };
                for front in [None, Some(true), Some(false)] {
                    let results = top_k_coded(&codes, rows.row(3), rows, request(front)).unwrap();
                    assert!(results.rows.iter().all(|&row| row < 70));
                }
            }
        }
    }
}
