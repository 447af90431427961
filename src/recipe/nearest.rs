//! The names that a mistyped name may have meant.

/// Longer names are compared only up to here: the comparison is quadratic, and nobody types this much by hand.
const LONGEST: usize = 64;

/// Lists the candidates that look like `name`, closest first, at most three. Case does not count.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let allowed = (name.chars().count() / 3).max(1);
    let mut close: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let lower = candidate.to_lowercase();
            let distance = distance(&name, &lower);
            if distance <= allowed {
                return Some((distance, candidate));
            }
            // `llvmcg` means `llvmcgdata-residue`, however long the rest is.
            (name.len() >= 3 && lower.contains(&name)).then_some((allowed + 1, candidate))
        })
        .collect();
    close.sort_unstable();
    close.dedup();
    close.into_iter().map(|(_, candidate)| candidate).take(3).collect()
}

/// Writes a hint: the nearest names, else all of them, else what to do without any.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone, none: &str) -> String {
    let close = nearest(name, known.clone());
    if !close.is_empty() {
        return format!("did you mean {}?", quoted(close, " or "));
    }
    let mut all: Vec<&str> = known.into_iter().collect();
    if all.is_empty() {
        return none.to_owned();
    }
    all.sort_unstable();
    all.dedup();
    all.truncate(40);
    format!("known here: {}", quoted(all, ", "))
}

/// Puts backticks around names and joins them.
pub fn quoted<'a>(names: impl IntoIterator<Item = &'a str>, separator: &str) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(separator)
}

/// The number of insertions, deletions, replacements and swaps of neighbours that lead from one to the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().take(LONGEST).collect();
    let to: Vec<char> = to.chars().take(LONGEST).collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for row in 1..=from.len() {
        let mut current = vec![row];
        for column in 1..=to.len() {
            let replaced = last[column - 1] + usize::from(from[row - 1] != to[column - 1]);
            let mut best = replaced.min(last[column] + 1).min(current[column - 1] + 1);
            if row > 1 && column > 1 && from[row - 1] == to[column - 2] && from[row - 2] == to[column - 1] {
                best = best.min(before_last[column - 2] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_come_first() {
        let known = ["tda-1.9", "tda-1.8", "llvmcgdata-residue", "hp-oom", "apply"];
        for (name, expected) in [
            ("tda-1.9", &["tda-1.9", "tda-1.8"][..]),
            ("TDA-19", &["tda-1.9", "tda-1.8"]),
            ("llvmcgdata-resiude", &["llvmcgdata-residue"]),
            ("llvmcg", &["llvmcgdata-residue"]),
            ("aplpy", &["apply"]),
            ("hp-oom", &["hp-oom"]),
            ("zzz", &[]),
            ("", &[]),
        ] {
            assert_eq!(nearest(name, known), expected, "{name}");
        }
    }
}
