//! Entries on their way into the store: digests, ids, and rows of those whose every field is plain.

use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use septet_core::entries;

type Value<'py> = Bound<'py, PyAny>;

/// Return the digest of some texts, 32 hexadecimal digits.
#[pyfunction]
#[pyo3(signature = (*texts))]
pub(super) fn text_hash(texts: Vec<PyBackedStr>) -> String {
    entries::text_hash(&texts.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

/// Return a readable id that the same kind, title and content always give again.
#[pyfunction]
pub(super) fn made_id(kind: &str, title: &str, text_hash: &str) -> String {
    entries::made_id(kind, title, text_hash)
}

/// Return texts as a JSON list, ascending, each once, and how many these are.
#[pyfunction]
pub(super) fn text_set(py: Python<'_>, texts: Vec<PyBackedStr>) -> (String, usize) {
    py.detach(|| entries::text_set(texts.iter().map(AsRef::as_ref).collect()))
}

/// Return a dict of plain values as compact JSON, as `json` does; None for any other value.
#[pyfunction]
pub(super) fn plain_json(value: &Value<'_>) -> Option<String> {
    let mut json = String::from("{");
    for (name, value) in value.cast_exact::<PyDict>().ok()? {
        if json.len() > 1 {
            json.push(',');
        }
        entries::push_json(&mut json, text(&name)?);
        json.push(':');
        let Ok(list) = value.cast_exact::<PyList>() else {
            push_plain(&mut json, &value)?;
            continue;
        };
        json.push('[');
        for (place, value) in list.iter().enumerate() {
            if place > 0 {
                json.push(',');
            }
            push_plain(&mut json, &value)?;
        }
        json.push(']');
    }
    json.push('}');
    Some(json)
}

/// Append a text, a whole number, a truth value or None; None for any other value.
fn push_plain(json: &mut String, value: &Value<'_>) -> Option<()> {
    if let Some(text) = text(value) {
        entries::push_json(json, text);
    } else if value.is_none() {
        json.push_str("null");
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        json.push_str(if flag.is_true() { "true" } else { "false" });
    } else {
        let number: i64 = value.cast_exact::<PyInt>().ok()?.extract().ok()?;
        json.push_str(&number.to_string());
    }
    Some(())
}

/// Return the rows of entries whose every field is plain, each by a call of `row`; None if any other is among them.
#[pyfunction]
pub(super) fn plain_rows<'py>(
    items: &Value<'py>,
    now: f64,
    attrs: &Value<'py>,
    span: &Value<'py>,
    row: &Value<'py>,
) -> PyResult<Option<Vec<Value<'py>>>> {
    let mut rows = Vec::new();
    for fields in items.try_iter()? {
        let Some(values) = plain_row(&fields?, now, attrs, span)? else { return Ok(None) };
        rows.push(row.call1((values,))?);
    }
    Ok(Some(rows))
}

fn plain_row<'py>(
    fields: &Value<'py>,
    now: f64,
    attrs: &Value<'py>,
    span: &Value<'py>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let py = fields.py();
    let Some(input) = fields.cast_exact::<PyDict>().ok().and_then(Given::read) else { return Ok(None) };
    match input.converted(py, attrs, span) {
        Ok(converted) => input.row(py, now, converted).map(|row| PyTuple::new(py, row)).transpose(),
        Err(fault) if fault.is_instance_of::<PyException>(py) => Ok(None),
        // An interrupt.
        Err(fault) => Err(fault),
    }
}

/// An entry of longer texts, and one of more tags, goes through the full checks.
const MOST_BYTES: usize = 10_000_000;
const MOST_TAGS: usize = 10_000;

const NAMES: [&str; 18] = [
    "id",
    "title",
    "description",
    "context",
    "tags",
    "domain",
    "severity",
    "type",
    "kind",
    "created_at",
    "updated_at",
    "valid_from",
    "valid_until",
    "parent",
    "source",
    "trust",
    "attrs",
    "span",
];

