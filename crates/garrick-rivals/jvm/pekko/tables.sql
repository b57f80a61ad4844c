CREATE TABLE IF NOT EXISTS "event_journal" (
  "ordering" INTEGER PRIMARY KEY AUTOINCREMENT,
  "deleted" BOOLEAN NOT NULL DEFAULT 0,
  "persistence_id" VARCHAR(255) NOT NULL,
  "sequence_number" BIGINT NOT NULL,
  "writer" VARCHAR NOT NULL,
  "write_timestamp" BIGINT NOT NULL,
  "adapter_manifest" VARCHAR NOT NULL,
  "event_payload" BLOB NOT NULL,
  "event_ser_id" INTEGER NOT NULL,
  "event_ser_manifest" VARCHAR NOT NULL,
  "meta_payload" BLOB,
  "meta_ser_id" INTEGER,
  "meta_ser_manifest" VARCHAR
);
CREATE UNIQUE INDEX IF NOT EXISTS "event_journal_idx"
  ON "event_journal" ("persistence_id", "sequence_number");
CREATE TABLE IF NOT EXISTS "event_tag" (
  "event_id" BIGINT NOT NULL,
  "tag" VARCHAR NOT NULL,
  PRIMARY KEY ("event_id", "tag")
);
