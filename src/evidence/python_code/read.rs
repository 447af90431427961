//! From a file's text to statements and expressions, by tree-sitter.
//!
//! Bounded: a file that is nested deeper than people write, or that keeps the parser busy, is not read.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser};

use super::source::Source;
use super::tree::{Argument, Arm, Call, Deed, Expr, Function, Import, Kind, Param, Stmt};

/// Levels of the syntax tree; a block of Python is about three of them.
const DEEPEST: usize = 200;
/// The parser looks up every hundred steps; honest files take one or two steps a byte.
const LOOKS_PER_BYTE: usize = 1;
const LEAST_LOOKS: usize = 10_000;

/// A file, read.
#[derive(Debug)]
pub struct File<'a> {
    pub source: &'a Source,
    pub body: Vec<Stmt<'a>>,
    /// Line and text of every comment.
    pub comments: Vec<(usize, &'a str)>,
    /// The parser found an error somewhere.
    pub broken: bool,
}

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    #[error("it is nested too deeply")]
    TooDeep,
    #[error("it keeps the parser busy for too long")]
    TooHard,
}

/// Reads a file's statements.
pub fn read(source: &Source) -> Result<File<'_>, Unread> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_python::LANGUAGE.into()).map_err(|_| Unread::TooHard)?;
    let bytes = source.text.as_bytes();
    let most = (bytes.len() * LOOKS_PER_BYTE).max(LEAST_LOOKS);
    let mut looks = 0;
    let mut look = |_: &ParseState| {
        looks += 1;
        if looks > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut look);
    let mut chunk = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut chunk, None, Some(options)).ok_or(Unread::TooHard)?;
    let root = tree.root_node();
    let reader = Reader { text: &source.text };
    let body = reader.block(root, 0)?;
    Ok(File { source, body, comments: comments(root, source), broken: root.has_error() })
}

/// Collects the comments of a file, without recursion.
fn comments<'a>(root: Node<'_>, source: &'a Source) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.kind() == "comment" {
            found.push((source.line(node.start_byte()), &source.text[node.byte_range()]));
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
}

type Read<T> = Result<T, Unread>;

