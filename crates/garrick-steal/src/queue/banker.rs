//! A banker's queue, which is unbounded. Senders push to a stack. The receiver takes the whole
//! stack at once, and reverses it.
//!
//! The algorithm is the queue of two lists by Hood and Melville (1981). Okasaki analysed this
//! queue, and called it a banker's queue. The rear list is a stack as in Treiber, "Systems
//! Programming: Coping with Parallelism" (1986). No single node is popped from the shared stack, so
//! the stack has no ABA problem.
//!
//! ```text
//!     shared, newest first                        the receiver's own, oldest first
//!
//!     head --> [6] --> [5] --> [4] --> null       ready --> [1] --> [2] --> [3] --> null
//!      ^                                                     ^
//!      push: one CAS                                         pop: no shared memory
//!             \______ ready is empty: swap, reverse ______/
//!
//!     spare <-- empty nodes, up to 64 at a time, which senders reuse
//! ```
//!
//! `head` has two special values that are not pointers to nodes: DOZING and CLOSED. DOZING means
//! that the stack is empty, and that the next sender must wake the receiver.
//!
//! `push` is lock-free. `try_pop` is wait-free, and takes amortized O(1) per value. There can be
//! any number of [`Producer`]s. A producer belongs to one thread at a time, because it has its own
//! empty nodes. There is one [`Consumer`].

use std::{cell::Cell, fmt, mem::MaybeUninit, ptr, time::Duration};

use crossbeam_utils::CachePadded;
use garrick_core::prim::{
    Arc, UnsafeCell,
    atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use super::wait::{Doorbell, Doze, Sleeper, Waiter};
use super::{PopTimeoutError, Queue, Receiver, SendError, Sender};

/// Maximum number of empty nodes that the consumer collects before it passes them to the producers.
/// Passing a chain of nodes costs two atomic operations. A larger maximum spreads this cost over
/// more nodes. A smaller maximum wastes less memory.
const SPENT_MAX: usize = if cfg!(garrick_loom) { 1 } else { 64 };

/// A type that selects the [banker's queue](self) in code that is generic over [`Queue`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Banker;

impl Queue for Banker {
    type Sender<T: Send + 'static> = Producer<T>;
    type Receiver<T: Send + 'static> = Consumer<T>;

    fn channel<T: Send + 'static>() -> (Producer<T>, Consumer<T>) {
        channel()
    }
}

struct Node<T> {
    /// Next node of the chain. In the stack, the next node is the next older one. Written by the
    /// owner of the node before the node is published.
    next: UnsafeCell<*mut Node<T>>,

    /// Value of the node. Initialized while the node is in the stack or in `ready`. Uninitialized
    /// while the node is in `free`, `spare` or `spent`.
    value: UnsafeCell<MaybeUninit<T>>,
}

struct Shared<T> {
    /// Pointer to the newest node, or null, DOZING or CLOSED. Producers push nodes, and the
    /// consumer takes all nodes at once.
    head: CachePadded<AtomicPtr<Node<T>>>,

    /// Chain of empty nodes, or null. If there is no chain, the consumer stores one in this field.
    /// A producer takes the whole chain.
    spare: CachePadded<AtomicPtr<Node<T>>>,

    doorbell: Doorbell,
}

/// The sending half of a banker's queue. Created by [`channel`].
pub struct Producer<T> {
    shared: Arc<Shared<T>>,
    /// Chain of empty nodes that this producer owns.
    free: Cell<*mut Node<T>>,
}

/// The receiving half of a banker's queue. Created by [`channel`].
pub struct Consumer<T> {
    inbox: Inbox<T>,
    waiter: Waiter,
}

/// The consumer, without the state that it needs to wait.
struct Inbox<T> {
    shared: Arc<Shared<T>>,
    /// Nodes taken from the stack, oldest first.
    ready: *mut Node<T>,
    ready_len: usize,
    /// Empty nodes that the consumer has not yet passed to the producers.
    spent: *mut Node<T>,
    spent_len: usize,
}

// SAFETY: the pointers lead to nodes that this handle owns alone, so the values in them (a
// producer's `free` has none) move with it: `T: Send` is enough.
unsafe impl<T: Send> Send for Producer<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Inbox<T> {}

/// Creates an unbounded banker's queue.
///
/// # Examples
///
/// ```
/// use garrick_steal::queue::{Receiver, Sender, banker};
///
/// let (producer, mut consumer) = banker::channel();
/// producer.push('a').unwrap();
/// producer.push('b').unwrap();
/// assert_eq!(consumer.try_pop(), Some('a'));
/// drop(consumer);
/// assert_eq!(producer.push('c').unwrap_err().0, 'c');
/// ```
pub fn channel<T>() -> (Producer<T>, Consumer<T>) {
    let (doorbell, waiter) = Doorbell::new();
    let shared = Arc::new(Shared {
        head: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
        spare: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
        doorbell,
    });
    let producer = Producer {
        shared: shared.clone(),
        free: Cell::new(ptr::null_mut()),
    };
    let inbox = Inbox {
        shared,
        ready: ptr::null_mut(),
        ready_len: 0,
        spent: ptr::null_mut(),
        spent_len: 0,
    };
    (producer, Consumer { inbox, waiter })
}

