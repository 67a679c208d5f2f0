-- Bodies that a node is taking in, one row for each batch. The transaction that stores the content of a body removes
-- it from the batch. A row that is there past `due_at` names bodies whose batch failed or did not end: they are taken
-- in one at a time from then on.
CREATE TABLE IF NOT EXISTS intake_batches (
  id bigint GENERATED ALWAYS AS IDENTITY,
  inbox_ids bigint[] NOT NULL,
  due_at timestamptz NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX IF NOT EXISTS intake_batches_by_time ON intake_batches (due_at);
