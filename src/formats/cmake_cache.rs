//! CMakeCache.txt: entries with their help text, and removal of entries that keeps every other byte.
//!
//! Reads a cache as CMake's own loader does, but goes on after a line that CMake would stop at: what is wrong
//! is reported, never guessed. It looks at no file system: whether a path in a value exists is the caller's to say.

use std::borrow::Cow;
use std::ops::Range;

/// Help text of an entry that came by `-D` and that the project never declared.
const COMMAND_LINE_HELP: &str = "No help, variable specified on the command line.";

/// Standard entries that hold something only when a user, an environment or a project set them, with the value
/// that CMake gives them by itself.
const STANDARD: &[(&str, &[&str])] = &[
    ("BUILD_SHARED_LIBS", &[""]),
    ("CMAKE_ASM_FLAGS", &[""]),
    ("CMAKE_BUILD_TYPE", &[""]),
    ("CMAKE_CXX_FLAGS", &[""]),
    ("CMAKE_C_FLAGS", &[""]),
    ("CMAKE_EXE_LINKER_FLAGS", &[""]),
    ("CMAKE_EXPORT_COMPILE_COMMANDS", &[""]),
    ("CMAKE_INSTALL_PREFIX", &["/usr/local", "/usr/local/"]),
    ("CMAKE_MODULE_LINKER_FLAGS", &[""]),
    ("CMAKE_PREFIX_PATH", &[""]),
    ("CMAKE_SHARED_LINKER_FLAGS", &[""]),
    ("CMAKE_STATIC_LINKER_FLAGS", &[""]),
    ("CMAKE_TOOLCHAIN_FILE", &[""]),
    ("CMAKE_VERBOSE_MAKEFILE", &["FALSE"]),
];

/// Properties that CMake stores as entries of their own, named `<entry><suffix>`.
const PROPERTY_SUFFIXES: [&str; 3] = ["-ADVANCED", "-MODIFIED", "-STRINGS"];

/// A cache file, parsed; its bytes stay as they are.
#[derive(Debug, Clone)]
pub struct CMakeCache<'a> {
    bytes: &'a [u8],
    /// In order of appearance. CMake takes the last one of a name.
    pub entries: Vec<Entry>,
    /// Lines that CMake could not read.
    pub problems: Vec<Problem>,
}

/// One `NAME:TYPE=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    /// `PATH`, `FILEPATH`, `STRING`, `BOOL`, `UNINITIALIZED`, `INTERNAL`, `STATIC`; empty when the file has none.
    pub kind: String,
    /// As CMake takes it: single quotes around the whole are gone.
    pub value: String,
    /// The comment above, its lines joined.
    pub help: String,
    /// From the first line of the comment to the end of the entry's line.
    span: Range<usize>,
    /// The value as it stands.
    value_span: Range<usize>,
}

/// A line that is neither entry, comment nor blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// 1-based.
    pub line: usize,
    /// The line, shortened.
    pub text: String,
}

