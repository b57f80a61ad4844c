-- The journals. A journal has a row from its first event on.
CREATE TABLE journals (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    newest INTEGER NOT NULL,   -- number of the newest event
    checksum INTEGER NOT NULL  -- CRC-32C of the other columns
) STRICT;

-- The events that are needed, in the order in which they were recorded.
CREATE TABLE events (
    journal INTEGER NOT NULL,  -- journals.id
    number INTEGER NOT NULL,   -- 1 for the first event of a journal
    tag INTEGER NOT NULL,      -- type of the event, which the program has chosen
    version INTEGER NOT NULL,  -- version of the encoding of the type
    whole INTEGER NOT NULL,    -- 1 if the event contains the whole state, otherwise 0
    payload BLOB NOT NULL,     -- the event as the program has encoded it
    checksum INTEGER NOT NULL, -- CRC-32C of the other columns
    UNIQUE (journal, number)
) STRICT;

-- The two newest saved states of each journal. A state covers the events up to its number.
CREATE TABLE snapshots (
    journal INTEGER NOT NULL,
    number INTEGER NOT NULL,
    tag INTEGER NOT NULL,
    version INTEGER NOT NULL,
    payload BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (journal, number)
) STRICT;
