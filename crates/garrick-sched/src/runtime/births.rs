//! The ways to spawn tasks.

use crate::cell::Home;
use crate::pool::Pool;
use crate::runtime::address::Address;
use crate::runtime::current;
use crate::runtime::sponsor::{Handle, Here, SpawnError};
use crate::runtime::tables::new_cell;
use crate::runtime::task::Task;
use crate::runtime::turn::{Turn, move_note};
use crate::runtime::worker::Worker;

impl Worker {
    /// Creates a cell (the memory block of a task) on this worker. The cell may move to another
    /// worker later.
    #[inline]
    pub(crate) fn spawn<T>(&self, task: T) -> Address<T::Message>
    where
        T: Task + Send,
        T::Message: Send,
    {
        self.spawn_as(task, true)
    }

    /// Creates a cell (the memory block of a task) on this worker. If `moves` is true, its task and
    /// messages must be `Send`.
    #[inline]
    pub(crate) fn spawn_as<T: Task>(&self, task: T, moves: bool) -> Address<T::Message> {
        let cell = new_cell(&self.pool, self.home, task, moves);
        self.count_begun(cell);
        self.shared.hooks.born(cell);
        if T::STARTS {
            cell.schedule();
            self.born.push_cell(self.turn(), cell);
        }
        // SAFETY: the cell was made for this task, with one reference.
        unsafe { Address::from_counted(cell) }
    }
}

impl<M: 'static> Turn<'_, M> {
    /// Spawns a task on the current worker. If the turn is undone, all messages that the turn has
    /// sent to the new task are discarded. The new task is dropped when its last address is
    /// dropped.
    #[inline]
    pub fn spawn<T>(&self, task: T) -> Address<T::Message>
    where
        T: Task + Send,
        T::Message: Send,
    {
        self.worker.spawn(task)
    }

    /// Spawns a task on another sponsor (group of workers). If that sponsor has stopped, the task
    /// runs on the current worker instead.
    ///
    /// If the turn is undone, all messages that the turn has sent to the new task are discarded.
    /// The new task is dropped when its last address is dropped.
    pub fn spawn_on<T>(&self, sponsor: &Handle, task: T) -> Address<T::Message>
    where
        T: Task + Send,
        T::Message: Send,
    {
        let worker = self.worker;
        let cell = new_cell(&worker.pool, worker.home, task, true);
        worker.count_begun(cell);
        worker.shared.hooks.born(cell);
        // The task starts on the sponsor where it is to live.
        worker.send_note(cell, move_note(worker, sponsor));
        // SAFETY: the cell was made for this task, with one reference.
        unsafe { Address::from_counted(cell) }
    }
}

impl Handle {
    /// Spawns a task on one of the workers of the sponsor (group of workers).
    ///
    /// If the caller runs on a worker of the sponsor, the task is assigned to this worker.
    /// Otherwise the task is assigned to an idle worker if there is one, or to the next worker in
    /// round-robin order.
    ///
    /// # Errors
    /// Returns the task if the sponsor is shutting down or has stopped.
    pub fn spawn<T>(&self, task: T) -> Result<Address<T::Message>, SpawnError<T>>
    where
        T: Task + Send,
        T::Message: Send,
    {
        if let Some(worker) = current::worker()
            && self.is_of(worker)
        {
            return Ok(worker.spawn(task));
        }
        self.spawn_at(self.next_home(), task, true)
    }

    /// Creates a cell (the memory block of a task) that will belong to the given worker. The
    /// calling thread does not run this worker.
    pub(crate) fn spawn_at<T: Task>(
        &self,
        home: Home,
        task: T,
        moves: bool,
    ) -> Result<Address<T::Message>, SpawnError<T>> {
        let create = |pool: &Pool, task| new_cell(pool, home, task, moves);
        let (cell, wake) = self.create_cell(T::STARTS, task, create)?;
        // SAFETY: the cell was made for this task, with one reference.
        let address = unsafe { Address::from_counted(cell) };
        wake.call();
        Ok(address)
    }
}

impl Here {
    /// Spawns a task on this thread. The task need not be `Send`.
    pub fn spawn<T: Task>(&self, task: T) -> Address<T::Message> {
        let spawned = self.handle().spawn_at(self.worker().home, task, false);
        spawned.unwrap_or_else(|_| unreachable!("it ends when it is dropped"))
    }
}
