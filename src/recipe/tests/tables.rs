//! The good recipe with one thing wrong at a time, and what is said about it.

/// Lines of the good recipe (`-`), what stands there instead (`+`), and the complaints of loading it (`!`).
pub const BROKEN: &str = r####"
- aliases = ["tda-3.9"]
+ aliases = ["tda-3.9"]
+ famly = "cmake"
! 4:1: unknown field `famly`

- list = true
+ list = "yes"
! 28:8: `param[0].list` is of the wrong type: string

- references = ["https://example.org/faq#1.9"]
+ references = [1, "https://example.org/faq#1.9"]
! 7:15: `references[0]` is of the wrong type: integer

- lines = 12
+ lines = 0
! 47:9: `lines` is out of range

- lines = 12
+ side = "after"
! 47:1: unknown field `side`

- lines = 12
+ lines = "12"
! 47:9: `signature[0].lines` is of the wrong type: string

- slug = "llvmcgdata-residue"
! 1:1: missing field `slug`

- zh = "缺少 LLVM 目标"
! 9:1: missing field `title.zh`

- [title]
+ [titel]
! 1:1: missing field `title`
! 9:2: unknown field `titel`

- zh = "缺少 LLVM 目标"
+ zh = " "
! 11:6: `title.zh` is empty

- en = "LLVM targets are missing"
+ en = ""
! 10:6: `title.en` is empty

- says = { en = "this cannot be told here", zh = "此处无法判断" }
! 86:1: missing field `case[2].says`

- applicability = "confirm"
+ applicability = "sure"
! 5:17: `applicability` cannot be `sure`

- role = "veto"
+ role = "vetoed"
! 53:8: `role` cannot be `vetoed`

- type = "path"
+ type = "folder"
! 41:8: `type` cannot be `folder`

- verdict = "likely"
+ verdict = "maybe"
! 81:11: `verdict` cannot be `maybe`

- is = ["consistent"]
+ is = ["consistent"]
+ stage = "later"
! 77:9: `stage` cannot be `later`

- is = ["consistent"]
+ is = []
! 76:6: `case[0].verify[0].is` has no words

- slug = "llvmcgdata-residue"
+ slug = "llvmcgdata-residue
! 2:27: invalid basic string, expected `"`

- slug = "llvmcgdata-residue"
+ slug = "a"
+ slug = "b"
! 3:1: duplicate key

- ask = { llvm_pair = { build_dir = "${tree.path}" } }
+ ask = { llvm_pair = {}, cmake_tree = {} }
! 62:25: expected one question, found 2

- ask = { llvm_pair = { build_dir = "${tree.path}" } }
+ ask = {}
! 62:7: expected one question, found 0

- name = "llvm"
+ name = "llvm"
+ asks = 1
! 62:1: unknown field `asks`

- when = { llvm = ["mismatch"] }
+ when = { llvm = [1] }
! 80:10: `case[1].when.llvm` is of the wrong type: array

- set_aside_tree = { path = "${tree.path}" }
+ set_aside_tree = { path = 1 }
! 71:27: `case[0].step[0].set_aside_tree.path` is of the wrong type: integer

- set_aside_tree = { path = "${tree.path}" }
+ set_aside_tree = "${tree.path}"
! 71:1: `case[0].step[0].set_aside_tree` is of the wrong type: string

- name = "clean"
+ name = "clean"
+ hlep = 1
! 34:1: unknown field `hlep`

- id = "tda-1.9"
- slug = "llvmcgdata-residue"
+ id = "tda-1.8"
+ slug = "run"
+ colour = 1
! 1:6: id `tda-1.8` is not the file's name `tda-1.9`
! 2:8: `run` is a subcommand of `fix`
! 3:1: unknown field `colour`

- id = "tda-1.9"
+ id = "tda-1.8"
! 1:6: id `tda-1.8` is not the file's name `tda-1.9`

- slug = "llvmcgdata-residue"
+ slug = "Rollback"
! 2:8: `Rollback` is a subcommand of `fix`

- aliases = ["tda-3.9"]
+ aliases = ["ok", "apply"]
! 3:18: `apply` is a subcommand of `fix`

- aliases = ["tda-3.9"]
+ aliases = ["TDA-1.9"]
! 3:12: the recipe is called `TDA-1.9` already

- aliases = ["tda-3.9"]
+ aliases = ["a b"]
! 3:12: `a b` cannot be typed as an argument