/// The values of an entry's fields, in the order of `NAMES`; None stands for those that are missing or None.
#[derive(Default)]
struct Given<'py>([Option<Value<'py>>; NAMES.len()]);

impl<'py> Given<'py> {
    /// Read a dict; None when it holds a name that is unknown.
    fn read(dict: &Bound<'py, PyDict>) -> Option<Self> {
        let mut input = Self::default();
        for (name, value) in dict {
            let name = text(&name)?;
            let place = NAMES.iter().position(|&known| known == name)?;
            if !value.is_none() {
                input.0[place] = Some(value);
            }
        }
        Some(input)
    }

    /// Return the columns of attrs and of the span, as these functions make them.
    fn converted(&self, py: Python<'py>, attrs: &Value<'py>, span: &Value<'py>) -> PyResult<[Value<'py>; 4]> {
        let [.., given_attrs, given_span] = &self.0;
        let attrs = match given_attrs {
            Some(input) if !is_empty_dict(input) => attrs.call1((input,))?,
            _ => intern!(py, "{}").as_any().clone(),
        };
        let [path, first_line, last_line] = match given_span {
            Some(input) => span.call1((input,))?.extract()?,
            None => [none(py), none(py), none(py)],
        };
        Ok([attrs, path, first_line, last_line])
    }

    /// Return the columns in the store's order; None as soon as a value wants more than a look.
    fn row(&self, py: Python<'py>, now: f64, converted: [Value<'py>; 4]) -> Option<[Value<'py>; 23]> {
        let [
            id,
            title,
            description,
            context,
            tags,
            domain,
            severity,
            r#type,
            kind,
            times @ ..,
            parent,
            source,
            trust,
            _,
            _,
        ] = &self.0;
        let [attrs, path, first_line, last_line] = converted;
        if attrs.len().ok()? > MOST_BYTES {
            return None;
        }
        let (created_given, [created_at, updated_at, valid_from, valid_until]) = epochs(py, times, now)?;
        let empty = intern!(py, "").as_any();
        let input = [title.as_ref()?, description.as_ref().unwrap_or(empty), context.as_ref().unwrap_or(empty)];
        let texts = [text(input[0])?, text(input[1])?, text(input[2])?];
        if !says_something(texts[0]) || texts.iter().map(|text| text.len()).sum::<usize>() > MOST_BYTES {
            return None;
        }
        let tags = match tags {
            Some(tags) => listed(tags)?,
            None => Vec::new(),
        };
        if tags.len() > MOST_TAGS {
            return None;
        }
        let mut tags = tags.iter().map(tag).collect::<Option<Vec<_>>>()?;
        entries::keep_first(&mut tags);
        let kind = label(kind, intern!(py, "entry"))?;
        let hash = entries::text_hash(&texts);
        let id = match id {
            Some(id) => checked_id(id)?.clone(),
            None => string(py, &entries::made_id(text(kind)?, texts[0], &hash)),
        };
        let others: Vec<&str> = texts[1..].iter().chain(&tags).copied().collect();
        let grams = entries::gram_text(text(&id)?, texts[0], &others);
        let [title, description, context] = input.map(Clone::clone);
        Some([
            id,
            kind.clone(),
            label(r#type, intern!(py, "note"))?.clone(),
            label(domain, intern!(py, "general"))?.clone(),
            one_of(severity, intern!(py, "suggestion"), &["critical", "warning", "suggestion"])?.clone(),
            title,
            description,
            context,
            string(py, &entries::tags_json(&tags)),
            string(py, &grams),
            attrs,
            path,
            first_line,
            last_line,
            created_at,
            updated_at,
            valid_from,
            valid_until,
            match parent {
                Some(parent) => checked_id(parent)?.clone(),
                None => none(py),
            },
            match source {
                Some(source) => checked_id(source)?.clone(),
                None => none(py),
            },
            one_of(trust, intern!(py, "trusted"), &["trusted", "unverified", "untrusted"])?.clone(),
            string(py, &hash),
            created_given,
        ])
    }
}

