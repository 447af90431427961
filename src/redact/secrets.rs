//! Where secrets stand in a text: rules for the places that hold one and for the shapes that are one.
//!
//! All rules are automata without backtracking or look a bounded way around a match: time is linear in the text.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::kinds::is_placeholder;
use super::names::{NAME_STEMS, is_secret_name, is_token_name};
use super::shapes::RULES;

/// Finds secrets, in no order, overlapping.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let text = &*without_colours(text);
    // Compiling the expressions costs more than the commands that show our own texts: a rule is only used where
    // some word that each of its matches holds is there.
    let lower = text.to_ascii_lowercase();
    let holds = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let mut found = Vec::new();
    if holds(&["@", "%40"]) {
        urls(text, &mut found);
    }
    if holds(NAME_STEMS) {
        assignments(text, &mut found);
        options(text, &mut found);
    }
    for rule in RULES.iter().filter(|rule| holds(rule.words)) {
        group_of(&rule.regex, text, &mut found);
    }
    if holds(&["-----begin"]) {
        keys(text, &mut found);
    }
    found.retain(|range| !is_placeholder(&text[range.clone()]));
    found
}

/// Puts blanks for colour codes, as many: `\u{1b}[32mghp_…` is a token, `TOKEN\u{1b}[0m=` an assignment.
fn without_colours(text: &str) -> Cow<'_, str> {
    static CODE: LazyLock<Regex> = LazyLock::new(|| regex(r"\x1b\[[0-9;?]*[A-Za-z]"));
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    CODE.replace_all(text, |code: &Captures<'_>| " ".repeat(code[0].len()))
}

/// Says whether a value tells nothing: empty, masked already, a reference to a variable, a word of a language.
pub(super) fn is_open(value: &str) -> bool {
    static OPEN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?ix) ^ (?: \** | \[?(?:masked|redacted|hidden)\]?
            | \$ [A-Z_][A-Z0-9_]* | \$\{ [^{}]* \} | \$\( [^()]* \) | %[A-Z_][A-Z0-9_]*% | \$?\{\{ [^{}]* \}\}
            | true | false | null | none | nil | undefined | yes | no | on | off | required | optional
            | %[a-z] | \{ [A-Za-z0-9_.!:]* \} | [\[\](){}]+
            | str | string | int | bool | bytes | char | auto | optional\[str\] ) $",
        )
    });
    let value = value.trim();
    is_placeholder(value) || (value.len() <= LONGEST_OPEN && OPEN.is_match(value))
}

/// Longer values are hidden without a closer look, so that no part of a text is looked at over and over.
const LONGEST_OPEN: usize = 512;

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
}

fn group(captures: &Captures<'_>, name: &str) -> Range<usize> {
    captures.name(name).map_or(0..0, |found| found.range())
}