/// Returns the value of `head` for an empty stack whose next sender must wake the receiver.
fn dozing<T>() -> *mut Node<T> {
    ptr::without_provenance_mut(1)
}

/// Returns the value of `head` for a closed stack, to which no more nodes can be pushed.
fn closed<T>() -> *mut Node<T> {
    ptr::without_provenance_mut(2)
}

fn is_node<T>(head: *mut Node<T>) -> bool {
    !head.is_null() && head != dozing() && head != closed()
}

impl<T> Node<T> {
    fn alloc() -> *mut Self {
        Box::into_raw(Box::new(Self {
            next: UnsafeCell::new(ptr::null_mut()),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }))
    }

    /// Returns the next node after `node` in its chain.
    ///
    /// # Safety
    ///
    /// `node` has not been freed, and no other code writes its `next` during the call.
    unsafe fn next(node: *mut Self) -> *mut Self {
        debug_assert!(is_node(node), "a mark has no next");
        // SAFETY: the caller's.
        unsafe { (*node).next.with(|next| *next) }
    }

    /// Makes `below` the next node after `node` in the chain.
    ///
    /// # Safety
    ///
    /// The caller owns `node`.
    unsafe fn set_next(node: *mut Self, below: *mut Self) {
        debug_assert!(is_node(node), "a mark has no next");
        debug_assert!(below.is_null() || is_node(below), "a mark is in no chain");
        // SAFETY: the caller's.
        unsafe { (*node).next.with_mut(|next| *next = below) }
    }

    /// Fills an empty node.
    ///
    /// # Safety
    ///
    /// The caller owns `node`.
    unsafe fn fill(node: *mut Self, value: T) {
        debug_assert!(is_node(node), "a mark has no value");
        // SAFETY: the caller's; writing to a `MaybeUninit` drops nothing.
        unsafe { (*node).value.with_mut(|place| (*place).write(value)) };
    }

    /// Moves the value out of a node, which is then empty.
    ///
    /// # Safety
    ///
    /// The caller owns `node`, and `node` is full.
    unsafe fn take(node: *mut Self) -> T {
        debug_assert!(is_node(node), "a mark has no value");
        // SAFETY: the caller's.
        unsafe { (*node).value.with_mut(|place| (*place).assume_init_read()) }
    }

    /// Frees a chain of empty nodes.
    ///
    /// # Safety
    ///
    /// The caller owns every node of the chain, and all are empty.
    unsafe fn free_chain(mut node: *mut Self) {
        while !node.is_null() {
            // SAFETY: the caller's; each node came from `alloc`, and is read before it is freed.
            node = unsafe {
                let next = Self::next(node);
                drop(Box::from_raw(node));
                next
            };
        }
    }
}

impl<T> Producer<T> {
    /// Pushes the chain of nodes from `newest` to `oldest` to the stack. If the queue is closed,
    /// pushes nothing and returns false.
    ///
    /// # Safety
    ///
    /// The caller owns the chain, and its nodes are full. If the function returns true, the stack
    /// owns the nodes.
    #[inline]
    unsafe fn publish(&self, newest: *mut Node<T>, oldest: *mut Node<T>) -> bool {
        debug_assert!(is_node(newest) && is_node(oldest), "a chain has two ends");
        // Relaxed: the pointer is compared and passed on, never followed.
        let mut head = self.shared.head.load(Relaxed);
        loop {
            if head == closed() {
                return false;
            }
            let below = if is_node(head) { head } else { ptr::null_mut() };
            // SAFETY: `oldest` is ours until the exchange below succeeds.
            unsafe { Node::set_next(oldest, below) };
            // Release: pairs with the Acquire in `Inbox::refill`; publishes values and links.
            // Pushes before ours stay published, as the exchange carries on their release sequence.
            let exchange = &self.shared.head;
            match exchange.compare_exchange_weak(head, newest, Release, Relaxed) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        if head == dozing() {
            self.shared.doorbell.ring();
        }
        true
    }

    /// Returns an empty node that this producer owns. Reuses a node if possible, and otherwise
    /// allocates one.
    #[inline]
    fn empty_node(&self) -> *mut Node<T> {
        let mut node = self.free.get();
        if node.is_null() {
            node = self.take_spare();
            if node.is_null() {
                return Node::alloc();
            }
        }
        // SAFETY: chains in `free` and `spare` are of live nodes, and this one is ours.
        self.free.set(unsafe { Node::next(node) });
        node
    }

    #[cold]
    fn take_spare(&self) -> *mut Node<T> {
        let spare = &self.shared.spare;
        // Relaxed: a look that saves the exchange when there is nothing.
        if spare.load(Relaxed).is_null() {
            return ptr::null_mut();
        }
        // Acquire: pairs with the Release in `Inbox::hand_back`; the consumer is done with the
        // nodes.
        spare.swap(ptr::null_mut(), Acquire)
    }

    fn keep(&self, node: *mut Node<T>) {
        // SAFETY: the caller gives us the node.
        unsafe { Node::set_next(node, self.free.get()) };
        self.free.set(node);
    }

    /// Takes the values out of a chain that was not published. Returns the values, newest first,
    /// and keeps the empty nodes for later pushes.
    #[cold]
    fn unwind(&self, newest: *mut Node<T>, count: usize) -> Vec<T> {
        let mut node = newest;
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            // SAFETY: the chain has `count` full nodes, which are ours; `next` is read before the
            // node is linked elsewhere.
            unsafe {
                values.push(Node::take(node));
                let next = Node::next(node);
                self.keep(node);
                node = next;
            }
        }
        values
    }
}

