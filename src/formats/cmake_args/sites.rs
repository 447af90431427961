//! The places of a Python file that put arguments into a list for CMake.

use std::ops::Range;
use std::rc::Rc;

use tree_sitter::{Node, Parser};

use super::branches::{Arm, Condition, string_value};
use super::environment::{assigned_from, environment_names, is_environ};
use super::literal::{Element, Literal, Value, mentions};
use super::source::Source;
use super::{MergeError, Reason};

/// Deeper nesting is no `setup.py`.
const DEEPEST: usize = 400;
/// Lists of arguments that a `setup.py` may have.
const MOST_SITES: usize = 300;
/// Arms of one `if` that are told apart.
const LONGEST_CHAIN: usize = 64;
/// Calls of `split` that are looked at.
const MOST_SPLITS: usize = 64;

/// What a file does with lists of CMake arguments.
#[derive(Debug, Default)]
pub struct Parsed {
    /// In order of appearance.
    pub sites: Vec<Site>,
    /// Where something that cannot be read joins a list.
    pub opaque: Vec<Opaque>,
    /// Strings that set linker flags outside every site, and why they cannot be edited there.
    pub stray: Vec<(usize, Reason)>,
    /// Environment variables that the file sets, see [`super::branches::Environment`].
    pub defaults: Vec<(String, String)>,
    pub assigned: Vec<String>,
    /// Environment variables whose value is split like a shell line and may join a list, and where.
    pub split_variables: Vec<(usize, String)>,
    /// Syntax errors.
    pub errors: usize,
}

/// A list literal that becomes a list of arguments, or joins one.
#[derive(Debug)]
pub struct Site {
    pub owner: Owner,
    pub shape: Shape,
    /// The list with its brackets, or the single argument.
    pub range: Range<usize>,
    pub elements: Vec<Element>,
    pub arms: Rc<[Arm]>,
}

/// Something unreadable that joins a list.
#[derive(Debug)]
pub struct Opaque {
    pub owner: Owner,
    pub range: Range<usize>,
}

/// Which variable of which function a list belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Where the function begins; 0 for the module.
    pub scope: usize,
    pub function: Option<String>,
    /// The variable as written: `cmake_args`, `self.cmake_args`.
    pub variable: String,
}

/// What a site does to the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Begins it.
    Base,
    /// Adds a list to it.
    Extend,
    /// Adds one argument to it.
    Single,
}

/// A node that is still to be visited.
struct Pending<'t> {
    node: Node<'t>,
    scope: usize,
    function: Option<Rc<str>>,
    arms: Rc<[Arm]>,
    depth: usize,
}

/// Parses a file.
pub fn parse(source: &Source<'_>) -> Result<Parsed, MergeError> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_python::LANGUAGE.into()).map_err(|_| MergeError::Parser)?;
    let tree = parser.parse(&source.text, None).ok_or(MergeError::Parser)?;
    let mut reader = Reader { text: &source.text, parsed: Parsed::default(), strings: Vec::new(), splits: 0 };
    let mut stack = vec![Pending { node: tree.root_node(), scope: 0, function: None, arms: Rc::from([]), depth: 0 }];
    while let Some(pending) = stack.pop() {
        if pending.depth > DEEPEST {
            return Err(MergeError::TooDeep);
        }
        reader.visit(&pending);
        let mut children = inside(&pending, reader.text);
        children.reverse();
        stack.append(&mut children);
    }
    let parsed = reader.finish();
    if parsed.sites.len() > MOST_SITES { Err(MergeError::TooLarge) } else { Ok(parsed) }
}

/// Lists the children of a node with the surroundings that they have.
fn inside<'t>(pending: &Pending<'t>, text: &str) -> Vec<Pending<'t>> {
    let node = pending.node;
    let mut cursor = node.walk();
    let (scope, function, arms) = match node.kind() {
        "function_definition" => {
            let name = node.child_by_field_name("name").map(|name| Rc::from(&text[name.byte_range()]));
            (node.start_byte(), name, Rc::from([]))
        }
        "class_definition" | "lambda" => (node.start_byte(), pending.function.clone(), Rc::from([])),
        _ => (pending.scope, pending.function.clone(), pending.arms.clone()),
    };
    let mut earlier: Vec<(Condition, bool)> = Vec::new();
    let mut children = Vec::new();
    for (index, child) in node.children(&mut cursor).enumerate() {
        let mut arms = Rc::clone(&arms);
        if let Some(needs) = arm_of(node, child, text, &mut earlier) {
            let arm = Arm { statement: node.start_byte(), index, needs };
            arms = arms.iter().cloned().chain([arm]).collect();
        }
        children.push(Pending { node: child, scope, function: function.clone(), arms, depth: pending.depth + 1 });
    }
    children
}