/// `scheme://user:password@host`, also percent-encoded as a whole, and proxies without a scheme.
fn urls(text: &str, found: &mut Vec<Range<usize>>) {
    static URL: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"\b(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<user>[^\s/?\#"'`\\]+)@"#));
    static ENCODED: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"(?i)%3A%2F%2F(?P<user>(?:[a-z0-9._~!$*+:-]|%(?:2[0-24-9A-E]|3[0-9A-E]|[014-9A-F][0-9A-F]))+)%40")
    });
    static PROXY: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"(?i)proxy["']?[ \t]*[=:][ \t]*["']?(?P<user>[^\s"'/@:=]+:[^\s"'@/]+)@"#));
    for captures in URL.captures_iter(text) {
        let user = group(&captures, "user");
        let secret = match text[user.clone()].split_once(':') {
            Some((_, password)) => !is_open(password) || looks_like_a_token(&text[user.clone()]),
            // Over http a lone name is a token; over ssh it is the account.
            None => captures["scheme"].to_ascii_lowercase().contains("http") && !is_open(&text[user.clone()]),
        };
        if secret {
            found.push(user);
        }
    }
    found.extend(ENCODED.captures_iter(text).map(|captures| group(&captures, "user")));
    found.extend(PROXY.captures_iter(text).map(|captures| group(&captures, "user")));
}

fn looks_like_a_token(text: &str) -> bool {
    text.split(':').next().is_some_and(|user| user.len() >= 20)
}

/// `name=value`, `name: value`, `"name": "value"`, `-DNAME:STRING=value`, `setenv NAME value`.
fn assignments(text: &str, found: &mut Vec<Range<usize>>) {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?x-u) (?P<name>[A-Za-z_][A-Za-z0-9_.-]*) (?P<quote>\\?["'])?
            (?: :(?:STRING|PATH|FILEPATH|BOOL|INTERNAL|STATIC|UNINITIALIZED) )?
            [\ \t]* (?P<sep>:=|\?=|\+=|=>|=|:) [\ \t]*"#,
        )
    });
    static SET: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"(?m-u)^[ \t+>#$-]*(?:setenv|ENV|set(?:[ \t]+-[A-Za-z-]+)+)[ \t]+(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]+")
    });
    let mut done = 0;
    for captures in NAMED.captures_iter(text) {
        let name = &captures["name"];
        if group(&captures, "name").start < done || !(is_secret_name(name) || is_cookie(name)) {
            continue;
        }
        let at = captures.get(0).expect("the whole match").end();
        let name_at = group(&captures, "name").start;
        let starts_line = starts_line(text, name_at);
        let after_quote = text[..name_at].ends_with(['"', '\'']);
        let quoted_name = captures.name("quote").is_some();
        let reach = match &captures["sep"] {
            // `a == b` and `a::b` are code.
            // A cookie is one in a header only.
            _ if is_cookie(name) && !is_header(name, &text[at..]) => continue,
            "=" | ":" if text[at..].starts_with(['=', ':']) => continue,
            ":" if quoted_name || starts_line => Reach::Line,
            ":" if after_quote => Reach::Quote,
            ":" if is_header(name, &text[at..]) => Reach::Quote,
            // In the middle of a sentence, `token: …` is prose.
            ":" => continue,
            _ if starts_line => Reach::Line,
            _ => Reach::Word,
        };
        let value = value(text, at, reach);
        if !is_open(&text[value.clone()]) && !is_no_secret(name, &text[value.clone()]) {
            done = value.end;
            found.push(value);
        }
    }
    for captures in SET.captures_iter(text) {
        let value = value(text, captures.get(0).expect("the whole match").end(), Reach::Line);
        if is_secret_name(&captures["name"]) && !is_open(&text[value.clone()]) {
            found.push(value);
        }
    }
}

/// How far an unquoted value goes.
#[derive(Clone, Copy)]
enum Reach {
    /// To the end of the line: an ini file, a dump of the environment.
    Line,
    /// To the quote that encloses name and value, or the end of the line: a header.
    Quote,
    /// To the next blank: one word among others.
    Word,
}

fn value(text: &str, at: usize, reach: Reach) -> Range<usize> {
    let rest = &text[at..];
    for quote in ["\\\"", "\\'", "\"", "'"] {
        if let Some(inner) = rest.strip_prefix(quote) {
            let start = at + quote.len();
            return start..start + closing(inner, quote);
        }
    }
    let ends = |c: char| match reach {
        Reach::Line => matches!(c, '\n' | '\r'),
        Reach::Quote => matches!(c, '\n' | '\r' | '"' | '\''),
        Reach::Word => c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '&'),
    };
    let length = rest.find(ends).unwrap_or(rest.len());
    // What closes a bracket or a list around the value is no part of it.
    at..at + without_closers(rest[..length].trim_end()).len()
}

/// Cuts separators and closing brackets that have no opening one off the end.
fn without_closers(value: &str) -> &str {
    let pairs = [('(', ')'), ('[', ']'), ('{', '}')];
    let mut unopened =
        pairs.map(|(open, close)| value.matches(close).count().saturating_sub(value.matches(open).count()));
    let kept = value.trim_end_matches(|c: char| {
        matches!(c, ',' | ';')
            || pairs.iter().zip(&mut unopened).any(|((_, close), left)| {
                let cut = c == *close && *left > 0;
                *left -= usize::from(cut);
                cut
            })
    });
    kept.trim_end()
}

/// Returns how far the quoted text goes: to the closing quote that is not escaped, else to the line's end.
fn closing(inner: &str, quote: &str) -> usize {
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            '\n' | '\r' => return at,
            _ if escaped => escaped = false,
            _ if inner[at..].starts_with(quote) => return at,
            '\\' => escaped = true,
            _ => {}
        }
    }
    inner.len()
}

