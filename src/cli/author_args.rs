//! The flags of `fix recipe`, for authors.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct Recipe {
    #[command(subcommand)]
    pub action: RecipeAction,
}

#[derive(Debug, Subcommand)]
pub enum RecipeAction {
    /// Write a new recipe file and its fixtures
    New {
        #[arg(value_name = "ID")]
        id: String,
        /// Folder of recipe files
        #[arg(long, default_value = "recipes")]
        recipes: PathBuf,
    },
    /// Check recipe files
    Lint {
        /// Files or folders
        #[arg(value_name = "PATH", default_value = "recipes")]
        paths: Vec<PathBuf>,
    },
    /// Run recipes on their fixtures
    Test {
        /// Only these recipes
        #[arg(value_name = "ID")]
        ids: Vec<String>,
        #[arg(long, default_value = "recipes")]
        recipes: PathBuf,
        #[arg(long, default_value = "fixtures")]
        fixtures: PathBuf,
    },
    /// Print the literals that the scanner looks for, for comparisons with other tools
    #[command(hide = true)]
    Anchors,
    /// Write the reference of recipes, questions and verbs
    Docs {
        #[arg(value_name = "FILE", default_value = "docs/recipes.md")]
        file: PathBuf,
        #[arg(long, default_value = "recipes")]
        recipes: PathBuf,
        /// Compare only
        #[arg(long)]
        check: bool,
    },
}
