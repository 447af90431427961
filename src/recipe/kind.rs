//! What a parameter's text must look like.

use super::{ParamKind, Value};

/// Longest text of one value, in bytes: a path on Linux is at most 4096.
const LONGEST: usize = 4096;
/// Most items of a list.
const MOST: usize = 256;

impl ParamKind {
    /// Returns the value when every item of it has this kind and, where there are choices, is one of them.
    ///
    /// Values come from logs: whatever does not fit is as good as absent.
    pub fn admit(self, value: &Value, choices: &[String]) -> Option<Value> {
        let fits = |text: &String| self.fits(text) && (choices.is_empty() || choices.contains(text));
        match value {
            Value::Text(text) => fits(text).then(|| value.clone()),
            Value::List(items) => {
                let items: Vec<String> = items.iter().filter(|item| fits(item)).take(MOST).cloned().collect();
                (!items.is_empty()).then_some(Value::List(items))
            }
        }
    }

    /// Says whether one text has this kind.
    pub fn fits(self, text: &str) -> bool {
        if text.is_empty() || text.len() > LONGEST || text.chars().any(char::is_control) {
            return false;
        }
        match self {
            ParamKind::Text => true,
            // A path that begins with `-` would be an option to whatever program gets it.
            ParamKind::Path => !text.starts_with('-') && !text.contains("://"),
            ParamKind::Url => {
                let rest = ["https://", "http://", "file://"].iter().find_map(|scheme| text.strip_prefix(scheme));
                rest.is_some_and(|rest| !rest.is_empty()) && !text.contains(char::is_whitespace)
            }
            ParamKind::Port => text.parse::<u16>().is_ok_and(|port| port > 0) && !text.starts_with(['+', '0']),
            ParamKind::Version => {
                text.starts_with(|c: char| c.is_ascii_alphanumeric())
                    && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | '!'))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_admit_their_own_texts_only() {
        for (kind, good, bad) in [
            (ParamKind::Path, ["/a b/c", "build"], ["-rf", "a\nb"]),
            (ParamKind::Url, ["https://a/b", "file:///c"], ["ftp://a", "https://a b"]),
            (ParamKind::Port, ["1", "65535"], ["0", "65536"]),
            (ParamKind::Version, ["3.11.7", "v1!2.0+cpu"], ["", "1;rm"]),
            (ParamKind::Text, ["清华", "a;b"], ["\u{1b}[0m", ""]),
        ] {
            for text in good {
                assert!(kind.fits(text), "{kind:?} {text:?}");
            }
            for text in bad {
                assert!(!kind.fits(text), "{kind:?} {text:?}");
            }
        }
    }

    #[test]
    fn choices_and_lists_are_filtered() {
        let choices = vec!["tree".to_owned()];
        assert_eq!(ParamKind::Text.admit(&"narrow".into(), &choices), None);
        let list = Value::List(vec!["tree".into(), "x".into()]);
        assert_eq!(ParamKind::Text.admit(&list, &choices), Some(Value::List(vec!["tree".into()])));
    }
}