impl<'a> CMakeCache<'a> {
    /// Parses a cache; any bytes will do.
    pub fn parse(bytes: &'a [u8]) -> Self {
        let mut cache = Self { bytes, entries: Vec::new(), problems: Vec::new() };
        let mut help = String::new();
        let mut help_start = None;
        let mut at = 0;
        for (number, whole) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let start = at;
            at += whole.len();
            let line = whole.trim_ascii_start();
            let line_start = at - line.len();
            let line = line.trim_ascii_end();
            if let Some(comment) = line.strip_prefix(b"//") {
                help_start.get_or_insert(start);
                let comment = String::from_utf8_lossy(comment);
                // `//\n` begins a further line of the help text; `//` alone goes on with the line before.
                match comment.strip_prefix("\\n") {
                    Some(next_line) => help.extend(["\n", next_line]),
                    None => help.push_str(&comment),
                }
                continue;
            }
            if line.is_empty() || line.starts_with(b"#") {
                help.clear();
                help_start = None;
                continue;
            }
            match split_entry(line) {
                Some((name, kind, value)) => cache.entries.push(Entry {
                    name: String::from_utf8_lossy(name).into_owned(),
                    kind: String::from_utf8_lossy(kind).into_owned(),
                    value: unquote(&String::from_utf8_lossy(value)).to_owned(),
                    help: std::mem::take(&mut help),
                    span: help_start.unwrap_or(start)..at,
                    value_span: line_start + line.len() - value.len()..line_start + line.len(),
                }),
                None => {
                    let text = String::from_utf8_lossy(line).chars().take(120).collect();
                    cache.problems.push(Problem { line: number + 1, text });
                }
            }
            help.clear();
            help_start = None;
        }
        cache
    }

    /// Returns the entry that CMake takes for `name`.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.name == name)
    }

    /// Returns the value of `name`, where the entry is there and not empty.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.entry(name).map(|entry| entry.value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns the value of `name` where it is a path that a search found.
    pub fn found_path(&self, name: &str) -> Option<&str> {
        self.value(name).filter(|value| value.starts_with('/') && !value.ends_with("-NOTFOUND"))
    }

    /// Returns the file without the named entries, as `cmake -U` leaves it: comment, properties and the blank
    /// line after go too.
    pub fn without(&self, names: &[String]) -> Vec<u8> {
        let goes = |entry: &Entry| {
            let owner = (entry.kind == "INTERNAL")
                .then(|| PROPERTY_SUFFIXES.iter().find_map(|suffix| entry.name.strip_suffix(suffix)))
                .flatten();
            names.iter().any(|name| *name == entry.name || Some(name.as_str()) == owner)
        };
        let mut out = Vec::with_capacity(self.bytes.len());
        let mut kept_to = 0;
        for entry in self.entries.iter().filter(|entry| goes(entry)) {
            out.extend_from_slice(&self.bytes[kept_to..entry.span.start]);
            kept_to = entry.span.end + blank_line(&self.bytes[entry.span.end..]);
        }
        out.extend_from_slice(&self.bytes[kept_to..]);
        out
    }

    /// Returns the file with another value for `name`, or `None` when it has no such entry.
    pub fn with_value(&self, name: &str, value: &str) -> Option<Vec<u8>> {
        let span = self.entry(name)?.value_span.clone();
        Some([&self.bytes[..span.start], quote(value).as_bytes(), &self.bytes[span.end..]].concat())
    }

    /// Lists what the user gave to this tree by `-D`, as far as a cache tells: entries that no project declared, and
    /// standard ones that differ from CMake's own value.
    ///
    /// An option that the project declares too is not among them: its cached value may be the project's default.
    pub fn user_given(&self) -> Vec<&Entry> {
        let given = |entry: &&Entry| {
            if matches!(entry.kind.as_str(), "INTERNAL" | "STATIC") || entry.value.ends_with("-NOTFOUND") {
                return false;
            }
            let standard = STANDARD.iter().find(|(name, _)| *name == entry.name);
            match standard {
                Some((_, defaults)) => !entry.value.is_empty() && !defaults.contains(&entry.value.as_str()),
                None => entry.help.trim() == COMMAND_LINE_HELP || is_given_compiler(entry),
            }
        };
        let mut entries: Vec<&Entry> = self.entries.iter().filter(given).collect();
        // The last one of a name is the one that CMake took.
        entries.reverse();
        let mut seen = std::collections::BTreeSet::new();
        entries.retain(|entry| seen.insert(&entry.name));
        entries.reverse();
        entries
    }
}

impl Entry {
    /// Writes the entry as a command-line argument.
    pub fn to_argument(&self) -> String {
        // CMake itself writes UNINITIALIZED for "no type was given".
        match self.kind.as_str() {
            "" | "UNINITIALIZED" => format!("-D{}={}", self.name, self.value),
            kind => format!("-D{}:{}={}", self.name, kind, self.value),
        }
    }

    /// Says whether the entry names a place that a build writes to, which need not be there before.
    pub fn is_output(&self) -> bool {
        const PARTS: [&str; 7] =
            ["INSTALL", "OUTPUT", "DESTINATION", "BINARY_DIR", "REDIRECTS", "CACHEFILE_DIR", "WHEEL_DIR"];
        PARTS.iter().any(|part| self.name.contains(part))
    }

