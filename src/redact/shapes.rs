//! Secrets that are known by their shape alone, and options of known programs.

use std::sync::LazyLock;

use regex::Regex;

/// A rule whose group `secret` is the secret: a well-known shape of a token, or an option of a known program.
pub(super) struct Rule {
    /// One of these stands in every match, in lower case.
    pub words: &'static [&'static str],
    pub regex: LazyLock<Regex>,
}

#[rustfmt::skip]
pub(super) static RULES: [Rule; 8] = [
    Rule {
        words: &[
            "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-",
            "glft-", "glimt-", "glagent-", "glsoat-", "akia", "asia", "agpa", "aroa", "ltai", "pypi-age", "hf_", "npm_",
            "xox", "xapp-", "eyj", "aiza", "ya29.", "dckr_pat_", "k_live_", "k_test_", "sk-", "sg.",
        ],
        regex: LazyLock::new(|| regex(
            r"(?x-u) \b (?P<secret>
                gh[pousr]_[A-Za-z0-9]{16,} | github_pat_[A-Za-z0-9_]{16,}
                | gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_-]{16,}
                | (?:AKIA|ASIA|AGPA|AROA)[A-Z0-9]{16} \b | LTAI[A-Za-z0-9]{12,30} \b
                | pypi-AgE[A-Za-z0-9_-]{16,} | hf_[A-Za-z0-9]{16,} | npm_[A-Za-z0-9]{30,}
                | xox[abeoprs]-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{10,}
                | eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3}
                | AIza[A-Za-z0-9_-]{35} | ya29\.[A-Za-z0-9_-]{20,} | dckr_pat_[A-Za-z0-9_-]{16,}
                | [sr]k_(?:live|test)_[A-Za-z0-9]{16,} | sk-(?:proj-|ant-)[A-Za-z0-9_-]{20,} | sk-[A-Za-z0-9]{32,}
                | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} )",
        )),
    },
    Rule {
        words: &["bearer"],
        // A word after `Bearer` that holds a figure: prose does not.
        regex: LazyLock::new(|| regex(r"(?i-u)\bbearer[ \t]+(?P<secret>[a-z._~+/=-]*[0-9][a-z0-9._~+/=-]{5,})")),
    },
    Rule {
        words: &["curl"],
        regex: LazyLock::new(|| regex(r#"\bcurl\b[^\n]*?[ \t](?:-u|--user)[ =]?["']?(?P<secret>[^\s:"']+:[^\s"']+)"#)),
    },
    Rule {
        words: &["twine", "sshpass"],
        regex: LazyLock::new(|| regex(r#"\b(?:twine|sshpass)\b[^\n]*?[ \t]-p[ =]?["']?(?P<secret>[^\s"'-][^\s"']*)"#)),
    },
    Rule {
        words: &["login"],
        regex: LazyLock::new(|| regex(
            r#"\b(?:docker|podman|nerdctl|helm|skopeo|oras|buildah)\b[^\n]*?\blogin\b[^\n]*?[ \t]-p[ =]?["']?(?P<secret>[^\s"'-][^\s"']*)"#,
        )),
    },
    Rule {
        words: &["mysql", "mariadb"],
        regex: LazyLock::new(|| regex(
            r#"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]*?[ \t]-p["']?(?P<secret>[^\s"']+)"#,
        )),
    },
    Rule {
        words: &["machine"],
        regex: LazyLock::new(|| regex(
            r#"\bmachine[ \t\r\n]+[^\s]+(?:[ \t\r\n]+login[ \t\r\n]+[^\s]+)?[ \t\r\n]+password[ \t\r\n]+(?P<secret>[^\s]+)"#,
        )),
    },
    Rule {
        words: &["sig=", "signature="],
        regex: LazyLock::new(|| regex(r#"(?i)[?&;](?:sig|signature)=(?P<secret>[^\s&"'`]+)"#)),
    },
];

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
}

#[cfg(test)]
mod tests {
    use super::super::redact;

    #[test]
    fn knows_the_shapes_of_tokens() {
        let tail = "0123456789abcdefghij0123456789ABCDE";
        let upper = "0123456789ABCDEF";
        let heads = [
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "glsoat-",
            "pypi-AgE",
            "hf_",
            "npm_",
            "xoxb-",
            "xoxp-",
            "xapp-",
            "AIza",
            "ya29.",
            "dckr_pat_",
            "sk_live_",
            "rk_test_",
            "sk-proj-",
            "sk-ant-",
            "sk-",
        ];
        let mut tokens: Vec<String> = heads.iter().map(|head| format!("{head}{tail}")).collect();
        tokens.extend(["AKIA", "ASIA", "AGPA", "AROA", "LTAI"].map(|head| format!("{head}{upper}")));
        tokens.extend([format!("eyJ{tail}.{tail}"), format!("SG.{tail}.{tail}")]);
        for token in tokens {
            assert_eq!(redact(&format!("see {token} there")).as_str(), "see <secret-1> there");
        }
    }
}
