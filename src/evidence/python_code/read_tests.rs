//! Tests of reading Python sources.

use super::*;
use crate::evidence::python_code::tree::{Into, walk};

const ALL: &str = r#"import os, sys as s
from x.y import (a as b, c)
from .m import *
@dec(1)
async def f(a, b=1, *args, c: int = 2, **kw) -> int:
    async for i, j in foo():
        pass
    else:
        x
    with open(a) as g, torch.device("meta"):
        y: int = 3
        z: int
        a = b = c
        a += 1
    try:
        pass
    except E as e:
        raise X from e
    finally:
        del a
    global g
    match x:
        case 1:
            pass
    return lambda q: q + 1
class C(B):
    w = f"a{b}c" "d"
if x and not y: a
elif z: b
else: c
p = [i for i in range(3) if i]; t = x if y else z
print(a == b, a[1:2], *c, k=(n := -3), )  # last
"#;

#[test]
fn every_statement_becomes_what_it_is() {
    let source = Source::new(ALL.as_bytes()).unwrap();
    let file = read(&source).unwrap();
    assert!(!file.broken);
    let mut seen = Vec::new();
    walk(&file.body, Into::Functions, &mut |stmt| {
        assert!(!stmt.broken, "{stmt:?}");
        seen.push(match &stmt.kind {
            Deed::Expr(_) => "expr",
            Deed::Assign { targets, .. } if targets.len() == 2 => "chain",
            Deed::Assign { augmented: true, .. } => "augmented",
            Deed::Assign { .. } => "assign",
            Deed::Import(_) => "import",
            Deed::If(_) => "if",
            Deed::Loop { .. } => "loop",
            Deed::With { .. } => "with",
            Deed::Blocks { .. } => "blocks",
            Deed::Function(_) => "def",
            Deed::Class { .. } => "class",
            Deed::Return(_) => "return",
            Deed::Leave(_) => "leave",
            Deed::Outer(_) => "outer",
            Deed::Delete(_) => "delete",
            Deed::Other(_) => "other",
        });
    });
    let want = "import import import def loop other expr with assign other chain augmented blocks other leave \
                delete outer blocks other return class assign if expr expr expr assign assign expr";
    assert_eq!(seen.join(" "), want);
    let Deed::Function(function) = &file.body[3].kind else { panic!("{:?}", file.body[3]) };
    let params: Vec<&str> = function.params.iter().map(|param| param.name).collect();
    assert_eq!(params, ["a", "b", "args", "c", "kw"]);
    assert_eq!(function.decorators.len(), 1);
    assert_eq!(file.comments, [(source.line(ALL.len() - 1), "# last")]);
    let Deed::Import(names) = &file.body[1].kind else { panic!("{:?}", file.body[1]) };
    let names: Vec<(&str, &str)> = names.iter().map(|one| (one.name, one.path.as_str())).collect();
    assert_eq!(names, [("b", "x.y.a"), ("c", "x.y.c")]);
    let Deed::Import(star) = &file.body[2].kind else { panic!("{:?}", file.body[2]) };
    assert_eq!((star[0].name, star[0].path.as_str()), ("*", ".m"));
}

#[test]
fn hostile_files_are_refused_or_read_in_bounds() {
    let deep = |open: &str, close: &str, n: usize| format!("x = {}1{}\n", open.repeat(n), close.repeat(n));
    for text in [deep("(", ")", 100_000), deep("[", "]", 100_000), deep("f(", ")", 50_000), deep("-", "", 100_000)] {
        let source = Source::new(text.as_bytes()).unwrap();
        assert!(read(&source).is_err(), "{}", &text[..20]);
    }
    // Unclosed, and blocks within blocks.
    for text in [
        "(".repeat(100_000),
        "if x:\n".repeat(5_000),
        (0..1_000).map(|n| format!("{}if x:\n", " ".repeat(n % 400))).collect(),
        "\"".repeat(99_999),
        "@".repeat(20_000),
        "lambda:".repeat(20_000),
    ] {
        let source = Source::new(text.as_bytes()).unwrap();
        // Whatever comes out, it comes, and no statement of it counts as sound where the parser guessed.
        let guessed = read(&source).is_ok_and(|file| !file.broken && file.body.iter().any(|stmt| stmt.broken));
        assert!(!guessed, "{}", &text[..20]);
    }
    // Long, but honest.
    let text = "x = f(a, b=[1, 2, 3])\n".repeat(10_000);
    let source = Source::new(text.as_bytes()).unwrap();
    assert_eq!(read(&source).map(|file| file.body.len()).ok(), Some(10_000));
}
