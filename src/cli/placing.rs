//! Where a finding is in the project's files, for formats that want a file and a line.

use super::args::Format;
use crate::diagnosis::Finding;
use crate::evidence::{FileKind, Host};
use crate::os::AbsPath;
use crate::plan::Plan;
use crate::policy;
use crate::recipe::{Text, Value};
use crate::report::{self, Place, edits_of, fingerprint};

/// A larger file has no line that anybody commented.
const LARGEST: u64 = 4 << 20;

/// Files that stand for a project, the most telling first.
const ANCHORS: &[&str] = &[
    "CMakeLists.txt",
    "setup.py",
    "pyproject.toml",
    "python/setup.py",
    "setup.cfg",
    "environment.yml",
    "Makefile",
    "README.md",
    "README.rst",
    "README",
    "fix.toml",
    ".gitignore",
];

/// Finds the places of findings.
pub struct Placer<'h> {
    host: &'h dyn Host,
    /// What paths are relative to.
    top: AbsPath,
    /// Another name of it: questions may tell real paths.
    real: Option<AbsPath>,
    anchor: String,
}

impl<'h> Placer<'h> {
    pub fn new(host: &'h dyn Host) -> Self {
        let top = host.git().top_level().unwrap_or(host.project()).clone();
        let real = host.real(top.as_path()).ok().and_then(|real| AbsPath::new(real).ok());
        let is_file = |path: &AbsPath| host.follow(path.as_path()).is_ok_and(|meta| meta.kind == FileKind::File);
        let mut folders = vec![host.project().clone(), top.clone()];
        folders.dedup();
        let usual = folders.iter().flat_map(|folder| ANCHORS.iter().map(move |name| folder.resolve(name)));
        let any = host.list(top.as_path(), 4096).unwrap_or_default().into_iter().map(|name| top.resolve(name));
        let anchor = usual.chain(any).find(is_file);
        let mut placer = Self { host, top, real, anchor: String::new() };
        placer.anchor = anchor.and_then(|anchor| placer.relative(&anchor)).unwrap_or_else(|| ".".to_owned());
        placer
    }

    /// Gives a finding its places, and the edits of its repair.
    pub fn place(&self, found: &Finding, plan: Option<&Plan>, shown: &mut report::Finding) {
        shown.edits = plan.map(|plan| edits_of(plan, &self.top)).unwrap_or_default();
        // A command that is typed in the project needs no more than the way from there.
        shown.apply_with = shown.apply_with.replace(&format!("{}/", self.host.project()), "");
        shown.places = self.named(found);
        if shown.places.is_empty() {
            shown.places.extend(self.of_edit(found, shown));
        }
    }

    /// Gives a finding that is in no file the one that stands for the project.
    pub fn anchor(&self, found: &Finding, shown: &mut report::Finding) {
        if shown.places.is_empty() {
            let fingerprint = self.print_of(found, &[]);
            let path = self.anchor.clone();
            shown.places.push(Place { path, line: 1, column: 1, fingerprint, anchor: true, ..Place::default() });
        }
    }

    /// The places that the answers name which the case goes by.
    fn named(&self, found: &Finding) -> Vec<Place> {
        let Some(case) = found.case() else { return Vec::new() };
        let told = found.answers.iter().filter(|answer| case.when.contains_key(&answer.probe));
        let mut seen: Vec<(String, String)> = Vec::new();
        let mut places = Vec::new();
        for place in told.flat_map(|answer| &answer.answer.places) {
            let Some(path) = self.relative(&place.path) else { continue };
            let (line, ignored) = self.line(&place.path, place.line);
            // Of equal lines, the first is the first: a fingerprint must not depend on the line's number.
            let before = seen.iter().filter(|(other, text)| *other == path && *text == line).count();
            let fingerprint = self.print_of(found, &[&path, &line, &before.to_string()]);
            seen.push((path.clone(), line));
            let says = place.says.clone();
            let (line, column) = (place.line, place.column);
            places.push(Place { path, line, column, says, fingerprint, anchor: false, ignored });
        }
        places
    }

    /// Where the repair begins, which is where the fault is.
    fn of_edit(&self, found: &Finding, shown: &report::Finding) -> Option<Place> {
        let edit = shown.edits.first()?;
        let path = self.top.resolve(&edit.path);
        let (text, ignored) = self.line(&path, edit.start.0);
        let fingerprint = self.print_of(found, &[&edit.path, &text]);
        let (line, column) = edit.start;
        Some(Place {
            path: edit.path.clone(),
            line,
            column,
            says: Text::default(),
            fingerprint,
            anchor: false,
            ignored,
        })
    }

    /// A line's text, and whom the comments on it and above it ignore.
    fn line(&self, path: &AbsPath, number: u32) -> (String, Vec<String>) {
        let bytes = self.host.read(path.as_path(), LARGEST).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let at = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        let mut lines = text.lines().skip(at.saturating_sub(1));
        let above = if at > 0 { lines.next().unwrap_or_default() } else { "" };
        let line = lines.next().unwrap_or_default();
        let mut ignored = policy::ignored_in(line);
        // A comment above counts where it is the whole line: else it is about that line itself.
        if above.trim_start().starts_with(['#', '/', '-', ';', '<']) {
            ignored.extend(policy::ignored_in(above));
        }
        (line.trim().to_owned(), ignored)
    }