/// Says whether nothing but marks, blanks and words like `export` stands before `at` on its line.
fn starts_line(text: &str, at: usize) -> bool {
    let before = &text.as_bytes()[at.saturating_sub(48)..at];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map(|newline| newline + 1);
    let from = match line_start {
        Some(from) => from,
        None if before.len() == at => 0,
        None => return false,
    };
    before[from..]
        .split(|byte| matches!(byte, b' ' | b'\t' | b'+' | b'-' | b'*' | b'#' | b'>' | b'|' | b'$' | b'"' | b'\''))
        .all(|word| matches!(word, b"" | b"export" | b"set" | b"env" | b"ENV" | b"ARG" | b"declare" | b"x" | b"local"))
}

fn is_cookie(name: &str) -> bool {
    ["cookie", "set-cookie"].iter().any(|cookie| name.eq_ignore_ascii_case(cookie))
}

/// Says whether `name: rest` in the middle of a line is an HTTP header.
fn is_header(name: &str, rest: &str) -> bool {
    static SCHEME: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^(?i-u)(?:basic|bearer|token|digest|negotiate|ntlm|apikey|aws4-hmac-sha256)[ \t]"));
    let name = name.to_ascii_lowercase();
    let near = &rest[..rest.floor_char_boundary(LONGEST_OPEN)];
    let line = near.split('\n').next().unwrap_or_default();
    (name.ends_with("authorization") && SCHEME.is_match(line)) || (is_cookie(&name) && line.contains('='))
}

/// Says whether the value is a count, a name, or an expression of a program.
fn is_no_secret(name: &str, value: &str) -> bool {
    if value.len() > LONGEST_OPEN {
        return false;
    }
    let count = is_token_name(name) && value.len() <= 5 && value.bytes().all(|byte| byte.is_ascii_digit());
    count || is_name_again(name, value) || is_expression(value)
}

/// Says whether the value is the name, or the end of it: `self._token = token`.
fn is_name_again(name: &str, value: &str) -> bool {
    let last = |text: &str| text.rsplit('.').next().unwrap_or_default().trim_matches('_').to_owned();
    let (name, value_word) = (last(name), last(value));
    let is_word = !value.is_empty() && value.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'.'));
    // `new_token = old_token`: a variable of a program, named like one.
    is_word && (name.ends_with(&value_word) || (value.contains('_') && is_secret_name(value)))
}

/// Says whether the value is a call or a look-up, with brackets that fit and no text in quotes.
fn is_expression(value: &str) -> bool {
    static CALL: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?x) ^ (?: [A-Za-z_]{3,} | [A-Za-z_][A-Za-z0-9_]* (?:\.[A-Za-z_][A-Za-z0-9_]*)+ ) [\(\[] .* [\)\]] (?: \ +\# .* )? $",
        )
    });
    static VARIABLE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^(?:os\.environ|os\.getenv|getenv|ENV|env|config|settings|args|self)\b[.\[(]"));
    let balanced = [('(', ')'), ('[', ']')]
        .iter()
        .all(|(open, close)| value.matches(*open).count() == value.matches(*close).count());
    (CALL.is_match(value) && balanced && !value.contains(['"', '\'']))
        || (VARIABLE.is_match(value) && value.matches(['"', '\'']).count() <= 2)
}

/// `--token value`, also as elements of a list.
fn options(text: &str, found: &mut Vec<Range<usize>>) {
    static OPTION: LazyLock<Regex> = LazyLock::new(|| {
        regex(r#"(?x) (?:^|[\s"'\[,(]) --? (?P<name>[A-Za-z][A-Za-z0-9_-]*) (?: ["']\ ?,?[\ \t]* | [\ \t]+ )"#)
    });
    let mut done = 0;
    for captures in OPTION.captures_iter(text) {
        if group(&captures, "name").start < done || !is_secret_name(&captures["name"]) {
            continue;
        }
        let value = value(text, captures.get(0).expect("the whole match").end(), Reach::Word);
        let words = &text[value.clone()];
        let prose = ["option", "options", "and", "or", "to", "is", "for", "flag", "argument", "if", "with"];
        if !words.starts_with('-')
            && !is_open(words)
            && !prose.contains(&words)
            && !is_name_again(&captures["name"], words)
        {
            done = value.end;
            found.push(value);
        }
    }
}

/// Adds what the group `secret` of each match holds.
fn group_of(regex: &Regex, text: &str, found: &mut Vec<Range<usize>>) {
    for captures in regex.captures_iter(text) {
        let secret = group(&captures, "secret");
        if !is_open(&text[secret.clone()]) {
            found.push(secret);
        }
    }
}

/// Private keys: what stands between the two marks, or what looks like a key after a lone first mark.
fn keys(text: &str, found: &mut Vec<Range<usize>>) {
    static BEGIN: LazyLock<Regex> = LazyLock::new(|| regex("-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"));
    static END: LazyLock<Regex> = LazyLock::new(|| regex("-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"));
    let ends: Vec<usize> = END.find_iter(text).map(|mark| mark.start()).collect();
    let begins: Vec<Range<usize>> = BEGIN.find_iter(text).map(|mark| mark.range()).collect();
    for (index, begin) in begins.iter().enumerate() {
        let next = begins.get(index + 1).map_or(text.len(), |mark| mark.start);
        let end = ends.get(ends.partition_point(|end| *end < begin.end)).copied().filter(|end| *end <= next);
        let body = begin.end..end.unwrap_or_else(|| begin.end + key_like(&text[begin.end..next]));
        if !text[body.clone()].trim().is_empty() {
            found.push(body);
        }
    }
}

/// Returns the length of the rest of the line and of the lines after it that can belong to a key.
fn key_like(text: &str) -> usize {
    let fits = |line: &str| {
        let line = line.trim();
        let base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '\\' | '"' | ',');
        line.is_empty() || line.chars().all(base64) || line.contains(": ") || is_placeholder(line)
    };
    let mut length = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number > 0 && !fits(line) {
            break;
        }
        length += line.len();
    }
    length
}