impl<T: Send> Sender<T> for Producer<T> {
    #[inline]
    fn push(&self, value: T) -> Result<(), SendError<T>> {
        let node = self.empty_node();
        // SAFETY: the node is ours and empty, then full; a chain of one.
        unsafe {
            Node::fill(node, value);
            if self.publish(node, node) {
                return Ok(());
            }
        }
        // SAFETY: not published, so still ours, and full.
        let value = unsafe { Node::take(node) };
        self.keep(node);
        Err(SendError(value))
    }

    fn push_many(&self, values: impl IntoIterator<Item = T>) -> Result<(), SendError<Vec<T>>> {
        // The iterator runs to its end first: if it panicked among half-linked nodes, they would
        // leak.
        let values: Vec<T> = values.into_iter().collect();
        let count = values.len();
        let (mut newest, mut oldest) = (ptr::null_mut(), ptr::null_mut::<Node<T>>());
        for value in values {
            let node = self.empty_node();
            if oldest.is_null() {
                oldest = node;
            }
            // SAFETY: the node is ours and empty.
            unsafe {
                Node::fill(node, value);
                Node::set_next(node, newest);
            }
            newest = node;
        }
        // SAFETY: the chain was made above, of nodes that are ours and full.
        if newest.is_null() || unsafe { self.publish(newest, oldest) } {
            return Ok(());
        }
        let mut values = self.unwind(newest, count);
        values.reverse();
        Err(SendError(values))
    }

    fn is_closed(&self) -> bool {
        self.shared.head.load(Relaxed) == closed()
    }
}

impl<T> Inbox<T> {
    /// Takes the whole stack and reverses it. Returns true if the stack had nodes.
    #[inline]
    fn refill(&mut self) -> bool {
        let head = &self.shared.head;
        // Relaxed: a look that saves the exchange when there is nothing.
        if !is_node(head.load(Relaxed)) {
            return false;
        }
        // Acquire: pairs with the Release in `Producer::publish`, of every push since the last
        // taking.
        let mut node = head.swap(ptr::null_mut(), Acquire);
        while !node.is_null() {
            // SAFETY: the taken chain is ours alone.
            unsafe {
                let next = Node::next(node);
                Node::set_next(node, self.ready);
                self.ready = node;
                node = next;
            }
            self.ready_len += 1;
        }
        true
    }

    /// Keeps an empty node for the producers, or frees the node if there are already enough empty
    /// nodes.
    #[inline]
    fn recycle(&mut self, node: *mut Node<T>) {
        if self.spent_len == SPENT_MAX && !self.hand_back() {
            // SAFETY: the node is ours, empty, and in no chain.
            drop(unsafe { Box::from_raw(node) });
            return;
        }
        // SAFETY: the node is ours.
        unsafe { Node::set_next(node, self.spent) };
        self.spent = node;
        self.spent_len += 1;
    }

    fn hand_back(&mut self) -> bool {
        let spare = &self.shared.spare;
        // Relaxed: a look that saves the exchange when the last chain is still there.
        if !spare.load(Relaxed).is_null() {
            return false;
        }
        // Release: pairs with the Acquire in `Producer::take_spare`; we are done with these nodes.
        // It cannot fail, as only we put chains there.
        let result = spare.compare_exchange(ptr::null_mut(), self.spent, Release, Relaxed);
        debug_assert!(result.is_ok(), "a second consumer");
        self.spent = ptr::null_mut();
        self.spent_len = 0;
        true
    }

