//! `${name}` in a recipe's strings.

use super::{Value, Values};

/// A string with `${name}` places; `$$` is a dollar sign. `$[…]` is left out, whole, when a variable in it has no value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Variable(String),
    Optional(Vec<Part>),
    /// One of a list; a list has nothing else.
    Item(Vec<Part>),
}

/// Why a string is no template, or cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("`${{` at byte {0} is not closed")]
    Unclosed(usize),
    #[error("`${{{0}}}` is not a name")]
    BadName(String),
    #[error("`$[` at byte {0} is not closed")]
    UnclosedOption(usize),
    #[error("`{0}` has no value")]
    Unbound(String),
}

impl Template {
    /// Parses a string; names are letters, digits, `_`, `-` and `.`.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            literal.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            if let Some(tail) = after.strip_prefix('$') {
                literal.push('$');
                rest = tail;
            } else if let Some(tail) = after.strip_prefix('[') {
                let Some(end) = tail.find(']') else {
                    return Err(TemplateError::UnclosedOption(text.len() - rest.len() + at));
                };
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.push(Part::Optional(Self::parse(&tail[..end])?.parts));
                rest = &tail[end + 1..];
            } else if let Some(tail) = after.strip_prefix('{') {
                let Some(end) = tail.find('}') else {
                    return Err(TemplateError::Unclosed(text.len() - rest.len() + at));
                };
                let name = &tail[..end];
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
                if name.is_empty() || !name.chars().all(fits) {
                    return Err(TemplateError::BadName(name.to_owned()));
                }
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.push(Part::Variable(name.to_owned()));
                rest = &tail[end + 1..];
            } else {
                literal.push('$');
                rest = after;
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self { parts })
    }

    /// Makes a list of several: `["A", "${b}"]`.
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self { parts: items.into_iter().map(|item| Part::Item(item.parts)).collect() }
    }

    /// Returns the text, where there is no variable in it.
    pub fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Lists the variables in order of appearance.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        variables_of(&self.parts).into_iter()
    }

    /// Lists the variables without which the template cannot be filled.
    pub fn required_variables(&self) -> impl Iterator<Item = &str> {
        required_of(&self.parts).into_iter()
    }

    /// Fills the template: a lone `${name}` keeps a list, within a list it adds to that, elsewhere a list is joined by
    /// `, `.
    pub fn fill(&self, values: &Values) -> Result<Value, TemplateError> {
        let get = |name: &str| values.get(name).ok_or_else(|| TemplateError::Unbound(name.to_owned()));
        if let [Part::Variable(name)] = self.parts.as_slice() {
            return get(name).cloned();
        }
        if let [Part::Item(_), ..] = self.parts.as_slice() {
            let mut all = Vec::new();
            for part in &self.parts {
                if let Part::Item(parts) = part {
                    all.extend(Self { parts: parts.clone() }.fill(values)?.to_list());
                }
            }
            return Ok(Value::List(all));
        }
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Variable(name) => out.push_str(&get(name)?.to_text()),
                Part::Optional(parts) => out.push_str(&option(parts, values)),
                Part::Item(parts) => out.push_str(&Self { parts: parts.clone() }.fill(values)?.to_text()),
            }
        }
        Ok(Value::Text(out))
    }

    /// Fills the template for a reader. What speaks of a variable without a value is left out: the brackets that hold
    /// it, else its sentence; `None` when nothing is left.
    pub fn fill_for_reading(&self, values: &Values) -> Option<String> {
        let text = self.fill_with(values, |_| HOLE.to_string());
        if text.contains(HOLE) { without_holes(&text) } else { Some(text) }
    }

    /// Shows the template in the catalogue, where nothing has a value: variables are named, `<generator>`.
    pub fn outline(&self) -> String {
        self.fill_with(&Values::new(), |name| format!("<{}>", name.rsplit('.').next().unwrap_or(name)))
    }

    fn fill_with(&self, values: &Values, missing: impl Fn(&str) -> String) -> String {
        fill_parts(&self.parts, values, &missing)
    }
}

fn fill_parts(parts: &[Part], values: &Values, missing: &dyn Fn(&str) -> String) -> String {
    let fill = |part: &Part| match part {
        Part::Literal(text) => text.clone(),
        Part::Optional(parts) => option(parts, values),
        Part::Item(parts) => fill_parts(parts, values, missing),
        Part::Variable(name) => value(values, name).unwrap_or_else(|| missing(name)),
    };
    let is_list = matches!(parts, [Part::Item(_), ..]);
    parts.iter().map(fill).collect::<Vec<_>>().join(if is_list { ", " } else { "" })
}

/// Stands for a variable without a value; no recipe and no value has it.
const HOLE: char = '\u{0}';

/// A value as a reader sees it; an empty one says nothing.
fn value(values: &Values, name: &str) -> Option<String> {
    values.get(name).map(|value| value.to_text().replace(HOLE, " ")).filter(|text| !text.is_empty())
}

