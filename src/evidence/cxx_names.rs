//! Mangled C++ names: whose they are, and which of the two string ABIs of libstdc++ they speak.
//!
//! Nothing is demangled: a name is walked token by token, so that two letters inside an identifier are never taken for
//! `std::string`.

/// The ABI of `std::string` and `std::list` (`_GLIBCXX_USE_CXX11_ABI`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringAbi {
    /// 0: what GCC did before version 5.
    Old,
    /// 1
    New,
}

impl StringAbi {
    /// Returns the value of the macro.
    pub fn flag(self) -> &'static str {
        match self {
            Self::Old => "0",
            Self::New => "1",
        }
    }

    /// Returns the other one.
    pub fn other(self) -> Self {
        match self {
            Self::Old => Self::New,
            Self::New => Self::Old,
        }
    }
}

/// Whose a symbol is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Torch,
    TorchNpu,
    MindSpore,
    Cann,
    Python,
    /// The C++ library itself: it carries both ABIs.
    CxxLibrary,
    Other,
}

/// `std::string` of the new ABI.
const NEW_STRING: &str = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";

/// Says whose a symbol is.
pub fn owner(symbol: &str) -> Owner {
    if let Some(scope) = outermost(symbol) {
        return match scope {
            "c10" | "at" | "torch" | "caffe2" => Owner::Torch,
            "c10_npu" | "at_npu" | "torch_npu" => Owner::TorchNpu,
            "mindspore" => Owner::MindSpore,
            "St" | "__gnu_cxx" | "__cxxabiv1" => Owner::CxxLibrary,
            "ge" | "atb" | "Mki" | "hccl" | "gert" => Owner::Cann,
            _ => Owner::Other,
        };
    }
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| symbol.starts_with(prefix));
    let then_capital = |prefixes: &[&str]| {
        prefixes.iter().any(|prefix| {
            symbol.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
        })
    };
    if starts(&["_Zn", "_Zd", "__cxa_", "__gxx_"]) {
        Owner::CxxLibrary
    } else if starts(&["aclnn", "aclrt", "aclop", "acldvpp", "aclmdl", "Hccl", "Hcom"])
        || then_capital(&["acl", "hccl", "rt", "hal", "drv", "dcmi", "ge"])
    {
        Owner::Cann
    } else if starts(&["Py", "_Py"]) {
        Owner::Python
    } else if starts(&["THPVariable", "THP", "aoti_torch_", "torch_library_"]) {
        Owner::Torch
    } else {
        Owner::Other
    }
}

/// Returns the outermost namespace of a mangled name, or `St` for `std`.
fn outermost(symbol: &str) -> Option<&str> {
    let rest = symbol.strip_prefix("_Z")?;
    let special = ["TI", "TV", "TS", "TT", "GV", "TH", "TW"];
    let rest = special.iter().find_map(|prefix| rest.strip_prefix(prefix)).unwrap_or(rest);
    if rest.starts_with("St") || rest.starts_with("Ss") {
        return Some("St");
    }
    let nested = rest.strip_prefix('N')?.trim_start_matches(['K', 'V', 'r', 'R', 'O']);
    if nested.starts_with("St") || nested.starts_with("Ss") || nested.starts_with("Sa") {
        return Some("St");
    }
    identifier(nested).map(|(name, _)| name)
}

/// Takes a length and the identifier of that length.
fn identifier(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 5 || text.starts_with('0') {
        return None;
    }
    let len: usize = text[..digits].parse().ok()?;
    let rest = &text[digits..];
    rest.is_char_boundary(len).then(|| rest.split_at(len))
}

/// Says which string ABI a mangled name speaks; `None` where it holds no string, or is the C++ library's own.
pub fn string_abi(symbol: &str) -> Option<StringAbi> {
    if !symbol.starts_with("_Z") || owner(symbol) == Owner::CxxLibrary {
        return None;
    }
    if symbol.contains("7__cxx11") || symbol.contains("B5cxx11") {
        return Some(StringAbi::New);
    }
    old_string(symbol).map(|_| StringAbi::Old)
}

