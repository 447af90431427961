use super::*;

#[test]
fn anchors_of_signatures() {
    let table: &[(&str, &[&str])] = &[
        (
            r"The following imported targets are referenced, but are missing: (?P<missing_targets>[\w: -]+)",
            &["referenced, but are missing:"],
        ),
        ("is not a full path and was not found in the PATH", &["not a full path and was not"]),
        (r"ld\.lld: error: unable to find library -l(?P<missing_library>[\w.+-]+)", &["unable to find library -l"]),
        (r"/bin/sh: (?:1: |line 1: )?(?P<missing_tool>\S+): not found", &[": not found"]),
        (r"sh: (?P<missing_tool>/\S*/llvm-(?P<lost>ar|ranlib)): gone", &["/llvm-ar: gone", "/llvm-ranlib: gone"]),
        (r"cannot\ find\ -l(\S+)", &["cannot find -l"]),
        ("CUDA out of memory", &["CUDA out of memory"]),
        ("a name: EADDRINUSE", &["name: EADDRINUSE"]),
        ("Does not match the generator used previously", &["generator used previously"]),
        (r"No CMAKE_(?:C|CXX)_COMPILER could be found", &["CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER"]),
        (r"^(?P<package>LLVMCGData)$", &["LLVMCGData"]),
        (r"(?i)eaddrinuse_here", &["eaddrinuse_here"]),
        (r"blank \x1f(?P<control>_character_)\x1f", &["_character_"]),
        (r"package \x22LLD\x22 is considered to be NOT FOUND", &["considered to be NOT FOUND"]),
        ("找不到编译器错误", &["找不到编译器错误"]),
        (r"(?:first_alternative|second_alternative): \d+", &["first_alternative:", "second_alternative:"]),
    ];
    for (regex, expected) in table {
        assert_eq!(anchors(regex).unwrap(), *expected, "{regex}");
    }
}

#[test]
fn no_anchor() {
    for regex in ["error", r"\w+", "a (?:long enough literal here|x)", "not found", "(?:something_long)?"] {
        let error = anchors(regex).unwrap_err();
        assert!(matches!(error, AnchorError::NoAnchor { .. }), "{regex}");
        assert!(error.to_string().contains("8 literal bytes"), "{error}");
    }
    assert!(matches!(anchors("(oops"), Err(AnchorError::Syntax { message }) if message == "unclosed group"));
}

/// Whatever a signature matches holds an anchor.
#[test]
fn each_match_holds_an_anchor() {
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    for regex in [
        r"The following imported targets are referenced, but are missing: ([a-zA-Z]{1,9})",
        r"/bin/sh: (1: |line 1: )?([a-z/]{1,12}): not found",
        r"(No such file or directory|cannot open output file): '?(bishengir-opt|ld\.lld)'?",
        r"[Nn]o CMAKE_(C|CXX|ASM(_NASM)?)_COMPILER could( not)? be found( in the PATH)?",
        r"(a?b?c?d?e?_long_enough_|other.{0,3}_long_enough_too)x{2,3}",
        r"(first_word_here [a-c]){1,3} second_word_here",
        r"错误：(找不到|没有)文件 [a-z]{2}(编译器不可用)?",
    ] {
        let found = anchors(regex).unwrap();
        let texts = proptest::string::string_regex(regex).unwrap();
        for _ in 0..200 {
            let text = texts.new_tree(&mut runner).unwrap().current().to_lowercase();
            assert!(found.iter().any(|anchor| text.contains(&anchor.to_lowercase())), "{regex} {text} {found:?}");
        }
    }
}