#[cfg(test)]
mod tests {
    use super::super::redact;

    #[test]
    fn hides() {
        let cases = [
            ("index-url = https://bob:s%40cret@pypi.corp/simple", "index-url = https://<secret-1>@pypi.corp/simple"),
            ("git clone https://ghp_abc@github.com/x", "git clone https://<secret-1>@github.com/x"),
            ("ftp://u:a@b@host/", "ftp://<secret-1>@host/"),
            ("to=https%3A%2F%2Fu%3Ap%2540w%40host%2Fx", "to=https%3A%2F%2F<secret-1>%40host%2Fx"),
            ("HTTPS_PROXY=me:pw@proxy:3128", "HTTPS_PROXY=<secret-1>@proxy:3128"),
            ("> Authorization: Basic dTpw", "> Authorization: <secret-1>"),
            ("header: Authorization: Basic dTpw", "header: Authorization: <secret-1>"),
            ("curl -H \"PRIVATE-TOKEN: abcd\" https://h", "curl -H \"PRIVATE-TOKEN: <secret-1>\" https://h"),
            ("curl -H 'Authorization: Bearer a b' x", "curl -H 'Authorization: <secret-1>' x"),
            ("got bearer abc123defg from", "got bearer <secret-1> from"),
            ("export HF_TOKEN=abcd", "export HF_TOKEN=<secret-1>"),
            ("password = Abc(123", "password = <secret-1>"),
            ("password = encode(\"hunter2\")", "password = <secret-1>"),
            ("password=p4(ss)", "password=<secret-1>"),
            ("< Set-Cookie: session=abc; Path=/", "< Set-Cookie: <secret-1>"),
            ("DB_PASSWORD=correct horse battery\nX=1", "DB_PASSWORD=<secret-1>\nX=1"),
            ("$ PASSWORD=hunter2 make", "$ PASSWORD=<secret-1>"),
            ("run with TWINE_PASSWORD=hunter2 make", "run with TWINE_PASSWORD=<secret-1> make"),
            ("password = my phrase \r\nuser = me", "password = <secret-1> \r\nuser = me"),
            ("  \"apiKey\" : \"a\\\"b\", \"n\": 1", "  \"apiKey\" : \"<secret-1>\", \"n\": 1"),
            ("{'password': 'x y'}", "{'password': '<secret-1>'}"),
            ("\"{\\\"token\\\": \\\"abcd\\\"}\"", "\"{\\\"token\\\": \\\"<secret-1>\\\"}\""),
            ("cmake -DMY_PASSWORD:STRING=hunter2 ..", "cmake -DMY_PASSWORD:STRING=<secret-1> .."),
            ("tool --token abcd --verbose", "tool --token <secret-1> --verbose"),
            ("f(token=abcd), x", "f(token=<secret-1>), x"),
            ("tool --password=abcd x", "tool --password=<secret-1> x"),
            ("['tool', '--api-key', 'abcd']", "['tool', '--api-key', '<secret-1>']"),
            ("twine upload -u me -p hunter2 dist/*", "twine upload -u me -p <secret-1> dist/*"),
            ("docker login -u me -p hunter2 host", "docker login -u me -p <secret-1> host"),
            ("curl -u me:hunter2 https://h", "curl -u <secret-1> https://h"),
            ("mysql -uroot -phunter2 db", "mysql -uroot -p<secret-1> db"),
            ("machine h\n login me\n password hunter2", "machine h\n login me\n password <secret-1>"),
            ("//registry/:_authToken=abc-def", "//registry/:_authToken=<secret-1>"),
            ("setenv API_KEY abcd", "setenv API_KEY <secret-1>"),
            ("set -gx API_KEY 'ab cd'", "set -gx API_KEY '<secret-1>'"),
            ("GET /x?a=1&access_token=abc&b=2", "GET /x?a=1&access_token=<secret-1>&b=2"),
            ("https://h/b?sv=1&sig=aB%2F1&se=2", "https://h/b?sv=1&sig=<secret-1>&se=2"),
            ("x ghp_0123456789abcdefghij.", "x <secret-1>."),
            ("github_pat_11ABCDEFG0123456789_abc", "<secret-1>"),
            ("glpat-0123456789abcdefghij", "<secret-1>"),
            ("\u{1b}[1mghp_0123456789abcdefghij\u{1b}[0m", "\u{1b}[1m<secret-1>\u{1b}[0m"),
            (
                "\u{1b}[1mTOKEN\u{1b}[0m=\u{1b}[33mabcd\u{1b}[0m",
                "\u{1b}[1mTOKEN\u{1b}[0m=\u{1b}[33m<secret-1>\u{1b}[0m",
            ),
            ("\u{1b}[4mhttps://u:pw@h\u{1b}[0m", "\u{1b}[4mhttps://<secret-1>@h\u{1b}[0m"),
            ("id AKIAIOSFODNN7EXAMPLE here", "id <secret-1> here"),
            ("pypi-AgEIcHlwaS5vcmcCJDAwMDAw", "<secret-1>"),
            ("hf_abcdefghijklmnopqrst", "<secret-1>"),
            ("xoxb-1234567890-abc", "<secret-1>"),
            ("a eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl b", "a <secret-1> b"),
            (
                "-----BEGIN PRIVATE KEY-----\nMIIE\nAbC=\nthen text",
                "-----BEGIN PRIVATE KEY-----\n<secret-1>\n<secret-1>\nthen text",
            ),
            (
                "\"-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\"",
                "\"-----BEGIN PRIVATE KEY-----<secret-1>-----END PRIVATE KEY-----\"",
            ),
        ];
        for (given, want) in cases {
            assert_eq!(redact(given).as_str(), want, "{given}");
        }
    }

