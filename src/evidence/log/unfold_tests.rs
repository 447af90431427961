use super::*;

/// Cuts as `fold -w` does.
fn fold(text: &str, width: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches('\n').as_bytes();
        let pieces: Vec<&[u8]> = body.chunks(width).collect();
        out.extend_from_slice(&pieces.join(&b'\n'));
        out.extend_from_slice(&line.as_bytes()[body.len()..]);
    }
    out
}

fn rejoined(log: &[u8], size: usize) -> (Option<Belief>, Vec<u8>, Vec<Fold>) {
    let mut unfold = Unfold::default();
    let (mut text, mut folds) = (Vec::new(), Vec::new());
    let parts: Vec<&[u8]> = log.chunks(size).collect();
    let mut done = 0;
    for (index, part) in parts.iter().enumerate() {
        let last = if index + 1 == parts.len() { Part::Last } else { Part::Some };
        let lines = memchr_iter(b'\n', &log[..done]).count() as u64;
        if let Some(more) = unfold.push(part, last, || Fold { at: 0, bytes: done as u64, lines }) {
            text.extend_from_slice(&more.text);
            folds.extend(more.folds);
        }
        done += part.len();
    }
    (unfold.belief(), text, folds)
}

const BUILD: &str = "\
-- The CXX compiler identification is GNU 12.2.0
CMake Error at third_party/ascend/CMakeLists.txt:45 (find_package): could not find the package configuration file
[12/99] Building CXX object lib/Dialect/TritonGPU/Transforms/CMakeFiles/TritonGPUTransforms.dir/Pipeliner.cpp.o
FAILED: lib/Dialect/TritonGPU/Transforms/CMakeFiles/TritonGPUTransforms.dir/Pipeliner.cpp.o because of this
/home/user/triton/lib/Dialect/TritonGPU/Transforms/Pipeliner.cpp:118:12: error: use of undeclared identifier
ninja: build stopped: subcommand failed.
";

#[test]
fn what_was_cut_is_rejoined() {
    for width in [64, 72, 80, 100] {
        let log = fold(BUILD, width);
        let (belief, text, folds) = rejoined(&log, log.len());
        assert!(belief.is_some(), "{width}");
        assert_eq!(String::from_utf8_lossy(&text), BUILD, "{width}");
        for (place, _) in BUILD.match_indices(|c: char| !c.is_whitespace()) {
            let left_out = missing(&folds, place as u64);
            let there = place + left_out.bytes as usize;
            assert_eq!(log[there], BUILD.as_bytes()[place], "{width} {place}");
            let above = memchr_iter(b'\n', &log[..there]).count();
            assert_eq!(above as u64, left_out.lines + BUILD[..place].matches('\n').count() as u64);
        }
    }
}

#[test]
fn a_long_log_is_rejoined_in_parts() {
    let many = BUILD.repeat(500);
    let log = fold(&many, 72);
    for size in [50_000, 65_537] {
        let (belief, text, folds) = rejoined(&log, size);
        assert_eq!(belief, Some(Belief::Strong), "{size}");
        assert_eq!(String::from_utf8_lossy(&text), many, "{size}");
        let (place, byte) = (text.len() - 2, text[text.len() - 2]);
        assert_eq!(log[place + missing(&folds, place as u64).bytes as usize], byte);
    }
}

/// Cuts as a terminal does: a wide character that does not fit into the last column goes to the next line.
fn on_terminal(text: &str, width: usize) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for character in text.chars() {
        let wide = if character == '\n' { 0 } else { String::from(character).width() };
        if character == '\n' {
            column = 0;
        } else if column + wide > width {
            out.push('\n');
            column = 0;
        }
        out.push(character);
        column += wide;
    }
    out
}

#[test]
fn chinese_terminals() {
    let log = "-- 配置完成\n错误：找不到编译器 clang，请先安装它再重新构建这个项目，否则下一步会失败，参见文档中关于编译环境的说明\n\
               变量 /usr/local/Ascend/ascend-toolkit/latest 没有设置，请先执行 source set_env.sh 后再试，或者查看日志文件 build.log\n\
               make: *** [Makefile:12：all] 错误 1\n";
    for width in [64, 65, 80] {
        let cut = on_terminal(log, width);
        let (belief, text, _) = rejoined(cut.as_bytes(), cut.len());
        assert!(belief.is_some(), "{width}: {cut}");
        assert_eq!(String::from_utf8_lossy(&text), log, "{width}");
    }
}

#[test]
fn lines_of_one_length_are_not_rejoined() {
    let libraries = "ld.lld: error: unable to find library -lxml2\nld.lld: error: unable to find library -lzstd\n\
                     ld.lld: error: unable to find library -lz_st\nld.lld: error: unable to find library -lcurl\n";
    let table = format!("+{0}+\n|{1}|\n|{1}|\n+{0}+\n", "-".repeat(70), "a".repeat(70));
    let ninja = (10..60).map(|n| format!("[{n}/99] Building CXX object lib/CMakeFiles/x.dir/file{n}.cpp.o\n"));
    let ninja: String = ninja.collect();
    let same = (100_000..103_000)
        .map(|n| format!("[{n}/999999] Building CXX object lib/Target/CMakeFiles/Target.dir/Source.cpp.o\n"));
    let same: String = same.collect();
    assert_eq!(rejoined(same.as_bytes(), 50_000).0, None);
    let long = format!("{}\n{BUILD}", "x".repeat(MOST_WIDTH + 1));
    for log in [libraries, &table, &ninja, &long, "", "\n\n", "short\nlines\n"] {
        assert_eq!(rejoined(log.as_bytes(), log.len().max(1)).0, None, "{log}");
    }
    assert_ne!(rejoined(BUILD.as_bytes(), BUILD.len()).0, Some(Belief::Strong));
}
