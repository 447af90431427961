//! Linker flags in the lists of CMake arguments of a Python build script.
//!
//! [`merge`] brings `-L<folder>` into every `-DCMAKE_{EXE,SHARED,MODULE}_LINKER_FLAGS` of the failing build's
//! list. CMake takes the last `-D` of a name, so that a second one would drop what the first one said, a
//! `-fuse-ld=lld` for example: values are merged, never added beside each other. What cannot be edited with
//! certainty is named with its line and the reason, and nothing is guessed. Bytes outside the edits stay.

mod branches;
mod edits;
mod environment;
mod flow;
mod inspect;
#[cfg(test)]
mod laws;
mod literal;
mod plan;
mod sites;
mod source;
#[cfg(test)]
mod tests;

pub use branches::Taken;
pub use inspect::{Effective, Inspection, inspect};

use branches::Environment;
use flow::Choice;
use source::Source;

/// The kinds of targets that have linker flags of their own. Static libraries have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Exe,
    Shared,
    /// What a Python extension is.
    Module,
}

/// What is to be merged.
pub struct MergeOrder<'a> {
    /// The folder that holds the missing library.
    pub folder: &'a str,
    /// The function whose list it is, where the traceback says so.
    pub function: Option<&'a str>,
    /// The environment of the build, for conditions such as `check_env_flag("NAME")`.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

/// A file with the folder merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The whole file.
    pub bytes: Vec<u8>,
    pub done: Vec<Done>,
    /// What a person has to do for the build's own list; while there is any, the repair is a half one.
    pub manual: Vec<Manual>,
    /// Other places with linker flags, not touched.
    pub left: Vec<Left>,
}

/// An edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// 1-based line before the edit.
    pub line: usize,
    pub kind: Kind,
    pub deed: Deed,
}

/// What was done with an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// The value was completed.
    Merged,
    /// A new argument stands beside the others.
    Added,
    /// A repeated argument went into the last one.
    Folded,
    /// It was complete.
    Already,
}

/// A place that a person has to edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manual {
    pub line: usize,
    pub reason: Reason,
}

/// A place that was not touched on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub line: usize,
    pub function: Option<String>,
    pub reason: Reason,
}

/// Why a place cannot be edited, or was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    FormatString,
    Concatenation,
    Expression,
    Bytes,
    Quotes,
    Escape,
    SeveralInOne,
    SplitDefine,
    Dictionary,
    OutsideAList,
    Syntax,
    Overrides,
    Replaces,
    NoListBefore,
    OpenEnd,
    Ambiguous,
    OtherFunction,
}

/// Why a file cannot be edited at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("the file is larger than any build script")]
    TooLarge,
    #[error("the file holds a NUL byte")]
    NotText,
    #[error("the file has carriage returns that do not end a line")]
    LoneCarriageReturn,
    #[error("the encoding `{0}` is not known")]
    Encoding(String),
    #[error("the statements are nested too deeply")]
    TooDeep,
    #[error("the parser does not run")]
    Parser,
    #[error("`{0}` cannot stand in linker flags without quotes")]
    Folder(String),
    #[error("the edited file does not read as it should")]
    Unproved,
}

/// Reports are cut there; a file with more is no build script.
const MOST_NOTES: usize = 100;

/// Brings `-L<folder>` into the linker flags of the build's list.
pub fn merge(bytes: &[u8], order: &MergeOrder<'_>) -> Result<Merged, MergeError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "/._+-@,:~".contains(c);
    if !order.folder.starts_with('/') || !order.folder.chars().all(fits) {
        return Err(MergeError::Folder(order.folder.to_owned()));
    }
    let before = attempt(bytes, order)?;
    if before.edits.is_empty() {
        return Ok(before.merged);
    }
    let after = attempt(&before.merged.bytes, order)?;
    // The proof: no new syntax error, the same lists, and nothing left to do.
    let proved = after.errors <= before.errors && after.sites == before.sites && after.edits.is_empty();
    if proved { Ok(before.merged) } else { Err(MergeError::Unproved) }
}

struct Attempt {
    merged: Merged,
    edits: Vec<edits::Edit>,
    errors: usize,
    sites: usize,
}