    #[test]
    fn leaves_alone() {
        let cases = [
            "https://pypi.org/simple",
            "https://host:8443/x@1.0",
            "git+https://github.com/x/y@v1.0",
            "ssh://git@github.com/x/y and git@github.com:x/y",
            "https://user:****@host/simple",
            "https://user:${PASSWORD}@host/simple",
            "set(args \"--password=${svn_password}\")",
            "f(token=${TOKEN}, x)",
            "error: expected unqualified-id before token: ';'",
            "setup.cfg:3: unexpected token: foo",
            "max_tokens=4096 pad_token_id=0 num_tokens: 128 token=12",
            "TOKENIZERS_PARALLELISM=false tokenizer=/models/x",
            "export HF_TOKEN=$HF_TOKEN",
            "token = os.environ[\"HF_TOKEN\"]",
            "token = parser.next_token(1)",
            "self._token = token",
            "new_token = old_token",
            "token = parser.next(a, b[1])  # the next one",
            "debug('token=%r', token)",
            "use --token and --password options",
            "['--password', password]",
            "EXACT_TOKEN = {",
            "\"cookie\": \"a cake\"",
            "if token == other:",
            "PASS: test-one",
            "secret::Key a;",
            "PWD=/home/me",
            "fatal: Authentication failed for 'https://host/x'",
            "Bearer authentication required",
            "password=<secret-3>",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "-- Found Python: /usr/bin/python3.11",
            "docker run -p 8080:80 image",
        ];
        for given in cases {
            assert_eq!(redact(given).as_str(), given);
        }
    }

    #[test]
    fn large_and_hostile_texts_end() {
        for piece in
            ["://", "password=", "\"token\":\"", "-----BEGIN PRIVATE KEY-----", "curl -u ", "a@", "eyJ", "token: \""]
        {
            let text = piece.repeat(100_000 / piece.len());
            assert!(redact(&text).as_str().len() <= text.len() * 4);
        }
    }
}
