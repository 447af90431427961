//! Why a YAML file is not read or not edited.

/// A place and a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {}", reason.en())]
pub struct Refusal {
    /// 1-based.
    pub line: u32,
    pub reason: Reason,
}

/// What is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    TooLarge,
    NotUtf8,
    Syntax,
    TooDeep,
    SeveralDocuments,
    DuplicateKey,
    ForeignTag,
    TabIndent,
    NoMapping,
    NoList,
    NoText,
    Absent,
    Anchor,
    MergeKey,
    Tag,
    Layout,
    NothingLeft,
    KeyIsThere,
    Disagrees,
}

impl Refusal {
    pub(super) fn new(line: u32, reason: Reason) -> Self {
        Self { line, reason }
    }

    pub(super) fn at(line: usize, reason: Reason) -> Self {
        Self { line: u32::try_from(line).unwrap_or(u32::MAX), reason }
    }
}

impl Reason {
    /// A lower-case fragment in English.
    pub fn en(self) -> &'static str {
        match self {
            Reason::TooLarge => "the file is larger than any configuration",
            Reason::NotUtf8 => "the file is not UTF-8",
            Reason::Syntax => "this is no YAML",
            Reason::TooDeep => "it is nested too deeply",
            Reason::SeveralDocuments => "the file holds several documents",
            Reason::DuplicateKey => "a key stands twice",
            Reason::ForeignTag => "a tag asks for an object of a program",
            Reason::TabIndent => "a tab indents",
            Reason::NoMapping => "the file is no mapping of keys",
            Reason::NoList => "the value is no list",
            Reason::NoText => "an entry is no text",
            Reason::Absent => "the entry is not there",
            Reason::Anchor => "an anchor or alias shares this part with another",
            Reason::MergeKey => "a merge key brings in other keys",
            Reason::Tag => "a tag changes what the value is",
            Reason::Layout => "its layout cannot be edited line by line",
            Reason::NothingLeft => "nothing would be left",
            Reason::KeyIsThere => "the key is there already",
            Reason::Disagrees => "the edited text would say something else",
        }
    }

    /// The same in Chinese.
    pub fn zh(self) -> &'static str {
        match self {
            Reason::TooLarge => "文件过大，不像配置文件",
            Reason::NotUtf8 => "文件不是 UTF-8 编码",
            Reason::Syntax => "不是合法的 YAML",
            Reason::TooDeep => "嵌套过深",
            Reason::SeveralDocuments => "文件包含多个 YAML 文档",
            Reason::DuplicateKey => "有重复的键",
            Reason::ForeignTag => "标签要求构造程序对象",
            Reason::TabIndent => "使用了制表符缩进",
            Reason::NoMapping => "文件顶层不是键值映射",
            Reason::NoList => "该值不是列表",
            Reason::NoText => "列表项不是文本",
            Reason::Absent => "找不到该项",
            Reason::Anchor => "此处通过锚点或别名与其他部分共用",
            Reason::MergeKey => "合并键引入了其他键",
            Reason::Tag => "标签改变了该值的类型",
            Reason::Layout => "排版方式不便逐行修改",
            Reason::NothingLeft => "删除后将没有剩余项",
            Reason::KeyIsThere => "该键已存在",
            Reason::Disagrees => "修改后的文本含义不符",
        }
    }
}
