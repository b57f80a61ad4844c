//! Maps keys to actions.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::tables::Tab;

/// Mode that determines the meaning of the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    #[default]
    Browse,
    /// Letters that the user types are added to the filter.
    Filter,
    /// The help is open.
    Help,
}

/// The action that a key causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Quit,
    /// Closes the filter or the help. If neither is open, exits the program.
    Back,
    Help,
    Pause,
    Tab(Tab),
    /// Moves forward by this number of tables.
    NextTab(isize),
    /// Moves down by this number of rows.
    Move(isize),
    /// Moves down by this number of pages.
    Page(isize),
    First,
    Last,
    /// Sorts by the column that is this number of columns to the right.
    Sort(isize),
    Reverse,
    /// Starts to edit the filter.
    Edit,
    /// Stops editing and keeps the filter.
    Keep,
    /// Removes the filter.
    Clear,
    /// Removes the last letter of the filter.
    Erase,
    Type(char),
}

/// The keys and their meanings, as shown in the help.
pub(crate) const HELP: &[(&str, &str)] = &[
    ("Tab, Shift-Tab, 1 to 9", "select another table"),
    ("Up, Down, k, j", "select another row"),
    ("PgUp, PgDn, Home, End, g, G", "go by a page, or to an end"),
    ("Left, Right, <, >", "sort by another column or none"),
    ("r", "reverse the order"),
    (
        "/",
        "filter rows by text; Enter keeps the filter, Esc clears it",
    ),
    ("Space, p", "pause or resume"),
    ("?, h", "show this help"),
    ("q, Esc, Ctrl-C", "quit"),
];

/// Returns the action of `key` in `mode`, if there is one.
pub(crate) fn action(key: &KeyEvent, mode: Mode) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'C') if is_control => Some(Action::Quit),
        KeyCode::Char('u') if is_control && mode == Mode::Filter => Some(Action::Clear),
        KeyCode::Esc => Some(Action::Back),
        KeyCode::Char(_) if is_control || key.modifiers.contains(KeyModifiers::ALT) => None,
        code => match mode {
            Mode::Browse => browse(code),
            Mode::Filter => filter(code),
            Mode::Help => help(code),
        },
    }
}

fn browse(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Char('q') => Action::Quit,
        KeyCode::Char('?' | 'h') | KeyCode::F(1) => Action::Help,
        KeyCode::Char(' ' | 'p') => Action::Pause,
        KeyCode::Char(digit @ '1'..='9') => Action::Tab(Tab::ALL[digit as usize - '1' as usize]),
        KeyCode::Tab => Action::NextTab(1),
        KeyCode::BackTab => Action::NextTab(-1),
        KeyCode::Up | KeyCode::Char('k') => Action::Move(-1),
        KeyCode::Down | KeyCode::Char('j') => Action::Move(1),
        KeyCode::PageUp => Action::Page(-1),
        KeyCode::PageDown => Action::Page(1),
        KeyCode::Home | KeyCode::Char('g') => Action::First,
        KeyCode::End | KeyCode::Char('G') => Action::Last,
        KeyCode::Left | KeyCode::Char('<') => Action::Sort(-1),
        KeyCode::Right | KeyCode::Char('>') => Action::Sort(1),
        KeyCode::Char('r') => Action::Reverse,
        KeyCode::Char('/') => Action::Edit,
        _ => return None,
    })
}

fn filter(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Enter => Action::Keep,
        KeyCode::Backspace => Action::Erase,
        KeyCode::Up => Action::Move(-1),
        KeyCode::Down => Action::Move(1),
        KeyCode::Char(letter) => Action::Type(letter),
        _ => return None,
    })
}

/// Returns the action of a key while the help is open. The keys that open the help also close it.
fn help(code: KeyCode) -> Option<Action> {
    match code {
        KeyCode::Char('q') => Some(Action::Quit),
        KeyCode::Char('?' | 'h' | ' ') | KeyCode::Enter | KeyCode::F(1) => Some(Action::Back),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: KeyCode, mode: Mode) -> Option<Action> {
        action(&KeyEvent::new(code, KeyModifiers::NONE), mode)
    }

    #[test]
    fn letters_are_commands_or_text() {
        let q = KeyCode::Char('q');
        assert_eq!(press(q, Mode::Browse), Some(Action::Quit));
        assert_eq!(press(q, Mode::Filter), Some(Action::Type('q')));
        assert_eq!(press(KeyCode::Char('?'), Mode::Help), Some(Action::Back));
        assert_eq!(
            press(KeyCode::Char('3'), Mode::Browse),
            Some(Action::Tab(Tab::Sponsors))
        );
        assert_eq!(
            press(KeyCode::Char('9'), Mode::Browse),
            Some(Action::Tab(Tab::Kinds))
        );
        assert_eq!(press(KeyCode::Char('0'), Mode::Browse), None);
    }

    #[test]
    fn ctrl_c_and_escape_work_everywhere() {
        let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let ctrl_x = KeyEvent::new(KeyCode::Char('x'), KeyModifiers::CONTROL);
        for mode in [Mode::Browse, Mode::Filter, Mode::Help] {
            assert_eq!(action(&ctrl_c, mode), Some(Action::Quit), "{mode:?}");
            assert_eq!(press(KeyCode::Esc, mode), Some(Action::Back), "{mode:?}");
            assert_eq!(action(&ctrl_x, mode), None, "{mode:?}");
        }
    }

    #[test]
    fn a_key_counts_when_it_goes_down() {
        let mut key = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        key.kind = KeyEventKind::Release;
        assert_eq!(action(&key, Mode::Browse), None);
        key.kind = KeyEventKind::Repeat;
        assert_eq!(action(&key, Mode::Browse), Some(Action::Quit));
    }
}