/// Returns what must hold for `child` of a compound statement to run; `None` where it always runs.
fn arm_of(
    node: Node<'_>,
    child: Node<'_>,
    text: &str,
    earlier: &mut Vec<(Condition, bool)>,
) -> Option<Vec<(Condition, bool)>> {
    match node.kind() {
        "if_statement" => {
            let mut needs = earlier.clone();
            match child.kind() {
                "block" => needs.push(condition_of(node, text)),
                "elif_clause" => needs.push(condition_of(child, text)),
                "else_clause" => return Some(needs),
                _ => return None,
            }
            let (condition, wanted) = needs.last().cloned()?;
            if earlier.len() < LONGEST_CHAIN {
                earlier.push((condition, !wanted));
            } else {
                // What is not known cannot be decided, so that nothing is lost but precision.
                *earlier = vec![(Condition::Other, true)];
            }
            Some(needs)
        }
        "for_statement" | "while_statement" if matches!(child.kind(), "block" | "else_clause") => {
            Some(vec![(Condition::Other, true)])
        }
        "try_statement" if matches!(child.kind(), "except_clause" | "except_group_clause" | "else_clause") => {
            Some(vec![(Condition::Other, true)])
        }
        "block" if child.kind() == "case_clause" => Some(vec![(Condition::Other, true)]),
        "conditional_expression" => Some(vec![(Condition::Other, true)]),
        _ => None,
    }
}

fn condition_of(node: Node<'_>, text: &str) -> (Condition, bool) {
    node.child_by_field_name("condition").map_or((Condition::Other, true), |condition| Condition::read(condition, text))
}

struct Reader<'a> {
    text: &'a str,
    parsed: Parsed,
    /// Strings that set linker flags, wherever they stand.
    strings: Vec<(usize, Reason)>,
    splits: usize,
}

