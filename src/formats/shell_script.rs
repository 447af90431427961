//! The simple commands of a shell text, with the place of every word: enough to change a word and nothing else.
//!
//! No shell is imitated: what a shell would still expand is told as such, and never evaluated. Comments and here
//! documents hold no commands.

use std::ops::Range;

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its bytes in the text, quotes included.
    pub span: Range<usize>,
    /// What the program gets; `None` where a shell would expand something.
    pub literal: Option<String>,
}

/// A simple command: assignments, a program, arguments. Redirections are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    pub words: Vec<Word>,
    /// Followed by `&`: the script goes on beside it.
    pub background: bool,
}

/// Words that may stand in front of a command.
const RESERVED: &[&str] =
    &["!", "{", "}", "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "time", "exec", "command"];

/// Lists the commands of a text in order; `None` where a quote or bracket is not closed.
pub fn commands(text: &str) -> Option<Vec<Command>> {
    let mut reader = Reader { text, at: 0, pending: Vec::new() };
    let mut all = Vec::new();
    let mut command = Command::default();
    let mut redirected = false;
    while let Some(token) = reader.next()? {
        match token {
            Token::End(background) => {
                command.background = background;
                let done = std::mem::take(&mut command);
                all.extend(Some(done).filter(|done| !done.words.is_empty()));
                redirected = false;
            }
            Token::Redirection => {
                // `2>`: the number belongs to the operator.
                let number = command.words.last().filter(|word| {
                    word.span.end == reader.operator_start()
                        && word.literal.as_ref().is_some_and(|l| l.bytes().all(|b| b.is_ascii_digit()))
                });
                if number.is_some() {
                    command.words.pop();
                }
                redirected = true;
            }
            Token::Word(_) if redirected => redirected = false,
            Token::Word(word) => {
                let reserved = word.literal.as_deref().is_some_and(|word| RESERVED.contains(&word));
                if word.literal.as_deref() == Some("{") && is_head_of_function(text, &command.words) {
                    command.words.clear();
                }
                if !(command.words.is_empty() && reserved) {
                    command.words.push(word);
                }
            }
        }
    }
    all.extend(Some(command).filter(|done| !done.words.is_empty()));
    Some(all)
}

/// `f()` or `function f`, in front of a body.
fn is_head_of_function(text: &str, words: &[Word]) -> bool {
    match words {
        [name] => text[name.span.clone()].ends_with("()"),
        [function, ..] => function.literal.as_deref() == Some("function"),
        [] => false,
    }
}

/// Splits `NAME=value`; the range is of the value within the word's text.
pub fn assignment(word: &str) -> Option<(&str, Range<usize>)> {
    let (name, _) = word.split_once('=')?;
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let well_formed = starts && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    well_formed.then(|| (name, name.len() + 1..word.len()))
}

enum Token {
    Word(Word),
    /// The end of a command; set where it goes to the background.
    End(bool),
    Redirection,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// Delimiters of here documents that begin on the next line; set where tabs are stripped.
    pending: Vec<(String, bool)>,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Where the operator that was read last began.
    fn operator_start(&self) -> usize {
        let before = self.text[..self.at].trim_end_matches(['<', '>', '&', '|', '-']);
        before.len()
    }

    /// The next token; `Some(None)` at the end, `None` where the text is not well-formed.
    fn next(&mut self) -> Option<Option<Token>> {
        loop {
            let rest = self.rest();
            if rest.starts_with("\\\n") {
                self.at += 2;
            } else if rest.starts_with("\\\r\n") {
                self.at += 3;
            } else if rest.starts_with([' ', '\t', '\r']) {
                self.at += 1;
            } else if rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else {
                break;
            }
        }
        let Some(first) = self.peek() else { return Some(None) };
        let token = match first {
            '\n' => {
                self.at += 1;
                self.skip_documents();
                Token::End(false)
            }
            '&' if self.rest().starts_with("&>") => {
                self.at += if self.rest().starts_with("&>>") { 3 } else { 2 };
                Token::Redirection
            }
            ';' | '|' | '(' | ')' | '&' => {
                let run = self.rest().len() - self.rest().trim_start_matches([';', '|', '&']).len();
                let operator = &self.rest()[..run.max(1)];
                let background = operator == "&";
                self.at += operator.len();
                Token::End(background)
            }
            '<' | '>' => self.redirection()?,
            _ => Token::Word(self.word()?),
        };
        Some(Some(token))
    }

    fn redirection(&mut self) -> Option<Token> {
        let rest = self.rest();
        if rest.starts_with("<(") || rest.starts_with(">(") {
            return self.word().map(Token::Word);
        }
        if rest.starts_with("<<") && !rest.starts_with("<<<") {
            let tabs = rest.starts_with("<<-");
            self.at += if tabs { 3 } else { 2 };
            while self.rest().starts_with([' ', '\t']) {
                self.at += 1;
            }
            let word = self.word()?;
            let raw = &self.text[word.span.clone()];
            let delimiter: String = raw.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
            self.pending.push((delimiter, tabs));
            return self.next()?.or(Some(Token::End(false)));
        }
        let operators = ["<<<", "&>>", ">>", ">&", "<&", ">|", "<>", "<", ">"];
        let operator = operators.iter().find(|operator| rest.starts_with(**operator))?;
        self.at += operator.len();
        Some(Token::Redirection)
    }

    /// Skips the here documents that begin here.
    fn skip_documents(&mut self) {
        for (delimiter, tabs) in std::mem::take(&mut self.pending) {
            while self.at < self.text.len() {
                let line = self.rest().split_inclusive('\n').next().unwrap_or_default();
                self.at += line.len();
                let line = line.trim_end_matches(['\r', '\n']);
                if delimiter == if tabs { line.trim_start_matches('\t') } else { line } {
                    break;
                }
            }
        }
    }

    fn word(&mut self) -> Option<Word> {
        let start = self.at;
        let mut literal = Some(String::new());
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '|' | '&' | ')' => break,
                '<' | '>' if self.at > start => break,
                '<' | '>' => {
                    self.at += 1;
                    literal = None;
                }
                '(' => {
                    // An array, a function's brackets, a substitution of a process.
                    self.brackets('(', ')')?;
                    literal = None;
                }
                '\'' => {
                    let end = self.at + 1 + self.rest()[1..].find('\'')?;
                    let inner = &self.text[self.at + 1..end];
                    literal.iter_mut().for_each(|text| text.push_str(inner));
                    self.at = end + 1;
                }
                '"' => literal = self.quoted()?.and_then(|inner| literal.map(|text| text + &inner)),
                '\\' => {
                    self.at += 1;
                    match self.peek() {
                        None => return None,
                        Some('\n') => self.at += 1,
                        Some(escaped) => {
                            self.at += escaped.len_utf8();
                            literal.iter_mut().for_each(|text| text.push(escaped));
                        }
                    }
                }
                '$' | '`' => {
                    self.expansion()?;
                    literal = None;
                }
                other => {
                    self.at += other.len_utf8();
                    if matches!(other, '*' | '?' | '[') || (other == '~' && self.at == start + 1) {
                        literal = None;
                    }
                    literal.iter_mut().for_each(|text| text.push(other));
                }
            }
        }
        Some(Word { span: start..self.at, literal })
    }

    /// Reads `"…"`; the inner `None` where something in it would be expanded.
    fn quoted(&mut self) -> Option<Option<String>> {
        self.at += 1;
        let mut literal = Some(String::new());
        loop {
            match self.peek()? {
                '"' => {
                    self.at += 1;
                    return Some(literal);
                }
                '$' | '`' => {
                    self.expansion()?;
                    literal = None;
                }
                '\\' => {
                    self.at += 1;
                    let escaped = self.peek()?;
                    self.at += escaped.len_utf8();
                    literal.iter_mut().for_each(|text| {
                        if !matches!(escaped, '"' | '\\' | '$' | '`' | '\n') {
                            text.push('\\');
                        }
                        if escaped != '\n' {
                            text.push(escaped);
                        }
                    });
                }
                other => {
                    self.at += other.len_utf8();
                    literal.iter_mut().for_each(|text| text.push(other));
                }
            }
        }
    }

    /// Steps over `$name`, `${…}`, `$(…)`, `` `…` ``.
    fn expansion(&mut self) -> Option<()> {
        if self.rest().starts_with('`') {
            self.at += 2 + self.rest()[1..].find('`')?;
            return Some(());
        }
        self.at += 1;
        match self.peek() {
            Some('(') => self.brackets('(', ')')?,
            Some('{') => self.brackets('{', '}')?,
            Some('\'') => self.at += 2 + self.rest()[1..].find('\'')?,
            Some(_) | None => {}
        }
        Some(())
    }

    /// Steps over a bracket and all in it; quotes in it hide brackets.
    fn brackets(&mut self, open: char, close: char) -> Option<()> {
        let mut depth = 0usize;
        loop {
            let next = self.peek()?;
            match next {
                '\'' => self.at += 2 + self.rest()[1..].find('\'')?,
                '"' => drop(self.quoted()?),
                '\\' => {
                    self.at += 1;
                    self.at += self.peek()?.len_utf8();
                }
                _ => {
                    self.at += next.len_utf8();
                    if next == open {
                        depth += 1;
                    } else if next == close {
                        depth -= 1;
                        if depth == 0 {
                            return Some(());
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line a command: words by `|`, what a shell would expand as it stands behind a `$`.
    fn shown(text: &str) -> String {
        let Some(all) = commands(text) else { return "broken".into() };
        let word = |word: &Word| match &word.literal {
            Some(literal) => literal.clone(),
            None => format!("~{}", &text[word.span.clone()]),
        };
        let line = |command: &Command| {
            let words: Vec<String> = command.words.iter().map(word).collect();
            format!("{}{}", words.join("|"), if command.background { " &" } else { "" })
        };
        all.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn commands_of_texts() {
        for (text, want) in [
            ("torchrun --a=1 x.py", "torchrun|--a=1|x.py"),
            ("a 'b c' \"d e\" f\\ g", "a|b c|d e|f g"),
            ("a \\\n  --b \\\n  c # no\n# torchrun x\nd", "a|--b|c\nd"),
            ("A=1 B=$C d \"$E\" ${F:-29500}", "A=1|~B=$C|d|~\"$E\"|~${F:-29500}"),
            ("a > log 2>&1 &\nb >> \"$L\" | tee x; c && d || e", "a &\nb\ntee|x\nc\nd\ne"),
            ("a &> log", "a"),
            ("cat <<EOF > f\ntorchrun x\nEOF\nb", "cat\nb"),
            ("cat <<-'E'\n\ttorchrun\n\tE\nb", "cat\nb"),
            ("ARGS=(--a 1\n --b) ; x ${ARGS[@]}", "~ARGS=(--a 1\n --b)\nx|~${ARGS[@]}"),
            ("if [ -z $A ]; then torchrun x; fi", "~[|-z|~$A|]\ntorchrun|x"),
            ("for i in 1 2; do a $i; done", "for|i|in|1|2\na|~$i"),
            ("f() { a; }\nfunction g { b; }", "a\nb"),
            ("P=$(shuf -n 1 -i 1-2); a `b c` d", "~P=$(shuf -n 1 -i 1-2)\na|~`b c`|d"),
            ("(cd x && a)", "cd|x\na"),
            ("a 'b", "broken"),
            ("a \"b", "broken"),
            ("a $(b", "broken"),
            ("", ""),
            ("echo 端口 29500", "echo|端口|29500"),
        ] {
            assert_eq!(shown(text), want, "{text}");
        }
    }

    #[test]
    fn assignments() {
        assert_eq!(assignment("A_1=b=c"), Some(("A_1", 4..7)));
        assert_eq!([assignment("1A=b"), assignment("--a=b"), assignment("=b"), assignment("a")], [const { None }; 4]);
    }
}
