-- Work on the store that one node does for all of them, and when it is due next, by the clock of the store.
CREATE TABLE IF NOT EXISTS upkeep_runs (
  job text NOT NULL,
  due_at timestamptz NOT NULL,
  PRIMARY KEY (job)
);
