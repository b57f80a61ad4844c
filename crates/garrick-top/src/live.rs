//! The terminal, and the threads that wait for input and for the watched process.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;
use std::{io, thread};

use garrick_measure::Result;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent};

use crate::client::Client;
use crate::feed::{self, Word};
use crate::keys;
use crate::state::{Next, State};
use crate::theme::Theme;
use crate::{draw, text};

/// Maximum number of `News` values in the queue. While the queue is full, senders block.
const NEWS_MAX: usize = 16;

/// An event that can change the screen.
enum News {
    /// The watched process has sent a snapshot or its history, or the connection to the watched
    /// process is lost.
    Word(Word),
    /// A key was pressed.
    Key(KeyEvent),
    /// The size of the terminal has changed.
    Resized,
    /// This program has received a signal to exit, for example after Ctrl+C.
    Ended,
    /// A required thread has stopped. The string is the reason.
    Broken(String),
}

/// Terminal in raw mode. The terminal is restored on drop. After a panic, the terminal is restored
/// before the message of the panic is printed.
struct Screen(DefaultTerminal);

impl Screen {
    fn take() -> io::Result<Self> {
        ratatui::try_init()
            .map(Self)
            .inspect_err(|_| ratatui::restore())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Shows the process that `client` is connected to, until the user quits.
pub(crate) fn run(client: Client, interval: Duration) -> Result<()> {
    let mut state = State::new(text::safe(&client.target().to_string()));
    let (told, news) = mpsc::sync_channel(NEWS_MAX);
    let ended = told.clone();
    ctrlc::set_handler(move || drop(ended.send(News::Ended)))?;
    let mut screen = Screen::take()?;
    start("keys", told.clone(), tell_keys)?;
    start("feed", told, move |told| {
        feed::run(&client, interval, |word| {
            told.send(News::Word(word)).is_ok()
        });
        "nobody listens".to_owned()
    })?;
    show(&mut screen.0, &mut state, &news, Theme::wanted())
}

/// Starts a thread that calls `run`. The function `run` sends events through `told`. When `run`
/// returns or panics, the thread sends the reason for its end.
fn start(
    name: &'static str,
    told: SyncSender<News>,
    run: impl FnOnce(&SyncSender<News>) -> String + Send + 'static,
) -> io::Result<()> {
    let thread = thread::Builder::new().name(name.to_owned());
    let body = move || {
        let mut end = End {
            told,
            why: format!("the thread \"{name}\" has panicked"),
        };
        end.why = run(&end.told);
    };
    thread.spawn(body).map(drop)
}

/// A guard of a thread. When the guard is dropped, even by a panic, it reports that the thread has
/// stopped.
struct End {
    told: SyncSender<News>,
    why: String,
}

impl Drop for End {
    fn drop(&mut self) {
        let why = std::mem::take(&mut self.why);
        let _ = self.told.send(News::Broken(why));
    }
}

/// Sends all input from the terminal to the main loop. When no more input can be sent, returns the
/// reason.
fn tell_keys(told: &SyncSender<News>) -> String {
    loop {
        let news = match event::read() {
            Ok(Event::Key(key)) => News::Key(key),
            Ok(Event::Resize(..)) => News::Resized,
            Ok(_) => continue,
            Err(error) => return format!("cannot read from the terminal: {error}"),
        };
        if told.send(news).is_err() {
            return "nobody listens".to_owned();
        }
    }
}

/// Draws the screen and waits for the next event, in a loop.
fn show(
    terminal: &mut DefaultTerminal,
    state: &mut State,
    news: &Receiver<News>,
    theme: Theme,
) -> Result<()> {
    loop {
        terminal.draw(|frame| draw::draw(frame, state, theme))?;
        if wait(state, news)? == Next::Quit {
            return Ok(());
        }
    }
}

/// Handles events until the screen must be drawn again or the program must quit. Before the screen
/// is drawn, also handles all events that have already arrived.
fn wait(state: &mut State, news: &Receiver<News>) -> Result<Next> {
    let mut next = Next::Rest;
    while next == Next::Rest {
        next = hear(state, news.recv()?)?;
    }
    while next != Next::Quit
        && let Ok(more) = news.try_recv()
    {
        next = next.max(hear(state, more)?);
    }
    Ok(next)
}

fn hear(state: &mut State, news: News) -> Result<Next> {
    Ok(match news {
        News::Word(word) => state.hear(word),
        News::Key(key) => match keys::action(&key, state.mode) {
            Some(action) => state.act(action),
            None => Next::Rest,
        },
        News::Resized => Next::Draw,
        News::Ended => Next::Quit,
        News::Broken(why) => return Err(why.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Action;
    use ratatui::crossterm::event::{KeyCode, KeyModifiers};

    fn key(letter: char) -> News {
        News::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE))
    }

    #[test]
    fn all_that_has_come_is_drawn_at_once() {
        let (told, news) = mpsc::sync_channel(NEWS_MAX);
        let mut state = State::new(String::new());
        for letter in ['z', '/', 'a', 'b'] {
            told.send(key(letter)).unwrap();
        }
        assert_eq!(wait(&mut state, &news).unwrap(), Next::Draw);
        assert_eq!(state.filter, "ab");
        state.act(Action::Back);
        told.send(key('q')).unwrap();
        told.send(News::Broken("too late".to_owned())).unwrap();
        assert_eq!(wait(&mut state, &news).unwrap(), Next::Quit);
    }

    #[test]
    fn a_thread_that_panics_is_missed() {
        let (told, news) = mpsc::sync_channel(NEWS_MAX);
        start("doomed", told, |_| std::panic::resume_unwind(Box::new(()))).unwrap();
        let error = wait(&mut State::new(String::new()), &news).unwrap_err();
        assert_eq!(error.to_string(), "the thread \"doomed\" has panicked");
    }
}
