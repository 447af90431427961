//! Tests of the grammar of the command line.

use super::*;

#[test]
fn the_grammar_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn the_language_of_the_help() {
    let of = |line: &str, lang: &str| {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        language(&args, |name| (name == "LANG").then(|| lang.to_owned()))
    };
    assert_eq!(of("fix run --help", "zh_CN.UTF-8"), Lang::Zh);
    assert_eq!(of("fix --lang en --help", "zh_CN.UTF-8"), Lang::En);
    assert_eq!(of("fix --help --lang=zh", "C"), Lang::Zh);
    assert_eq!(of("fix run -- x --lang zh", "C"), Lang::En);
}

#[test]
fn a_word_that_is_no_command_is_an_issue() {
    for (line, want) in [
        ("fix tda-1.9", "fix apply tda-1.9"),
        ("fix -C dir 1.9 -n", "fix -C dir apply 1.9 -n"),
        ("fix --yes 1.9", "fix --yes apply 1.9"),
        ("fix --yes=confirm 1.9 -- list", "fix --yes=confirm apply 1.9 -- list"),
        ("fix list", "fix list"),
        ("fix -C list show x", "fix -C list show x"),
        ("fix --version", "fix --version"),
    ] {
        let got = with_apply(line.split(' ').map(OsString::from).collect());
        let got: Vec<_> = got.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(got.join(" "), want);
    }
}

#[test]
fn flags_stand_before_or_after_the_command() {
    let parse = |line: &str| parse(line.split(' ').map(OsString::from)).unwrap();
    assert!(parse("fix -n run -- x -y").common.dry_run);
    let cli = parse("fix run --yes -- x -n");
    assert_eq!((cli.common.yes, cli.common.dry_run), (Some(Level::Safe), false));
    let Command::Run(run) = cli.command else { panic!("run") };
    assert_eq!(run.cmd, ["x", "-n"]);
    let Command::Apply(apply) = parse("fix 1.9 1.10 -- a --b").command else { panic!("apply") };
    assert_eq!((apply.issues.len(), apply.cmd.len()), (2, 2));
}
