//! The small texts of Python packages: headers of METADATA and WHEEL, RECORD, entry points, `pyvenv.cfg`.

use std::collections::BTreeMap;

/// Returns the values of a header, in order; the body of the message is not looked at. It begins after the first line
/// that is really empty: a long value may have lines of blanks.
pub fn header<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let head = text.lines().take_while(|line| !line.is_empty());
    head.filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
    .collect()
}

/// One line of a RECORD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub path: String,
    /// SHA-256 in URL-safe base64 without padding; byte code and RECORD itself have none.
    pub sha256: Option<String>,
    pub size: Option<u64>,
}

/// Reads a RECORD: lines of `path,hash,size`, of which the path may be quoted.
pub fn record(text: &str) -> Vec<Recorded> {
    let mut all = Vec::new();
    for line in text.lines() {
        let fields = csv_fields(line);
        let Some(path) = fields.first().filter(|path| !path.is_empty()) else { continue };
        let field = |at: usize| fields.get(at).map(|field| field.trim()).filter(|field| !field.is_empty());
        all.push(Recorded {
            path: path.clone(),
            sha256: field(1).and_then(|hash| hash.strip_prefix("sha256=")).map(str::to_owned),
            size: field(2).and_then(|size| size.parse().ok()),
        });
    }
    all
}

fn csv_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let field = fields.last_mut().expect("there is always a field");
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                field.push('"');
                chars.next();
            }
            '"' if quoted || field.is_empty() => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => field.push(c),
        }
    }
    fields
}

/// Reads an `entry_points.txt`: by group, names with what they lead to.
pub fn entry_points(text: &str) -> BTreeMap<String, Vec<(String, String)>> {
    let mut groups: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let mut group = None;
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            group = Some(name.trim().to_owned());
        } else if let (Some(group), Some((name, value))) = (&group, line.split_once('=')) {
            groups.entry(group.clone()).or_default().push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    groups
}

/// Reads the `key = value` lines of a `pyvenv.cfg`; keys in lower case.
pub fn settings(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key.trim().to_ascii_lowercase(), value.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_end_at_the_first_empty_line() {
        let text = "Name: a\r\nLicense: x\n        \n  Tag: y\nTag: py3-none-any\ntag:  cp311-cp311-x \n\nTag: body\n";
        assert_eq!(header(text, "Tag"), ["py3-none-any", "cp311-cp311-x"]);
        assert_eq!(header(text, "name"), ["a"]);
        assert!(header("", "Name").is_empty());
    }

    #[test]
    fn records_may_be_quoted() {
        let text = "a/b.py,sha256=abc,12\r\n\"x, \"\"y\"\".py\",sha256=d,1\na.pyc,,\na.dist-info/RECORD,,\n\n,x,y\n";
        let read: Vec<String> = record(text)
            .into_iter()
            .map(|one| format!("{}|{}|{:?}", one.path, one.sha256.unwrap_or_default(), one.size))
            .collect();
        assert_eq!(read, ["a/b.py|abc|Some(12)", "x, \"y\".py|d|Some(1)", "a.pyc||None", "a.dist-info/RECORD||None"]);
    }

    #[test]
    fn entry_points_are_grouped() {
        let text = "[console_scripts]\na = m:f [extra]\n# c\n[triton.backends]\namd = triton.backends.amd\nx=y\n";
        let groups = entry_points(text);
        assert_eq!(groups["console_scripts"], [("a".to_owned(), "m:f [extra]".to_owned())]);
        assert_eq!(groups["triton.backends"].len(), 2);
    }

    #[test]
    fn settings_have_lower_case_keys() {
        let read = settings("home = /usr/bin\nInclude-System-Site-Packages = false\nversion_info = 3.11.7.final.0\n");
        assert_eq!(read["include-system-site-packages"], "false");
        assert_eq!(read["home"], "/usr/bin");
    }
}