    /// Lists the absolute paths that the value consists of: one, or a `;`-separated list.
    ///
    /// A flag that only holds a path (`-L/x`) and a command line are none.
    pub fn paths(&self) -> Vec<&str> {
        let parts: Vec<&str> = self.value.split(';').map(unquote).filter(|part| !part.is_empty()).collect();
        let all_paths = parts.iter().all(|part| part.starts_with('/') && !part.contains(['\n', '\r']));
        if all_paths { parts } else { Vec::new() }
    }
}

/// Says whether a compiler was given: one that CMake found itself, or by CC, has the type FILEPATH.
fn is_given_compiler(entry: &Entry) -> bool {
    entry.kind == "STRING" && entry.name.starts_with("CMAKE_") && entry.name.ends_with("_COMPILER")
}

/// Splits `NAME:TYPE=VALUE`, `"NAME":TYPE=VALUE` or `NAME=VALUE` of a line without blanks at its end.
fn split_entry(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let position = |text: &[u8], wanted: &[u8]| text.iter().position(|byte| wanted.contains(byte));
    if let Some(quoted) = line.strip_prefix(b"\"")
        && let Some(end) = position(quoted, b"\"")
    {
        let (name, rest) = (&quoted[..end], &quoted[end + 1..]);
        if let Some(typed) = rest.strip_prefix(b":")
            && let Some(equals) = position(typed, b"=")
        {
            return Some((name, &typed[..equals], &typed[equals + 1..]));
        }
        if let Some(value) = rest.strip_prefix(b"=") {
            return Some((name, b"", value));
        }
    }
    let at = position(line, b"=:")?;
    let (name, rest) = (&line[..at], &line[at + 1..]);
    if line[at] == b'=' {
        return Some((name, b"", rest));
    }
    let equals = position(rest, b"=")?;
    Some((name, &rest[..equals], &rest[equals + 1..]))
}

/// Takes away the single quotes that CMake puts around a value ending in a blank. setup.py scripts that pass
/// `-DX='/path'` without a shell leave the same form, which CMake reads back without quotes.
fn unquote(value: &str) -> &str {
    value.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\'')).unwrap_or(value)
}

fn quote(value: &str) -> Cow<'_, str> {
    if value.ends_with([' ', '\t']) || (value.len() > 1 && value.starts_with('\'') && value.ends_with('\'')) {
        format!("'{value}'").into()
    } else {
        value.into()
    }
}