- [why]
- en = "The tree may hold work."
- zh = "目录中可能有你的工作。"
! 5:17: missing field `why`: applicability is not `safe`

-   '''imported targets are referenced, but are missing: (?P<missing_targets>\S+(?: \S+)*)''',
+   '''imported targets are referenced, but are (missing: (?P<missing_targets>\S+(?: \S+)*)''',
! 49:47: bad regular expression: unclosed group

-   '''imported targets are referenced, but are missing: (?P<missing_targets>\S+(?: \S+)*)''',
+   '''[z-a]imported targets are referenced, but are missing: (?P<missing_targets>\S+(?: \S+)*)''',
! 49:7: bad regular expression: invalid character class range, the start must be <= the end

- any = ["Could not find a package configuration file"]
+ any = ["\\bCould (?=not find a package configuration file"]
! 54:8: bad regular expression: look-around, including look-ahead and look-behind, is not supported

-   '''imported targets are referenced, but are missing: (?P<missing_targets>\S+(?: \S+)*)''',
+   '''(?P<missing_targets>\S+(?: \S+)*)''',
! 49:3: no usable anchor: too short

- any = ["Could not find a package configuration file"]
+ any = []
! 52:1: the signature has no regular expression

- role = "required"
+ role = "supporting"
! 45:1: no signature has the role `required`

- capture = "missing_targets"
+ capture = "missing_target"
! 30:11: no signature has a group `missing_target`

- probe = "llvm.dir"
+ probe = "lvm.dir"
! 42:9: no probe `lvm`

- probe = "llvm.dir"
+ probe = "llvm"
! 42:9: probe `llvm` is named without a value

- probe = "llvm.dir"
+ probe = "llvm.path"
! 42:9: `llvm_pair` gives no value `path`

- default = "tree"
+ default = "all"
! 35:11: the default `all` is not among the choices

- type = "path"
+ type = "port"
+ default = "0"
! 42:11: the default `0` is not of the parameter's type

- name = "clean"
+ name = "missing_targets"
! 33:8: there is a parameter `missing_targets` already
! 72:13: no parameter `clean`

- name = "clean"
+ name = "Clean-it"
! 33:8: `Clean-it` is not a name
! 72:13: no parameter `clean`

- name = "llvm"
+ name = "tree"
! 42:9: no probe `llvm`
! 61:8: there is a probe `tree` already
! 66:10: no probe or parameter `llvm`
! 75:9: no probe `llvm`
! 80:10: no probe or parameter `llvm`

- name = "llvm"
+ name = "clean"
! 42:9: no probe `llvm`
! 61:8: `clean` is the name of a parameter already
! 66:10: no probe or parameter `llvm`
! 75:9: no probe `llvm`
! 80:10: no probe or parameter `llvm`

- ask = { cmake_tree = { hint = "${missing_targets}" } }
+ ask = { cmake_tre = { hint = "${missing_targets}" } }
! 58:9: unknown question `cmake_tre`

- ask = { cmake_tree = { hint = "${missing_targets}" } }
+ ask = { cmake_tree = { hnt = "${missing_targets}" } }
! 58:24: `cmake_tree` takes no argument `hnt`

- ask = { llvm_pair = { build_dir = "${tree.path}" } }
+ ask = { llvm_pair = {} }
! 62:9: `llvm_pair` needs the argument `build_dir`

- ask = { cmake_tree = { hint = "${missing_targets}" } }
+ ask = { cmake_tree = { hint = "a/${missing}" } }
! 58:34: unbound variable `missing`

- ask = { cmake_tree = { hint = "${missing_targets}" } }
+ ask = { cmake_tree = { hint = "${llvm.dir}" } }
! 58:32: unbound variable `llvm.dir`: probe `llvm` is not answered yet

- ask = { cmake_tree = { hint = "${missing_targets}" } }
+ ask = { cmake_tree = { hint = "${llvm_dir}" } }
! 58:32: `llvm_dir` may come from probe `llvm`, which is not answered yet

- ask = { cmake_tree = { hint = "${missing_targets}" } }
+ ask = { cmake_tree = { hint = "${tree.path}" } }
! 58:32: unbound variable `tree.path`: probe `tree` is not answered yet

- ask = { llvm_pair = { build_dir = "${tree.path}" } }
+ ask = { llvm_pair = { build_dir = "${tree.pth}" } }
! 62:36: `cmake_tree` gives no value `pth`

