//! A file name, relative path or other system string in stored text.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes that are text nearly always: stored as text, else in hexadecimal after `hex:`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub OsString);

const HEX: &str = "hex:";

impl Name {
    pub fn new(name: impl AsRef<OsStr>) -> Self {
        Self(name.as_ref().to_owned())
    }

    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(OsString::from_vec(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl AsRef<std::path::Path> for Name {
    fn as_ref(&self) -> &std::path::Path {
        self.0.as_ref()
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.display().fmt(f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str().filter(|text| !text.starts_with(HEX)) {
            Some(text) => serializer.serialize_str(text),
            None => {
                let hex: String = self.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                serializer.serialize_str(&format!("{HEX}{hex}"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let Some(hex) = text.strip_prefix(HEX) else { return Ok(Self(text.into())) };
        let digit = |byte: &u8| (*byte as char).to_digit(16).map(|digit| digit as u8);
        let digits: Option<Vec<u8>> = hex.as_bytes().iter().map(digit).collect();
        match digits {
            Some(digits) if digits.len() % 2 == 0 => {
                Ok(Self::from_bytes(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
            }
            Some(_) | None => Err(de::Error::custom("a name in hexadecimal is damaged")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_form_keeps_every_byte() {
        for bytes in [&b"a b"[..], b"caf\xe9", b"hex:61", b"", b"a\0b"] {
            let name = Name::from_bytes(bytes.to_vec());
            let text = serde_json::to_string(&name).unwrap();
            assert_eq!(serde_json::from_str::<Name>(&text).unwrap(), name, "{text}");
        }
        assert!(serde_json::from_str::<Name>("\"hex:6\"").is_err());
        assert!(serde_json::from_str::<Name>("\"hex:zz\"").is_err());
    }
}
