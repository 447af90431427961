//! All Python files of a project, looked at once: most of them have no word that any rule asks for.

use regex::bytes::Regex;

use super::source::LARGEST;
use super::{Facts, Report, Rule, Unread, check_by, files, installed, repair_file, rules};
use crate::evidence::Host;
use crate::os::AbsPath;
use crate::recipe::Text;

/// Bytes of all files together that are looked at.
const MOST_BYTES: u64 = 256 << 20;

/// What all rules say, in their order.
struct Reports(Vec<Report>);

/// What a first look at the files gave.
struct Sources {
    facts: Facts,
    /// Files, and which of the rules have a word in them.
    files: Vec<(AbsPath, Result<Vec<bool>, Text>)>,
    cut: bool,
}

/// Checks the Python files of a project, or those among them that `hints` name: files or folders.
pub fn check_project(host: &dyn Host, rule: &'static Rule, hints: &[String]) -> Report {
    let at = rules::ALL.iter().position(|known| known.id == rule.id);
    match (host.memo(), at) {
        (Some(memo), Some(at)) if hints.is_empty() => {
            let all: Vec<&Rule> = rules::ALL.iter().collect();
            memo.get_or(|| Reports(reports(host, &all, &[]))).0[at].clone()
        }
        _ => reports(host, &[rule], hints).pop().unwrap_or_default(),
    }
}

/// Collects what rules need to know beside a file.
pub fn project_facts(host: &dyn Host) -> Facts {
    sources(host, &[]).facts
}

fn reports(host: &dyn Host, rules: &[&Rule], hints: &[String]) -> Vec<Report> {
    let Sources { facts, files, cut } = sources(host, rules);
    let chosen: Vec<AbsPath> = hints.iter().map(|hint| host.project().resolve(hint)).collect();
    let mut reports: Vec<Report> = rules.iter().map(|_| Report { cut, ..Report::default() }).collect();
    for (path, spoken) in files {
        if !chosen.is_empty() && !chosen.iter().any(|chosen| path.is_within(chosen)) {
            continue;
        }
        reports.iter_mut().for_each(|report| report.files += 1);
        let (which, why) = match spoken {
            Ok(spoken) => {
                let which: Vec<usize> = (0..rules.len()).filter(|at| spoken[*at]).collect();
                let why = check(host, &path, rules, &which, &facts, &mut reports).err();
                (which, why)
            }
            Err(why) => ((0..rules.len()).collect(), Some(why)),
        };
        let Some(why) = why else { continue };
        for at in which {
            reports[at].unread.push((path.clone(), why.clone()));
        }
    }
    reports
}

/// Checks one file by the rules that have a word in it.
fn check(
    host: &dyn Host,
    path: &AbsPath,
    rules: &[&Rule],
    which: &[usize],
    facts: &Facts,
    reports: &mut [Report],
) -> Result<(), Text> {
    if which.is_empty() {
        return Ok(());
    }
    let bytes = read(host, path)?;
    let chosen: Vec<&Rule> = which.iter().map(|at| rules[*at]).collect();
    let all = check_by(&chosen, &bytes, facts).map_err(|error| {
        let zh = match error {
            Unread::TooDeep => "嵌套过深",
            Unread::TooHard => "解析耗时过长",
        };
        Text::new(error.to_string(), zh)
    })?;
    let all = all.ok_or_else(|| Text::new("it is no text", "不是文本"))?;
    for (at, checked) in which.iter().zip(all) {
        let report = &mut reports[*at];
        if !checked.found.is_empty() && repair_file(rules[*at], &bytes, facts).is_some() {
            report.editable.insert(path.clone());
        }
        report.found.extend(checked.found.into_iter().map(|found| (path.clone(), found)));
        report.ignored.extend(checked.ignored.into_iter().map(|found| (path.clone(), found)));
    }
    Ok(())
}

fn read(host: &dyn Host, path: &AbsPath) -> Result<Vec<u8>, Text> {
    // One byte more than is looked at tells a larger file; nothing of it is remembered.
    match host.read_up_to(path.as_path(), 0, LARGEST + 1) {
        Ok(bytes) if bytes.len() as u64 > LARGEST => Err(Text::new("it is larger than 1 MiB", "文件大于 1 MiB")),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(Text::new(error.to_string(), error.to_string())),
    }
}

/// Reads every file once: which rules have a word in it, and what the whole project says.
fn sources(host: &dyn Host, rules: &[&Rule]) -> Sources {
    let listing = files::list(host, host.project());
    let mut facts = Facts {
        environment: host.env_names().into_iter().filter_map(|name| name.into_string().ok()).collect(),
        platform: host.env("HYPER_PARALLEL_PLATFORM").and_then(|value| value.into_string().ok()),
        installed: installed::version(host, "hyper_parallel"),
        ..Facts::default()
    };
    let any_word = any_of(rules.iter().flat_map(|rule| rule.words).chain(rules::PROJECT_WORDS).copied());
    let mut sources = Sources { facts: Facts::default(), files: Vec::new(), cut: listing.cut };
    let mut seen = 0_u64;
    for path in listing.files {
        if seen > MOST_BYTES {
            sources.cut = true;
            break;
        }
        let spoken = read(host, &path).map(|bytes| {
            seen += bytes.len() as u64;
            if !any_word.as_ref().is_none_or(|any| any.is_match(&bytes)) {
                return vec![false; rules.len()];
            }
            for word in rules::PROJECT_WORDS {
                if !facts.words.contains(word) && memchr::memmem::find(&bytes, word.as_bytes()).is_some() {
                    facts.words.insert(word);
                }
            }
            rules.iter().map(|rule| rule.may_speak_of(&bytes)).collect()
        });
        sources.files.push((path, spoken));
    }
    sources.facts = facts;
    sources
}

/// Looks for many words in one pass.
fn any_of<'w>(words: impl Iterator<Item = &'w str>) -> Option<Regex> {
    let words: Vec<String> = words.map(regex::escape).collect();
    Regex::new(&words.join("|")).ok()
}
