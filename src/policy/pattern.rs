//! Patterns of names and paths.

/// Says whether a pattern of the user's means a name: the name itself, or a beginning with `*`.
pub fn matches_name(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}

/// Says whether a pattern means a path: the file, a folder around it, `*` within a name, `**` over folders.
pub fn matches_path(pattern: &str, path: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        text.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
    };
    let (pattern, path) = (parts(pattern), parts(path));
    // A folder stands for what is in it.
    (0..=path.len()).any(|end| covers(&pattern, &path[..end])) && !pattern.is_empty()
}

/// Matches folder by folder; `reached` are the places in the pattern where a match may stand.
fn covers(pattern: &[String], path: &[String]) -> bool {
    let skip = |mut reached: Vec<bool>| {
        for at in 0..pattern.len() {
            if reached[at] && pattern[at] == "**" {
                reached[at + 1] = true;
            }
        }
        reached
    };
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    let mut reached = skip(reached);
    for part in path {
        let mut next = vec![false; pattern.len() + 1];
        for at in 0..pattern.len() {
            if !reached[at] {
                continue;
            }
            if pattern[at] == "**" {
                next[at] = true;
            } else if fits(&pattern[at], part) {
                next[at + 1] = true;
            }
        }
        reached = skip(next);
    }
    reached[pattern.len()]
}

/// Matches one name; only `*` is special.
fn fits(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_files_and_folders() {
        for (pattern, path, want) in [
            ("a/b.py", "a/b.py", true),
            ("a", "a/b/c.py", true),
            ("./a/", "a/b.py", true),
            ("a", "ab/c.py", false),
            ("*.py", "x.py", true),
            ("*.py", "a/x.py", false),
            ("**/*.py", "a/b/x.py", true),
            ("**/*.py", "x.py", true),
            ("a/**", "a/b/c", true),
            ("a/*/c", "a/b/c", true),
            ("a/*/c", "a/b/d/c", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c", false),
            ("ab*ba", "aba", false),
            ("", "a", false),
            ("**", "a/b", true),
        ] {
            assert_eq!(matches_path(pattern, path), want, "{pattern} {path}");
        }
        assert!(
            matches_name("TDA-1.*", "tda-1.9")
                && matches_name("tda-1.9", "tda-1.9")
                && !matches_name("tda-1.1", "tda-1.10")
        );
    }
}