/// Takes out the brackets around holes, then the sentences that still have one.
fn without_holes(text: &str) -> Option<String> {
    let mut text = text.to_owned();
    for (open, close) in [('(', ')'), ('（', '）')] {
        let mut from = 0;
        while let Some(start) = text[from..].find(open).map(|at| from + at) {
            let Some(end) = text[start..].find(close).map(|at| start + at + close.len_utf8()) else { break };
            // `$(…)` and `f(…)` are no remark in brackets.
            let is_remark = open == '（' || text[..start].ends_with(char::is_whitespace);
            if is_remark && text[start..end].contains(HOLE) {
                let before = text[..start].trim_end().len();
                text.replace_range(before..end, "");
                from = before;
            } else {
                from = start + open.len_utf8();
            }
        }
    }
    let ends = [". ", "。", "; ", "；"];
    let mut left = String::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        // What is quoted is one word: `cd x; make`.
        let is_outside = |at: &usize| rest[..*at].matches('`').count().is_multiple_of(2);
        let found = ends.iter().flat_map(|end| rest.match_indices(end).map(|(at, end)| (at, at + end.len())));
        let end = found.filter(|(at, _)| is_outside(at)).map(|(_, end)| end).min().unwrap_or(rest.len());
        let (sentence, after) = rest.split_at(end);
        if !sentence.contains(HOLE) {
            left.push_str(sentence);
        }
        rest = after;
    }
    let left = left.trim().trim_end_matches([';', '；']);
    (!left.is_empty()).then(|| left.to_owned())
}

fn variables_of(parts: &[Part]) -> Vec<&str> {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Part::Literal(_) => {}
            Part::Variable(name) => all.push(name.as_str()),
            Part::Optional(parts) | Part::Item(parts) => all.extend(variables_of(parts)),
        }
    }
    all
}

fn required_of(parts: &[Part]) -> Vec<&str> {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Part::Literal(_) | Part::Optional(_) => {}
            Part::Variable(name) => all.push(name.as_str()),
            Part::Item(parts) => all.extend(required_of(parts)),
        }
    }
    all
}

/// Fills an optional part; empty when a variable has no value.
fn option(parts: &[Part], values: &Values) -> String {
    let template = Template { parts: parts.to_vec() };
    if template.variables().all(|name| value(values, name).is_some()) {
        template.fill_with(values, |_| String::new())
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_and_refuses() {
        let values = Values::from([
            ("a".to_owned(), Value::Text("x".into())),
            ("tree.all".to_owned(), Value::List(vec!["1".into(), "2".into()])),
        ]);
        let fill = |text: &str| Template::parse(text).unwrap().fill(&values);
        assert_eq!(fill("${tree.all}").unwrap(), values["tree.all"]);
        let list = Template::list(["A", "-${a}", "${tree.all}"].map(|text| Template::parse(text).unwrap()));
        let want = ["A", "-x", "1", "2"].map(str::to_owned).to_vec();
        assert_eq!(list.fill(&values).unwrap(), Value::List(want));
        assert_eq!(list.fill_for_reading(&values).as_deref(), Some("A, -x, 1, 2"));
        assert_eq!(list.variables().collect::<Vec<_>>(), ["a", "tree.all"]);
        assert_eq!(list.fill(&Values::new()), Err(TemplateError::Unbound("a".into())));
        assert_eq!(fill("-${a}: ${tree.all} $$5 $x").unwrap(), Value::Text("-x: 1, 2 $5 $x".into()));
        assert_eq!(fill("a$[ ${a}]$[ ${b}!]$[ ${a}${b}].").unwrap(), Value::Text("a x.".into()));
        let read = |text: &str| Template::parse(text).unwrap().fill_for_reading(&values);
        assert_eq!(read("Install ${a} (`${b}`), or not.").as_deref(), Some("Install x, or not."));
        assert_eq!(read("安装 ${a}（${b}）。请看 ${b}。再来。").as_deref(), Some("安装 x。再来。"));
        assert_eq!(read("Use `${b}`. Then ${a}.").as_deref(), Some("Then x."));
        assert_eq!(read("f(x) with ${b}"), None);
        assert_eq!(read("Do ${a}. Or `cd ${b}; make`; or not.").as_deref(), Some("Do x. or not."));
        assert_eq!(read("Do ${a}. Then `$$(${b})`, too.").as_deref(), Some("Do x."));
        assert_eq!(Template::parse("with ${q.b}").unwrap().outline(), "with <b>");
        assert_eq!(Template::parse("a$[b"), Err(TemplateError::UnclosedOption(1)));
        assert_eq!(fill("${b}"), Err(TemplateError::Unbound("b".into())));
        assert_eq!(Template::parse("a${b"), Err(TemplateError::Unclosed(1)));
        assert_eq!(Template::parse("${}"), Err(TemplateError::BadName(String::new())));
    }
}
