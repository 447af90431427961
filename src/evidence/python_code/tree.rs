//! A Python file as statements and expressions: what rules look at.

use std::ops::Range;

/// An expression.
#[derive(Debug, Clone)]
pub struct Expr<'a> {
    /// As it stands in the file.
    pub text: &'a str,
    pub at: usize,
    pub kind: Kind<'a>,
}

/// What an expression is.
#[derive(Debug, Clone)]
pub enum Kind<'a> {
    Name,
    Attribute(Box<Expr<'a>>, &'a str),
    Call(Box<Call<'a>>),
    /// A plain literal without escapes; its content.
    Text(&'a str),
    Number(i64),
    Bool(bool),
    Nothing,
    /// A list, tuple or set.
    Sequence(Vec<Expr<'a>>),
    Binary(Box<Expr<'a>>, &'a str, Box<Expr<'a>>),
    Subscript(Box<Expr<'a>>, Vec<Expr<'a>>),
    /// `a if b else c`: a, b, c.
    Choice(Vec<Expr<'a>>),
    Lambda(Vec<Param<'a>>, Box<Expr<'a>>),
    Comprehension {
        parts: Vec<Expr<'a>>,
        clauses: Vec<(Expr<'a>, Expr<'a>)>,
    },
    /// `name := value`
    Walrus(Box<Expr<'a>>, Box<Expr<'a>>),
    /// Anything else, with what stands in it.
    Other(Vec<Expr<'a>>),
}

/// A call.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    pub function: Expr<'a>,
    pub arguments: Vec<Argument<'a>>,
}

/// An argument of a call.
#[derive(Debug, Clone)]
pub struct Argument<'a> {
    pub name: Option<&'a str>,
    /// `*value` or `**value`.
    pub spread: bool,
    pub value: Expr<'a>,
}

/// A parameter of a function.
#[derive(Debug, Clone)]
pub struct Param<'a> {
    pub name: &'a str,
    pub has_default: bool,
    /// `*name` or `**name`.
    pub spread: bool,
}

/// A statement.
#[derive(Debug, Clone)]
pub struct Stmt<'a> {
    pub range: Range<usize>,
    pub kind: Deed<'a>,
    /// The parser found an error in it.
    pub broken: bool,
}

/// What a statement does.
#[derive(Debug, Clone)]
pub enum Deed<'a> {
    Expr(Expr<'a>),
    Assign {
        targets: Vec<Expr<'a>>,
        value: Expr<'a>,
        augmented: bool,
    },
    Import(Vec<Import<'a>>),
    If(Vec<Arm<'a>>),
    Loop {
        target: Option<Expr<'a>>,
        head: Expr<'a>,
        body: Vec<Stmt<'a>>,
        otherwise: Vec<Stmt<'a>>,
    },
    With {
        items: Vec<Expr<'a>>,
        body: Vec<Stmt<'a>>,
    },
    /// `try` and its clauses, or `match` and its cases.
    Blocks {
        heads: Vec<Expr<'a>>,
        blocks: Vec<Vec<Stmt<'a>>>,
    },
    Function(Function<'a>),
    Class {
        name: &'a str,
        bases: Vec<Expr<'a>>,
        body: Vec<Stmt<'a>>,
    },
    Return(Option<Expr<'a>>),
    /// `break`, `continue`, `raise`.
    Leave(Vec<Expr<'a>>),
    /// `global`, `nonlocal`.
    Outer(Vec<&'a str>),
    Delete(Vec<Expr<'a>>),
    Other(Vec<Expr<'a>>),
}

/// One branch of an `if`; the last may have no condition.
#[derive(Debug, Clone)]
pub struct Arm<'a> {
    pub condition: Option<Expr<'a>>,
    pub body: Vec<Stmt<'a>>,
}

/// A function definition.
#[derive(Debug, Clone)]
pub struct Function<'a> {
    pub name: &'a str,
    pub params: Vec<Param<'a>>,
    pub decorators: Vec<Expr<'a>>,
    pub body: Vec<Stmt<'a>>,
}

/// A name that an import binds; `*` for all.
#[derive(Debug, Clone)]
pub struct Import<'a> {
    pub name: &'a str,
    /// What it stands for: `torch.distributed.init_process_group`.
    pub path: String,
}

impl<'a> Expr<'a> {
    pub fn range(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// Returns the call that this is.
    pub fn as_call(&self) -> Option<&Call<'a>> {
        match &self.kind {
            Kind::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Returns the plain name that this is.
    pub fn as_name(&self) -> Option<&'a str> {
        matches!(self.kind, Kind::Name).then_some(self.text)
    }

    /// Lists the expressions right below.
    pub fn children(&self) -> Vec<&Expr<'a>> {
        match &self.kind {
            Kind::Name | Kind::Text(_) | Kind::Number(_) | Kind::Bool(_) | Kind::Nothing => Vec::new(),
            Kind::Attribute(object, _) => vec![object],
            Kind::Call(call) => {
                std::iter::once(&call.function).chain(call.arguments.iter().map(|argument| &argument.value)).collect()
            }
            Kind::Sequence(items) | Kind::Choice(items) | Kind::Other(items) => items.iter().collect(),
            Kind::Binary(left, _, right) | Kind::Walrus(left, right) => vec![left, right],
            Kind::Subscript(value, indices) => std::iter::once(&**value).chain(indices).collect(),
            Kind::Lambda(_, body) => vec![body],
            Kind::Comprehension { parts, clauses } => {
                parts.iter().chain(clauses.iter().flat_map(|(target, iterable)| [target, iterable])).collect()
            }
        }
    }

    /// Visits this and everything in it, outermost first.
    pub fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr<'a>)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }
}

impl<'a> Call<'a> {
    /// Returns an argument by its name, or by its place among the positional ones.
    pub fn argument(&self, place: usize, name: &str) -> Option<&Expr<'a>> {
        if let Some(named) = self.arguments.iter().find(|argument| argument.name == Some(name)) {
            return Some(&named.value);
        }
        let before: Vec<&Argument<'a>> = self.arguments.iter().take_while(|argument| !argument.spread).collect();
        before.into_iter().filter(|argument| argument.name.is_none()).nth(place).map(|argument| &argument.value)
    }

    /// Returns a keyword argument.
    pub fn keyword(&self, name: &str) -> Option<&Expr<'a>> {
        self.arguments.iter().find(|argument| argument.name == Some(name)).map(|argument| &argument.value)
    }
}

impl<'a> Stmt<'a> {
    /// Lists the expressions that stand right in this statement, not in its blocks.
    pub fn exprs(&self) -> Vec<&Expr<'a>> {
        match &self.kind {
            Deed::Expr(expr) => vec![expr],
            Deed::Assign { targets, value, .. } => targets.iter().chain([value]).collect(),
            Deed::Import(_) | Deed::Outer(_) => Vec::new(),
            Deed::If(arms) => arms.iter().filter_map(|arm| arm.condition.as_ref()).collect(),
            Deed::Loop { target, head, .. } => target.iter().chain([head]).collect(),
            Deed::With { items, .. } => items.iter().collect(),
            Deed::Blocks { heads, .. } => heads.iter().collect(),
            Deed::Function(function) => function.decorators.iter().collect(),
            Deed::Class { bases, .. } => bases.iter().collect(),
            Deed::Return(value) => value.iter().collect(),
            Deed::Leave(items) | Deed::Delete(items) | Deed::Other(items) => items.iter().collect(),
        }
    }

    /// Lists the blocks of this statement; those of functions and classes only when `deep`.
    pub fn blocks(&self, into: Into) -> Vec<&[Stmt<'a>]> {
        match &self.kind {
            Deed::If(arms) => arms.iter().map(|arm| arm.body.as_slice()).collect(),
            Deed::Loop { body, otherwise, .. } => vec![body, otherwise],
            Deed::With { body, .. } => vec![body],
            Deed::Blocks { blocks, .. } => blocks.iter().map(Vec::as_slice).collect(),
            Deed::Function(Function { body, .. }) | Deed::Class { body, .. } => match into {
                Into::Functions => vec![body],
                Into::ThisScope => Vec::new(),
            },
            Deed::Expr(_)
            | Deed::Assign { .. }
            | Deed::Import(_)
            | Deed::Return(_)
            | Deed::Leave(_)
            | Deed::Outer(_)
            | Deed::Delete(_)
            | Deed::Other(_) => Vec::new(),
        }
    }
}

/// How far a visit goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Into {
    /// Not into the bodies of functions and classes.
    ThisScope,
    Functions,
}

/// Visits statements and those in their blocks, in order.
pub fn walk<'s, 'a>(body: &'s [Stmt<'a>], into: Into, visit: &mut dyn FnMut(&'s Stmt<'a>)) {
    for stmt in body {
        visit(stmt);
        for block in stmt.blocks(into) {
            walk(block, into, visit);
        }
    }
}

/// Visits all expressions of some statements.
pub fn walk_exprs<'s, 'a>(body: &'s [Stmt<'a>], into: Into, visit: &mut dyn FnMut(&'s Expr<'a>)) {
    walk(body, into, &mut |stmt| {
        for expr in stmt.exprs() {
            expr.walk(visit);
        }
    });
}
