//! Text in Chinese and English.

use serde::{Deserialize, Serialize};

/// The language of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lang {
    En,
    Zh,
}

/// One sentence in both languages.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    pub en: String,
    pub zh: String,
}

impl Text {
    pub fn new(en: impl Into<String>, zh: impl Into<String>) -> Self {
        Self { en: en.into(), zh: zh.into() }
    }

    pub fn get(&self, lang: Lang) -> &str {
        match lang {
            Lang::En => &self.en,
            Lang::Zh => &self.zh,
        }
    }
}

impl Lang {
    /// Chooses the language from `--lang`, else from the first non-empty of LC_ALL, LC_MESSAGES and LANG.
    pub fn choose(given: Option<Lang>, env: impl Fn(&str) -> Option<String>) -> Lang {
        given.unwrap_or_else(|| {
            let locale = ["LC_ALL", "LC_MESSAGES", "LANG"]
                .iter()
                .find_map(|name| env(name).filter(|value| !value.is_empty()))
                .unwrap_or_default();
            if locale.starts_with("zh") { Lang::Zh } else { Lang::En }
        })
    }
}
