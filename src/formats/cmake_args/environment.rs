//! Where a build script reads environment variables.

use tree_sitter::Node;

/// Says whether an expression is the table of environment variables.
pub fn is_environ(node: Option<Node<'_>>, text: &str) -> bool {
    node.is_some_and(|node| matches!(&text[node.byte_range()], "os.environ" | "environ"))
}

/// Returns the environment variables that an expression reads by a literal name.
pub fn environment_names(expression: &str) -> Vec<String> {
    let mut names = Vec::new();
    for opening in ["environ.get(", "getenv(", "environ["] {
        for (at, _) in expression.match_indices(opening) {
            let rest = expression[at + opening.len()..].trim_start();
            let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else { continue };
            if let Some(end) = rest[1..].find(quote) {
                names.push(rest[1..=end].to_owned());
            }
        }
    }
    names
}

/// Returns the environment variables that `name` was assigned from in the function around `node`.
pub fn assigned_from(node: Node<'_>, name: &str, text: &str) -> Vec<String> {
    let identifier = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !identifier {
        return Vec::new();
    }
    let mut around = node;
    while let Some(parent) = around.parent() {
        around = parent;
        if around.kind() == "function_definition" {
            break;
        }
    }
    let body = &text[around.start_byte()..node.start_byte()];
    let assigns = |line: &&str| {
        line.trim_start().strip_prefix(name).is_some_and(|rest| {
            let rest = rest.trim_start();
            rest.starts_with('=') && !rest.starts_with("==")
        })
    };
    body.lines().rev().find(assigns).map(environment_names).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_literal_names() {
        for (expression, want) in [
            ("os.environ.get(\"A\", \"\")", vec!["A"]),
            ("os.getenv('A') or os.environ['B']", vec!["A", "B"]),
            ("os.getenv(name)", vec![]),
            ("os.getenv('", vec![]),
        ] {
            let mut names = environment_names(expression);
            names.sort();
            assert_eq!(names, want, "{expression}");
        }
    }
}
