-- Each node's use of the keys with a limit, shared once a second; the key '' stands for the node itself. Outdated
-- after a few seconds, hence not logged.
CREATE UNLOGGED TABLE IF NOT EXISTS key_uses (
  key_id text NOT NULL,
  node_id text NOT NULL,
  asked_per_second float8 NOT NULL,
  used float8 NOT NULL,
  reported_at timestamptz NOT NULL,
  PRIMARY KEY (key_id, node_id)
);