    /// What tells a finding from others on every machine: paths of the project are relative.
    fn print_of(&self, found: &Finding, place: &[&str]) -> String {
        let case = found.case().map(|case| case.name.as_str()).unwrap_or_default();
        let mut parts: Vec<String> = vec![found.recipe.id.clone(), case.to_owned()];
        let identifying = found.recipe.params.iter().filter(|param| param.identifying).map(|param| param.name.as_str());
        let named: std::collections::BTreeSet<&str> =
            identifying.chain(found.given.keys().map(String::as_str)).collect();
        for name in named {
            if let Some(value) = found.values.get(name) {
                parts.push(format!("{name}={}", self.portable(value)));
            }
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).chain(place.iter().copied()).collect();
        fingerprint(&parts)
    }

    fn portable(&self, value: &Value) -> String {
        let relative = |text: &String| match AbsPath::new(text) {
            Ok(path) => self.relative(&path).unwrap_or_else(|| text.clone()),
            Err(_) => text.clone(),
        };
        value.to_list().iter().map(relative).collect::<Vec<_>>().join("\n")
    }

    /// Names paths of the project from its top and those of the user from `~`: where a report is read, the folders of
    /// this machine say nothing.
    pub fn shorten(&self, shown: &mut report::Finding) {
        let places = shown.places.iter_mut().map(|place| &mut place.says);
        for text in [&mut shown.cause, &mut shown.remedy].into_iter().chain(places) {
            *text = Text::new(self.short(&text.en), self.short(&text.zh));
        }
    }

    fn short(&self, text: &str) -> String {
        let tops = [Some(&self.top), self.real.as_ref()].into_iter().flatten();
        let named = tops.map(|top| (top, ".")).chain(self.host.home().map(|home| (home, "~")));
        named.fold(text.to_owned(), |text, (folder, short)| shorten(&text, &folder.to_string(), short))
    }

    fn relative(&self, path: &AbsPath) -> Option<String> {
        let tops = [Some(&self.top), self.real.as_ref()];
        let inside = tops.into_iter().flatten().find_map(|top| path.as_path().strip_prefix(top).ok())?;
        inside.to_str().map(str::to_owned)
    }
}

/// Names what lies in a folder without it, and the folder itself by `short`.
fn shorten(text: &str, folder: &str, short: &str) -> String {
    let is_of_path = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(folder).filter(|_| folder.len() > 1) {
        let (before, after) = (&rest[..at], &rest[at + folder.len()..]);
        let tail = after.strip_prefix('/').unwrap_or(after);
        let is_below = tail.len() < after.len() && tail.starts_with(is_of_path);
        // Chinese has no blank before a path.
        let begins = !before.chars().next_back().is_some_and(|c| c.is_ascii() && is_of_path(c));
        // A full stop ends a sentence, or begins the rest of another name.
        let ends = !tail.trim_start_matches('.').starts_with(is_of_path);
        out.push_str(before);
        rest = if begins && is_below {
            out.push_str(if short == "." { "" } else { "~/" });
            tail
        } else if begins && ends {
            out.push_str(short);
            tail
        } else {
            out.push_str(folder);
            after
        };
    }
    out + rest
}

/// Says whether a format is read on other machines.
pub fn leaves_the_machine(format: Format) -> bool {
    match format {
        Format::Text | Format::Json | Format::Jsonl => false,
        Format::Sarif | Format::Github | Format::Gitlab | Format::Junit | Format::Markdown => true,
    }
}

/// Says whether a format needs a place for every finding.
pub fn needs_anchor(format: Format) -> bool {
    match format {
        Format::Text => false,
        Format::Json
        | Format::Jsonl
        | Format::Sarif
        | Format::Github
        | Format::Gitlab
        | Format::Junit
        | Format::Markdown => true,
    }
}

#[cfg(test)]
mod tests {
    use super::shorten;

    #[test]
    fn folders_of_the_machine_are_left_out() {
        for (text, want) in [
            ("`/w/p/setup.py`:3 and /w/p/a", "`setup.py`:3 and a"),
            ("in `/w/p`, in `/w/p/`", "in `.`, in `.`"),
            ("/w/p2 /x/w/p/a /w/p-1/a", "/w/p2 /x/w/p/a /w/p-1/a"),
            ("缓存 `/w/p/构建` 位于/w/p/b", "缓存 `构建` 位于b"),
            ("/w/p.old", "/w/p.old"),
        ] {
            assert_eq!(shorten(text, "/w/p", "."), want, "{text}");
        }
        assert_eq!(shorten("`/h/u/x` /h/u", "/h/u", "~"), "`~/x` ~");
        assert_eq!(shorten("/a /", "/", "."), "/a /");
    }
}
