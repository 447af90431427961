//! Does the project's Python code do what a known issue comes from?

use std::collections::BTreeSet;

use super::{Answer, ArgSpec, Inquiry, Place, Question, UNKNOWN};
use crate::evidence::Comments;
use crate::evidence::python_code::{self, Found, Report, Sure};
use crate::os::AbsPath;
use crate::recipe::Text;

/// The questions of this file.
pub const QUESTIONS: &[Question] = &[Question {
    name: "python_code",
    about: "Says whether the project's Python sources show what an issue comes from; parses, never runs. `# fix: ignore[rule]` on a line or above it silences a finding.",
    args: &[
        ArgSpec { name: "rule", required: true, about: "The rule, named after the recipe that it serves: `hp-swap`" },
        ArgSpec { name: "path", required: false, about: "Files or folders of the project to look at; else all of it" },
    ],
    answers: &["found", "none"],
    values: &["file", "line", "place", "places", "what", "what_zh", "sure", "editable", "count", "suppressed", "files"],
    ask: python_code,
}];

/// Places named in values; an answer's `places` has all.
const MOST_NAMED: usize = 20;

fn python_code(inquiry: &Inquiry<'_>) -> Answer {
    let name = inquiry.text("rule").unwrap_or_default();
    let Some(rule) = python_code::rule(&name) else {
        return Answer::new(
            UNKNOWN,
            Text::new(format!("there is no rule `{name}`"), format!("没有名为 `{name}` 的规则")),
        );
    };
    let report = python_code::check_project(inquiry.host, rule, &inquiry.list("path"));
    let ignored = match inquiry.host.comments() {
        Comments::Heeded => &[],
        Comments::Told => report.ignored.as_slice(),
    };
    let mut answer = describe(&report, ignored);
    answer.values.insert("files", report.files.to_string().into());
    answer.values.insert("suppressed", report.ignored.len().to_string().into());
    answer
}

/// Tells what was found, and what a comment ignores where that is to be told; no repair touches the latter.
fn describe(report: &Report, ignored: &[(AbsPath, Found)]) -> Answer {
    let mut told: Vec<&(AbsPath, Found)> = report.found.iter().chain(ignored).collect();
    // The surest one speaks for all: one certain fault is enough. Beside it, what may be none is not pointed at.
    let Some(sure) = told.iter().map(|(_, found)| found.sure).max() else { return nothing(report) };
    told.retain(|(_, found)| sure == Sure::Open || found.sure > Sure::Open);
    told.sort_by(|(one, a), (other, b)| (one, a.line, a.column).cmp(&(other, b.line, b.column)));
    let all: Vec<Place> = told
        .iter()
        .map(|(path, found)| Place {
            path: path.clone(),
            line: u32::try_from(found.line).unwrap_or(u32::MAX),
            column: u32::try_from(found.column).unwrap_or(u32::MAX),
            says: found.says.clone(),
        })
        .collect();
    let (path, first) = told[0];
    let place = format!("{path}:{}", first.line);
    let more = told.len() - 1;
    let (and_en, and_zh) = match more {
        0 => (String::new(), String::new()),
        _ => (format!(" (and {more} more)"), format!("（另有 {more} 处）")),
    };
    let seen = Text::new(format!("{place}: {}{and_en}", first.says.en), format!("{place}：{}{and_zh}", first.says.zh));
    let word = if sure == Sure::Open { UNKNOWN } else { "found" };
    // A half repair is none: every finding must be certain and one that can be edited, every file one that was read.
    let files: BTreeSet<_> = report.found.iter().map(|(path, _)| path).collect();
    let whole = !report.cut && report.unread.is_empty() && !files.is_empty();
    let certain = report.found.iter().all(|(_, found)| found.sure == Sure::Certain);
    let editable = whole && certain && files.iter().all(|path| report.editable.contains(path));
    let named: Vec<String> =
        all.iter().take(MOST_NAMED).map(|place| format!("{}:{}", place.path, place.line)).collect();
    let mut answer = Answer::new(word, seen)
        .with("file", files.iter().map(ToString::to_string).collect::<Vec<_>>())
        .with("line", first.line.to_string())
        .with("place", place)
        .with("places", named)
        .with("what", first.says.en.clone())
        .with("what_zh", first.says.zh.clone())
        .with("sure", if sure == Sure::Certain { "certain" } else { "likely" })
        .with("editable", if editable { "yes" } else { "no" })
        .with("count", told.len().to_string());
    answer.places = all;
    answer
}

