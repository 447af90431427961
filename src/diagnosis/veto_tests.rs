use super::*;
use crate::evidence::log::Speaker;

/// Says whether a match on line 10 stands with a veto on another line.
fn stands(veto_line: u64, side: Side, lines: u32) -> bool {
    stands_among([("", 1), ("", 1)], veto_line, side, lines)
}

/// The same, behind the tags of programs, among so many.
fn stands_among(programs: [(&str, u32); 2], veto_line: u64, side: Side, lines: u32) -> bool {
    let hit = |pattern: usize, line| Hit {
        pattern,
        program: Speaker::of(programs[pattern].0.as_bytes()),
        programs: programs[pattern].1,
        first_line: line,
        last_line: line,
        text: String::new(),
        captures: BTreeMap::new(),
    };
    let log = LogScan { hits: vec![hit(0, 10), hit(1, veto_line)], ..LogScan::default() };
    let owner = |signature, role| PatternOwner { recipe: "a".to_owned(), signature, role, lines, side };
    let patterns = [owner(0, Role::Required), owner(1, Role::Veto)];
    !candidates(&[log], &patterns, &BTreeMap::from([("a".to_owned(), vec![0])])).is_empty()
}

#[test]
fn a_veto_reaches_to_its_side() {
    let table = [
        (Side::Around, 2, [8, 9, 10, 11, 12].as_slice()),
        (Side::Before, 2, &[8, 9, 10]),
        (Side::After, 2, &[10, 11, 12]),
        (Side::Around, 0, &[10]),
        (Side::Before, 0, &[10]),
        (Side::After, 0, &[10]),
    ];
    for (side, lines, vetoed) in table {
        let found: Vec<u64> = (5..=15).filter(|line| !stands(*line, side, lines)).collect();
        assert_eq!(found, vetoed, "{side:?} {lines}");
    }
}

#[test]
fn a_veto_is_of_the_same_program() {
    let table = [
        ([("[rank1]: ", 2), ("[rank2]: ", 2)], 11, true),
        ([("[rank1]: ", 2), ("[rank1]: ", 2)], 11, false),
        ([("[rank1]: ", 2), ("", 1)], 11, false),
        ([("[rank1]: ", 2), ("[rank1]: ", 2)], 14, false),
        ([("[rank1]: ", 2), ("[rank1]: ", 2)], 15, true),
        ([("[rank1]: ", 1), ("[rank1]: ", 1)], 13, true),
    ];
    for (programs, veto, expected) in table {
        assert_eq!(stands_among(programs, veto, Side::After, 2), expected, "{programs:?} {veto}");
    }
}
