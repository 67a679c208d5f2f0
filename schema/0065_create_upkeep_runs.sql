-- Work on the store that one node does for all of them, and when it is due next, by the clock of the store.
CREATE TABLE IF NOT EXISTS upkeep_runs (
  job text NOT NULL,
  due_at timestamptz NOT NULL,
  PRIMARY KEY (job)
);
-- Nodes of the release before make decisions without keys, and have: there are some in the first partition.
INSERT INTO upkeep_runs (job, due_at) SELECT 'decisions without keys', now() WHERE EXISTS (SELECT 1 FROM organizations);
