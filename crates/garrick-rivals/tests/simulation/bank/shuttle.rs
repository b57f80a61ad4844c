//! The bank as threads that share a balance.

use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

pub(super) fn bank() {
    let account = Arc::new(Mutex::new(0));
    let tellers: Vec<_> = (0..2)
        .map(|_| {
            let account = Arc::clone(&account);
            thread::spawn(move || {
                let balance = *account.lock().unwrap();
                *account.lock().unwrap() = balance + 1;
            })
        })
        .collect();
    for teller in tellers {
        teller.join().unwrap();
    }
    assert_eq!(*account.lock().unwrap(), 2, "both deposits count");
}
