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

    /// Fills the template for a reader: a variable without a value is named, `<generator>`.
    pub fn fill_for_reading(&self, values: &Values) -> String {
        if let [Part::Item(_), ..] = self.parts.as_slice() {
            let items = self.parts.iter().filter_map(|part| match part {
                Part::Item(parts) => Some(Self { parts: parts.clone() }.fill_for_reading(values)),
                Part::Literal(_) | Part::Variable(_) | Part::Optional(_) => None,
            });
            return items.collect::<Vec<_>>().join(", ");
        }
        self.parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) => text.clone(),
                Part::Optional(parts) => option(parts, values),
                Part::Item(parts) => Self { parts: parts.clone() }.fill_for_reading(values),
                Part::Variable(name) => values
                    .get(name)
                    .map_or_else(|| format!("<{}>", name.rsplit('.').next().unwrap_or(name)), Value::to_text),
            })
            .collect()
    }
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
    if template.variables().all(|name| values.contains_key(name)) {
        template.fill_for_reading(values)
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
        assert_eq!(list.fill_for_reading(&values), "A, -x, 1, 2");
        assert_eq!(list.variables().collect::<Vec<_>>(), ["a", "tree.all"]);
        assert_eq!(list.fill(&Values::new()), Err(TemplateError::Unbound("a".into())));
        assert_eq!(fill("-${a}: ${tree.all} $$5 $x").unwrap(), Value::Text("-x: 1, 2 $5 $x".into()));
        assert_eq!(fill("a$[ ${a}]$[ ${b}!]$[ ${a}${b}].").unwrap(), Value::Text("a x.".into()));
        assert_eq!(Template::parse("a$[b"), Err(TemplateError::UnclosedOption(1)));
        assert_eq!(fill("${b}"), Err(TemplateError::Unbound("b".into())));
        assert_eq!(Template::parse("a${b"), Err(TemplateError::Unclosed(1)));
        assert_eq!(Template::parse("${}"), Err(TemplateError::BadName(String::new())));
    }
}
