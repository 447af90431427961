//! What questions work out once, for the next one that needs it.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// One value of each type.
#[derive(Default)]
pub struct Memo {
    kept: RefCell<HashMap<TypeId, Rc<dyn Any>>>,
}

impl Memo {
    /// Returns the value that is kept, or makes and keeps it. `make` may ask for values of other types.
    pub fn get_or<T: Any>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        let kept = self.kept.borrow().get(&TypeId::of::<T>()).cloned();
        if let Some(kept) = kept.and_then(|kept| kept.downcast().ok()) {
            return kept;
        }
        let made = Rc::new(make());
        self.kept.borrow_mut().insert(TypeId::of::<T>(), made.clone());
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_is_made_once() {
        let memo = Memo::default();
        let text = memo.get_or(|| format!("{}", *memo.get_or(|| 1_u8)));
        assert_eq!((&**text, *memo.get_or(|| 2_u8), *memo.get_or(|| 3_u16)), ("1", 1, 3));
    }
}
