//! The digits as values in a channel.

use shuttle::sync::mpsc::channel;
use shuttle::thread;

pub(super) fn order() {
    let (sender, digits) = channel();
    for digit in 1..=4 {
        let sender = sender.clone();
        thread::spawn(move || sender.send(digit).unwrap());
    }
    drop(sender);
    let seen = digits.iter().fold(0, |seen, digit| 10 * seen + digit);
    assert_ne!(seen, 3142, "not 3142");
}