- ask = { llvm_pair = { build_dir = "${tree.path}" } }
+ ask = { llvm_pair = { build_dir = "${tre.path}" } }
! 62:36: unbound variable `tre.path`: no probe `tre`

- ask = { llvm_pair = { build_dir = "${tree.path}" } }
+ ask = { llvm_pair = { build_dir = "x ${tree.path" } }
! 62:38: `${` at byte 2 is not closed

- ask = { llvm_pair = { build_dir = "${tree.path}" } }
+ ask = { llvm_pair = { build_dir = "x ${tree path}" } }
! 62:38: `${tree path}` is not a name

- applicability = "manual"
+ applicability = "safe"
! 82:17: the case allows more than the recipe

- when = { llvm = ["mismatch"] }
+ when = { llvm = ["broken"] }
! 80:18: `llvm_pair` never answers `broken`

- when = { llvm = ["mismatch"] }
+ when = { lvm = ["mismatch"] }
! 80:10: no probe or parameter `lvm`

- when = { llvm = ["mismatch"] }
+ when = { clean = ["wide"] }
! 80:19: `wide` is not a choice of parameter `clean`

- when = { llvm = ["mismatch"] }
+ when = { llvm_dir = ["x"] }
! 80:10: parameter `llvm_dir` has no `choices`, so no word can be expected of it

- when = { llvm = ["mismatch"] }
+ when = { llvm = [] }
! 80:10: `case[1].when.llvm` has no words

- says = { en = "two LLVMs in ${llvm_dir}", zh = "${llvm_dir} 中有两个 LLVM" }
+ says = { en = "two LLVMs in ${llvm_dir}", zh = "${llvm_dir} 中有两个 ${what}" }
! 83:66: unbound variable `what`

- advice = [{ en = "Look at the cache.", zh = "请查看缓存。" }]
+ advice = [{ en = "Look at the cache.", zh = "请查看 ${tree.cache}。" }]
! 90:50: `cmake_tree` gives no value `cache`

- set_aside_tree = { path = "${tree.path}" }
+ set_aside_tre = { path = "${tree.path}" }
! 71:1: unknown verb `set_aside_tre`

- set_aside_tree = { path = "${tree.path}" }
+ set_aside_tree = { keep = "x" }
! 71:1: `set_aside_tree` needs the argument `path`

- set_aside_tree = { path = "${tree.path}" }
+ set_aside_tree = { path = "x", kep = "${y}" }
! 71:32: `set_aside_tree` takes no argument `kep`
! 71:39: unbound variable `y`

- only_if = { clean = ["tree"] }
+ only_if = { tree = ["found"] }
! 72:13: no parameter `tree`

- only_if = { clean = ["tree"] }
+ only_if = { clean = ["found"] }
! 72:22: `found` is not a choice of parameter `clean`

- [[case.verify]]
- probe = "llvm"
- is = ["consistent"]
! 64:1: case `stale-cache` has steps and no `[[case.verify]]`

- probe = "llvm"
+ probe = "lvm"
! 75:9: no probe `lvm`

- is = ["consistent"]
+ is = ["consistent", "fine"]
! 76:21: `llvm_pair` never answers `fine`

- is = ["consistent"]
+ is = ["consistent", "stale", "mismatch"]
! 76:6: the check holds whatever the answer is

- is = ["consistent"]
+ is = ["consistent"]
+ [[case.verify]]
+ probe = "llvm"
+ is = ["stale"]
+ stage = "rerun"
! 79:6: no answer of `llvm` passes this check and the static one

- verdict = "certain"
+ verdict = "possible"
! 67:11: a case that is only possible, or refuted, cannot have steps

- name = "mismatch"
+ name = "stale-cache"
! 79:8: there is a case `stale-cache` already

- when = { llvm = ["mismatch"] }
+ when = { llvm = "stale", tree = ["found"], clean = "narrow" }
! 78:1: case `mismatch` is never taken

- when = { llvm = ["mismatch"] }
+ when = { llvm = ["stale", "mismatch", "consistent", "unknown"] }
! 86:1: case `unclear` is never taken
"####;

/// The same for recipes that load, but do not pass lint.
pub const UNTIDY: &str = r####"
- slug = "llvmcgdata-residue"
+ slug = "llvmcgdata_residue"
! 2:8: `llvmcgdata_residue` is not in lower-case kebab

- slug = "llvmcgdata-residue"
+ slug = "LLVM"
! 2:8: `LLVM` is not in lower-case kebab

