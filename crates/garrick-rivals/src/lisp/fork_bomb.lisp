;;; The fork bomb of TActors, by two event loops for actors that one thread runs.
;;;
;;; An actor is a cell with a behavior, a function of the messages; an event is an actor and its arguments; events
;;; stand in one queue. An actor sends, creates, and becomes, which is to have another behavior from the next message
;;; on. What an actor does happens if its behavior returns, and not if that fails. There are two ways to see to that:
;;;
;;;   staged    what it sends and becomes is kept aside, and done when the behavior has returned
;;;   unstaged  it is done at once, and taken back if the behavior fails
;;;
;;; In both, who catches an error stands outside of the loop, so that an event pays nothing for it. `staged` and
;;; `unstaged`, at the end, are called from outside, and say what they measured in one line.

(declaim (optimize (speed 3) (safety 0) (debug 0))
         (sb-ext:muffle-conditions sb-ext:compiler-note))

(defstruct (actor (:constructor make (behavior)) (:copier nil) (:predicate nil))
  (behavior #'list :type function))

;;; The queue: its first cell is one that was taken already, so that there always is a last one.
(declaim (type cons **first** **last**))
(sb-ext:defglobal **first** (list nil))
(sb-ext:defglobal **last** **first**)

;;; Who is running, and what it has kept aside: the first and the last cell, and a behavior.
(declaim (type actor **self**) (type function **next**) (type cons **kept** **kept-last**))
(sb-ext:defglobal **self** (make #'list))
(sb-ext:defglobal **next** #'list)
(sb-ext:defglobal **kept** (list nil))
(sb-ext:defglobal **kept-last** **kept**)

(defmacro enqueue (last actor &rest arguments)
  `(let ((cell (list (list ,actor ,@arguments))))
     (setf (cdr ,last) cell
           ,last cell)))

(defmacro send-now (actor &rest arguments)
  `(enqueue **last** ,actor ,@arguments))

(defmacro become-now (behavior)
  `(setf (actor-behavior **self**) ,behavior))

(defmacro send-later (actor &rest arguments)
  `(enqueue **kept-last** ,actor ,@arguments))

(defmacro become-later (behavior)
  `(setf **next** ,behavior))

(defmacro take ()
  "Takes the first event. There is one. The cell before it is cut off: were it old, the garbage collector would keep all after it."
  `(let ((cell (the cons (shiftf (cdr **first**) nil))))
     (setf **first** cell)
     (the cons (car cell))))

(defmacro run-all (dispatch undo)
  "Takes events, dispatches them, and undoes those that fail, until there are none."
  `(loop
     (handler-case
         (loop
           (when (eq **first** **last**)
             (return-from run))
           (let ((event (take)))
             (setf **self** (car event))
             (,dispatch (cdr event))))
       (error () ,undo))))

(defun run-staged ()
  (block run
    (flet ((dispatch (arguments)
             (let ((self **self**))
               (setf **next** (actor-behavior self)
                     **kept-last** **kept**)
               (apply **next** arguments)
               (unless (eq **kept-last** **kept**)
                 (setf (cdr **last**) (cdr **kept**)
                       **last** **kept-last**))
               (setf (actor-behavior self) **next**))))
      (declare (inline dispatch))
      (run-all dispatch nil))))

(defun run-unstaged ()
  (let ((last **last**) (behavior #'list))
    (declare (type cons last) (type function behavior))
    (block run
      (flet ((dispatch (arguments)
               (setf last **last**
                     behavior (actor-behavior **self**))
               (apply behavior arguments)))
        (declare (inline dispatch))
        (run-all dispatch
                 (setf (cdr last) nil
                       **last** last
                       (actor-behavior **self**) behavior))))))

(defmacro define-tree (grow await-two await-one send become)
  "The behaviors of a tree's actors: two children and two sends, then one become for each answer, then an answer."
  `(progn
     (declaim (inline ,await-two ,await-one))
     (defun ,await-one (customer)
       (lambda () (,send customer)))
     (defun ,await-two (customer)
       (lambda () (,become (,await-one customer))))
     (defun ,grow (customer depth)
       (declare (type fixnum depth))
       (if (zerop depth)
           (,send customer)
           (let ((left (make #',grow)))
             (,send left **self** (1- depth))
             (let ((right (make #',grow)))
               (,send right **self** (1- depth))
               (,become (,await-two customer))))))))

(define-tree grow-staged await-two-staged await-one-staged send-later become-later)
(define-tree grow-unstaged await-two-unstaged await-one-unstaged send-now become-now)

(defun grown (grow run depth)
  "Grows a tree to its end, and says how often its customer was told so."
  (declare (type function grow run) (type fixnum depth))
  (let ((told 0))
    (declare (type fixnum told))
    (send-now (make grow) (make (lambda () (incf told))) depth)
    (funcall run)
    told))

(defun wall-ns ()
  "Nanoseconds since some moment. The system's clock of internal time may go in steps of milliseconds."
  (multiple-value-bind (seconds microseconds) (sb-ext:get-time-of-day)
    (* 1000 (+ (* 1000000 seconds) microseconds))))

(defun cpu-ns ()
  "Nanoseconds of CPU time of this process."
  (* (get-internal-run-time) (floor 1000000000 internal-time-units-per-second)))

(defun measure (grow run depth trees)
  "Grows trees, one after the other, and says what that took."
  (declare (type fixnum depth trees) (optimize (safety 1)))
  (let ((wall (wall-ns)) (cpu (cpu-ns)) (told 0))
    (declare (type fixnum told))
    (loop repeat trees do (incf told (the fixnum (grown grow run depth))))
    (let ((cpu-taken (- (cpu-ns) cpu)) (wall-taken (- (wall-ns) wall)))
      (unless (= told trees)
        (error "~a of ~a trees are complete" told trees))
      (format t "~a actors ~a ns ~a ns of CPU~%"
              (* trees (1- (ash 2 depth))) wall-taken cpu-taken)
      (finish-output))))

(defun staged (depth trees)
  (measure #'grow-staged #'run-staged depth trees))

(defun unstaged (depth trees)
  (measure #'grow-unstaged #'run-unstaged depth trees))

(format t "~a ~a~%" (lisp-implementation-type) (lisp-implementation-version))
(finish-output)