impl Reader<'_> {
    fn visit(&mut self, pending: &Pending<'_>) {
        let node = pending.node;
        if node.is_error() || node.is_missing() {
            self.parsed.errors += 1;
        }
        match node.kind() {
            "assignment" | "augmented_assignment" => self.assignment(pending),
            "call" => self.call(pending),
            "keyword_argument" => self.keyword(pending),
            "string" => self.string(node),
            "pair" => {
                let key = node.child_by_field_name("key").and_then(|key| string_value(key, self.text));
                if key.is_some_and(|key| names_a_variable(&key)) {
                    self.strings.push((node.start_byte(), Reason::Dictionary));
                }
            }
            _ => {}
        }
    }

    fn slice(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    fn owner(&self, pending: &Pending<'_>, variable: Node<'_>) -> Option<Owner> {
        if !matches!(variable.kind(), "identifier" | "attribute") {
            return None;
        }
        let variable = self.slice(variable).to_owned();
        Some(Owner { scope: pending.scope, function: pending.function.as_deref().map(str::to_owned), variable })
    }

    fn assignment(&mut self, pending: &Pending<'_>) {
        let node = pending.node;
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
            return;
        };
        self.environment_assignment(left);
        let Some(owner) = self.owner(pending, left) else { return };
        let adds = node.kind() == "augmented_assignment";
        if adds && node.child_by_field_name("operator").is_none_or(|operator| operator.kind() != "+=") {
            return;
        }
        self.value(pending, &owner, right, if adds { Shape::Extend } else { Shape::Base });
    }

    /// Reads what is assigned to a list or joins it: a literal, or a chain of `+` with literals in it.
    fn value(&mut self, pending: &Pending<'_>, owner: &Owner, value: Node<'_>, shape: Shape) {
        let mut parts = Vec::new();
        flatten(value, 0, &mut parts);
        let mut shape = shape;
        for part in parts {
            match list_in(part, self.text) {
                Some(list) => self.list(pending, owner, list, shape),
                // `cmake_args = cmake_args + […]` adds to itself.
                None if self.slice(part) == owner.variable => {}
                None => self.opaque(owner, part.byte_range()),
            }
            shape = Shape::Extend;
        }
    }

    fn opaque(&mut self, owner: &Owner, range: Range<usize>) {
        self.parsed.opaque.push(Opaque { owner: owner.clone(), range });
    }

    fn list(&mut self, pending: &Pending<'_>, owner: &Owner, list: Node<'_>, shape: Shape) {
        let mut elements: Vec<Element> = Vec::new();
        let mut cursor = list.walk();
        for child in list.children(&mut cursor) {
            match child.kind() {
                "," => {
                    if let Some(last) = elements.last_mut() {
                        last.comma.get_or_insert(child.byte_range());
                    }
                }
                "comment" | "[" | "]" | "(" | ")" => {}
                _ => elements.push(self.element(child)),
            }
        }
        if list.has_error() {
            // The parser guessed where the list ends.
            if mentions(self.slice(list)) {
                self.parsed.stray.push((list.start_byte(), Reason::Syntax));
            }
            self.opaque(owner, list.byte_range());
            return;
        }
        self.parsed.sites.push(Site {
            owner: owner.clone(),
            shape,
            range: list.byte_range(),
            elements,
            arms: Rc::clone(&pending.arms),
        });
    }

    fn element(&self, node: Node<'_>) -> Element {
        let value = match node.kind() {
            "string" => Literal::read(self.slice(node), node.start_byte()).map_or_else(Value::Computed, Value::Literal),
            "concatenated_string" => Value::Computed(Reason::Concatenation),
            _ => Value::Computed(Reason::Expression),
        };
        Element { range: node.byte_range(), comma: None, value }
    }

    fn call(&mut self, pending: &Pending<'_>) {
        let node = pending.node;
        let (Some(function), Some(arguments)) =
            (node.child_by_field_name("function"), node.child_by_field_name("arguments"))
        else {
            return;
        };
        self.environment_call(node, function, arguments);
        if function.kind() != "attribute" {
            return;
        }
        let (Some(object), Some(method)) =
            (function.child_by_field_name("object"), function.child_by_field_name("attribute"))
        else {
            return;
        };
        let Some(owner) = self.owner(pending, object) else { return };
        let mut cursor = arguments.walk();
        let given: Vec<Node<'_>> =
            arguments.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect();
        match (self.slice(method), given.as_slice()) {
            ("append", [argument]) | ("insert", [_, argument]) => {
                let element = self.element(*argument);
                self.parsed.sites.push(Site {
                    owner,
                    shape: Shape::Single,
                    range: argument.byte_range(),
                    elements: vec![element],
                    arms: Rc::clone(&pending.arms),
                });
            }
            ("extend", [argument]) => self.value(pending, &owner, *argument, Shape::Extend),
            _ => {}
        }
    }

    /// `setup(cmake_args=[…])`.
    fn keyword(&mut self, pending: &Pending<'_>) {
        let node = pending.node;
        let (Some(name), Some(value)) = (node.child_by_field_name("name"), node.child_by_field_name("value")) else {
            return;
        };
        if names_a_variable(self.slice(name)) {
            self.strings.push((node.start_byte(), Reason::Dictionary));
        }
        let Some(owner) = self.owner(pending, name) else { return };
        if is_argument_list(&owner.variable) && list_in(value, self.text).is_some() {
            self.value(pending, &owner, value, Shape::Base);
        }
    }

    fn string(&mut self, node: Node<'_>) {
        let text = self.slice(node);
        let parent = node.parent().map_or("", |parent| parent.kind());
        // A lone string is documentation.
        if parent == "expression_statement" || !mentions(text) {
            return;
        }
        let content = text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start_matches(['"', '\'']);
        if content.starts_with("-D") || parent == "concatenated_string" {
            self.strings.push((node.start_byte(), Reason::OutsideAList));
        }
    }

    /// `os.environ["NAME"] = …`: the value is the file's own business.
    fn environment_assignment(&mut self, left: Node<'_>) {
        if left.kind() != "subscript" || !is_environ(left.child_by_field_name("value"), self.text) {
            return;
        }
        let name = left.child_by_field_name("subscript").and_then(|name| string_value(name, self.text));
        if let Some(name) = name {
            self.parsed.assigned.push(name);
        }
    }

    /// `os.environ.setdefault("NAME", "value")`, and `shlex.split` of a variable.
    fn environment_call(&mut self, node: Node<'_>, function: Node<'_>, arguments: Node<'_>) {
        let name = self.slice(function).to_owned();
        if name.ends_with("environ.setdefault") {
            let mut cursor = arguments.walk();
            let given: Vec<Option<String>> =
                arguments.named_children(&mut cursor).map(|child| string_value(child, self.text)).collect();
            if let [Some(variable), Some(value)] = given.as_slice()
                && self.parsed.defaults.iter().all(|(known, _)| known != variable)
            {
                self.parsed.defaults.push((variable.clone(), value.clone()));
            }
        }
        if matches!(name.as_str(), "shlex.split" | "split") && self.splits < MOST_SPLITS {
            self.splits += 1;
            let inner = self.text[arguments.byte_range()].to_owned();
            let inner = inner.trim_start_matches('(').trim_end_matches(')').trim();
            let read = match environment_names(inner) {
                names if names.is_empty() => assigned_from(node, inner, self.text),
                names => names,
            };
            for variable in read {
                self.parsed.split_variables.push((node.start_byte(), variable));
            }
        }
    }

    fn finish(mut self) -> Parsed {
        self.parsed.sites.retain(|site| {
            is_argument_list(&site.owner.variable)
                || site.elements.iter().any(|one| mentions(&self.text[one.range.clone()]))
        });
        let sites = &self.parsed.sites;
        self.parsed.opaque.retain(|opaque| sites.iter().any(|site| site.owner == opaque.owner));
        let mut known: Vec<Range<usize>> =
            sites.iter().flat_map(|site| &site.elements).map(|one| one.range.clone()).collect();
        known.sort_by_key(|range| range.start);
        self.strings.sort_by_key(|(at, _)| *at);
        let (mut next, mut reached) = (0, 0);
        for (at, reason) in self.strings {
            while let Some(range) = known.get(next).filter(|range| range.start <= at) {
                reached = reached.max(range.end);
                next += 1;
            }
            if at >= reached {
                self.parsed.stray.push((at, reason));
            }
        }
        self.parsed.stray.sort_by_key(|(at, _)| *at);
        self.parsed.stray.dedup_by_key(|(at, _)| *at);
        self.parsed
    }
}