/// True if the creation time was given, and the four times; None when one is no plain number, or two contradict.
fn epochs<'py>(py: Python<'py>, input: &[Option<Value<'py>>], now: f64) -> Option<(Value<'py>, [Value<'py>; 4])> {
    let mut times = [None; 4];
    for (time, value) in times.iter_mut().zip(input) {
        *time = match value {
            Some(value) => Some(seconds(value)?),
            None => None,
        };
    }
    let [created, updated, from, until] = times;
    let first = created.or(updated).unwrap_or(now);
    let last = updated.unwrap_or(first);
    if last < first || from.zip(until).is_some_and(|(from, until)| until < from) {
        return None;
    }
    let double = |time: f64| PyFloat::new(py, time).into_any();
    let optional = |time: Option<f64>| time.map_or_else(|| none(py), double);
    let created_given = PyBool::new(py, created.is_some()).to_owned().into_any();
    Some((created_given, [double(first), double(last), optional(from), optional(until)]))
}

fn seconds(value: &Value<'_>) -> Option<f64> {
    // Larger integers are no exact doubles.
    const EXACT: i64 = 1 << 53;
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return Some(number.value()).filter(|seconds| seconds.is_finite());
    }
    let number: i64 = value.cast_exact::<PyInt>().ok()?.extract().ok()?;
    (-EXACT..=EXACT).contains(&number).then_some(number as f64)
}

fn string<'py>(py: Python<'py>, text: &str) -> Value<'py> {
    if text.is_empty() { intern!(py, "").as_any().clone() } else { PyString::new(py, text).into_any() }
}

fn none(py: Python<'_>) -> Value<'_> {
    py.None().into_bound(py)
}

fn is_empty_dict(value: &Value<'_>) -> bool {
    value.cast_exact::<PyDict>().is_ok_and(|dict| dict.is_empty())
}

/// The text of a `str`; None for its subclasses, and for a lone surrogate.
fn text<'a>(value: &'a Value<'_>) -> Option<&'a str> {
    value.cast_exact::<PyString>().ok()?.to_str().ok()
}

fn label<'a, 'py>(value: &'a Option<Value<'py>>, default: &'a Bound<'py, PyString>) -> Option<&'a Value<'py>> {
    let Some(value) = value else { return Some(default.as_any()) };
    text(value).filter(|label| is_short(label) && says_something(label)).map(|_| value)
}

/// A text that is one of these; the default if there is none.
fn one_of<'a, 'py>(
    value: &'a Option<Value<'py>>,
    default: &'a Bound<'py, PyString>,
    known: &[&str],
) -> Option<&'a Value<'py>> {
    let Some(value) = value else { return Some(default.as_any()) };
    known.contains(&text(value)?).then_some(value)
}

fn checked_id<'a, 'py>(value: &'a Value<'py>) -> Option<&'a Value<'py>> {
    text(value).filter(|id| is_short(id) && says_something(id) && !id.contains(char::is_control)).map(|_| value)
}

fn tag<'a>(value: &'a Value<'_>) -> Option<&'a str> {
    text(value).filter(|tag| is_short(tag) && says_something(tag) && !tag.contains(char::is_control))
}

/// The items of a list or tuple.
fn listed<'py>(values: &Value<'py>) -> Option<Vec<Value<'py>>> {
    if let Ok(list) = values.cast_exact::<PyList>() {
        return Some(list.iter().collect());
    }
    Some(values.cast_exact::<PyTuple>().ok()?.iter().collect())
}

/// True if a label or an id has at most as many characters as are kept.
fn is_short(text: &str) -> bool {
    const CHARS: usize = 256;
    text.len() <= CHARS || text.chars().count() <= CHARS
}

/// True if a text holds a letter, a digit or an ASCII sign, so that it cannot be blank.
fn says_something(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_graphic()) || text.contains(char::is_alphanumeric)
}
