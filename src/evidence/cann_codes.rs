//! What the installed CANN itself says of an error code.

use std::path::PathBuf;

use serde_json::Value;

use super::Host;

/// CANN's list is about 200 kB.
const LARGEST: u64 = 8 << 20;

/// Where CANN stands when no variable says it.
const USUAL: &[&str] =
    &["/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/cann", "/usr/local/Ascend/latest"];

/// What CANN says, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub file: PathBuf,
    pub title: String,
    /// With `%s` where a value belongs.
    pub message: String,
    pub cause: String,
    pub solution: String,
}

/// Looks a code up in `error_code.json` of the installed CANN.
pub fn look_up(host: &dyn Host, code: &str) -> Option<Entry> {
    let named = ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"].iter().filter_map(|name| host.env(name).map(PathBuf::from));
    let roots: Vec<PathBuf> = named.chain(USUAL.iter().map(PathBuf::from)).filter(|root| root.is_absolute()).collect();
    for root in roots {
        for folder in ["", "aarch64-linux", "x86_64-linux"] {
            let file = root.join(folder).join("conf/error_manager/error_code.json");
            let Ok(bytes) = host.read(&file, LARGEST) else { continue };
            let Ok(document) = serde_json::from_slice::<Value>(&bytes) else { continue };
            if let Some(found) = search(&document, code) {
                let text =
                    |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                let suggestion = found.get("suggestion").unwrap_or(&Value::Null);
                return Some(Entry {
                    title: text(found, "errTitle"),
                    message: text(found, "ErrMessage"),
                    cause: text(suggestion, "Possible Cause"),
                    solution: text(suggestion, "Solution"),
                    file,
                });
            }
        }
    }
    None
}

/// Finds the entry of a code, wherever the list stands in the document.
fn search<'v>(value: &'v Value, code: &str) -> Option<&'v Value> {
    match value {
        Value::Object(map) => {
            if map.get("ErrCode").and_then(Value::as_str).is_some_and(|found| found.eq_ignore_ascii_case(code)) {
                return Some(value);
            }
            map.values().find_map(|item| search(item, code))
        }
        Value::Array(items) => items.iter().find_map(|item| search(item, code)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