/// Takes a chain of `+` apart, in order.
fn flatten<'t>(node: Node<'t>, depth: usize, parts: &mut Vec<Node<'t>>) {
    let plus = node.kind() == "binary_operator"
        && node.child_by_field_name("operator").is_some_and(|operator| operator.kind() == "+");
    let sides = (node.child_by_field_name("left"), node.child_by_field_name("right"));
    if let (true, true, (Some(left), Some(right))) = (plus, depth < 32, sides) {
        flatten(left, depth + 1, parts);
        flatten(right, depth + 1, parts);
    } else {
        parts.push(node);
    }
}

/// Returns the list or tuple literal that a value is: itself, or inside `list(…)`.
fn list_in<'t>(node: Node<'t>, text: &str) -> Option<Node<'t>> {
    match node.kind() {
        "list" | "tuple" => Some(node),
        "call" => {
            let function = node.child_by_field_name("function")?;
            let arguments = node.child_by_field_name("arguments")?;
            let only = arguments.named_child(0).filter(|_| arguments.named_child_count() == 1)?;
            let known = matches!(&text[function.byte_range()], "list" | "tuple");
            (known && matches!(only.kind(), "list" | "tuple")).then_some(only)
        }
        _ => None,
    }
}

/// Says whether a variable's name promises arguments of CMake: `cmake_args`, `self.cmake_configure_args`.
fn is_argument_list(variable: &str) -> bool {
    let name = variable.rsplit('.').next().unwrap_or(variable).to_ascii_lowercase();
    name.contains("cmake")
        && ["args", "arguments", "options", "opts", "flags", "defines"].iter().any(|end| name.ends_with(end))
}

fn names_a_variable(name: &str) -> bool {
    let name = name.strip_prefix("-D").unwrap_or(name);
    super::Kind::ALL
        .iter()
        .any(|kind| name.strip_prefix(kind.variable()).is_some_and(|rest| rest.is_empty() || rest.starts_with(':')))
}