fn attempt(bytes: &[u8], order: &MergeOrder<'_>) -> Result<Attempt, MergeError> {
    let source = Source::new(bytes)?;
    let parsed = sites::parse(&source)?;
    let environment = Environment { env: order.env, defaults: &parsed.defaults, assigned: &parsed.assigned };
    let (choice, mut left) = flow::choose(&parsed, &source, order, &environment);
    let strays = parsed.stray.iter().take(MOST_NOTES).map(|(at, reason)| (source.line(*at), *reason));
    let mut planned = plan::Edits::default();
    match &choice {
        Choice::One(flow) => {
            let calls: Vec<&sites::Opaque> = parsed.opaque.iter().filter(|one| one.owner == *flow.owner).collect();
            let others: Vec<&str> = parsed
                .sites
                .iter()
                .filter(|site| site.owner != *flow.owner)
                .filter(|site| site.elements.iter().any(|one| literal::mentions(&source.text[one.range.clone()])))
                .filter_map(|site| site.owner.function.as_deref())
                .take(MOST_NOTES)
                .collect();
            planned = plan::plan(&source, flow, order.folder, &calls, &others);
            left.extend(strays.map(|(line, reason)| Left { line, function: None, reason }));
        }
        Choice::Ambiguous(first) => {
            let lines = first.iter().map(|site| (source.line(site.range.start), Reason::Ambiguous));
            planned.manual = lines.chain(strays).map(|(line, reason)| Manual { line, reason }).collect();
        }
        Choice::Nothing => planned.manual = strays.map(|(line, reason)| Manual { line, reason }).collect(),
    }
    planned.manual.truncate(MOST_NOTES);
    let merged = Merged {
        bytes: edits::apply(bytes, planned.edits.clone()).ok_or(MergeError::Unproved)?,
        done: planned.done,
        manual: planned.manual,
        left,
    };
    Ok(Attempt { merged, edits: planned.edits, errors: parsed.errors, sites: parsed.sites.len() })
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Exe, Kind::Shared, Kind::Module];

    /// Returns the name of CMake's variable.
    pub fn variable(self) -> &'static str {
        match self {
            Kind::Exe => "CMAKE_EXE_LINKER_FLAGS",
            Kind::Shared => "CMAKE_SHARED_LINKER_FLAGS",
            Kind::Module => "CMAKE_MODULE_LINKER_FLAGS",
        }
    }
}

impl Reason {
    /// Says it in English.
    pub fn en(self) -> &'static str {
        match self {
            Reason::FormatString => "the argument is an f-string",
            Reason::Concatenation => "the argument is written in several pieces",
            Reason::Expression => "the argument is computed",
            Reason::Bytes => "the argument is a bytes literal",
            Reason::Quotes => "the value holds quotes",
            Reason::Escape => "the value holds an escape or a line break",
            Reason::SeveralInOne => "one string holds several arguments",
            Reason::SplitDefine => "`-D` and its definition are two elements",
            Reason::Dictionary => "the flags stand in a dictionary or keyword argument",
            Reason::OutsideAList => "the flags stand outside a list of CMake arguments that can be followed",
            Reason::Syntax => "the list has a syntax error",
            Reason::Overrides => "this sets the same flags again and can drop an earlier `-fuse-ld=`",
            Reason::Replaces => "this assignment throws away the arguments given before it; `+=` would keep them",
            Reason::NoListBefore => "no plain list that always runs comes before the first linker flags",
            Reason::OpenEnd => "the list ends with an option whose value comes later",
            Reason::Ambiguous => "several functions have such a list; the log does not say which one failed",
            Reason::OtherFunction => "this list belongs to another function",
        }
    }

    /// Says it in Chinese.
    pub fn zh(self) -> &'static str {
        match self {
            Reason::FormatString => "该参数是 f-string",
            Reason::Concatenation => "该参数由多段字符串拼接而成",
            Reason::Expression => "该参数由表达式计算得出",
            Reason::Bytes => "该参数是 bytes 字面量",
            Reason::Quotes => "参数值中含有引号",
            Reason::Escape => "参数值中含有转义符或换行",
            Reason::SeveralInOne => "一个字符串里写了多个参数",
            Reason::SplitDefine => "`-D` 与其定义被写成了两个元素",
            Reason::Dictionary => "链接参数写在字典或关键字参数中",
            Reason::OutsideAList => "链接参数不在可追踪的 CMake 参数列表中",
            Reason::Syntax => "该列表存在语法错误",
            Reason::Overrides => "此处再次设置同名参数，可能丢掉前面的 `-fuse-ld=`",
            Reason::Replaces => "此处赋值会丢弃之前的全部参数，应改用 `+=`",
            Reason::NoListBefore => "在首次设置链接参数之前，没有必然执行的普通列表",
            Reason::OpenEnd => "列表以一个选项结尾，其取值在后面才给出",
            Reason::Ambiguous => "多个函数都有这样的列表，日志没有指明是哪一个失败",
            Reason::OtherFunction => "该列表属于另一个函数",
        }
    }
}