- family = "cmake"
+ family = "-cmake"
! 4:10: `-cmake` is not in lower-case kebab

- name = "stale-cache"
+ name = "stale cache"
! 65:8: `stale cache` is not in lower-case kebab

- id = "tda-1.9"
- slug = "llvmcgdata-residue"
+ slug = "llvmcgdata-residue"
+ id = "tda-1.9"
! 2:6: `id` stands after `slug`

- [title]
- en = "LLVM targets are missing"
- zh = "缺少 LLVM 目标"
-
! 1:1: missing field `title`

- any = ["Could not find a package configuration file"]
-
+ any = ["Could not find a package configuration file"]
+
+ [[param]]
+ name = "late"
+ type = "text"
+
! 56:1: `param` stands after `signature`

- verdict = "likely"
- applicability = "manual"
+ applicability = "manual"
+ verdict = "likely"
! 82:11: `verdict` stands after `applicability`

-   '''imported targets are referenced, but are missing: (?P<missing_targets>\S+(?: \S+)*)''',
+   '''ninja: Build STOPPED: (?P<missing_targets>\S+(?: \S+)*)''',
! 49:3: a required signature matches the generic line `ninja: build stopped: subcommand failed.`

-   '''imported targets are referenced, but are missing: (?P<missing_targets>\S+(?: \S+)*)''',
+   '''LLVM targets: (?P<missing_targets>\S+(?: \S+)*)''',
! 49:3: the literal `LLVM targets`, which this is looked for by, has 12 of at least 14 bytes

-   '''imported targets are referenced, but are missing: (?P<missing_targets>\S+(?: \S+)*)''',
+   '''(?i)error: subprocess-exited|(?P<missing_targets>\S+(?: \S+)*)''',
! 49:3: no usable anchor: too short

-   '''imported targets are referenced, but are missing: (?P<missing_targets>\S+(?: \S+)*)''',
+   '''imported targets are referenced, but are missing: (?P<missing_targets>(?:\s*\S+)+)''',
! 49:3: a repetition of nothing but repetitions

-   '''imported targets are referenced, but are missing: (?P<missing_targets>\S+(?: \S+)*)''',
+   '''imported targets are referenced, but are missing: (?P<missing_targets>(?:\w{999}){999})''',
! 49:3: the regular expression is too large when compiled

-   '''imported targets are referenced, but are missing: (?P<missing_targets>\S+(?: \S+)*)''',
+   '''imported targets are referenced, but are missing: (?P<kind>exact)?(?P<missing_targets>\S+(?: \S+)*)''',
! 49:59: group `kind` is no parameter's `capture`

- any = ["Could not find a package configuration file"]
+ any = ["(?P<package>a)Could not find a package configuration file"]
! 54:12: group `package` is no parameter's `capture`

- zh = "缺少 LLVM 目标"
+ zh = "missing LLVM targets"
! 11:6: `title.zh` is not Chinese

- en = "LLVM targets are missing"
+ en = "LLVM 目标 are missing"
! 10:6: `title.en` is not English

- en = "LLVM targets are missing"
+ en = "${missing_targets} are missing"
! 10:7: `title` cannot hold variables

- help = { en = "how much to clean", zh = "清理多少" }
+ help = { en = "how much to clean", zh = "TODO" }
! 37:41: `param[1].help.zh` is not Chinese

- advice = [{ en = "Look at the cache.", zh = "请查看缓存。" }]
! 86:1: case `unclear` has neither steps nor advice

- is = ["consistent"]
+ is = ["consistent", "unknown"]
! 76:6: `unknown` proves nothing

- ask = { llvm_pair = { build_dir = "${tree.path}" } }
-
+ ask = { llvm_pair = { build_dir = "${tree.path}" } }
+
+ [[probe]]
+ name = "again"
+ ask = { cmake_tree = {} }
+
! 65:8: probe `again` is never used

- en = "LLVM targets are missing"
+ en = """LLVM targets
+ are missing"""
! 10:6: `title.en` is more than one line

- says = { en = "this cannot be told here", zh = "此处无法判断" }
+ says = { en = "this cannot be told here\n", zh = "此处无法判断" }
! 89:15: `case[2].says.en` is more than one line

- when = { llvm = ["stale"], tree = "found" }
+ when = { llvm = ["stale", "unknown"], clean = "tree" }
! 64:1: case `stale-cache` has steps, and nothing that this machine says

"####;