impl<'a> Reader<'a> {
    fn slice(&self, node: Node<'_>) -> &'a str {
        &self.text[node.byte_range()]
    }

    /// Reads the statements right below a node.
    fn block(&self, node: Node<'_>, depth: usize) -> Read<Vec<Stmt<'a>>> {
        if depth > DEEPEST {
            return Err(Unread::TooDeep);
        }
        let mut body = Vec::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor).filter(|child| child.kind() != "comment") {
            body.push(self.stmt(child, depth + 1)?);
        }
        Ok(body)
    }

    fn field_block(&self, node: Node<'_>, name: &str, depth: usize) -> Read<Vec<Stmt<'a>>> {
        node.child_by_field_name(name).map_or(Ok(Vec::new()), |block| self.block(block, depth + 1))
    }

    fn stmt(&self, node: Node<'_>, depth: usize) -> Read<Stmt<'a>> {
        if depth > DEEPEST {
            return Err(Unread::TooDeep);
        }
        let kind = match node.kind() {
            "expression_statement" => self.expression_statement(node, depth)?,
            "import_statement" | "import_from_statement" | "future_import_statement" => {
                Deed::Import(self.imports(node))
            }
            "if_statement" => Deed::If(self.arms(node, depth)?),
            "for_statement" | "while_statement" => {
                let head = if node.kind() == "for_statement" { "right" } else { "condition" };
                Deed::Loop {
                    target: node.child_by_field_name("left").map(|left| self.expr(left, depth + 1)).transpose()?,
                    head: self.field(node, head, depth)?,
                    body: self.field_block(node, "body", depth)?,
                    otherwise: match node.child_by_field_name("alternative") {
                        Some(other) => self.field_block(other, "body", depth)?,
                        None => Vec::new(),
                    },
                }
            }
            "with_statement" => {
                let mut items = Vec::new();
                let mut cursor = node.walk();
                for clause in node.named_children(&mut cursor).filter(|child| child.kind() == "with_clause") {
                    items.extend(self.exprs_below(clause, depth + 1)?);
                }
                Deed::With { items, body: self.field_block(node, "body", depth)? }
            }
            "try_statement" | "match_statement" => self.blocks(node, depth)?,
            "decorated_definition" => return self.decorated(node, depth),
            "function_definition" => Deed::Function(Function {
                name: node.child_by_field_name("name").map_or("", |name| self.slice(name)),
                params: node.child_by_field_name("parameters").map(|params| self.params(params)).unwrap_or_default(),
                decorators: Vec::new(),
                body: self.field_block(node, "body", depth)?,
            }),
            "class_definition" => Deed::Class {
                name: node.child_by_field_name("name").map_or("", |name| self.slice(name)),
                bases: match node.child_by_field_name("superclasses") {
                    Some(bases) => self.exprs_below(bases, depth + 1)?,
                    None => Vec::new(),
                },
                body: self.field_block(node, "body", depth)?,
            },
            "return_statement" => Deed::Return(self.exprs_below(node, depth)?.into_iter().next()),
            "break_statement" | "continue_statement" | "raise_statement" => Deed::Leave(self.exprs_below(node, depth)?),
            "global_statement" | "nonlocal_statement" => {
                let mut cursor = node.walk();
                Deed::Outer(node.named_children(&mut cursor).map(|name| self.slice(name)).collect())
            }
            "delete_statement" => Deed::Delete(self.exprs_below(node, depth)?),
            _ => Deed::Other(self.exprs_below(node, depth)?),
        };
        let broken = node.has_error() || node.is_error() || node.is_missing();
        Ok(Stmt { range: self.trimmed(node), kind, broken })
    }

    /// The range of a statement without the line ends that the parser may count to a block.
    fn trimmed(&self, node: Node<'_>) -> Range<usize> {
        let range = node.byte_range();
        range.start..range.start + self.text[range].trim_end().len()
    }

    fn decorated(&self, node: Node<'_>, depth: usize) -> Read<Stmt<'a>> {
        let mut decorators = Vec::new();
        let mut cursor = node.walk();
        for decorator in node.named_children(&mut cursor).filter(|child| child.kind() == "decorator") {
            decorators.extend(self.exprs_below(decorator, depth + 1)?);
        }
        let Some(inner) = node.child_by_field_name("definition") else {
            return Ok(Stmt { range: self.trimmed(node), kind: Deed::Other(decorators), broken: true });
        };
        let mut stmt = self.stmt(inner, depth + 1)?;
        if let Deed::Function(function) = &mut stmt.kind {
            function.decorators = decorators;
        }
        Ok(Stmt { range: self.trimmed(node), kind: stmt.kind, broken: node.has_error() })
    }

    fn expression_statement(&self, node: Node<'_>, depth: usize) -> Read<Deed<'a>> {
        let mut cursor = node.walk();
        let inner: Vec<Node<'_>> = node.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect();
        let [only] = inner.as_slice() else { return Ok(Deed::Other(self.exprs_below(node, depth)?)) };
        match only.kind() {
            "augmented_assignment" => Ok(Deed::Assign {
                targets: vec![self.field(*only, "left", depth)?],
                value: self.field(*only, "right", depth)?,
                augmented: true,
            }),
            "assignment" => {
                let mut targets = Vec::new();
                let mut at = *only;
                // `a = b = value` nests to the right.
                for _ in 0..DEEPEST {
                    let Some(right) = at.child_by_field_name("right") else { break };
                    targets.push(self.field(at, "left", depth)?);
                    if right.kind() == "assignment" {
                        at = right;
                        continue;
                    }
                    return Ok(Deed::Assign { targets, value: self.expr(right, depth + 1)?, augmented: false });
                }
                // A bare annotation binds nothing.
                Ok(Deed::Other(targets))
            }
            _ => Ok(Deed::Expr(self.expr(*only, depth + 1)?)),
        }
    }

    fn imports(&self, node: Node<'_>) -> Vec<Import<'a>> {
        let module = match node.kind() {
            "import_from_statement" => node.child_by_field_name("module_name").map_or("", |name| self.slice(name)),
            "future_import_statement" => "__future__",
            _ => "",
        };
        let below = |name: &str| if module.is_empty() { name.to_owned() } else { format!("{module}.{name}") };
        let mut cursor = node.walk();
        let mut all = Vec::new();
        for name in node.children_by_field_name("name", &mut cursor) {
            if name.kind() == "aliased_import" {
                let real = name.child_by_field_name("name").map_or("", |real| self.slice(real));
                let alias = name.child_by_field_name("alias").map_or("", |alias| self.slice(alias));
                all.push(Import { name: alias, path: below(real) });
            } else if node.kind() == "import_statement" {
                // `import a.b` binds `a`.
                let first = self.slice(name).split('.').next().unwrap_or_default().trim();
                all.push(Import { name: first, path: first.to_owned() });
            } else {
                all.push(Import { name: self.slice(name), path: below(self.slice(name)) });
            }
        }
        let mut cursor = node.walk();
        if node.named_children(&mut cursor).any(|child| child.kind() == "wildcard_import") {
            all.push(Import { name: "*", path: module.to_owned() });
        }
        all
    }

    fn arms(&self, node: Node<'_>, depth: usize) -> Read<Vec<Arm<'a>>> {
        let mut arms = vec![Arm {
            condition: Some(self.field(node, "condition", depth)?),
            body: self.field_block(node, "consequence", depth)?,
        }];
        let mut cursor = node.walk();
        for other in node.children_by_field_name("alternative", &mut cursor) {
            arms.push(if other.kind() == "elif_clause" {
                Arm {
                    condition: Some(self.field(other, "condition", depth)?),
                    body: self.field_block(other, "consequence", depth)?,
                }
            } else {
                Arm { condition: None, body: self.field_block(other, "body", depth)? }
            });
        }
        Ok(arms)
    }

    /// Reads `try` and `match`: every block below, wherever it hangs.
    fn blocks(&self, node: Node<'_>, depth: usize) -> Read<Deed<'a>> {
        let mut heads = Vec::new();
        let mut blocks = Vec::new();
        let mut cursor = node.walk();
        let mut todo: Vec<(Node<'_>, usize)> =
            node.named_children(&mut cursor).map(|child| (child, depth + 1)).collect();
        todo.reverse();
        while let Some((child, depth)) = todo.pop() {
            match child.kind() {
                "block" if node.kind() == "match_statement" && has_case(child) => {
                    let mut cursor = child.walk();
                    let mut inner: Vec<_> = child.named_children(&mut cursor).map(|case| (case, depth + 1)).collect();
                    inner.reverse();
                    todo.append(&mut inner);
                }
                "block" => blocks.push(self.block(child, depth + 1)?),
                "except_clause" | "except_group_clause" | "else_clause" | "finally_clause" | "case_clause" => {
                    let mut cursor = child.walk();
                    let mut inner: Vec<_> = child.named_children(&mut cursor).map(|part| (part, depth + 1)).collect();
                    inner.reverse();
                    todo.append(&mut inner);
                }
                "comment" => {}
                _ => heads.push(self.expr(child, depth + 1)?),
            }
        }
        Ok(Deed::Blocks { heads, blocks })
    }

    fn params(&self, node: Node<'_>) -> Vec<Param<'a>> {
        let mut cursor = node.walk();
        let mut all = Vec::new();
        for child in node.named_children(&mut cursor) {
            let named = child.child_by_field_name("name");
            // `name: type`, `*name: type`
            let first = named.or_else(|| (child.kind() == "typed_parameter").then(|| child.named_child(0)).flatten());
            let inner = first.unwrap_or(child);
            let spread = [child.kind(), inner.kind()].iter().any(|kind| kind.contains("splat"));
            let name = self.slice(inner).trim_start_matches('*').trim();
            if matches!(child.kind(), "comment" | "keyword_separator" | "positional_separator") || name.is_empty() {
                continue;
            }
            all.push(Param { name, has_default: child.child_by_field_name("value").is_some(), spread });
        }
        all
    }

    fn field(&self, node: Node<'_>, name: &str, depth: usize) -> Read<Expr<'a>> {
        match node.child_by_field_name(name) {
            Some(child) => self.expr(child, depth + 1),
            None => Ok(Expr { text: "", at: node.start_byte(), kind: Kind::Other(Vec::new()) }),
        }
    }

    fn exprs_below(&self, node: Node<'_>, depth: usize) -> Read<Vec<Expr<'a>>> {
        let mut cursor = node.walk();
        node.named_children(&mut cursor)
            .filter(|child| child.kind() != "comment")
            .map(|child| self.expr(child, depth + 1))
            .collect()
    }

    fn expr(&self, node: Node<'_>, depth: usize) -> Read<Expr<'a>> {
        if depth > DEEPEST {
            return Err(Unread::TooDeep);
        }
        let kind = match node.kind() {
            "identifier" => Kind::Name,
            "attribute" => {
                let name = node.child_by_field_name("attribute").map_or("", |name| self.slice(name));
                Kind::Attribute(Box::new(self.field(node, "object", depth)?), name)
            }
            "call" => Kind::Call(Box::new(self.call(node, depth)?)),
            "string" => match self.plain_text(node) {
                Some(text) => Kind::Text(text),
                None => Kind::Other(self.exprs_below(node, depth)?),
            },
            "integer" => self.slice(node).replace('_', "").parse().map_or(Kind::Other(Vec::new()), Kind::Number),
            "unary_operator" if self.slice(node).starts_with('-') => {
                match node.child_by_field_name("argument").map(|argument| self.expr(argument, depth + 1)).transpose()? {
                    Some(Expr { kind: Kind::Number(number), .. }) => Kind::Number(-number),
                    other => Kind::Other(other.into_iter().collect()),
                }
            }
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "none" => Kind::Nothing,
            "list" | "tuple" | "set" | "expression_list" | "pattern_list" | "tuple_pattern" | "list_pattern" => {
                Kind::Sequence(self.exprs_below(node, depth)?)
            }
            "parenthesized_expression" => {
                let mut inner = self.exprs_below(node, depth)?;
                match (inner.len(), inner.pop()) {
                    (1, Some(only)) => only.kind,
                    (_, last) => Kind::Other(inner.into_iter().chain(last).collect()),
                }
            }
            "binary_operator" | "boolean_operator" => Kind::Binary(
                Box::new(self.field(node, "left", depth)?),
                node.child_by_field_name("operator").map_or("", |operator| self.slice(operator)),
                Box::new(self.field(node, "right", depth)?),
            ),
            "subscript" => {
                let mut cursor = node.walk();
                let indices: Read<Vec<_>> = node
                    .children_by_field_name("subscript", &mut cursor)
                    .map(|index| self.expr(index, depth + 1))
                    .collect();
                Kind::Subscript(Box::new(self.field(node, "value", depth)?), indices?)
            }
            "conditional_expression" => Kind::Choice(self.exprs_below(node, depth)?),
            "lambda" => Kind::Lambda(
                node.child_by_field_name("parameters").map(|params| self.params(params)).unwrap_or_default(),
                Box::new(self.field(node, "body", depth)?),
            ),
            "named_expression" => {
                Kind::Walrus(Box::new(self.field(node, "name", depth)?), Box::new(self.field(node, "value", depth)?))
            }
            "list_comprehension" | "set_comprehension" | "dictionary_comprehension" | "generator_expression" => {
                self.comprehension(node, depth)?
            }
            _ => Kind::Other(self.exprs_below(node, depth)?),
        };
        Ok(Expr { text: self.slice(node), at: node.start_byte(), kind })
    }

    fn comprehension(&self, node: Node<'_>, depth: usize) -> Read<Kind<'a>> {
        let mut parts = Vec::new();
        let mut clauses = Vec::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor).filter(|child| child.kind() != "comment") {
            if child.kind() == "for_in_clause" {
                clauses.push((self.field(child, "left", depth + 1)?, self.field(child, "right", depth + 1)?));
            } else {
                parts.push(self.expr(child, depth + 1)?);
            }
        }
        Ok(Kind::Comprehension { parts, clauses })
    }

    fn call(&self, node: Node<'_>, depth: usize) -> Read<Call<'a>> {
        let function = self.field(node, "function", depth)?;
        let mut arguments = Vec::new();
        if let Some(list) = node.child_by_field_name("arguments") {
            if list.kind() == "generator_expression" {
                arguments.push(Argument { name: None, spread: false, value: self.expr(list, depth + 1)? });
                return Ok(Call { function, arguments });
            }
            let mut cursor = list.walk();
            for child in list.named_children(&mut cursor).filter(|child| child.kind() != "comment") {
                arguments.push(match child.kind() {
                    "keyword_argument" => Argument {
                        name: child.child_by_field_name("name").map(|name| self.slice(name)),
                        spread: false,
                        value: self.field(child, "value", depth + 1)?,
                    },
                    "list_splat" | "dictionary_splat" => {
                        Argument { name: None, spread: true, value: self.expr(child, depth + 1)? }
                    }
                    _ => Argument { name: None, spread: false, value: self.expr(child, depth + 1)? },
                });
            }
        }
        Ok(Call { function, arguments })
    }

    /// Returns the content of a literal without prefix, escapes and interpolation.
    fn plain_text(&self, node: Node<'_>) -> Option<&'a str> {
        let text = self.slice(node);
        let text = text.strip_prefix(['u', 'U', 'r', 'R']).unwrap_or(text);
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| text.starts_with(quote))?;
        let content = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!content.contains('\\')).then_some(content)
    }
}

fn has_case(block: Node<'_>) -> bool {
    let mut cursor = block.walk();
    block.named_children(&mut cursor).any(|child| child.kind() == "case_clause")
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
