//! Which statements run together: the arms of `if`, `for`, `try` around a statement, and what decides them.

use tree_sitter::Node;

use super::literal::Literal;

/// One arm of a compound statement around another statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// Where the compound statement begins.
    pub statement: usize,
    /// Which of its arms.
    pub index: usize,
    /// The conditions that must come out as given.
    pub needs: Vec<(Condition, bool)>,
}

/// What an `if` asks.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Whether an environment variable is switched on: `check_env_flag("NAME", "default")`.
    Flag { name: String, default: String },
    /// Anything else.
    Other,
}

/// Whether an arm is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Yes,
    No,
    Unknown,
}

/// Looks up environment variables, with the defaults that the file gives them.
pub struct Environment<'a> {
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// `os.environ.setdefault(name, value)`.
    pub defaults: &'a [(String, String)],
    /// Variables that the file itself assigns: their value is not known.
    pub assigned: &'a [String],
}

impl Environment<'_> {
    fn flag(&self, name: &str, default: &str) -> Taken {
        if self.assigned.iter().any(|assigned| assigned == name) {
            return Taken::Unknown;
        }
        let by_file = || self.defaults.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let set = (self.env)(name).or_else(by_file).unwrap_or_else(|| default.to_owned());
        let on = ["ON", "1", "YES", "TRUE", "Y"].contains(&set.to_ascii_uppercase().as_str());
        if on { Taken::Yes } else { Taken::No }
    }

    /// Says whether all the arms around a statement are taken.
    pub fn taken(&self, arms: &[Arm]) -> Taken {
        let mut all = Taken::Yes;
        for (condition, wanted) in arms.iter().flat_map(|arm| &arm.needs) {
            let holds = match condition {
                Condition::Flag { name, default } => self.flag(name, default),
                Condition::Other => Taken::Unknown,
            };
            match (holds, wanted) {
                (Taken::Unknown, _) => all = Taken::Unknown,
                (Taken::Yes, true) | (Taken::No, false) => {}
                (Taken::Yes, false) | (Taken::No, true) => return Taken::No,
            }
        }
        all
    }
}

/// Says whether a statement below `earlier` has always run when one below `later` runs.
pub fn always_before(earlier: &[Arm], later: &[Arm]) -> bool {
    later.starts_with(earlier)
}

/// Says whether two statements never run in one pass.
pub fn exclusive(one: &[Arm], other: &[Arm]) -> bool {
    one.iter().any(|a| other.iter().any(|b| a.statement == b.statement && a.index != b.index))
}

impl Condition {
    /// Reads a condition; the second value is what it must come out as to be true.
    pub fn read(node: Node<'_>, text: &str) -> (Self, bool) {
        let mut node = node;
        let mut wanted = true;
        // Bounded: a hostile file may nest parentheses without end.
        for _ in 0..16 {
            let inner = match node.kind() {
                "parenthesized_expression" => node.named_child(0),
                "not_operator" => {
                    wanted = !wanted;
                    node.child_by_field_name("argument")
                }
                _ => break,
            };
            let Some(inner) = inner else { break };
            node = inner;
        }
        match flag(node, text) {
            Some((name, default)) => (Self::Flag { name, default }, wanted),
            None => (Self::Other, true),
        }
    }
}

/// Reads `check_env_flag("NAME")` and its like: a function of the project, named after the environment.
fn flag(node: Node<'_>, text: &str) -> Option<(String, String)> {
    if node.kind() != "call" {
        return None;
    }
    let function = &text[node.child_by_field_name("function")?.byte_range()];
    let function = function.rsplit('.').next().unwrap_or(function);
    let named_so = function.contains("env")
        && ["flag", "bool", "enabled", "true", "is_set"].iter().any(|word| function.contains(word));
    if !named_so {
        return None;
    }
    let arguments = node.child_by_field_name("arguments")?;
    let mut cursor = arguments.walk();
    let mut given = arguments.named_children(&mut cursor).filter(|child| child.kind() != "comment");
    let name = string_value(given.next()?, text)?;
    let default = match given.next() {
        None => String::new(),
        Some(node) if node.kind() == "keyword_argument" => string_value(node.child_by_field_name("value")?, text)?,
        Some(node) => string_value(node, text)?,
    };
    Some((name, default))
}

/// Returns the text of a plain literal without escapes.
pub fn string_value(node: Node<'_>, text: &str) -> Option<String> {
    if node.kind() != "string" {
        return None;
    }
    let literal = Literal::read(&text[node.byte_range()], node.start_byte()).ok()?;
    let content = &text[literal.content];
    (!content.contains('\\')).then(|| content.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_the_environment_are_decided() {
        let env = |name: &str| (name == "ON_HERE").then(|| "yes".to_owned());
        let defaults = [("BY_DEFAULT".to_owned(), "true".to_owned())];
        let environment = Environment { env: &env, defaults: &defaults, assigned: &["ODD".to_owned()] };
        let arm = |needs: &[(Condition, bool)]| vec![Arm { statement: 0, index: 0, needs: needs.to_vec() }];
        let flag = |name: &str| Condition::Flag { name: name.into(), default: String::new() };
        for (needs, want) in [
            (vec![], Taken::Yes),
            (vec![(flag("ON_HERE"), true)], Taken::Yes),
            (vec![(flag("ON_HERE"), false)], Taken::No),
            (vec![(flag("UNSET"), true)], Taken::No),
            (vec![(flag("BY_DEFAULT"), true)], Taken::Yes),
            (vec![(flag("ODD"), true)], Taken::Unknown),
            (vec![(Condition::Other, true), (flag("ON_HERE"), true)], Taken::Unknown),
            (vec![(Condition::Other, true), (flag("UNSET"), true)], Taken::No),
        ] {
            assert_eq!(environment.taken(&arm(&needs)), want, "{needs:?}");
        }
    }
}
