//! Names of variables, options and keys whose values are secrets.

/// What the last part of such a name ends with, in lower case with `_` for `-` and `.`.
const ENDINGS: &[&str] = &[
    "token",
    "password",
    "passwd",
    "passphrase",
    "_pwd",
    "secret",
    "secrets",
    "api_key",
    "apikey",
    "access_key",
    "accesskey",
    "secret_key",
    "secretkey",
    "account_key",
    "accountkey",
    "auth_key",
    "authkey",
    "signing_key",
    "encryption_key",
    "credential",
    "credentials",
    "authorization",
    "x_amz_signature",
];

/// What anywhere in an environment variable's name says so (`AWS_ACCESS_KEY_ID`, `TOKEN_FOR_CI`).
const ENV_PARTS: &[&str] = &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "CREDENTIALS", "APIKEY"];
const ENV_PAIRS: &[&str] = &["API_KEY", "ACCESS_KEY"];

/// One of these stands in every name that [`is_secret_name`] knows, and in `cookie`; in lower case.
pub const NAME_STEMS: &[&str] = &["token", "pass", "pwd", "secret", "key", "credential", "auth", "signature", "cookie"];

/// Words before `token` that make it one of a language or a model, no secret.
const HARMLESS_TOKENS: &[&str] = &[
    "pad",
    "eos",
    "bos",
    "unk",
    "mask",
    "sep",
    "cls",
    "image",
    "special",
    "next",
    "first",
    "last",
    "start",
    "end",
    "expected",
    "unexpected",
    "invalid",
    "previous",
    "current",
    "stop",
    "per",
];

/// Words before `pass` that make it a password; a compiler has passes too.
const PASS_OWNERS: &[&str] = &[
    "user", "db", "database", "smtp", "mail", "ftp", "http", "https", "proxy", "sudo", "root", "admin", "login",
    "auth", "ldap", "redis", "mysql", "pg", "my", "key", "cert",
];

/// Says whether the value of a variable, option or key of this name is a secret.
pub fn is_secret_name(name: &str) -> bool {
    // `_auth` of .npmrc is base64 of user and password; elsewhere `auth` is the name of a method.
    if name == "_auth" {
        return true;
    }
    let plain: String =
        name.chars().map(|c| if matches!(c, '-' | '.') { '_' } else { c.to_ascii_lowercase() }).collect();
    let plain = plain.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
    if let Some(before) = plain.strip_suffix("_token") {
        let word = before.rsplit('_').next().unwrap_or_default();
        return !HARMLESS_TOKENS.contains(&word);
    }
    if let Some(before) = plain.strip_suffix("_pass") {
        let word = before.rsplit('_').next().unwrap_or_default();
        return PASS_OWNERS.contains(&word) || name.ends_with("_PASS");
    }
    ENDINGS.iter().any(|ending| plain.ends_with(ending)) || is_secret_variable(name)
}

fn is_secret_variable(name: &str) -> bool {
    if name.chars().any(|c| c.is_ascii_lowercase()) {
        return false;
    }
    // `TOKENIZERS_PARALLELISM` and `MAX_TOKENS` are none: whole parts, or their ends (`PGPASSWORD`), count.
    name.split('_').any(|part| ENV_PARTS.iter().any(|word| part.ends_with(word)))
        || ENV_PAIRS.iter().any(|pair| {
            name.match_indices(pair).any(|(at, _)| {
                let after = &name[at + pair.len()..];
                after.is_empty() || after.starts_with('_')
            })
        })
}

/// Says whether `name` is a token's, where a small number is a count.
pub(super) fn is_token_name(name: &str) -> bool {
    name.to_ascii_lowercase().contains("token")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let secret = [
            "HF_TOKEN",
            "token",
            "accessToken",
            "_authToken",
            "PGPASSWORD",
            "TWINE_PASSWORD",
            "db-password",
            "api_key",
            "X-Api-Key",
            "apiKey",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "secretAccessKey",
            "client_secret",
            "SECRET_KEY_BASE",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "MY_CREDENTIAL",
            "DB_PASS",
            "TOKEN_FOR_CI",
            "password2",
            "Proxy-Authorization",
            "passwd",
            "AccountKey",
            "http.password",
            "CI_JOB_TOKEN",
            "_auth",
            "NPM_TOKEN_1",
        ];
        for name in secret {
            assert!(is_secret_name(name), "{name}");
        }
        let known = ENDINGS.iter().chain(ENV_PARTS).chain(ENV_PAIRS).chain(&secret).chain(&["x_pass", "cookie"]);
        for name in known {
            let name = name.to_ascii_lowercase();
            assert!(NAME_STEMS.iter().any(|stem| name.contains(stem)), "{name}");
        }
        let open = [
            "PATH",
            "PWD",
            "OLDPWD",
            "TOKENIZERS_PARALLELISM",
            "MAX_TOKENS",
            "max_tokens",
            "pad_token",
            "eos_token",
            "tokenizer",
            "PASS",
            "bypass",
            "auth",
            "KEYBOARD",
            "key",
            "SSH_ASKPASS",
            "GIT_ASKPASS",
            "compass",
            "",
            "_",
            "API_KEYS_FILE",
            "fds_to_pass",
            "cookie",
            "expected_token",
            "XAUTHORITY",
        ];
        for name in open {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
