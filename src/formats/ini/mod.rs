//! Reads and edits INI files as Python's `configparser.RawConfigParser` reads them: `pip.conf`, `setup.cfg`.
//!
//! Only whole lines are comments, an option goes on in deeper indented lines, and a section or an option that stands
//! twice is an error. What Python does not read is refused here with line and reason, and never guessed at. Every
//! edit is read again before it is handed out: a text that would not mean exactly what was wanted is never returned.

mod edit;
#[cfg(test)]
mod laws;
mod read;

pub use edit::{Edit, edit};
pub use read::{Ini, Piece, Section, Setting};

/// Why a file is not read, or not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {}", .reason.en())]
pub struct Refusal {
    /// 1-based.
    pub line: usize,
    pub reason: Reason,
}

/// What stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    NotUtf8,
    ByteOrderMark,
    NoSection,
    SectionTwice,
    OptionTwice,
    NoDelimiter,
    NoName,
    /// The name, value or item of an edit cannot stand in such a file.
    BadWord,
    /// The edit would change what other lines mean.
    OtherMeaning,
}

impl Reason {
    pub fn en(self) -> &'static str {
        match self {
            Self::NotUtf8 => "the text is not UTF-8",
            Self::ByteOrderMark => "the file begins with a byte order mark, which Python takes for text",
            Self::NoSection => "an option stands before the first section",
            Self::SectionTwice => "the section stands twice",
            Self::OptionTwice => "the option stands twice",
            Self::NoDelimiter => "the line is neither a section nor an option",
            Self::NoName => "the option has no name",
            Self::BadWord => "the new text cannot stand in such a file",
            Self::OtherMeaning => "an edit here would change what other lines mean",
        }
    }

    pub fn zh(self) -> &'static str {
        match self {
            Self::NotUtf8 => "文本不是 UTF-8 编码",
            Self::ByteOrderMark => "文件以字节顺序标记（BOM）开头，Python 会把它当作正文",
            Self::NoSection => "第一个节之前就出现了选项",
            Self::SectionTwice => "同一个节出现了两次",
            Self::OptionTwice => "同一个选项出现了两次",
            Self::NoDelimiter => "这一行既不是节也不是选项",
            Self::NoName => "选项没有名字",
            Self::BadWord => "要写入的内容不能出现在这种文件中",
            Self::OtherMeaning => "在此处修改会改变其他行的含义",
        }
    }
}