/// Length of the blank line that the text begins with, 0 when it begins with none.
fn blank_line(text: &[u8]) -> usize {
    match text {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "# This is the CMakeCache file.\n\n########\n# EXTERNAL cache entries\n########\n\n\
        //Folders of third_party to build\nAPP_BACKENDS:STRING=amd\n\n\
        //Choose the type of build, options are: None Debug Release\n// RelWithDebInfo MinSizeRel ...\n\
        CMAKE_BUILD_TYPE:STRING=Release\n\n\
        //Install path prefix, prepended onto install directories.\nCMAKE_INSTALL_PREFIX:PATH=/usr/local\n\n\
        //The directory containing a CMake configuration file for LLVM.\nLLVM_DIR:PATH=/old/lib/cmake/llvm\n\n\
        //No help, variable specified on the command line.\nLLVM_LIBRARY_DIR:UNINITIALIZED=/new/lib\n\n\
        //No help, variable specified on the command line.\n\"ODD:NAME\":STRING=a=b\n\n\
        //No help, variable specified on the command line.\npybind11_DIR:UNINITIALIZED='/tmp/pip-build-env-a/cmake'\n\n\n\
        ########\n# INTERNAL cache entries\n########\n\n\
        //ADVANCED property for variable: LLVM_DIR\nLLVM_DIR-ADVANCED:INTERNAL=1\n\
        //Name of generator.\nCMAKE_GENERATOR:INTERNAL=Unix Makefiles\n";

    #[test]
    fn reads_entries_as_cmake_does() {
        let cases = [
            ("A:STRING=1", Some(("A", "STRING", "1"))),
            ("A:STRING= 1 \t", Some(("A", "STRING", " 1"))),
            ("A:STRING=", Some(("A", "STRING", ""))),
            ("A=1", Some(("A", "", "1"))),
            ("A:B:PATH=/x", Some(("A", "B:PATH", "/x"))),
            ("\"A:B\":PATH=/x:/y=z", Some(("A:B", "PATH", "/x:/y=z"))),
            ("\"A:B\"=/x", Some(("A:B", "", "/x"))),
            ("A:STRING=' x '", Some(("A", "STRING", " x "))),
            ("A:STRING='", Some(("A", "STRING", "'"))),
            ("A:STRING", None),
            ("just a line", None),
        ];
        for (line, want) in cases {
            for end in ["", "\n", "\r\n"] {
                let text = format!("{line}{end}");
                let cache = CMakeCache::parse(text.as_bytes());
                let got = cache.entries.first().map(|e| (e.name.as_str(), e.kind.as_str(), e.value.as_str()));
                assert_eq!(got, want, "{line:?}");
                assert_eq!(cache.problems.len(), usize::from(want.is_none()), "{line:?}");
            }
        }
    }

    #[test]
    fn removal_keeps_every_other_byte() {
        for ends in ["\n", "\r\n"] {
            let sample = SAMPLE.replace('\n', ends);
            let cache = CMakeCache::parse(sample.as_bytes());
            assert_eq!(cache.without(&[]), sample.as_bytes());
            assert_eq!(cache.without(&["LLVM".to_owned()]), sample.as_bytes());
            let want = sample
                .replace(
                    &format!(
                        "//The directory containing a CMake configuration file for LLVM.{ends}LLVM_DIR:PATH=/old/lib/cmake/llvm{ends}{ends}"
                    ),
                    "",
                )
                .replace(&format!("//ADVANCED property for variable: LLVM_DIR{ends}LLVM_DIR-ADVANCED:INTERNAL=1{ends}"), "");
            let got = cache.without(&["LLVM_DIR".to_owned()]);
            assert_eq!(String::from_utf8(got).unwrap(), want);
        }
    }

    #[test]
    fn replacement_changes_the_value_only() {
        let cache = CMakeCache::parse(SAMPLE.as_bytes());
        let got = |name: &str, value: &str| String::from_utf8(cache.with_value(name, value).unwrap()).unwrap();
        assert_eq!(got("LLVM_DIR", "/new"), SAMPLE.replace("LLVM_DIR:PATH=/old/lib/cmake/llvm", "LLVM_DIR:PATH=/new"));
        assert_eq!(got("ODD:NAME", "c "), SAMPLE.replace("STRING=a=b", "STRING='c '"));
        assert_eq!(cache.with_value("NONE", ""), None);
    }

    #[test]
    fn tells_what_the_user_gave() {
        let cache = CMakeCache::parse(SAMPLE.as_bytes());
        let given: Vec<String> = cache.user_given().iter().map(|entry| entry.to_argument()).collect();
        assert_eq!(
            given,
            [
                "-DCMAKE_BUILD_TYPE:STRING=Release",
                "-DLLVM_LIBRARY_DIR=/new/lib",
                "-DODD:NAME:STRING=a=b",
                "-Dpybind11_DIR=/tmp/pip-build-env-a/cmake"
            ]
        );
    }

    #[test]
    fn finds_paths_in_values() {
        let cases: [(&str, &[&str]); 5] =
            [("/a/b", &["/a/b"]), ("/a;/b;", &["/a", "/b"]), ("-L/a", &[]), ("/a;-O2", &[]), ("''/a''", &["/a"])];
        for (value, want) in cases {
            let text = format!("X:STRING={value}\n");
            assert_eq!(CMakeCache::parse(text.as_bytes()).entries[0].paths(), want, "{value}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_and_kept(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400),
            text in "[A:=\"'/ \r\n#\\\\n]{0,80}",
        ) {
            for input in [bytes.as_slice(), text.as_bytes()] {
                let cache = CMakeCache::parse(input);
                proptest::prop_assert_eq!(cache.without(&[]), input);
                for entry in &cache.entries {
                    let changed = cache.with_value(&entry.name, "v").expect("the entry is there");
                    let again = CMakeCache::parse(&changed);
                    proptest::prop_assert_eq!(again.value(&entry.name), Some("v"));
                    let without = cache.without(std::slice::from_ref(&entry.name));
                    proptest::prop_assert!(CMakeCache::parse(&without).entry(&entry.name).is_none());
                }
            }
        }
    }
}
