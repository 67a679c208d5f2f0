-- Bodies that a node is taking in, one row for each batch. The transaction that stores what is in a body takes it off. A row
-- that is there past `due_at` names bodies whose batch failed or did not end: they are taken in one at a time from then on.
CREATE TABLE IF NOT EXISTS intake_batches (
  id bigint GENERATED ALWAYS AS IDENTITY,
  inbox_ids bigint[] NOT NULL,
  due_at timestamptz NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX IF NOT EXISTS intake_batches_by_time ON intake_batches (due_at);