/// Finds the first `std::string` of the old ABI in a mangled name.
fn old_string(symbol: &str) -> Option<usize> {
    let mut at = symbol.strip_prefix("_Z").map(|_| 2)?;
    while let Some(rest) = symbol.get(at..).filter(|rest| !rest.is_empty()) {
        let byte = rest.as_bytes()[0];
        let next = rest.as_bytes().get(1).copied().unwrap_or(0);
        at += match byte {
            b'0'..=b'9' => match identifier(rest) {
                Some((_, after)) => rest.len() - after.len(),
                None => 1,
            },
            // A substitution, `S_` or `S1A_`: no `std::` name.
            b'S' if next == b'_' || next.is_ascii_digit() || next.is_ascii_uppercase() => {
                rest.find('_').map_or(rest.len(), |end| end + 1)
            }
            b'S' if next == b's' => return Some(at),
            b'S' => 2,
            // A value: its digits are no length.
            b'L' if next.is_ascii_lowercase() => rest.find('E').map_or(rest.len(), |end| end + 1),
            // The size of an array.
            b'A' if next.is_ascii_digit() => rest.find('_').map_or(rest.len(), |end| end + 1),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    None
}

/// Says whether `given` is the function of `wanted`, compiled with the other string ABI.
///
/// Up to the first string both names are spelled alike, but for the mark of functions that return one.
pub fn is_same_with_other_abi(wanted: &str, given: &str) -> bool {
    let plain = |name: &str| name.replace("B5cxx11", "");
    let (one, two) = (plain(wanted), plain(given));
    let speaks =
        |name: &str| if name.starts_with("_Z") && name.contains("7__cxx11") { StringAbi::New } else { StringAbi::Old };
    let marked = |name: &str| name.contains("B5cxx11");
    if one == two {
        // Only the return type differs.
        return marked(wanted) != marked(given);
    }
    if speaks(&one) == speaks(&two) {
        return false;
    }
    let (new, old) = if speaks(&one) == StringAbi::New { (&one, &two) } else { (&two, &one) };
    let (Some(in_new), Some(in_old)) = (new.find(NEW_STRING), old_string(old)) else { return false };
    in_new == in_old && in_new > 3 && new[..in_new] == old[..in_old]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
    const OLD: &str = "_ZN3c105ErrorC1ENS_14SourceLocationESs";

    #[test]
    fn tells_the_owner() {
        let cases = [
            (NEW, Owner::Torch),
            ("_ZNK2at6Tensor4sizeEv", Owner::Torch),
            ("_ZTIN3c105ErrorE", Owner::Torch),
            ("THPVariableClass", Owner::Torch),
            ("_ZN7c10_npu12NPUStreamE", Owner::TorchNpu),
            ("_ZN9mindspore6TensorE", Owner::MindSpore),
            ("_Z12nms_npu_implRKN2at6TensorES2_f", Owner::Other),
            ("_ZNSs6assignEPKc", Owner::CxxLibrary),
            ("_ZSt4cout", Owner::CxxLibrary),
            ("_Znwm", Owner::CxxLibrary),
            ("aclnnAdd", Owner::Cann),
            ("HcclAllReduce", Owner::Cann),
            ("rtGetDevice", Owner::Cann),
            ("PyUnicode_FromString", Owner::Python),
            ("_Py_Dealloc", Owner::Python),
            ("rtattle", Owner::Other),
            ("hp_layout_hash", Owner::Other),
        ];
        for (symbol, want) in cases {
            assert_eq!(owner(symbol), want, "{symbol}");
        }
    }

    #[test]
    fn tells_the_abi() {
        let cases = [
            (NEW, Some(StringAbi::New)),
            (OLD, Some(StringAbi::Old)),
            ("_ZN9minitorch11device_nameB5cxx11Ei", Some(StringAbi::New)),
            ("_ZN9minitorch5checkEbRKSs", Some(StringAbi::Old)),
            // `Ss` inside an identifier, in a substitution, behind a value
            ("_ZN1a7useSsizEi", None),
            ("_ZN1a1fERKNS_1bES2_S_s", None),
            ("_ZN1aILi22EE1fESs", Some(StringAbi::Old)),
            ("_Z1fA12_ci", None),
            ("_ZNSs4swapERSs", None),
            ("PySs", None),
            ("_Z", None),
            ("_Z99999999x", None),
            ("_ZNé", None),
        ];
        for (symbol, want) in cases {
            assert_eq!(string_abi(symbol), want, "{symbol}");
        }
    }

    #[test]
    fn finds_the_same_function_of_the_other_abi() {
        let check = "_ZN9minitorch5checkEbRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
        let name = "_ZN9minitorch11device_nameB5cxx11ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
        let cases = [
            (check, "_ZN9minitorch5checkEbRKSs", true),
            ("_ZN9minitorch5checkEbRKSs", check, true),
            ("_ZN9minitorch11device_nameERKSs", name, true),
            (NEW, OLD, true),
            ("_ZN1a4nameEv", "_ZN1a4nameB5cxx11Ev", true),
            (check, check, false),
            (check, "_ZN9minitorch5checkEiRKSs", false),
            (check, "_ZN9minitorch4otherEbRKSs", false),
            ("_ZN1a1fEv", "_ZN1a1gEv", false),
        ];
        for (wanted, given, want) in cases {
            assert_eq!(is_same_with_other_abi(wanted, given), want, "{wanted} {given}");
        }
    }
}