    /// Returns the number of nodes on the stack, in time proportional to this number.
    fn stack_len(&self) -> usize {
        // Acquire: pairs with the Release in `Producer::publish`; we follow the links.
        let mut node = self.shared.head.load(Acquire);
        let mut len = 0;
        while is_node(node) {
            len += 1;
            // SAFETY: a published node stays as it is until we take the stack, which needs `&mut
            // self`.
            node = unsafe { Node::next(node) };
        }
        len
    }
}

impl<T> Sleeper<T> for Inbox<T> {
    #[inline]
    fn try_pop(&mut self) -> Option<T> {
        if self.ready.is_null() && !self.refill() {
            return None;
        }
        let node = self.ready;
        // SAFETY: nodes in `ready` are ours and full; this one leaves it.
        let value = unsafe {
            self.ready = Node::next(node);
            Node::take(node)
        };
        self.ready_len -= 1;
        self.recycle(node);
        Some(value)
    }

    fn doze(&mut self) -> Doze {
        // Relaxed: the mark carries nothing. A push before it is seen by the failure, a push after
        // it rings.
        let head = &self.shared.head;
        match head.compare_exchange(ptr::null_mut(), dozing(), Relaxed, Relaxed) {
            Ok(_) => Doze::Marked,
            Err(head) if head == dozing() => Doze::Marked,
            Err(_) => Doze::Disturbed,
        }
    }

    fn rise(&mut self) {
        // A mark left over costs a producer one ring, which is less than the cost of removing the
        // mark.
    }

    fn doorbell(&self) -> &Doorbell {
        &self.shared.doorbell
    }
}

impl<T: Send> Receiver<T> for Consumer<T> {
    #[inline]
    fn try_pop(&mut self) -> Option<T> {
        self.inbox.try_pop()
    }

    fn blocking_pop(&mut self) -> Option<T> {
        self.waiter.pop(&mut self.inbox, None).ok()
    }

    fn pop_timeout(&mut self, timeout: Duration) -> Result<T, PopTimeoutError> {
        self.waiter.pop(&mut self.inbox, Some(timeout))
    }

    /// Returns the exact number of values. The time is proportional to the number of values that
    /// were pushed since the receiver last took the stack.
    fn len(&self) -> usize {
        self.inbox.ready_len + self.inbox.stack_len()
    }

    fn is_empty(&self) -> bool {
        // Relaxed: a hint.
        self.inbox.ready.is_null() && !is_node(self.inbox.shared.head.load(Relaxed))
    }

    fn is_closed(&self) -> bool {
        !self.inbox.shared.doorbell.has_senders()
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        self.shared.doorbell.add_sender();
        Self {
            shared: self.shared.clone(),
            free: Cell::new(ptr::null_mut()),
        }
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        // SAFETY: `free` is a chain of empty nodes of our own.
        unsafe { Node::free_chain(self.free.get()) };
        self.shared.doorbell.remove_sender();
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        // Acquire: pairs with the Release in `Producer::publish`; the last taking, and no push
        // after it.
        let mut newest = self.shared.head.swap(closed(), Acquire);
        if !is_node(newest) {
            newest = ptr::null_mut();
        }
        let mut left = Left {
            full: [self.ready, newest],
            spent: self.spent,
        };
        left.drop_values();
    }
}

/// Nodes of a dropped consumer. Created only when the consumer, which owns the nodes, is dropped.
struct Left<T> {
    /// Two chains of nodes that contain values.
    full: [*mut Node<T>; 2],
    /// Chain of nodes without values.
    spent: *mut Node<T>,
}

impl<T> Left<T> {
    fn drop_values(&mut self) {
        for chain in &mut self.full {
            while !chain.is_null() {
                let node = *chain;
                // SAFETY: both chains are ours and full; each node leaves its chain, is emptied and
                // freed before its value's drop, which may panic.
                let value = unsafe {
                    *chain = Node::next(node);
                    let value = Node::take(node);
                    drop(Box::from_raw(node));
                    value
                };
                drop(value);
            }
        }
    }
}

impl<T> Drop for Left<T> {
    fn drop(&mut self) {
        // After a value's drop has panicked: the others are dropped all the same.
        self.drop_values();
        // SAFETY: `spent` is a chain of empty nodes of our own.
        unsafe { Node::free_chain(self.spent) };
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // Relaxed: both halves are gone, and dropping the `Arc` synchronized.
        // SAFETY: nobody else is left, and `spare` is a chain of empty nodes.
        unsafe { Node::free_chain(self.spare.load(Relaxed)) };
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_closed = self.shared.head.load(Relaxed) == closed();
        f.debug_struct("Producer")
            .field("is_closed", &is_closed)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("ready_len", &self.inbox.ready_len)
            .finish_non_exhaustive()
    }
}
