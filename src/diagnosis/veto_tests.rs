use super::*;

/// Says whether a match on line 10 stands with a veto on another line.
fn stands(veto_line: u64, side: Side, lines: u32) -> bool {
    let hit = |pattern, line| Hit {
        pattern,
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