fn nothing(report: &Report) -> Answer {
    let files = report.files;
    if report.cut {
        let seen = Text::new(
            format!("nothing in {files} files, and there are more than are looked at"),
            format!("{files} 个文件中没有发现，但文件过多，未能全部查看"),
        );
        return Answer::new(UNKNOWN, seen);
    }
    if let Some((path, why)) = report.unread.first() {
        let seen = Text::new(format!("{path} cannot be looked at: {}", why.en), format!("无法查看 {path}：{}", why.zh));
        return Answer::new(UNKNOWN, seen);
    }
    if files == 0 {
        return Answer::new("none", Text::new("there is no Python file here", "此处没有 Python 文件"));
    }
    let (en, zh) = match report.ignored.len() {
        0 => (String::new(), String::new()),
        n => (format!(", {n} silenced by a comment"), format!("，{n} 处被注释屏蔽")),
    };
    let seen = Text::new(
        format!("nothing found; Python files looked at: {files}{en}"),
        format!("没有发现；已检查 {files} 个 Python 文件{zh}"),
    );
    Answer::new("none", seen)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::evidence::LocalHost;
    use crate::evidence::questions::testing::NoGit;
    use crate::recipe::Value;

    const FAULT: &str = "import torch\nfrom torch.distributed.fsdp import fully_shard\ndef main(m):\n    opt = torch.optim.AdamW(m.parameters())\n    fully_shard(m)\n";

    fn ask(root: &Path, args: &[(&str, &str)]) -> Answer {
        let host = LocalHost::new(AbsPath::new(root).unwrap(), [], Box::new(NoGit));
        let mut all = std::collections::BTreeMap::from([("rule".to_owned(), Value::from("hp-optimizer-memory"))]);
        all.extend(args.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))));
        python_code(&Inquiry { args: &all, host: &host, command: None })
    }

    #[test]
    fn says_where() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert_eq!(ask(root, &[]).word, "none");
        std::fs::create_dir(root.join("a")).unwrap();
        std::fs::write(root.join("a/train.py"), FAULT).unwrap();
        std::fs::write(root.join("b.py"), FAULT.replace("    fully_shard", "    print(m)\n    fully_shard")).unwrap();
        let answer = ask(root, &[]);
        let value = |name: &str| answer.values[name].to_text();
        assert_eq!(answer.word, "found");
        assert_eq!(
            (value("count"), value("editable"), value("sure"), value("files")),
            ("2".into(), "no".into(), "certain".into(), "2".into())
        );
        let places: Vec<(String, u32, u32)> =
            answer.places.iter().map(|place| (place.path.to_string(), place.line, place.column)).collect();
        let path = |name: &str| root.join(name).display().to_string();
        assert_eq!(places, [(path("a/train.py"), 4, 11), (path("b.py"), 4, 11)]);
        // One folder only.
        let answer = ask(root, &[("path", "a")]);
        assert_eq!((answer.values["count"].to_text(), answer.values["editable"].to_text()), ("1".into(), "yes".into()));
        assert_eq!(ask(root, &[("path", "none")]).word, "none");
        assert_eq!(ask(root, &[("rule", "no-such")]).word, UNKNOWN);
    }

    #[test]
    fn what_was_not_read_is_not_none() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for bytes in [
            b"fully_shard(\xff)".to_vec(),
            format!("fully_shard{}x{}\n", "(".repeat(100_000), ")".repeat(100_000)).into_bytes(),
            vec![b' '; 50 << 20],
        ] {
            std::fs::write(root.join("odd.py"), bytes).unwrap();
            assert_eq!(ask(root, &[]).word, UNKNOWN);
            // What is found is found all the same; only no edit can be proved.
            std::fs::write(root.join("train.py"), FAULT).unwrap();
            let answer = ask(root, &[]);
            assert_eq!((answer.word, answer.values["editable"].to_text()), ("found", "no".to_owned()));
            std::fs::remove_file(root.join("train.py")).unwrap();
        }
        std::fs::write(
            root.join("odd.py"),
            FAULT.replace("m.parameters())", "m.parameters())  # fix: ignore[hp-optimizer-memory]"),
        )
        .unwrap();
        let answer = ask(root, &[]);
        assert_eq!((answer.word, answer.values["suppressed"].to_text()), ("none", "1".to_owned()));
    }
}
